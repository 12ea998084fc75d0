#!/usr/bin/env python3
"""Trains a large GPT-2 within a limit of memory, its state in a file:

    offload_large.py FOLDER [--layers N --width N --heads N --sequence N] [--steps N] [--limit GIB] [--compare]

By default the 1.5B configuration in bf16, four micro-batches of 1 x 1024 tokens, and 12 GiB. Peak resident memory (VmHWM)
must be at most the arena, the library's workspace and what --info says besides. With --compare the program without
--offload runs too, and all losses and norms must be equal. FOLDER gets the package, programs and the state's file.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import subprocess
import sys
from array import array
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("python_frontend", "python_frontend/examples")]
GIB = 1 << 30
INIT = {"*.bias": {"dist": "constant", "value": 0.0}, "*ln_*.weight": {"dist": "constant", "value": 1.0},
        "*": {"dist": "normal", "mean": 0.0, "std": 0.02}}
OPTIONS = ["--precision=bf16", "--stream=low", "--micro-batches=4"]
BESIDE = 0.5  # GiB of the limit that are left for the process and the library


def export(options: argparse.Namespace, package: Path) -> None:
    import torch

    import gpt2
    import hone

    config = gpt2.Config(layers=options.layers, width=options.width, heads=options.heads)
    with torch.device("meta"):
        made = gpt2.training(config, 1, options.sequence)
    hone.export(made.model, made.loss_fn, made.example_batch, optimizer=made.optimizer, clip=made.clip, out=str(package),
                init=INIT)


def sizes(binary: Path) -> dict[str, int]:
    info = subprocess.run([binary, "--info"], check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^  (\S.*?) +(\d+) bytes  ", info, re.MULTILINE)
    return {name: int(size) for name, size in found}


def train(binary: Path, folder: Path, steps: int, more: list[str]) -> tuple[list[tuple], int]:
    """Loss and norm of each step, and the peak of resident memory in bytes."""
    log = folder / f"{binary.name}.jsonl"
    log.unlink(missing_ok=True)
    command = [binary, "--data", folder / "tokens.bin", "--steps", str(steps), "--lr", "1e-4", "--seed", "1", "--fresh"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    subprocess.run([*command, "--log", log, *more], check=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    rows = [(line["step"], line["loss"], line["grad_norm"]) for line in lines if "grad_norm" in line]
    return rows, max(before, peak) * 1024


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layers", type=int, default=48)
    parser.add_argument("--width", type=int, default=1600)
    parser.add_argument("--heads", type=int, default=25)
    parser.add_argument("--sequence", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--limit", type=float, default=12, metavar="GIB")
    parser.add_argument("--compare", action="store_true")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    package = folder / "gpt2.hone"
    if not package.exists():
        export(options, package)
    draw = random.Random(3)
    (folder / "tokens.bin").write_bytes(array("H", (draw.randrange(50257) for _ in range(100_000))).tobytes())
    away = folder / "away"
    subprocess.run(["honec", package, "-o", away, *OPTIONS, "--offload=state",
                    f"--memory-budget={options.limit - BESIDE}GiB"], check=True)
    size = sizes(away)
    rows, peak = train(away, folder, options.steps, ["--offload-dir", str(folder)])
    most = size["arena (peak)"] + size["library workspace"] + size["other, at most"]
    print(f"arena {size['arena (peak)'] / GIB:.2f} GiB, second arena {size['second arena (a file)'] / GIB:.2f} GiB, "
          f"resident at most {peak / GIB:.2f} GiB, by the plan {most / GIB:.2f} GiB")
    problems = []
    if peak > min(most, options.limit * GIB):
        problems.append(f"{peak} bytes were resident, expected at most {int(min(most, options.limit * GIB))}")
    if options.compare:
        near = folder / "near"
        subprocess.run(["honec", package, "-o", near, *OPTIONS], check=True)
        if train(near, folder, options.steps, [])[0] != rows:
            problems.append("other losses or norms than without --offload")
    print("\n".join(problems) or f"{len(rows)} steps{' with equal bits' if options.compare else ''}: yes")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
