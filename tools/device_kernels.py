"""What the kernels of a program for a GPU are made of, by its PTX (`honec --target=cuda --emit=ptx`).

    device_kernels.py FILE.ptx [--ptxas=PATH] [--nvdisasm=PATH] [--arch=sm_90] [--gpu=H200] [--strict] [--markdown]

A row per kernel: instructions in its text, accesses to global memory by bytes per thread; where there is a `ptxas`,
registers of a thread, bytes that it spills, and shared memory of a block; and where there is an `nvdisasm` too, machine
instructions and issue slots per 16 bytes that a thread moves, which sass.py estimates. With --markdown, a table for a
page instead.

A kernel is bound by issue where its instructions take longer than its bytes. A multiprocessor has four schedulers, each
of which starts one instruction of a warp of 32 threads per clock, and as many lanes for FMAs, which a data sheet counts
as two operations. So a sheet (runtime/lib/base/DataSheet.h) gives the slots that pass while memory moves 16 bytes:

    limit = (f32 / 2) / (bandwidth / 16)        H200: (67e12 / 2) / (4.8e12 / 16) = 112

What was measured says nearly the same: 132 x 4 x 32 slots x 1.7 GHz, against copies of 4.2 TB/s, are 109. (A100 and A30
have half the lanes: of them the formula gives half the limit.) Above the limit a kernel cannot reach the bandwidth.
Below it, it need not: latency, barriers and too few warps are not in the figure.

With --strict, it is an error if a kernel takes more slots than its bar, a share of the limit by what it computes; if it
spills more than 16 bytes, or has more than 128 registers or 48 KiB of shared memory.
"""

from __future__ import annotations

import argparse
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

import sass

ROOT = pathlib.Path(__file__).resolve().parents[1]
# ptxas stores and loads a word or two to fit one more block on a multiprocessor.
MOST_REGISTERS, MOST_SPILLED, MOST_SHARED = 128, 16, 48 * 1024
ENTRY = re.compile(r"\.entry (\w+)\(.*?\n\{(.*?)\n\}", re.S)
ACCESS = re.compile(r"(ld|st)\.(?:global\.)?(?:nc\.)?(?:v(\d)\.)?[busf](\d+)$")
WIDTHS = (16, 8, 4, 2, 1)

# Bars, as shares of the limit. Figures in slots are those of the models of docs/benchmarks/gpu/kernels.md.
BARS = {
    "data_movement": 1 / 4,  # computes addresses only: 6
    "gather": 1 / 4,  # additions in f32, after addresses from a list: 6 to 9
    "rope": 1 / 4,  # two products and a sum per element: 13
    "multi_tensor": 1 / 4,  # an update has a root and a quotient per 28 bytes: 7 to 23
    "row": 1 / 2,  # bf16 is converted, and shuffles and barriers end each row: 6 to 38
    "column": 1 / 2,
    "map": 1 / 2,
    "contraction": 1 / 2,  # what cuBLASLt's epilogue would do, without a function
}
OTHER_FAMILY = 1.0
# exp and tanh are ten instructions or so per element, log and erf twice as many, for 2 bytes of bf16 read and 2
# written: 39 to 72, erf 110. At 69 slots such a kernel reached 94 % of the bandwidth of a copy.
FUNCTION_BAR = 1.0
FUNCTIONS = re.compile(r"_(exp|expm1|log|log1p|gelu|logistic|tanh|erf|sin|cos|atan|pow|softmax)(_|$)")
# Ten rounds of Philox for four elements are bound by issue, whatever surrounds them: 61 to 156.
RANDOM_BAR = 1.5
PHILOX_FACTOR = re.compile(r"\b(3528531795|-766435501)\b")


@dataclass
class Kernel:
    name: str
    instructions: int = 0
    loads: collections.Counter[int] = field(default_factory=collections.Counter)  # by bytes
    stores: collections.Counter[int] = field(default_factory=collections.Counter)
    functions: bool = False
    random: bool = False
    registers: int | None = None
    spilled: int | None = None
    shared: int | None = None
    counts: sass.Counts | None = None

    @property
    def slots(self) -> float | None:
        """Per 16 bytes moved. None of a kernel without vectors: its accesses are too few or too narrow to ask for the
        bandwidth of memory."""
        return self.counts.slots_per_16 if self.counts and self.counts.widest >= 16 else None

    @property
    def bar(self) -> float:
        """Of the slots, as a share of the limit."""
        if self.random:
            return RANDOM_BAR
        if self.functions:
            return FUNCTION_BAR
        match = re.match(rf"k\d+_({'|'.join(BARS)})_", self.name)
        return BARS[match[1]] if match else OTHER_FAMILY


def read_kernel(name: str, body: str) -> Kernel:
    kernel = Kernel(name, random=PHILOX_FACTOR.search(body) is not None,
                    functions="ex2.approx" in body or FUNCTIONS.search(name) is not None)
    for line in map(str.strip, body.splitlines()):
        if not line or line.startswith((".", "//", "{", "}")) or line.endswith(":"):
            continue
        words = line.split()
        instruction = words[1] if words[0].startswith("@") else words[0]
        kernel.instructions += 1
        if match := ACCESS.match(instruction.rstrip(";")):
            kind, elements, bits = match.groups()
            accesses = kernel.loads if kind == "ld" else kernel.stores
            accesses[int(elements or 1) * int(bits) // 8] += 1
    return kernel


def read_kernels(ptx: str) -> list[Kernel]:
    return [read_kernel(*match.groups()) for match in ENTRY.finditer(ptx)]


def find_tool(name: str) -> str | None:
    """Of the CUDA toolkit: what HONE_PTXAS or HONE_NVDISASM names, else what tools/setup.sh installed, else the one on
    PATH or of CUDA's usual place. (For honec, findAssembler does the same.)"""
    if named := os.environ.get(f"HONE_{name.upper()}"):
        return shutil.which(named)
    path = [str(ROOT / ".venv/bin"), os.environ.get("PATH", os.defpath), "/usr/local/cuda/bin"]
    return shutil.which(name, path=os.pathsep.join(path))


def run_tool(command: list[str | pathlib.Path]) -> subprocess.CompletedProcess[str]:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise SystemExit(f"error: {command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).splitlines()
        raise SystemExit(f"error: {command[0]}: {said[0] if said else f'exit code {done.returncode}'}")
    return done


def assemble(path: pathlib.Path, kernels: list[Kernel], ptxas: str, nvdisasm: str | None, arch: str) -> None:
    """Adds what the assembler says, and what its machine code shows."""
    by_name = {kernel.name: kernel for kernel in kernels}
    with tempfile.TemporaryDirectory() as folder:
        code = pathlib.Path(folder) / "code"
        said = run_tool([ptxas, "-v", "-O3", f"-arch={arch}", "-o", code, path]).stderr
        text = run_tool([nvdisasm, "-c", code]).stdout if nvdisasm else ""
    for name, counts in sass.count_kernels(text).items():
        by_name[name].counts = counts
    current = None
    for line in said.splitlines():
        if match := re.search(r"Compiling entry function '(\w+)'", line):
            current = by_name[match[1]]
        elif match := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            current.spilled = int(match[1]) + int(match[2])
        elif match := re.search(r"Used (\d+) registers", line):
            current.registers = int(match[1])
            smem = re.search(r"(\d+) bytes smem", line)
            current.shared = int(smem[1]) if smem else 0


def issue_limit(gpu: str) -> float:
    """Issue slots that pass while the GPU's memory moves 16 bytes."""
    header = ROOT / "runtime/lib/base/DataSheet.h"
    rows = re.findall(r'^ *\{"([^"]+)", *([^{}]+)\},', header.read_text(), re.M)
    sheets = {model: tuple(map(float, values.split(",")[2:4])) for model, values in rows}
    if not sheets.get(gpu, (0, 0))[0]:
        known = ", ".join(model for model, (f32, _) in sheets.items() if f32)
        raise SystemExit(f"error: expected --gpu= one of {known}; got '{gpu}'")
    f32, bandwidth = sheets[gpu]
    return (f32 / 2) / (bandwidth / 16)


def faults(kernel: Kernel, limit: float) -> list[str]:
    found = []
    if (kernel.spilled or 0) > MOST_SPILLED:
        found.append(f"spills {kernel.spilled} bytes, expected at most {MOST_SPILLED}")
    if (kernel.registers or 0) > MOST_REGISTERS:
        found.append(f"has {kernel.registers} registers, expected at most {MOST_REGISTERS}")
    if (kernel.shared or 0) > MOST_SHARED:
        found.append(f"has {kernel.shared} bytes of shared memory, expected at most {MOST_SHARED}")
    if kernel.slots and kernel.slots > kernel.bar * limit:
        found.append(f"takes {kernel.slots:.1f} issue slots per 16 bytes, expected at most {kernel.bar * limit:.1f}")
    return found


def print_markdown(kernels: list[Kernel], limit: float) -> None:
    print("| kernel | instructions per 16 bytes | issue slots | bar | registers | spills |")
    print("|---|---|---|---|---|---|")
    for kernel in kernels:
        told = "- | - | -"
        if kernel.slots and kernel.counts:
            told = f"{kernel.counts.instructions_per_16:.1f} | {kernel.slots:.1f} | {kernel.bar * limit:.0f}"
        print(f"| {kernel.name} | {told} | {kernel.registers} | {kernel.spilled} |")


def print_text(kernels: list[Kernel], limit: float) -> None:
    width = max([16, *(len(kernel.name) + 1 for kernel in kernels)])
    print(f"{'kernel':{width}}{'instructions':>13}  {'loads of ' + '/'.join(map(str, WIDTHS)):>22}{'stores':>14}"
          f"{'registers':>11}{'spills':>8}{'shared':>8}{'per 16 bytes':>14}{'slots':>8}{'bar':>7}")
    for kernel in kernels:
        loads, stores = ("/".join(str(counts[size]) for size in WIDTHS) for counts in (kernel.loads, kernel.stores))
        told = [value if value is not None else "-" for value in (kernel.registers, kernel.spilled, kernel.shared)]
        moved = ["-", "-", "-"]
        if kernel.slots and kernel.counts:
            moved = [f"{value:.1f}" for value in (kernel.counts.instructions_per_16, kernel.slots, kernel.bar * limit)]
        print(f"{kernel.name:{width}}{kernel.instructions:>13}  {loads:>22}{stores:>14}"
              f"{told[0]:>11}{told[1]:>8}{told[2]:>8}{moved[0]:>14}{moved[1]:>8}{moved[2]:>7}")
    narrow = [kernel.name for kernel in kernels if not kernel.loads[16] and not kernel.stores[16]]
    print(f"kernels: {len(kernels)}, of which without an access of 16 bytes: {', '.join(narrow) or 'none'}")
    if any(kernel.counts for kernel in kernels):
        rest = [kernel.name for kernel in kernels if not kernel.slots and kernel.name not in narrow]
        print(f"without a figure of slots, besides these: {', '.join(rest) or 'none'}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--ptxas", default=find_tool("ptxas"))
    parser.add_argument("--nvdisasm", default=find_tool("nvdisasm"))
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--gpu", default="H200", help="a model of runtime/lib/base/DataSheet.h")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    limit = issue_limit(arguments.gpu)
    absent = [name for name in ("ptxas", "nvdisasm") if not getattr(arguments, name)]
    if absent and (arguments.strict or arguments.markdown):
        raise SystemExit(f"error: expected {' and '.join(absent)}, found none; run tools/setup.sh, or name them by "
                         f"{' '.join(f'--{name}=PATH' for name in absent)}")
    kernels = read_kernels(arguments.file.read_text())
    if arguments.ptxas:
        assemble(arguments.file, kernels, arguments.ptxas, arguments.nvdisasm, arguments.arch)
    (print_markdown if arguments.markdown else print_text)(kernels, limit)
    wrong = [f"error: kernel '{kernel.name}' {fault}" for kernel in kernels for fault in faults(kernel, limit)]
    if arguments.strict and wrong:
        print("\n".join(wrong), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
