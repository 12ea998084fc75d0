"""What the kernels of a program for a GPU are made of, by its PTX (`honec --target=cuda --emit=ptx`).

    device_kernels.py FILE.ptx [--ptxas=PATH] [--arch=sm_90] [--strict]

A row per kernel: instructions in its text, accesses to global memory by bytes per thread, and, where there is a
`ptxas`, registers of a thread, bytes that it spills, and shared memory of a block. With --strict, a kernel that spills
more than 16 bytes, or has more than 128 registers or 48 KiB of shared memory, is an error.
"""

from __future__ import annotations

import argparse
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

# ptxas stores and loads a word or two to fit one more block on a multiprocessor.
MOST_REGISTERS, MOST_SPILLED, MOST_SHARED = 128, 16, 48 * 1024
ENTRY = re.compile(r"\.entry (\w+)\(.*?\n\{(.*?)\n\}", re.S)
ACCESS = re.compile(r"(ld|st)\.(?:global\.)?(?:nc\.)?(?:v(\d)\.)?[busf](\d+)$")


@dataclass
class Kernel:
    name: str
    instructions: int = 0
    loads: collections.Counter[int] = field(default_factory=collections.Counter)  # by bytes
    stores: collections.Counter[int] = field(default_factory=collections.Counter)
    registers: int | None = None
    spilled: int | None = None
    shared: int | None = None


def read_kernel(name: str, body: str) -> Kernel:
    kernel = Kernel(name)
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


def assemble(path: pathlib.Path, kernels: list[Kernel], ptxas: str, arch: str) -> None:
    """Adds what the assembler says."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([ptxas, "-v", "-O3", f"-arch={arch}", "-o", f"{folder}/code", path],
                              capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"error: {ptxas}: {done.stderr.splitlines()[0]}")
    by_name, current = {kernel.name: kernel for kernel in kernels}, None
    for line in done.stderr.splitlines():
        if match := re.search(r"Compiling entry function '(\w+)'", line):
            current = by_name[match[1]]
        elif match := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            current.spilled = int(match[1]) + int(match[2])
        elif match := re.search(r"Used (\d+) registers", line):
            current.registers = int(match[1])
            smem = re.search(r"(\d+) bytes smem", line)
            current.shared = int(smem[1]) if smem else 0


def faults(kernel: Kernel) -> list[str]:
    found = []
    if (kernel.spilled or 0) > MOST_SPILLED:
        found.append(f"spills {kernel.spilled} bytes, expected at most {MOST_SPILLED}")
    if (kernel.registers or 0) > MOST_REGISTERS:
        found.append(f"has {kernel.registers} registers, expected at most {MOST_REGISTERS}")
    if (kernel.shared or 0) > MOST_SHARED:
        found.append(f"has {kernel.shared} bytes of shared memory, expected at most {MOST_SHARED}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--ptxas", default=shutil.which("ptxas"))
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--strict", action="store_true")
    arguments = parser.parse_args()
    kernels = read_kernels(arguments.file.read_text())
    if arguments.ptxas:
        assemble(arguments.file, kernels, arguments.ptxas, arguments.arch)
    sizes = (16, 8, 4, 2, 1)
    width = max([16, *(len(kernel.name) + 1 for kernel in kernels)])
    print(f"{'kernel':{width}}{'instructions':>13}  {'loads of ' + '/'.join(map(str, sizes)):>22}{'stores':>14}"
          f"{'registers':>11}{'spills':>8}{'shared':>8}")
    for kernel in kernels:
        loads, stores = ("/".join(str(counts[size]) for size in sizes) for counts in (kernel.loads, kernel.stores))
        told = [value if value is not None else "-" for value in (kernel.registers, kernel.spilled, kernel.shared)]
        print(f"{kernel.name:{width}}{kernel.instructions:>13}  {loads:>22}{stores:>14}"
              f"{told[0]:>11}{told[1]:>8}{told[2]:>8}")
    narrow = [kernel.name for kernel in kernels if not kernel.loads[16] and not kernel.stores[16]]
    print(f"kernels: {len(kernels)}, of which without an access of 16 bytes: {', '.join(narrow) or 'none'}")
    wrong = [f"error: kernel '{kernel.name}' {fault}" for kernel in kernels for fault in faults(kernel)]
    if arguments.strict and wrong:
        print("\n".join(wrong), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
