"""What tools/gpu_run.py and its modules make of results, and tools/gpu_page.py of those: with results that are made up."""

import array
import json
import pathlib
import subprocess
import sys
import time

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

import gpu_cases  # noqa: E402
import gpu_causes  # noqa: E402
import gpu_host  # noqa: E402
import gpu_page  # noqa: E402
import gpu_process  # noqa: E402
import gpu_run  # noqa: E402


# ---- Processes -------------------------------------------------------------------------------------------------------


def test_a_process_ends_with_all_it_started():
    start = time.monotonic()
    with pytest.raises(gpu_process.Failure, match="took more than 1 s"):
        gpu_process.execute(["sh", "-c", "sleep 60 & sleep 60"], 1)
    assert time.monotonic() - start < 20


def test_the_last_line_says_why_a_process_failed():
    with pytest.raises(gpu_process.Failure, match="^exit code 3: error: no GPU$"):
        gpu_process.execute(["sh", "-c", "echo warning >&2; echo error: no GPU >&2; exit 3"], 20)


def test_libraries_of_python_packages_are_found(tmp_path, monkeypatch):
    (tmp_path / "nvidia" / "cudnn" / "lib").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("LD_LIBRARY_PATH", "/first")
    assert gpu_process.execute(["sh", "-c", "echo $LD_LIBRARY_PATH"], 20).startswith(f"/first:{tmp_path}/nvidia/cudnn/lib")


def write_tensors(path, tensors):
    header, data = {}, b""
    for name, values in tensors.items():
        raw = array.array("f", values).tobytes()
        header[name] = {"dtype": "F32", "shape": [len(values)], "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def test_gradients_that_differ_most_come_first(tmp_path, monkeypatch):
    theirs = {"grad.a": [1.0, 2.0], "grad.b": [3.0, 4.0], "grad.c": [1.0]}
    write_tensors(tmp_path / "step1.safetensors", theirs)
    monkeypatch.setattr(gpu_process, "WORK", tmp_path / "work")

    def train(place, steps, seconds, *more):
        folder = pathlib.Path(more[1])
        folder.mkdir(parents=True)
        write_tensors(folder / "step1.safetensors", theirs | {"grad.b": [3.0, 4.5], "grad.c": [float("nan")]})

    monkeypatch.setattr(gpu_process, "train", train)
    rows = gpu_causes.compare_gradients(tmp_path, 10)
    assert [row["tensor"] for row in rows] == ["grad.c", "grad.b", "grad.a"]
    assert rows[0]["difference"] == float("inf") and rows[1]["difference"] == pytest.approx(0.1)


FACTS = {"losses": [4.0, 3.0, 2.0], "precision": "fp32", "model": "gpt2", "settings": {"width": 64}, "batch": 1,
         "sequence": 8, "kind": "check", "steps": 3, "options": []}


def make_program(folder, monkeypatch, script):
    monkeypatch.setattr(gpu_process, "WORK", folder)
    monkeypatch.setattr(gpu_causes.shutil, "which", lambda _: None)
    (folder / "train").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "train").chmod(0o755)


def test_a_failed_case_runs_again_in_other_ways(tmp_path, monkeypatch):
    """A program that fails, and names a launch only where the libraries write logs."""
    make_program(tmp_path, monkeypatch, 'echo "error: function step" >&2; echo "error: no launch" >&2; exit 1')
    cause = gpu_causes.find_cause(tmp_path, FACTS, {}, 60)
    assert cause["cause"] == "not found"
    assert cause["library logs"]["stderr"] == "error: function step\nerror: no launch\n"
    assert "memory checked" not in cause


def test_a_launch_that_is_wrong_is_the_cause(tmp_path, monkeypatch):
    make_program(tmp_path, monkeypatch, 'echo "error: launch 3 of step, gelu" >&2; exit 1')
    compared = gpu_run.compare_launches(tmp_path, FACTS, 20)
    assert compared["wrong"] == "launch 3 of step, gelu" and not compared["ok"]
    assert gpu_causes.find_cause(tmp_path, FACTS, {"launches": compared}, 60) == {"cause": "launch 3 of step, gelu"}
    assert "skipped" in gpu_run.compare_launches(tmp_path, FACTS | {"settings": {}}, 20)


def test_a_comparison_that_fails_itself_says_so(tmp_path, monkeypatch):
    make_program(tmp_path, monkeypatch, 'echo "error: --compare-launches: the program holds no code" >&2; exit 1')
    with pytest.raises(gpu_process.Failure, match="holds no code"):
        gpu_run.compare_launches(tmp_path, FACTS, 20)


def test_slots_that_fail_are_the_cause(tmp_path, monkeypatch):
    make_program(tmp_path, monkeypatch, "exit 1")
    case = {"smoke": {"failed": {"slots": "inputs of run 5"}}, "launches": {"wrong": "launch 1 of step"}}
    assert gpu_causes.find_cause(tmp_path, FACTS, case, 60) == {"cause": "inputs of run 5"}


def test_a_launch_that_ends_the_program_is_the_cause(tmp_path, monkeypatch):
    make_program(tmp_path, monkeypatch, 'echo "error: launch gelu at model.py:3: illegal address" >&2; exit 1')
    assert gpu_causes.find_cause(tmp_path, FACTS, {}, 60)["cause"] == "launch gelu at model.py:3: illegal address"


def test_losses_right_launch_by_launch_blame_the_graph(tmp_path, monkeypatch):
    """A program whose losses are right where each launch is waited for."""
    make_program(tmp_path, monkeypatch, """while [ "$1" != --log ]; do shift; done
good='{"loss": 4.0}\n{"loss": 3.0}\n{"loss": 2.0}\n'
bad='{"loss": 4.0}\n{"loss": 4.0}\n{"loss": 4.0}\n'
if [ -n "$HONE_CHECK_LAUNCHES" ]; then printf "$good" > "$2"; else printf "$bad" > "$2"; fi""")
    cause = gpu_causes.find_cause(tmp_path, FACTS, {}, 60)
    assert cause["cause"] == "graph: losses are right launch by launch; wrong as a graph"


def test_smoke_says_what_failed_and_what_is_absent(tmp_path, monkeypatch):
    trials = {"trials": [{"name": "start", "ok": True, "seconds": 1.0},
                         {"name": "products", "ok": False, "seconds": 2.0, "error": "product b: 1 is 2",
                          "rows": {"a": "ok", "b": "1 is 2", "c": "absent"}}]}
    make_program(tmp_path, monkeypatch, f"echo '{json.dumps(trials)}'; exit 1")
    assert gpu_run.smoke(tmp_path, FACTS, 20) == {
        "ok": False, "failed": {"products": "product b: 1 is 2"}, "absent": ["c"], "rows": {"b": "1 is 2"},
        "trials": {"start": 1.0, "products": 2.0}}
    make_program(tmp_path, monkeypatch, "echo error: no GPU >&2; exit 1")
    with pytest.raises(gpu_process.Failure, match="^exit code 1: error: no GPU$"):
        gpu_run.smoke(tmp_path, FACTS, 20)


# ---- Kernels ---------------------------------------------------------------------------------------------------------


def event(name, family, ms, **arguments):
    return {"name": name, "cat": family, "ph": "X", "dur": 1e3 * ms, "args": arguments}


def test_kernels_are_summed_by_family_op_and_place():
    trace = {"traceEvents": [
        event("reduce blocks/0", "row", 1.0, bytes=3_000_000, flops=100, tensor_cores=False),
        # A group of two launches: its bytes count once.
        event("reduce blocks/1", "row", 0.5, bytes=3_000_000, flops=100, launches=2, tensor_cores=False),
        event("reduce blocks/1", "row", 0.5, bytes=3_000_000, flops=100, launches=2, tensor_cores=False),
        event("dot_general head", "contraction", 4.0, bytes=8_000, flops=4_000_000_000, tensor_cores=True),
        event("zero", "", 0.1),
        event("idle", "idle", 7.0, after="zero", before="zero"),
        {"name": "thread_name", "ph": "M", "args": {"name": "launches"}},
    ]}
    product, norm, zero = gpu_run.sum_kernels(trace)
    assert (product["kind"], norm["kind"], zero["kind"]) == ("contraction: dot_general head", "row: reduce blocks/*", "other: zero")
    assert norm["launches"] == 3 and norm["gb_per_s"] == pytest.approx(3.0)
    assert product["tflops"] == pytest.approx(1.0) and product["tensor_cores"] is True
    assert zero["gb_per_s"] == 0


class MadeUpDriver:
    """libcuda.so.1 as far as a copy needs it: each takes half a millisecond."""

    def __init__(self, failing=None):
        self.calls, self.failing = [], failing

    def __getattr__(self, name):
        def call(*arguments):
            self.calls.append(name)
            if name == "cuEventElapsedTime":
                arguments[0]._obj.value = 0.5
            return 2 if name == self.failing else 0

        return call


def test_a_copy_counts_reads_and_writes(monkeypatch):
    library = MadeUpDriver()
    monkeypatch.setattr(gpu_host.ctypes, "CDLL", lambda _: library)
    copy = gpu_host.measure_copy(size=10**9, times=5)
    assert copy["bytes"] == 2 * 10**9 and copy["gb_per_s"] == pytest.approx(4000)
    assert library.calls.count("cuMemFree_v2") == 2 and library.calls[-1] == "cuDevicePrimaryCtxRelease_v2"


def test_a_copy_that_fails_says_why(monkeypatch):
    monkeypatch.setattr(gpu_host.ctypes, "CDLL", lambda _: MadeUpDriver("cuMemAlloc_v2"))
    assert gpu_host.measure_copy() == {"error": "cuMemAlloc_v2: CUDA error 2"}


def test_bytes_are_read_from_info():
    info = "memory plan\n  parameters      1000 bytes  1000 B\n  arena (peak)             4096 bytes  4.00 KiB\n"
    assert gpu_run.bytes_in(info, "arena (peak)") == 4096
    assert gpu_run.bytes_in(info, "library workspace") == 0


def test_nccl_is_tried_where_it_was_packed(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_process, "HERE", tmp_path)
    assert gpu_host.probe_nccl() == {"skipped": "not packed"}
    probe = tmp_path / "hone-probe-nccl"
    probe.write_text("#!/bin/sh\necho a GPU\necho joined\n")
    probe.chmod(0o755)
    assert gpu_host.probe_nccl() == {"ok": True, "works": ["a GPU", "joined"]}
    probe.write_text("#!/bin/sh\necho error: no NCCL >&2\nexit 1\n")
    assert gpu_host.probe_nccl() == {"ok": False, "error": "exit code 1: error: no NCCL"}


def test_expected_milliseconds_stand_beside_measured_ones():
    kernels = [{"kind": "row: reduce a", "ms": 3.0}, {"kind": "row: reduce b", "ms": 1.0}, {"kind": "rope: r", "ms": 0.01}]
    case = {"estimate": {"row": 2.0, "rope": 0.02}, "kernels": {"kernels": kernels}}
    assert gpu_page.estimate_rows({"c": case}) == [["c", "row", "2.00", "4.00", "2.00"], ["c", "all", "2.02", "4.01", "1.99"]]
    assert gpu_page.estimate_rows({"c": {"kernels": {"kernels": kernels}}}) == []


def test_a_peer_is_compared_with_a_rate_of_the_same_time(monkeypatch, tmp_path):
    monkeypatch.setattr(gpu_run, "measure_rate", lambda *_: {"ms": 40.0})
    monkeypatch.setattr(gpu_run, "ask_peer", lambda *_: {"ms": 60.0, "tokens_per_second": 500_000.0})
    peer = gpu_run.TASKS["torch reduce-overhead"](tmp_path, {}, 60)
    case = {"rate": {"ms": 50.0}, "torch reduce-overhead": peer, "jax": {"error": "exit code 1: a | b"}}
    assert gpu_page.peer_rows({"c": case}) == [["c", "torch reduce-overhead", "500,000 (**1.50**)", "60.0", "-"],
                                               ["c", "jax", "failed: exit code 1: a / b", "", ""]]


# ---- Runs ------------------------------------------------------------------------------------------------------------


def facts_of(name):
    from dataclasses import asdict

    return {"name": name, **asdict(gpu_cases.CASES[name]), "arch": "sm_90", "emulated": False, "losses": [5.0]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A packed folder whose tasks are functions of this test, on a host with both peers."""
    for name in ("gpt2-tiny-fp32", "gpt2-124m", "gpt2-1.5b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "case.json").write_text(json.dumps(facts_of(name)))
    monkeypatch.setattr(gpu_process, "HERE", tmp_path)
    monkeypatch.setattr(gpu_process, "WORK", tmp_path / "work")
    host = {"date": "2000-01-01 00:00", "host": "x", "gpu": "Made-up GPU", "driver": "1.0", "memory": "1 MiB", "torch": "2", "jax": "1", "llm.c": None}
    monkeypatch.setattr(gpu_host, "describe_host", lambda: dict(host))
    monkeypatch.setattr(gpu_host, "measure_copy", lambda: {"bytes": 8, "gb_per_s": 4000.0})
    calls = []
    kernels = [{"kind": "row: reduce ln_f", "ms": 2.0, "launches": 4, "bytes": 6e6, "flops": 1.0, "tensor_cores": False,
                "gb_per_s": 3000.0, "tflops": None}]
    answers = {
        "losses": {"worst": 1e-6, "bound": 1e-4, "repeats": True, "ok": True, "losses": [5.0]},
        "rate": {"ms": 50.0, "tokens_per_second": 600_000.0, "mfu": 0.5, "peak_bytes": 2**34, "losses": [5.0]},
        "kernels": {"libraries": "cuBLASLt 13.0.0", "kernels": kernels},
        "torch reduce-overhead": {"ms": 60.0, "tokens_per_second": 500_000.0, "version": "2", "peak_bytes": 2**35},
        "torch max-autotune": {"ms": 55.0, "tokens_per_second": 550_000.0, "version": "2", "peak_bytes": 2**35},
        "torch eager": {"ms": 90.0, "tokens_per_second": 300_000.0, "version": "2", "peak_bytes": 2**35},
        "llm.c": {"ms": 65.0, "tokens_per_second": 450_000.0, "peak_bytes": 2**35},
        "jax": {"ms": 75.0, "tokens_per_second": 400_000.0, "version": "1", "peak_bytes": 0},
        "torch losses": {"worst": 1e-5, "bound": 1e-4, "ok": True, "losses": [5.0]},
    }

    def task(name):
        def work(place, facts, seconds):
            calls.append((place.name, name))
            return dict(answers[name])

        return work

    monkeypatch.setattr(gpu_run, "TASKS", {name: task(name) for name in answers})
    return tmp_path, calls


def test_what_tells_most_runs_first(folder):
    place, calls = folder
    assert gpu_run.run(place / "result.json", 8, None) == 0
    assert calls[:8] == [("gpt2-tiny-fp32", "losses"), ("gpt2-124m", "rate"), ("gpt2-124m", "kernels"),
                         ("gpt2-1.5b", "rate"), ("gpt2-1.5b", "kernels"), ("gpt2-tiny-fp32", "torch losses"),
                         ("gpt2-124m", "torch reduce-overhead"), ("gpt2-1.5b", "torch reduce-overhead")]
    # No llm.c is at hand.
    assert [task for _, task in calls[8:14:2]] == ["jax", "torch eager", "torch max-autotune"]
    assert len(calls) == len(set(calls)) == 16


def test_a_run_goes_on_where_one_ended(folder):
    place, calls = folder
    result = place / "result.json"
    assert gpu_run.run(result, 8, ["gpt2-124m"]) == 0
    first = len(calls)
    gpu_run.TASKS["rate"] = lambda *_: pytest.fail("was done before")
    gpu_run.run(result, 8, ["gpt2-124m", "gpt2-tiny-fp32"])
    assert calls[first:] == [("gpt2-tiny-fp32", "losses"), ("gpt2-tiny-fp32", "torch losses")]
    assert set(json.loads(result.read_text())["cases"]) == {"gpt2-124m", "gpt2-tiny-fp32"}


def test_results_of_another_gpu_are_not_gone_on_with(folder, monkeypatch):
    place, calls = folder
    gpu_run.run(place / "result.json", 8, ["gpt2-tiny-fp32"])
    other = gpu_host.describe_host() | {"gpu": "Another GPU"}
    monkeypatch.setattr(gpu_host, "describe_host", lambda: other)
    gpu_run.run(place / "result.json", 8, ["gpt2-tiny-fp32"])
    assert len(calls) == 4


def test_minutes_that_are_over_skip_and_say_so(folder):
    place, calls = folder
    assert gpu_run.run(place / "result.json", 0, None) == 0
    case = json.loads((place / "result.json").read_text())["cases"]["gpt2-124m"]
    assert case["rate"]["skipped"] == "no time left" and not calls


def test_a_failed_task_leaves_the_others(folder):
    place, calls = folder

    def fails(*_):
        raise gpu_process.Failure("took more than 90 s")

    gpu_run.TASKS["rate"] = fails
    assert gpu_run.run(place / "result.json", 8, None) == 1
    cases = json.loads((place / "result.json").read_text())["cases"]
    assert cases["gpt2-124m"]["rate"]["error"] == "took more than 90 s"
    assert cases["gpt2-124m"]["jax"]["ms"] == 75.0


def test_a_peer_that_crashes_leaves_the_others_and_comes_last_again(folder):
    place, calls = folder
    works = gpu_run.TASKS["torch reduce-overhead"]

    def crashes(*_):
        gpu_process.execute(["sh", "-c", "echo an illegal memory access was encountered >&2; kill -ABRT $$"], 20)

    gpu_run.TASKS["torch reduce-overhead"] = crashes
    assert gpu_run.run(place / "result.json", 8, ["gpt2-124m"]) == 0
    case = json.loads((place / "result.json").read_text())["cases"]["gpt2-124m"]
    assert case["torch reduce-overhead"]["error"] == "exit code -6: an illegal memory access was encountered"
    assert case["jax"]["ms"] == 75.0 and case["torch max-autotune"]["ms"] == 55.0
    del calls[:]
    gpu_run.TASKS["torch reduce-overhead"] = works
    gpu_run.run(place / "result.json", 8, ["gpt2-124m", "gpt2-1.5b"])
    assert calls[-1] == ("gpt2-124m", "torch reduce-overhead") and ("gpt2-1.5b", "jax") in calls


def test_losses_too_far_are_not_as_expected(folder):
    place, _ = folder
    gpu_run.TASKS["losses"] = lambda *_: {"worst": 1.0, "bound": 1e-4, "repeats": True, "ok": False, "losses": []}
    assert gpu_run.run(place / "result.json", 8, None) == 1


# ---- The page --------------------------------------------------------------------------------------------------------


def test_a_page_without_results_says_so(tmp_path):
    text = gpu_page.page(tmp_path)
    assert "**Nothing has run on a GPU yet**" in text
    assert all(f"| {name} |" in text for name in gpu_cases.CASES)


def test_a_page_quotes_results(folder):
    place, _ = folder
    results = place / "results"
    results.mkdir()
    gpu_run.TASKS["jax"] = lambda *_: {"skipped": "no time left"}
    gpu_run.run(results / "made-up.json", 8, ["gpt2-tiny-fp32", "gpt2-124m"])
    text = gpu_page.page(results)
    assert "Nothing has run" not in text
    assert "## Made-up GPU, 2000-01-01 00:00" in text and "cuBLASLt 13.0.0" in text
    assert "| gpt2-tiny-fp32 | fp32 | the CPU target | 1.0e-06 | 1e-04 | yes |" in text
    assert "| gpt2-124m | 64 x 1024 | bf16 | 600,000 | 50.0 | - | 50.0 % | 16.0 | - |" in text
    assert "| gpt2-124m | torch reduce-overhead | 500,000 (**1.20**) | 60.0 | 32.0 |" in text
    assert "| jax |" not in text  # there was no time for it
    assert "| row: reduce ln_f | 4 | 2.00 | 100.0 % | 3000 | 75 % | - | no |" in text
    left = text.split("## What has no result on hardware")[1]
    assert "| gpt2-1.5b |" in left and "| gpt2-124m |" not in left


def test_an_emulated_result_is_none(folder):
    place, _ = folder
    results = place / "results"
    results.mkdir()
    case = facts_of("gpt2-tiny-fp32") | {"emulated": True}
    (place / "gpt2-tiny-fp32" / "case.json").write_text(json.dumps(case))
    gpu_run.run(results / "made-up.json", 8, None)
    with pytest.raises(ValueError, match="made-up.json: was made without a GPU, expected results of hardware"):
        gpu_page.page(results)


# ---- llm.c -----------------------------------------------------------------------------------------------------------

LLMC = r"""#!/usr/bin/env python3
import array, pathlib, sys
flags = dict(zip(sys.argv[1::2], sys.argv[2::2]))
data = pathlib.Path(flags["-i"]).read_bytes()
header = array.array("i", data[:1024])
assert list(header[:3]) == [20240520, 1, 2000] and len(data) == 1024 + 2 * 2000, header[:3]
assert (flags["-e"], flags["-b"], flags["-t"], flags["-d"]) == ("d12", "64", "1024", "65536"), flags
print("device memory usage: 1024 MiB / 2048 MiB")
for step in range(1, int(flags["-x"]) + 1):
    ms = 900.0 if step <= 8 else 65.5
    print(f"step {step:4d}/24 | loss 9.1 (+nanz)| norm 1.0 (+nanz)| lr 6.00e-04 | {ms:.2f} ms | 40.0% bf16 MFU | 1000000 tok/s")
"""


def test_llmc_is_asked_where_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_process, "WORK", tmp_path)
    monkeypatch.delenv("HONE_LLMC", raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert gpu_host.find_llmc() is None
    program = tmp_path / "llmc"
    program.write_text(LLMC)
    program.chmod(0o755)
    monkeypatch.setenv("HONE_LLMC", str(program))
    (tmp_path / "tokens.bin").write_bytes(bytes(4000))
    facts = facts_of("gpt2-124m")
    answer = gpu_run.llmc_rate(tmp_path, facts, 20)
    assert answer == {"ms": 65.5, "tokens_per_second": pytest.approx(65536 / 0.0655), "peak_bytes": 2**30}
    program.write_text("#!/bin/sh\necho step 1/24\n")
    with pytest.raises(gpu_process.Failure, match="printed 0 steps, expected 24"):
        gpu_run.llmc_rate(tmp_path, facts, 20)


def test_llmc_trains_gpt2_only():
    cases = {name: facts_of(name) for name, case in gpu_cases.CASES.items() if case.kind == "rate"}
    asked = [name for name, task in gpu_run.plan(cases) if task == "llm.c"]
    assert asked == ["gpt2-124m", "gpt2-124m-32", "gpt2-1.5b", "gpt2-350m", "gpt2-774m"]
    compared = [name for name in cases
                if name != "gpt2-124m-deterministic" and gpu_cases.CASES[name].has_peers]  # PyTorch does not train in fp8
    assert [name for name, task in gpu_run.plan(cases) if task == "jax"] == compared  # Llama too


def test_branches_are_compared_with_one_stream(folder, monkeypatch):
    place, _ = folder
    asked = []

    def train(place, steps, seconds, *more, variables=None, before=()):
        asked.append(variables)
        return [{"loss": 1.0, "ms": 4.0 if variables else 5.0}], ""

    monkeypatch.setattr(gpu_process, "train_with_stderr", train)
    monkeypatch.setattr(gpu_process, "execute", lambda *_: "")
    facts = facts_of("gpt2-124m")
    answer = gpu_run.compare_branches(place, facts, 60)
    assert asked == [None, {"HONE_PARALLEL_BRANCHES": "1"}]
    assert answer == {"ours_ms": 5.0, "ms": 4.0, "tokens_per_second": pytest.approx(65536 / 0.004)}
    cases = {name: facts_of(name) for name, case in gpu_cases.CASES.items() if case.kind == "rate"}
    assert ("gpt2-124m", gpu_run.BRANCHES) in gpu_run.plan(cases)
    assert ("gpt2-124m-deterministic", gpu_run.BRANCHES) not in gpu_run.plan(cases)
    rows = gpu_page.peer_rows({"c": {"rate": {"ms": 5.0}, gpu_run.BRANCHES: answer}})
    assert rows[0][:4] == ["c", "HONE_PARALLEL_BRANCHES", "16,384,000 (**0.80**)", "4.0"]


def test_deterministic_runs_have_equal_bits(folder, monkeypatch):
    place, _ = folder
    case = facts_of("gpt2-124m-deterministic")
    flags, losses = [], iter([1.0, 1.0, 1.0, 1.5])

    def train(place, steps, seconds, *more):
        flags.append(more)
        return [{"loss": next(losses), "ms": 5.0}]

    monkeypatch.setattr(gpu_process, "train", train)
    monkeypatch.setattr(gpu_process, "execute", lambda *_: "")
    assert gpu_run.measure_rate(place, case, 60)["ok"]
    assert not gpu_run.measure_rate(place, case, 60)["repeats"]
    assert flags == [("--deterministic",)] * 4


# ---- Packing ---------------------------------------------------------------------------------------------------------


def test_an_archive_that_is_too_large_is_an_error(tmp_path, monkeypatch, capsys):
    import argparse
    import random

    import gpu_check

    def pack_case(name, arguments, work):
        (arguments.folder / "made-up").write_bytes(random.Random(1).randbytes(2 << 20))

    monkeypatch.setattr(gpu_check, "pack_case", pack_case)
    arguments = argparse.Namespace(folder=tmp_path / "folder", only=["gpt2-tiny-fp32"], emulate=True, arch="sm_90",
                                   archive=True)
    assert gpu_check.pack(arguments) == 0
    monkeypatch.setattr(gpu_check, "LARGEST_MIB", 1)
    assert gpu_check.pack(arguments) == 1
    assert "MiB, expected 1 at most (--only leaves cases out)" in capsys.readouterr().err


# ---- JAX -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gpt2-tiny-fp32", "gpt2-tiny-bf16", "llama-tiny-bf16"])
def test_the_jax_peer_learns(name):
    pytest.importorskip("jax")
    import jax_peer

    case = gpu_cases.CASES[name]
    step = jax_peer.jax_step(case.padded, case.vocab)
    losses = [float(step()) for _ in range(5)]
    assert losses[0] == pytest.approx(5.77, abs=0.1)  # log of the vocabulary, of untrained weights
    assert losses == sorted(losses, reverse=True)


def start_ranks(count: int, script: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, TOOLS / "gpu_ranks.py", str(count), "sh", "-c", script],
                          capture_output=True, text=True, timeout=60)


def test_ranks_get_the_variables_of_torchrun():
    done = start_ranks(2, 'echo "$RANK $LOCAL_RANK of $WORLD_SIZE at $MASTER_ADDR"')
    assert sorted(done.stdout.splitlines()) == ["0 0 of 2 at 127.0.0.1", "1 1 of 2 at 127.0.0.1"]
    assert done.returncode == 0


def test_a_rank_that_fails_ends_the_others():
    assert start_ranks(2, 'if [ "$RANK" = 1 ]; then exit 3; fi; exec sleep 50').returncode == 3


def test_a_curve_is_compared_by_its_end():
    case = gpu_cases.CASES["llama-tiny-curve-bf16"]
    assert case.difference([9.0] * 270 + [2.0] * 30, [5.0] * 270 + [2.0] * 30) == 0
    assert case.difference([5.0] * 270 + [2.2] * 30, [5.0] * 270 + [2.0] * 30) == pytest.approx(0.1)
