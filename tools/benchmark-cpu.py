#!/usr/bin/env python3
"""Measures the GPT-2 training step on this CPU beside PyTorch, and compile times by depth.

  .venv/bin/python tools/benchmark-cpu.py [--pairs 15] [--shapes 4x64,1x1024] [--layers 12,24,48,96] [-o docs/benchmarks/cpu.md]

The three systems (Hone's binary, PyTorch eager, torch.compile) take turns: a round runs a few steps of each, and a ratio
compares two medians of one round, so that what else the machine does weighs on both. Medians of the rounds' ratios are
quoted, with their quartiles. All train GPT-2 124M in fp32 with AdamW (PyTorch: fused), clipping at 1, on the same random
tokens, with as many threads as there are cores. Memory is the peak resident set of the process. A probe of the fp32 peak
runs with each of Hone's (its log says it); read the ratios, not the milliseconds, on a machine that is shared.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = ROOT / "build" / "bin"
sys.path[:0] = [str(ROOT / "python_frontend"), str(ROOT / "python_frontend" / "examples")]

STEPS = 2  # timed steps of one system in a round, after one that is not


# ---- PyTorch ---------------------------------------------------------------------------------------------------------


def worker(mode: str, batch: int, sequence: int) -> None:
    """Answers each line of standard input with the milliseconds of STEPS steps; at its end, with the peak memory."""
    import gpt2
    import torch

    torch.manual_seed(0)
    training = gpt2.gpt2(batch, sequence)
    model = training.model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    ids = torch.randint(0, 50257, (batch, sequence))
    targets = torch.randint(0, 50257, (batch, sequence))
    loss_of = training.loss_fn
    if mode == "compile":
        loss_of = torch.compile(lambda m, *inputs: training.loss_fn(m, *inputs))

    def step() -> None:
        loss = loss_of(model, ids, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()

    for _ in range(2):
        step()
    print("ready", flush=True)
    for _ in sys.stdin:
        times = []
        for _ in range(STEPS):
            start = time.perf_counter()
            step()
            times.append(1e3 * (time.perf_counter() - start))
        print(json.dumps(times), flush=True)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, flush=True)


class Worker:
    def __init__(self, mode: str, batch: int, sequence: int):
        command = [sys.executable, __file__, "--worker", mode, "--shapes", f"{batch}x{sequence}"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline().strip() != "ready":
            sys.exit(f"error: the {mode} worker ended before its first step")

    def round(self) -> float:
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return statistics.median(json.loads(self.process.stdout.readline()))

    def close(self) -> float:
        """Ends the worker; returns its peak memory in MiB."""
        self.process.stdin.close()
        return int(self.process.stdout.readline()) / 1024


# ---- Hone ------------------------------------------------------------------------------------------------------------


class Binary:
    def __init__(self, work: pathlib.Path, batch: int, sequence: int):
        import gpt2
        import hone
        import numpy

        training = gpt2.gpt2(batch, sequence)
        package = work / f"gpt2_{batch}x{sequence}.hone"
        hone.export(training.model, training.loss_fn, training.example_batch, optimizer=training.optimizer,
                    clip=training.clip, out=str(package))
        self.path, self.log, self.tokens = work / f"train_{batch}x{sequence}", work / "log.jsonl", work / "tokens.npy"
        subprocess.run([BIN / "honec", package, "-o", self.path], check=True)
        numpy.save(self.tokens, numpy.random.default_rng(0).integers(0, 50257, 65536).astype(numpy.int32))
        self.peak = 0.0

    def round(self) -> float:
        command = [self.path, "--data", self.tokens, "--steps", str(STEPS + 1), "--log", self.log, "--quiet"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit("error: the binary failed")
        self.peak = max(self.peak, usage.ru_maxrss / 1024)
        steps = [json.loads(line) for line in self.log.read_text().splitlines()]
        self.log.unlink()
        return statistics.median([line["ms"] for line in steps if "ms" in line and "loss" in line][1 : STEPS + 1])

    def close(self) -> float:
        return self.peak


# ---- Tables ----------------------------------------------------------------------------------------------------------


def quartiles(values: list[float]) -> str:
    low, _, high = statistics.quantiles(values, n=4)
    return f"**{statistics.median(values):.2f}** ({low:.2f} to {high:.2f})"


def measure_steps(work: pathlib.Path, shapes: list[tuple[int, int]], pairs: int) -> list[str]:
    lines = ["| batch x tokens | Hone, ms | eager, ms | torch.compile, ms | eager / Hone | compile / Hone | "
             "peak MiB: Hone, eager, compile |", "|---|---|---|---|---|---|---|"]
    for batch, sequence in shapes:
        systems = [Binary(work, batch, sequence), Worker("eager", batch, sequence), Worker("compile", batch, sequence)]
        rounds = []
        for number in range(pairs):
            rounds.append([system.round() for system in systems])
            print(f"{batch}x{sequence} round {number + 1}: " + ", ".join(f"{ms:.0f}" for ms in rounds[-1]), flush=True)
        medians = [statistics.median(column) for column in zip(*rounds)]
        memory = [system.close() for system in systems]
        lines.append(
            f"| {batch} x {sequence} | " + " | ".join(f"{ms:.0f}" for ms in medians) + " | "
            + quartiles([eager / ours for ours, eager, _ in rounds]) + " | "
            + quartiles([compiled / ours for ours, _, compiled in rounds]) + " | "
            + ", ".join(f"{mib:.0f}" for mib in memory) + " |")
    return lines


def measure_compiles(work: pathlib.Path, depths: list[int]) -> list[str]:
    lines = ["| layers | processor seconds (median of 3) | ratio to the depth before |", "|---|---|---|"]
    before = None
    for depth in depths:
        subprocess.run([sys.executable, ROOT / "test/fixtures/make.py", "--layers", str(depth), "-o", work], check=True,
                       stdout=subprocess.DEVNULL)
        package = work / f"gpt2_{depth}l.hone"
        times = []
        for _ in range(3):
            process = subprocess.Popen([BIN / "honec", package, "-o", work / "deep"])
            _, status, usage = os.wait4(process.pid, 0)
            if status != 0:
                sys.exit("error: the compiler failed")
            times.append(usage.ru_utime + usage.ru_stime)
        seconds = statistics.median(times)
        lines.append(f"| {depth} | {seconds:.2f} | {seconds / before:.2f} |" if before else f"| {depth} | {seconds:.2f} | |")
        before = seconds
    return lines


def cpu_name() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--shapes", default="4x64,1x1024")
    parser.add_argument("--layers", default="12,24,48,96")
    parser.add_argument("--worker", choices=["eager", "compile"], help=argparse.SUPPRESS)
    parser.add_argument("-o", type=pathlib.Path)
    arguments = parser.parse_args()
    shapes = [tuple(int(size) for size in shape.split("x")) for shape in arguments.shapes.split(",") if shape]
    if arguments.worker:
        return worker(arguments.worker, *shapes[0])

    import torch

    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        steps = measure_steps(work, shapes, arguments.pairs)
        compiles = measure_compiles(work, [int(depth) for depth in arguments.layers.split(",") if depth])
    text = "\n".join([
        "# CPU: the training step beside PyTorch, and compile times", "",
        f"Made by `tools/benchmark-cpu.py --pairs {arguments.pairs}` on {datetime.date.today()}: {cpu_name()}, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[1]:.1f}, PyTorch {torch.__version__}. GPT-2 124M, fp32, AdamW, "
        f"clipping at 1. Medians over {arguments.pairs} interleaved rounds of {STEPS} steps; ratios are medians of the "
        "rounds' own ratios, with quartiles; above 1, Hone is faster.", "",
        *steps, "", "Compile time, package to executable, in seconds of processor time (the compiler runs one thread):", "", *compiles, ""])
    if arguments.o:
        arguments.o.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
