"""tools/device_kernels.py and sass.py: what they count, and what --strict calls an error."""

import pathlib
import subprocess
import sys

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
import device_kernels
import sass

# An address per block in R2 and R3; one that all blocks share in R4 and R5.
ADDRESSES = """
    S2R R0, SR_CTAID.X
    LDC.64 R4, c[0x0][0x210]
    LDC.64 R2, c[0x0][0x218]
    IMAD.WIDE.U32 R2, R0, 0x1000, R2
"""
LOAD, STORE = "LDG.E.128.CONSTANT R8, desc[UR4][R2.64]", "STG.E.128 desc[UR4][R2.64], R8"
FMA = "FFMA R8, R8, R9, R10"


def count(*lines: str) -> sass.Counts:
    """Of a kernel with these lines, as `nvdisasm -c` prints them."""
    text, address = "//-------- .text.k\n.text.k:\n", 0
    for line in "\n".join(lines).splitlines():
        if line.strip().endswith(":"):
            text += line.strip() + "\n"
        elif line.strip():
            guard = line.strip().startswith("@")
            text += f"        /*{address:04x}*/ {'' if guard else '                  '}{line.strip()} ;\n"
            address += 16
    return sass.count_kernels(text)["k"]


def repeat(line: str, times: int) -> str:
    return "\n".join([line] * times)


def test_all_of_a_kernel_without_a_loop():
    counts = count(ADDRESSES, LOAD, repeat(FMA, 10), STORE, "EXIT")
    assert (counts.moved, counts.instructions) == (32, 17)
    assert counts.instructions_per_16 == counts.slots_per_16 == 8.5


def test_only_the_loop_that_moves_bytes():
    body = [".L_x_1:", LOAD, repeat(FMA, 3), "ISETP.GE.AND P0, PT, R6, 0x10, PT", "@!P0 BRA `(.L_x_1)"]
    counts = count(ADDRESSES, repeat(FMA, 100), *body, repeat(FMA, 100), STORE, "EXIT")
    assert (counts.moved, counts.instructions) == (16, 6)


def test_an_outer_loop_is_amortised():
    inner = [".L_x_2:", LOAD, FMA, "@!P0 BRA `(.L_x_2)"]
    counts = count(ADDRESSES, ".L_x_1:", repeat(FMA, 50), *inner, STORE, "@!P1 BRA `(.L_x_1)", "EXIT")
    assert (counts.moved, counts.instructions) == (16, 3)


def test_the_worst_of_two_passes():
    first = [".L_x_1:", LOAD, repeat(FMA, 9), "@!P0 BRA `(.L_x_1)"]
    second = [".L_x_2:", LOAD, STORE, FMA, "@!P0 BRA `(.L_x_2)"]
    assert count(ADDRESSES, *first, *second, "EXIT").slots_per_16 == 11
    assert count(ADDRESSES, *second, *first, "EXIT").slots_per_16 == 11


def test_a_loop_for_single_elements_does_not_count():
    vectors = [".L_x_1:", LOAD, FMA, "@!P0 BRA `(.L_x_1)"]
    elements = [".L_x_2:", "LDG.E R8, desc[UR4][R2.64]", repeat(FMA, 30), "@!P0 BRA `(.L_x_2)"]
    assert count(ADDRESSES, *vectors, *elements, "EXIT").slots_per_16 == 3


def test_what_all_blocks_read_does_not_move():
    weights = "LDG.E.128.CONSTANT R12, desc[UR4][R4.64]"
    assert count(ADDRESSES, LOAD, weights, STORE, "EXIT").moved == 32
    # Nor does a sum of the block that all blocks store in one place.
    assert count(ADDRESSES, LOAD, "STG.E.128 desc[UR4][R4.64], R8", "EXIT").moved == 16
    # Nor once its register held an address of the block's own.
    assert count(ADDRESSES, LOAD, "MOV R2, R4", "MOV R3, R5", LOAD, "EXIT").moved == 16
    # Unless that was only where a predicate held.
    assert count(ADDRESSES, LOAD, "@P3 MOV R2, R4", "@P3 MOV R3, R5", LOAD, "EXIT").moved == 32


def test_an_address_chosen_by_the_block():
    search = """
        S2UR UR6, SR_CTAID.X
        UISETP.GT.U32.AND UP0, UPT, UR6, 0x1b29, UPT
        USEL UR7, URZ, 0x80, !UP0
        LDC.64 R2, c[0x4][0x0]
        IADD3 R2, P1, R2, UR7, RZ
        IADD3.X R3, R3, RZ, RZ, P1, !PT
    """
    assert count(search, LOAD, "EXIT").moved == 16
    assert count(search.replace("UR6, 0x1b29", "UR8, 0x1b29"), LOAD, "EXIT").moved == 0


def test_the_path_that_moves_most_and_is_shortest():
    slow = ["@P0 BRA `(.L_x_1)", repeat(FMA, 40), "CALL.REL.NOINC `($division)", "BRA `(.L_x_2)", ".L_x_1:",
            "MUFU.RCP R8, R9", ".L_x_2:"]
    early = ["@P1 EXIT"]
    tail = ["@P2 BRA `(.L_x_3)", STORE, "EXIT", ".L_x_3:", "STG.E desc[UR4][R2.64], R8", "EXIT"]
    counts = count(ADDRESSES, *early, LOAD, *slow, *tail)
    assert (counts.moved, counts.instructions, counts.special) == (32, 11, 1)


def test_slots_of_units_at_lower_rates():
    assert count(ADDRESSES, LOAD, repeat("FMNMX R8, R8, R9, PT", 20), "EXIT").slots == 40
    assert count(ADDRESSES, LOAD, repeat("MUFU.EX2 R8, R9", 20), "EXIT").slots == 160


def test_bars_follow_from_name_and_text():
    def bar(name, body=""):
        return device_kernels.read_kernel(name, body).bar

    assert bar("k1_rope_rope_bf16x64") == bar("k1_multi_tensor_adamw_f32x768") == 1 / 4
    assert bar("k1_row_sum_f32x768") == 1 / 2
    assert bar("k1_row_max_sub_exp_bf16x64") == bar("k1_contraction_dot_general_gelu_bwd_bf16x64_activation") == 1
    assert bar("k1_row_sum_f32x768", "ex2.approx.ftz.f32 %f1, %f2;") == 1
    assert bar("k1_row_sum_f32x768", "mul.lo.s64 %rd1, %rd2, 3528531795;") == 1.5
    assert bar("k1_row_expand_f32x768") == 1 / 2
    assert bar("k1_new_family_f32x768") == 1


def test_limit_of_a_data_sheet():
    assert device_kernels.issue_limit("H200") == pytest.approx(111.7, abs=0.1)
    assert device_kernels.issue_limit("B200") == pytest.approx(80)
    for unknown in ("H201", "GB300"):  # of GB300 no f32 rate is known
        with pytest.raises(SystemExit, match=rf"expected --gpu= one of .*H200.*; got '{unknown}'"):
            device_kernels.issue_limit(unknown)


def test_faults_name_figure_and_bar():
    kernel = device_kernels.Kernel("k1_row_sum_f32x4", registers=129, spilled=20, shared=50000,
                                   counts=sass.Counts(moved=16, widest=16, instructions=57))
    assert device_kernels.faults(kernel, 112) == [
        "spills 20 bytes, expected at most 16", "has 129 registers, expected at most 128",
        "has 50000 bytes of shared memory, expected at most 49152",
        "takes 57.0 issue slots per 16 bytes, expected at most 56.0"]
    kernel = device_kernels.Kernel("k1_row_sum_f32x4", registers=128, spilled=16, shared=49152,
                                   counts=sass.Counts(moved=16, widest=16, instructions=56))
    assert device_kernels.faults(kernel, 112) == []
    # Narrow accesses never reach the bandwidth, and have no figure.
    narrow = sass.Counts(moved=8, widest=8, instructions=500)
    assert device_kernels.Kernel("k1_row_sum_f32x4", counts=narrow).slots is None


def made_ptx(additions: int) -> str:
    """A kernel that copies 16 bytes a thread, after so many additions."""
    added = "add.rn.f32 %f1, %f1, %f2;\n" * additions
    return f"""
.version 7.8
.target sm_90
.address_size 64
.visible .entry k0_rope_made_f32x4(.param .u64 p)
.maxntid 256, 1, 1
{{
.reg .b32 %r<4>;
.reg .f32 %f<5>;
.reg .b64 %rd<4>;
ld.param.u64 %rd1, [p];
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %tid.x;
mad.lo.u32 %r3, %r1, 256, %r2;
mul.wide.u32 %rd2, %r3, 16;
add.u64 %rd3, %rd1, %rd2;
ld.global.v4.f32 {{%f1, %f2, %f3, %f4}}, [%rd3];
{added}
st.global.v4.f32 [%rd3], {{%f1, %f2, %f3, %f4}};
ret;
}}
"""


def run(path: pathlib.Path, *options: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, TOOLS / "device_kernels.py", path, *options], capture_output=True, text=True)


needs_tools = pytest.mark.skipif(not device_kernels.find_tool("ptxas") or not device_kernels.find_tool("nvdisasm"),
                                 reason="there is no ptxas or no nvdisasm")


@needs_tools
def test_strict_of_machine_code(tmp_path):
    made = tmp_path / "made.ptx"
    made.write_text(made_ptx(additions=10))
    assert run(made, "--strict").returncode == 0
    made.write_text(made_ptx(additions=200))
    done = run(made, "--strict")
    assert done.returncode == 1
    assert "error: kernel 'k0_rope_made_f32x4' takes 10" in done.stderr
    assert "issue slots per 16 bytes, expected at most 27.9" in done.stderr
    assert run(made).returncode == 0
    assert "| k0_rope_made_f32x4 | 10" in run(made, "--markdown").stdout


@needs_tools
def test_strict_spares_a_gpu_with_slots_to_spare(tmp_path):
    made = tmp_path / "made.ptx"
    made.write_text(made_ptx(additions=200))
    assert run(made, "--strict", "--gpu=RTX 4090").returncode == 0


def test_strict_needs_the_tools(tmp_path):
    made = tmp_path / "made.ptx"
    made.write_text(made_ptx(additions=10))
    done = run(made, "--strict", "--nvdisasm=")
    assert done.returncode == 1
    assert "error: expected nvdisasm, found none; run tools/setup.sh, or name them by --nvdisasm=PATH" in \
        done.stderr.replace("ptxas and ", "").replace("--ptxas=PATH ", "")
    done = run(made, "--ptxas=/nowhere/ptxas")
    assert done.returncode == 1
    assert "error: /nowhere/ptxas: No such file or directory" in done.stderr
