#!/usr/bin/env python3
"""Measures training steps of models of several kinds on this CPU: Hone's binary beside torch.compile.

  .venv/bin/python tools/benchmark-models.py [--rounds 5] [--models vit,convnext,mamba2,mixtral,lora,qlora]
      [--precisions fp32,bf16] [--eager] [-o docs/benchmarks/models.md]

The models are those of model_cases.py, of transformers and peft, trained with AdamW and clipping at 1 on one random
batch. First both make a few steps from the same weights, whose losses must agree; then they take turns: a round times a
few steps of each, and a ratio compares two medians of one round. Both use as many threads as there are cores. PyTorch
has its best settings: fused AdamW, fused attention, autocast for bf16, channels last for images. Read the ratios, not
the milliseconds, on a machine that is shared.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import inspect
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import paired_runs
import peers

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = ROOT / "build" / "bin"
sys.path.insert(0, str(ROOT / "python_frontend"))

STEPS = 2  # timed steps of one system in a round, after one that is not
COMPARED = 2  # steps whose losses must agree; Mamba-2 multiplies a difference of the second by a thousand in two more
# Both sum in orders of their own. In bf16 they round at other places, and so do PyTorch's eager and compiled steps.
TOLERANCES = {"fp32": 1e-5, "bf16": 1e-2}
RATE = 1e-4
# With the usual 1e-8, a gradient that is nothing but rounding moves its weight as far as any other, and after a few
# steps of Mamba-2 the losses say nothing.
EPS = 1e-3


def prepared(name: str):
    import torch
    from model_cases import CASES

    torch.manual_seed(0)
    return CASES[name].make()


def optimizer_of(model):
    import torch

    trained = [p for p in model.parameters() if p.requires_grad]
    return torch.optim.AdamW(trained, lr=RATE, betas=(0.9, 0.95), eps=EPS, weight_decay=0.1, fused=True)


def worker(mode: str, name: str, precision: str) -> None:
    import torch
    from model_cases import CASES

    case, run = CASES[name], prepared(name)
    model = case.peer(run.model).train()
    batch = [x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x for x in run.batch]
    if any(x.ndim == 4 for x in batch):
        model = model.to(memory_format=torch.channels_last)
    optimizer, trained = optimizer_of(model), [p for p in model.parameters() if p.requires_grad]

    def loss_of(*inputs):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
            return run.loss(model, *inputs)

    if mode == "compile":
        loss_of = torch.compile(loss_of)

    def step() -> float:
        loss = loss_of(*batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    print(json.dumps([step() for _ in range(COMPARED)]), flush=True)
    paired_runs.answer_rounds(step, STEPS)


def export(name: str, package: str) -> None:
    import hone
    import numpy

    run = prepared(name)
    names = list(inspect.signature(run.loss).parameters)[1:]
    hone.export(run.model, run.loss, run.batch, optimizer=optimizer_of(run.model), clip=1.0, out=package,
                weights=True, roles=dict.fromkeys(names, ""), **run.export)
    for key, value in zip(names, run.batch, strict=True):
        numpy.save(pathlib.Path(package).parent / f"{key}.npy", value.numpy())


def compiled(folder: pathlib.Path, name: str, precision: str) -> paired_runs.Program:
    package = folder / "model.hone"
    if not package.exists():
        # In a process of its own: the peak memory of what this one starts is at least its own.
        subprocess.run([sys.executable, __file__, "--export", name, package], check=True)
    binary = folder / f"train_{precision}"
    subprocess.run([BIN / "honec", package, "-o", binary, f"--precision={precision}"], check=True)
    inputs = [word for file in sorted(folder.glob("*.npy")) for word in ("--input", f"{file.stem}={file}")]
    return paired_runs.Program(binary, inputs, STEPS)


def row(work: pathlib.Path, name: str, precision: str, rounds: int, modes: list[str]) -> str:
    from model_cases import CASES

    folder = work / name
    folder.mkdir(exist_ok=True)
    program = compiled(folder, name, precision)
    ours = [line["loss"] for line in program.run(COMPARED)]
    workers = [paired_runs.Worker(f"{name} {precision} {mode}", [sys.executable, __file__, "--worker", mode, name,
                                                                 precision]) for mode in modes]
    difference = max(abs(a - b) / abs(b) for a, b in zip(ours, workers[0].start, strict=True))
    print(f"{name} {precision}: losses {ours} and {workers[0].start}", flush=True)
    if difference > TOLERANCES[precision]:
        sys.exit(f"error: {name} {precision}: losses differ by {difference:.1e}, expected {TOLERANCES[precision]:.0e}")
    results = paired_runs.run_rounds(f"{name} {precision}", [program, *workers], rounds)
    medians = [statistics.median(column) for column in zip(*results)]
    ratios = [peers.quartiles([line[1 + i] / line[0] for line in results]) for i in range(len(workers))]
    memory = [system.close() for system in [program, *workers]]
    cells = [CASES[name].title, CASES[name].shape, precision, f"{difference:.1e}", *(f"{ms:.0f}" for ms in medians),
             *ratios, ", ".join(f"{mib:.0f}" for mib in memory)]
    return "| " + " | ".join(cells) + " |"


def words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--models", type=words, default=["vit", "convnext", "mamba2", "mixtral", "lora", "qlora"])
    parser.add_argument("--precisions", type=words, default=["fp32", "bf16"])
    parser.add_argument("--eager", action="store_true", help="eager PyTorch takes turns too")
    parser.add_argument("--work", type=pathlib.Path, help="folder that keeps packages and binaries")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--export", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("-o", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.worker:
        return worker(*arguments.worker)
    if arguments.export:
        return export(*arguments.export)
    modes = ["compile", "eager"] if arguments.eager else ["compile"]
    names = {"compile": "torch.compile", "eager": "eager"}
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.work or pathlib.Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        rows = [row(work, name, precision, arguments.rounds, modes)
                for name, precision in itertools.product(arguments.models, arguments.precisions)]
    columns = ["model", "batch", "precision", "losses", "Hone, ms", *(f"{names[mode]}, ms" for mode in modes),
               *(f"{names[mode]} / Hone" for mode in modes),
               "peak MiB: Hone, " + ", ".join(names[mode] for mode in modes)]
    intro = (
        f"Made by `tools/benchmark-models.py --rounds {arguments.rounds}` on {datetime.date.today()}: "
        f"{peers.cpu_name()}, {os.cpu_count()} cores, load {os.getloadavg()[1]:.1f}, PyTorch "
        f"{importlib.metadata.version('torch')}, transformers {importlib.metadata.version('transformers')}. The models "
        "are those of `tools/model_cases.py`. AdamW, clipping at 1. Medians over "
        f"{arguments.rounds} interleaved rounds of {STEPS} steps; the ratio is the median of the rounds' own ratios, "
        "with quartiles; above 1, Hone is faster. Losses: the largest relative difference over "
        f"{COMPARED} steps from the same weights. PyTorch: fused AdamW, fused attention, autocast for bf16, channels "
        "last for images; in QLoRA each call expands a layer's weight from the same 4-bit codes.")
    text = "\n".join([
        "# CPU: training steps of models of several kinds beside torch.compile", "",
        peers.paragraph(intro), "",
        "| " + " | ".join(columns) + " |", "|---" * len(columns) + "|", *rows, ""])
    if arguments.o:
        arguments.o.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
