#!/usr/bin/env python3
"""Measures steps of a pipeline of two stages on this CPU beside those of one rank.

  .venv/bin/python tools/benchmark-pipeline.py [--rounds 3] [--schedules 1f1b,zb-h1] [--micro-batches 8]
      [--package PACKAGE.hone] [-o docs/rationale/pipeline-stages.md]

By default of GPT-2 124M in fp32, with one sequence of 256 positions in a micro-batch. Every rank has one thread and a
core of its own, so that the machine needs two that are free. Programs take turns: a round starts each of them for a few
steps, the first of which is not timed; a ratio compares two medians of one round, and the table has the median of the
ratios. All losses must agree within 1e-6. With -o, the table takes the place of the one between the markers of the
page; without, it is printed. `estimated` is what --dry-run says, which assumes cores of its own.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
from array import array

import paired_runs

ROOT = pathlib.Path(__file__).resolve().parent.parent
HONEC = pathlib.Path(os.environ.get("HONEC", ROOT / "build" / "bin" / "honec"))
BEGIN, END = "<!-- table: benchmark-pipeline.py -->\n", "<!-- end of table -->\n"
STEPS = 3  # timed steps of one program in a round, after one that is not
TOLERANCE = 1e-6
MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "core",
}


def export(folder: pathlib.Path) -> pathlib.Path:
    """GPT-2 124M, one sequence of 256 positions."""
    sys.path[:0] = [str(ROOT / "python_frontend"), str(ROOT / "python_frontend" / "examples")]
    import gpt2
    import hone
    import torch

    torch.manual_seed(0)
    package = folder / "gpt2_124m_256.hone"
    training = gpt2.gpt2(batch=1, sequence=256)
    hone.export(training.model, training.loss_fn, training.example_batch, optimizer=training.optimizer,
                clip=training.clip, out=str(package), weights=True)
    return package


class Measured:
    """One rank, or two stages with a schedule."""

    def __init__(self, package: pathlib.Path, folder: pathlib.Path, schedule: str, micro: int, tokens: pathlib.Path):
        self.name = schedule or "one rank"
        binary = folder / (schedule or "one")
        options = [f"--micro-batches={micro}", *(["--mesh=pp=2", f"--schedule={schedule}"] if schedule else [])]
        subprocess.run([HONEC, package, *options, "-o", binary], check=True)
        dry_run = subprocess.run([HONEC, package, *options, "--dry-run"], check=True, capture_output=True, text=True)
        value, unit = re.search(r"^estimated step +([\d.]+) (m?s)$", dry_run.stdout, re.MULTILINE).groups()
        self.estimated = float(value) * (1e-3 if unit == "ms" else 1)
        inputs = ["--threads", "1", "--data", tokens, "--seed", "5"]
        launcher = ["mpirun", "-np", "2"] if schedule else []
        self.program = paired_runs.Program(binary, inputs, STEPS, launcher)

    def losses(self) -> list[float]:
        return [line["loss"] for line in self.program.run(2)]

    def round(self) -> float:
        return self.program.round()


def check_losses(systems: list[Measured]) -> None:
    first, *others = [(system.name, system.losses()) for system in systems]
    for name, losses in others:
        worst = max(abs(a - b) / abs(a) for a, b in zip(first[1], losses, strict=True))
        if worst > TOLERANCE:
            sys.exit(f"error: losses of {name} differ by {worst:.1e} from those of one rank")


def table(systems: list[Measured], rounds: list[list[float]]) -> str:
    lines = ["| | step | against one rank | estimated |", "|---|---|---|---|"]
    for place, system in enumerate(systems):
        step = statistics.median(times[place] for times in rounds) / 1e3
        ratio = statistics.median(times[0] / times[place] for times in rounds)
        name = f"`pp=2`, `{system.name}`" if place else "one rank"
        lines.append(f"| {name} | {step:.3g} s | {f'{ratio:.2f} x' if place else '1'} | {system.estimated:.3g} s |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--schedules", default="1f1b,zb-h1")
    parser.add_argument("--micro-batches", type=int, default=8)
    parser.add_argument("--package", type=pathlib.Path)
    parser.add_argument("-o", dest="page", type=pathlib.Path)
    options = parser.parse_args()
    os.environ.update(MPI)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        package = options.package or export(folder)
        tokens = folder / "tokens"
        tokens.write_bytes(array("H", ((7 * i * i + i) % 32 for i in range(100000))).tobytes())
        names = ["", *options.schedules.split(",")]
        systems = [Measured(package, folder, name, options.micro_batches, tokens) for name in names]
        check_losses(systems)
        text = table(systems, paired_runs.run_rounds("pipeline", systems, options.rounds))
    if not options.page:
        print(text, end="")
        return
    head, rest = options.page.read_text(encoding="utf-8").split(BEGIN)
    options.page.write_text(f"{head}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
