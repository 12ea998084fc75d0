#!/usr/bin/env python3
"""Measures training steps on this CPU beside PyTorch, the effect of each pass, and compile times by depth.

  .venv/bin/python tools/benchmark-cpu.py [--rounds 10] [--models gpt2,llama] [--shapes 4x64,4x256,1x1024]
      [--precisions fp32,bf16] [--passes] [--layers 12,24,48,96] [-o docs/benchmarks/cpu.md]

Systems (Hone's binary, PyTorch eager, torch.compile) take turns: a round runs a few steps of each, and a ratio compares
two medians of one round, so that what else the machine does weighs on both. Medians of the rounds' ratios are quoted,
with their quartiles. All train the same model with AdamW and clipping at 1 on the same random tokens, with as many
threads as there are cores. PyTorch has its best settings: fused AdamW, fused attention, a vocabulary padded to 64, and
in bf16 autocast. A probe multiplies matrices of a feed-forward block in every round, through oneDNN, which Hone calls
too; the achieved share is the step's FLOPs per second over the probe's. Memory is the peak resident set of the process.
Read the ratios, not the milliseconds, on a machine that is shared.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import paired_runs
import peers

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = ROOT / "build" / "bin"
sys.path[:0] = [str(ROOT / "python_frontend"), str(ROOT / "python_frontend" / "examples")]

STEPS = 2  # timed steps of one system in a round, after one that is not
VOCAB = {"gpt2": 50257, "llama": 32000}
PADDED = {"gpt2": 50304, "llama": 32000}
NAMES = {"gpt2": "GPT-2 124M", "llama": "Llama-style 100M"}
# honec options that switch one decision off.
PASSES = {
    "packed projections": "--without=hone-pack-projections",
    "padding": "--pad=off",
    "chunked loss": "--chunk-loss=off",
    "weights cast in the update": "--without=hone-working-copies",
    "epilogues": "--without=epilogues",
    "kernels of more than one op": "--without=regions",
}


@dataclass(frozen=True)
class Case:
    model: str
    batch: int
    sequence: int
    precision: str

    @property
    def shape(self) -> str:
        return f"{self.batch} x {self.sequence}"

    @property
    def stem(self) -> str:
        return f"{self.model}_{self.batch}x{self.sequence}"


def words_of(case: Case) -> list[str]:
    return [case.model, str(case.batch), str(case.sequence), case.precision]


def case_of(model: str, batch: str, sequence: str, precision: str) -> Case:
    return Case(model, int(batch), int(sequence), precision)


def make_training(case: Case, vocab: int):
    if case.model == "gpt2":
        import gpt2

        return gpt2.training(gpt2.Config(vocab=vocab), case.batch, case.sequence)
    import llama

    return llama.hundred_million(case.batch, case.sequence)


# ---- PyTorch ---------------------------------------------------------------------------------------------------------


def worker(mode: str, case: Case) -> None:
    step = peers.torch_step(make_training(case, PADDED[case.model]), VOCAB[case.model], case.batch, case.sequence,
                            case.precision, compiles=mode == "compile")
    for _ in range(2):
        step()
    print("null", flush=True)
    paired_runs.answer_rounds(step, STEPS)


def probe(case: Case) -> None:
    """Answers each line with GFLOP/s of the two products of a feed-forward block, through oneDNN."""
    import torch

    rows, width, hidden = case.batch * case.sequence, 768, 3072
    shapes = [(rows, width), (hidden, width), (rows, hidden), (width, hidden)]
    tensors = [torch.randn(*shape) for shape in shapes]
    # In fp32 torch asks another library unless the tensors are oneDNN's own.
    x, up, y, down = (t.bfloat16() if case.precision == "bf16" else t.to_mkldnn() for t in tensors)

    def products() -> None:
        torch.nn.functional.linear(x, up)
        torch.nn.functional.linear(y, down)

    with torch.no_grad():
        for _ in range(3):
            products()
        print("null", flush=True)
        repeats = max(1, 4096 // rows)
        for _ in sys.stdin:
            times = []
            for _ in range(5):
                start = time.perf_counter()
                for _ in range(repeats):
                    products()
                times.append((time.perf_counter() - start) / repeats)
            print(json.dumps([4 * rows * width * hidden / time / 1e9 for time in times]), flush=True)
    print(0, flush=True)


def worker_of(mode: str, case: Case) -> paired_runs.Worker:
    return paired_runs.Worker(mode, [sys.executable, __file__, "--worker", mode, *words_of(case)])


# ---- Hone ------------------------------------------------------------------------------------------------------------


def export(package: str, tokens: str, case: Case) -> None:
    import hone
    import numpy

    training = make_training(case, VOCAB[case.model])
    hone.export(training.model, training.loss_fn, training.example_batch, optimizer=training.optimizer,
                clip=training.clip, out=package)
    numpy.save(tokens, numpy.random.default_rng(0).integers(0, VOCAB[case.model], 65536).astype(numpy.int32))


def program_of(work: pathlib.Path, case: Case, options: tuple[str, ...] = ()) -> paired_runs.Program:
    package, tokens = work / f"{case.stem}.hone", work / f"{case.model}.npy"
    if not package.exists():
        # In a process of its own: the peak memory of what this one starts is at least its own.
        subprocess.run([sys.executable, __file__, "--export", package, tokens, *words_of(case)], check=True)
    binary = work / f"{case.stem}_{case.precision}{''.join(options)}"
    subprocess.run([BIN / "honec", package, "-o", binary, f"--precision={case.precision}", *options], check=True)
    return paired_runs.Program(binary, ["--data", tokens], STEPS)


# ---- Tables ----------------------------------------------------------------------------------------------------------


def measure_steps(work: pathlib.Path, cases: list[Case], rounds: int) -> list[str]:
    lines = ["| model | batch x tokens | precision | Hone, ms | eager, ms | torch.compile, ms | eager / Hone | "
             "compile / Hone | peak MiB: Hone, eager, compile | share of the probe |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for case in cases:
        program = program_of(work, case)
        systems = [program, *(worker_of(mode, case) for mode in ("eager", "compile", "probe"))]
        results = paired_runs.run_rounds(f"{case.stem} {case.precision}", systems, rounds)
        medians = [statistics.median(column) for column in zip(*results)]
        memory = [system.close() for system in systems]
        share = statistics.median(1e3 * ours / row[3] for ours, row in zip(program.teraflops, results))
        lines.append(
            f"| {NAMES[case.model]} | {case.shape} | {case.precision} | "
            + " | ".join(f"{ms:.0f}" for ms in medians[:3]) + " | "
            + peers.quartiles([row[1] / row[0] for row in results]) + " | "
            + peers.quartiles([row[2] / row[0] for row in results]) + " | "
            + ", ".join(f"{mib:.0f}" for mib in memory[:3]) + f" | {100 * share:.0f} % |")
    return lines


def measure_passes(work: pathlib.Path, cases: list[Case], rounds: int) -> list[str]:
    lines = ["| model | batch x tokens | precision | without | time without / with | peak MiB without, with |",
             "|---|---|---|---|---|---|"]
    for case in cases:
        whole = program_of(work, case)
        parts = {name: program_of(work, case, (option,)) for name, option in PASSES.items()}
        results = paired_runs.run_rounds(f"{case.stem} {case.precision} passes", [whole, *parts.values()], rounds)
        for index, (name, part) in enumerate(parts.items(), 1):
            lines.append(f"| {NAMES[case.model]} | {case.shape} | {case.precision} | {name} | "
                         + peers.quartiles([row[index] / row[0] for row in results])
                         + f" | {part.peak:.0f}, {whole.peak:.0f} |")
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
        ratio = f"{seconds / before:.2f} " if before else ""
        lines.append(f"| {depth} | {seconds:.2f} | {ratio}|")
        before = seconds
    return lines


def words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--models", type=words, default=["gpt2", "llama"])
    parser.add_argument("--shapes", type=words, default=["4x64", "4x256", "1x1024"])
    parser.add_argument("--precisions", type=words, default=["fp32", "bf16"])
    parser.add_argument("--passes", type=words, default=["gpt2_4x256_bf16"],
                        help="cases whose passes are left out one at a time")
    parser.add_argument("--layers", type=words, default=["12", "24", "48", "96"])
    parser.add_argument("--worker", nargs=5, help=argparse.SUPPRESS)
    parser.add_argument("--export", nargs=6, help=argparse.SUPPRESS)
    parser.add_argument("-o", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.worker:
        mode, case = arguments.worker[0], case_of(*arguments.worker[1:])
        return probe(case) if mode == "probe" else worker(mode, case)
    if arguments.export:
        package, tokens, *case = arguments.export
        return export(package, tokens, case_of(*case))

    def shaped(model: str, shape: str, precision: str) -> Case:
        return Case(model, *map(int, shape.split("x")), precision)

    cases = [shaped(*parts) for parts in itertools.product(arguments.models, arguments.shapes, arguments.precisions)]
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        steps = measure_steps(work, cases, arguments.rounds)
        passes = measure_passes(work, [shaped(*name.split("_")) for name in arguments.passes], arguments.rounds)
        compiles = measure_compiles(work, [int(depth) for depth in arguments.layers])
    text = "\n".join([
        "# CPU: the training step beside PyTorch, and compile times", "",
        f"Made by `tools/benchmark-cpu.py --rounds {arguments.rounds}` on {datetime.date.today()}: {peers.cpu_name()}, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[1]:.1f}, PyTorch {importlib.metadata.version('torch')}. "
        f"AdamW, clipping at 1. Medians over {arguments.rounds} interleaved rounds of {STEPS} steps; ratios are "
        "medians of the rounds' own ratios, with quartiles; above 1, Hone is faster. PyTorch: fused AdamW, fused "
        "attention, vocabulary padded to 64, autocast for bf16. The last column is the FLOPs of Hone's step per second "
        "over the rate of the products of a feed-forward block alone, run by oneDNN in the same rounds.", "",
        *steps, "", "What each decision brings (above 1: the step is slower without it):", "", *passes, "",
        "Compile time, package to executable, in seconds of processor time (the compiler runs one thread):", "",
        *compiles, ""])
    if arguments.o:
        arguments.o.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
