#!/usr/bin/env python3
"""Trains with a second arena and without: offload.py WORKDIR PACKAGE[:RANKS] [honec options] [-- options of the second].

Without options of its own the second program has its state there; with others, what they change may change no bit.
Three steps of both programs leave the same bits: losses, norms, and every tensor of the checkpoint. The second one's copies
are slow (HONE_LINK), or on an emulated GPU as late as the graph's edges let them and as early, so that a kernel which does
not wait for them reads old bytes. Each goes on from the other's checkpoint with the bits of a run that nobody stopped.
RANKS run under mpirun.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from array import array
from pathlib import Path

MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
CHUNK = "--offload-chunk=6000"


class Runs:
    def __init__(self, work: Path, package: Path, ranks: int) -> None:
        self.work, self.ranks = work, ranks
        entries = json.loads((package / "manifest.json").read_text())["arguments"]
        limit = min(entry["vocab"] for entry in entries if "vocab" in entry)
        self.tokens, draw = work / "tokens.bin", random.Random(3)
        self.tokens.write_bytes(array("H", (draw.randrange(limit) for _ in range(4000))).tobytes())

    def train(self, binary: Path, name: str, steps: int, *flags: str, **variables: str) -> tuple[list, bytes]:
        """Losses and norms, and the state of the checkpoint."""
        log, folder = self.work / f"{name}.jsonl", self.work / f"{name}.checkpoints"
        command = ["mpirun", "-np", str(self.ranks)] if self.ranks > 1 else []
        command += [binary, "--threads", "1", "--data", self.tokens, "--steps", str(steps), "--seed", "5", "--lr", "1e-3"]
        command += ["--checkpoint-dir", folder, "--log", log, "--quiet", *flags]
        environment = os.environ | MPI | {"HONE_LINK": "8e6"} | variables
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        numbers = [(line["loss"], line["grad_norm"]) for line in lines if "grad_norm" in line]
        newest = max(folder.glob("step*"))
        return numbers, (newest / "state.safetensors").read_bytes()


def main(argv: list[str]) -> int:
    work, (name, _, ranks) = Path(argv[1]), argv[2].partition(":")
    at = argv.index("--") if "--" in argv else len(argv)
    package, options, own = Path(name), argv[3:at], argv[at + 1 :] or ["--offload=state", CHUNK]
    work.mkdir(parents=True, exist_ok=True)
    near, away = work / "near", work / "away"
    for binary, more in ((near, []), (away, own)):
        subprocess.run(["honec", package, "-o", binary, *options, *more], check=True)
    runs = Runs(work, package, int(ranks or 1))
    expected = runs.train(near, "expected", 3)
    problems = [] if runs.train(away, "away", 3) == expected else ["other bits"]
    if "--emulate" in options and runs.train(away, "early", 3, HONE_FAKE_EARLY="1") != expected:
        problems.append("other bits with early copies")
    for first, second in ((away, near), (near, away)):
        both = f"{first.name}-{second.name}"
        runs.train(first, both, 2)
        if runs.train(second, both, 3, "--resume")[1] != expected[1]:
            problems.append(f"other bits of {second.name} that goes on from {first.name}")
    print("\n".join(problems) or "equal bits: yes")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
