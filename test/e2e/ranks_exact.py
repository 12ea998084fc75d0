#!/usr/bin/env python3
"""Four ranks that divide the batch train as one rank that adds four micro-batches: ranks_exact.py SMALL LARGE WORKDIR.

LARGE is SMALL with four times its batch. With --exact ranks add in the order in which micro-batches are added, so the
weights after five steps are the same in every bit, whatever else the ranks divide.
"""

from __future__ import annotations

import os
import subprocess
import sys
from array import array
from pathlib import Path
from random import Random

from ranks import MPI, RATE, STEPS, vocabulary, weights

CASES = (("dp=4", "ddp"), ("fs=4", "zero1"), ("fs=4", "zero2"), ("fs=4", "fsdp"))


def main(argv: list[str]) -> int:
    small, large, work = Path(argv[1]), Path(argv[2]), Path(argv[3])
    work.mkdir(parents=True, exist_ok=True)
    draw, limit = Random(3), vocabulary(small)
    tokens = work / "tokens.bin"
    tokens.write_bytes(array("H", (draw.randrange(limit) for _ in range(4000))).tobytes())

    def train(name: str, package: Path, options: list[str], launch: list[str]) -> dict[str, array]:
        saved = work / f"{name}.safetensors"
        subprocess.run(["honec", package, "-o", work / name, *options], check=True)
        command = [*launch, work / name, "--threads", "1", "--data", tokens, "--steps", str(STEPS), "--lr", str(RATE)]
        command += ["--init", small / "model.safetensors", "--save", saved, "--quiet", "--exact"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | MPI)
        return weights(saved)

    alone = train("alone", small, ["--micro-batches=4"], [])
    failures = 0
    for number, (mesh, recipe) in enumerate(CASES):
        seen = train(f"case{number}", large, [f"--mesh={mesh}", f"--recipe={recipe}"], ["mpirun", "-np", "4"])
        different = [name for name in alone if alone[name].tobytes() != seen[name].tobytes()]
        failures += bool(different)
        print(f"{mesh} {recipe}: {'DIFFERENT ' + ', '.join(different) if different else 'the same bits'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
