#!/usr/bin/env python3
"""Dumps gradients of exact programs with micro-batches: exact_dump.py PACKAGE WORKDIR [MESH]...

A parameter that two places read has two sums in such a program; the dump must hold their sum, by the parameter's name.
So it has the names of a program that is not exact, and its gradients within rounding: 1e-5 of a tensor's largest
magnitude, for sums of f32 of some hundred terms in another order. On each MESH it has every bit of one rank.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ranks import MPI, ranks_of, weights

MICRO = 4
TOLERANCE = 1e-5


def dump(package: Path, folder: Path, mesh: str, *options: str) -> Path:
    folder.mkdir(parents=True)
    tokens = folder / "tokens.bin"
    tokens.write_bytes(bytes(i * i % 61 if i % 2 == 0 else 0 for i in range(4000)))
    axes = [f"--mesh={mesh}"] if mesh else []
    command = ["honec", package, "-o", folder / "train", f"--micro-batches={MICRO}", *axes, *options]
    subprocess.run(command, check=True)
    launcher = ["mpirun", "-np", str(ranks_of(mesh))] if mesh else []
    flags = ["--data", tokens, "--steps", "1", "--threads", "1", "--quiet", "--dump", folder]
    subprocess.run([*launcher, folder / "train", *flags], env=os.environ | MPI, check=True, timeout=120)
    return folder / "step1.safetensors"


def main(argv: list[str]) -> int:
    package, work, meshes = Path(argv[1]), Path(argv[2]), argv[3:]
    whole = dump(package, work / "exact", "", "--exact")
    expected, seen = weights(dump(package, work / "plain", "")), weights(whole)
    problems = [f"names differ: {sorted(expected.keys() ^ seen.keys())}"] if expected.keys() != seen.keys() else []
    for name in expected.keys() & seen.keys():
        most = max(map(abs, expected[name]))
        far = max(abs(a - b) for a, b in zip(expected[name], seen[name], strict=True))
        if far > TOLERANCE * most:
            problems.append(f"{name}: differs by {far:g}, its largest magnitude is {most:g}")
    for mesh in meshes:
        if dump(package, work / mesh, mesh, "--exact").read_bytes() != whole.read_bytes():
            problems.append(f"{mesh}: other bits than on one rank")
    print("\n".join(problems) or f"{len(seen)} tensors agree, on {1 + len(meshes)} meshes")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
