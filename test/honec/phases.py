"""Checks that text between phases loses nothing: phases.py WORKDIR PACKAGE... [-- honec options].

For every phase, the module that the phases before it leave is printed and read back (--upto, --from). What honec makes
of it must be the LLVM IR of the whole compilation, byte for byte, but for the fingerprint, which is the text's own.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

PHASES = "import raise pad precision autodiff step shard fuse checkpoint plan lower llvm".split()
# Phases that read an option; it is an error to give it to others.
READERS = {"--precision": ("pad", "step"), "--micro-batches": ("autodiff", "step"), "--mesh": ("shard", "shard"),
           "--recipe": ("shard", "shard"), "--memory-budget": ("checkpoint", "plan"), "--pad": ("pad", "pad"),
           "--exact": ("import", "shard")}


def honec(source: Path, out: Path, options: list[str]) -> bytes:
    subprocess.run(["honec", source, "-o", out, *options], check=True)
    return out.read_bytes()


def of_phases(options: list[str], first: str, last: str) -> list[str]:
    """Those of the options that phases from `first` to `last` read."""
    def is_read(option: str) -> bool:
        start, end = READERS.get(option.split("=")[0], (PHASES[0], PHASES[-1]))
        return PHASES.index(start) <= PHASES.index(last) and PHASES.index(end) >= PHASES.index(first)

    return [option for option in options if is_read(option)]


def check(package: Path, work: Path, options: list[str]) -> None:
    is_cuda = "--target=cuda" in options
    whole = honec(package, work / "whole.ll", ["--emit=llvm", *options])
    exported = hashlib.sha256((package / "graph.mlir").read_bytes()).hexdigest().encode()
    assert whole.count(exported) == 1, package
    for before, phase in zip(PHASES, PHASES[1:]):
        text = work / f"{before}.mlir"
        fingerprint = hashlib.sha256(
            honec(package, text, ["--emit=mlir", f"--upto={before}", *of_phases(options, "import", before)])
        ).hexdigest().encode()
        rest = honec(text, work / "rest.ll", ["--emit=llvm", f"--from={phase}", *of_phases(options, phase, "llvm")])
        assert rest.replace(fingerprint, exported) == whole, f"{package.name}, from {phase}: other code"
    print(f"{package.name}: equal from each of {len(PHASES) - 1} phases{' on cuda' * is_cuda}")


def main(arguments: list[str]) -> None:
    split = arguments.index("--") if "--" in arguments else len(arguments)
    work, *packages = map(Path, arguments[:split])
    work.mkdir(parents=True, exist_ok=True)
    for package in packages:
        check(package, work, arguments[split + 1:])


main(sys.argv[1:])
