#!/usr/bin/env python3
"""Measures what a step costs under memory budgets on this CPU, beside PyTorch's ways to save memory.

  .venv/bin/python tools/benchmark-memory.py [--rounds 5] [--models gpt2,gpt2-medium] [--shape 4x1024]
      [--precisions fp32,bf16] [--budgets none,0.8,0.6,0.4,0.2,0,full,sqrt] [--activation-budgets 1,0.8,0.6,0.4,0.2,0]
      [--systems hone,eager,eager-block,compile,compile-block] [--results build/benchmark/memory.jsonl]
      [-o docs/benchmarks/memory.md]

Points. Hone: `none` (no budget), a fraction of the way from the smallest budget that works (0) to the plan without one
(1), a size such as 4GiB, or a policy of --checkpoint (full, sqrt). PyTorch: eager, eager with torch.utils.checkpoint
around each block, torch.compile with each value of activation_memory_budget, and torch.compile with the blocks
checkpointed.

A round is a turn of every point, each in a process of its own: one holds the memory at a time. A turn is a few steps
that are timed after some that are not. Ratios compare two turns of one round; medians over the rounds are quoted.
Results are appended to a file, from which the tables are made: the measurement can be done in pieces, which share a
round only within one run. `--rounds 0` makes the tables alone.

All train the same model with AdamW and clipping at 1 on random tokens, with as many threads as there are cores. PyTorch
has its best settings, as in benchmark-cpu.py. Memory is the peak resident set of the process, less that of the idle
process (Hone: the binary's --info; PyTorch: after its import, and only from the first timed step on, so that compiling
does not count, though what a compiler leaves behind does). A Hone point is set against the fastest of PyTorch's points
whose peak is at most its own.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import importlib.metadata
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

import peers

ROOT = pathlib.Path(__file__).resolve().parent.parent
HONEC = pathlib.Path(os.environ.get("HONEC", ROOT / "build" / "bin" / "honec"))
sys.path[:0] = [str(ROOT / folder) for folder in ("python_frontend", "python_frontend/examples", "test/e2e")]

import plans  # noqa: E402

STEPS = 2  # timed in a turn, after one that is not
POLICIES = ("full", "sqrt")
VOCAB, PADDED = 50257, 50304
MODELS = {  # what differs from GPT-2 124M
    "gpt2": {},
    "gpt2-medium": {"layers": 24, "heads": 16, "width": 1024},
    "tiny": {"layers": 4, "heads": 4, "width": 128},
}
NAMES = {"gpt2": "GPT-2 124M", "gpt2-medium": "GPT-2 medium (24 layers, 350M)", "tiny": "a tiny GPT-2"}


@dataclass(frozen=True)
class Case:
    model: str
    batch: int
    sequence: int
    precision: str

    @property
    def stem(self) -> str:
        return f"{self.model}_{self.batch}x{self.sequence}"


def make_training(case: Case, vocab: int):
    import gpt2

    config = gpt2.Config(vocab=vocab, context=max(1024, case.sequence), **MODELS[case.model])
    return gpt2.training(config, case.batch, case.sequence)


# ---- PyTorch ---------------------------------------------------------------------------------------------------------


def memory(name: str) -> int:
    """A size in /proc/self/status, in bytes."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise KeyError(name)


def torch_turn(system: str, case: Case) -> None:
    """Prints the milliseconds of STEPS steps, the peak while they ran and the memory before the model, as JSON."""
    import torch

    torch.ones(2, 2) @ torch.ones(2, 2)
    idle = memory("VmRSS")
    kind, _, budget = system.partition(":")

    def prepare(model) -> None:
        from torch.utils.checkpoint import checkpoint

        for block in model.blocks if kind.endswith("-block") else []:
            block.forward = functools.partial(checkpoint, block.forward, use_reentrant=False, preserve_rng_state=False)

    if budget:
        import torch._functorch.config

        torch._functorch.config.activation_memory_budget = float(budget)
    step = peers.torch_step(make_training(case, PADDED), VOCAB, case.batch, case.sequence, case.precision,
                            compiles=kind.startswith("compile"), prepare=prepare)
    for _ in range(2):
        step()
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    times = []
    for _ in range(STEPS):
        start = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - start))
    print(json.dumps({"ms": statistics.median(times), "peak": memory("VmHWM"), "idle": idle}), flush=True)


def export(case: Case, out: str) -> None:
    import hone
    import torch

    with torch.device("meta"):
        training = make_training(case, VOCAB)
    init = {"*.bias": {"dist": "constant", "value": 0.0}, "*ln_*.weight": {"dist": "constant", "value": 1.0},
            "*": {"dist": "normal", "mean": 0.0, "std": 0.02}}
    hone.export(training.model, training.loss_fn, training.example_batch, optimizer=training.optimizer,
                clip=training.clip, out=out, init=init)


# This process stays small: children inherit the peak of the one that starts them.
def worker(*arguments: object) -> str:
    command = [sys.executable, __file__, "--worker", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


class Peer:
    def __init__(self, system: str, case: Case):
        self.system, self.case, self.facts = system, case, {"system": system}

    def turn(self) -> dict:
        case = self.case
        lines = worker("turn", self.system, case.model, case.batch, case.sequence, case.precision).splitlines()
        return json.loads(lines[-1])


# ---- Hone ------------------------------------------------------------------------------------------------------------


def run(command: list) -> int:
    """Runs a command; returns its peak memory in bytes, or this process' where that is more."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"error: {' '.join(map(str, command))} failed")
    return usage.ru_maxrss * 1024


class Binary:
    def __init__(self, work: pathlib.Path, case: Case, point: str):
        package = work / f"{case.stem}.hone"
        if not package.exists():
            worker("export", case.model, case.batch, case.sequence, case.precision, package)
        options = [f"--precision={case.precision}", *self.options(package, case, point)]
        plan = plans.dry_run(package, *options, honec=HONEC)
        self.path, self.log = work / f"{case.stem}_{case.precision}_{point}", work / "log.jsonl"
        subprocess.run([HONEC, package, "-o", self.path, *options], check=True)
        self.tokens = work / "tokens.bin"
        self.tokens.write_bytes(b"".join((i * 7919 % VOCAB).to_bytes(2, "little") for i in range(100000)))
        info = subprocess.run([self.path, "--info"], check=True, stdout=subprocess.PIPE, text=True).stdout
        self.idle = int(re.search(r"resident while idle +(\d+) bytes", info)[1])
        self.facts = {"system": "hone", "point": point, "plan": plan.peak, "estimate": 1e3 * plan.seconds}

    @staticmethod
    def options(package: pathlib.Path, case: Case, point: str) -> list[str]:
        if point == "none":
            return []
        if point in POLICIES:
            return [f"--checkpoint={point}"]
        if not point.replace(".", "", 1).isdigit():
            return [f"--memory-budget={point}"]
        precision = f"--precision={case.precision}"
        least = plans.smallest_budget(package, precision, honec=HONEC)
        most = plans.dry_run(package, precision, honec=HONEC).peak
        return [f"--memory-budget={least + round(float(point) * (most - least))}"]

    def turn(self) -> dict:
        peak = run([self.path, "--data", self.tokens, "--steps", STEPS + 1, "--log", self.log, "--quiet"])
        steps = [line for line in map(json.loads, self.log.read_text().splitlines()) if "loss" in line]
        return {"ms": statistics.median(line["ms"] for line in steps[1:]), "peak": peak, "idle": self.idle}


# ---- Rounds ----------------------------------------------------------------------------------------------------------


def measure(case: Case, arguments: argparse.Namespace) -> None:
    work = arguments.results.parent
    points = []
    for system in arguments.systems:
        if system == "hone":
            points += [Binary(work, case, point) for point in arguments.budgets]
        elif system == "compile":
            points += [Peer(f"compile:{budget}", case) for budget in arguments.activation_budgets]
        else:
            points.append(Peer(system, case))
    for number in range(arguments.rounds):
        label = f"{datetime.datetime.now():%Y-%m-%dT%H:%M:%S}-{number + 1}"
        for point in points:
            facts = {"case": f"{case.stem}_{case.precision}", "round": label, **point.facts, **point.turn()}
            with arguments.results.open("a") as out:
                out.write(json.dumps(facts) + "\n")
            name = f"{facts['system']} {facts.get('point', '')}".strip()
            used = mib(facts["peak"] - facts["idle"])
            print(f"{facts['case']} round {number + 1}: {name} {facts['ms']:.0f} ms, {used} MiB", flush=True)


# ---- Tables ----------------------------------------------------------------------------------------------------------


def mib(size: float) -> str:
    return f"{size / 2**20:.0f}"


@dataclass
class Point:
    """All turns of one system."""

    facts: dict
    turns: dict[str, dict]  # by round

    def median(self, key: str) -> float:
        return statistics.median(turn[key] for turn in self.turns.values())

    @property
    def ms(self) -> float:
        return self.median("ms")

    @property
    def above(self) -> float:
        """Bytes above the idle process."""
        return statistics.median(turn["peak"] - turn["idle"] for turn in self.turns.values())

    @property
    def name(self) -> str:
        kind, _, budget = self.facts["system"].partition(":")
        names = {"eager": "eager", "eager-block": "eager, blocks checkpointed", "compile": "torch.compile",
                 "compile-block": "torch.compile, blocks checkpointed"}
        return names.get(kind, kind) + (f", budget {budget}" if budget else "")

    def over(self, other: Point) -> list[float]:
        """This time over the other's, round by round; over medians (one value) where they never met."""
        shared = [key for key in self.turns if key in other.turns]
        if not shared:
            return [self.ms / other.ms]
        return [self.turns[key]["ms"] / other.turns[key]["ms"] for key in shared]


def read_points(results: pathlib.Path, case: Case) -> tuple[list[Point], list[Point]]:
    """Hone's points from the largest plan to the smallest, and the peers."""
    points: dict[tuple, Point] = {}
    for line in results.read_text().splitlines():
        facts = json.loads(line)
        if facts["case"] != f"{case.stem}_{case.precision}":
            continue
        point = points.setdefault((facts["system"], facts.get("point")), Point(facts, {}))
        point.facts = facts
        point.turns[facts["round"]] = facts
    ours = [point for point in points.values() if point.facts["system"] == "hone"]
    others = [point for point in points.values() if point.facts["system"] != "hone"]
    return sorted(ours, key=lambda point: -point.facts["plan"]), sorted(others, key=lambda point: -point.above)


def tables(results: pathlib.Path, case: Case) -> list[str]:
    ours, others = read_points(results, case)
    if not ours and not others:
        return []
    lines = [f"## {NAMES[case.model]}, {case.batch} x {case.sequence}, {case.precision}", ""]
    if ours:
        whole = next((point for point in ours if point.facts["point"] == "none"), ours[0])
        lines += ["| budget | plan, MiB | resident, MiB | step, ms | measured / none | predicted / none | "
                  "fastest of PyTorch in as little | its MiB | its ms | it / Hone |", "|" + "---|" * 10]
        for point in ours:
            fitting = [peer for peer in others if peer.above <= point.above]
            best = min(fitting, key=lambda peer: peer.ms, default=None)
            theirs = "none fits | | |"
            if best:
                theirs = f"{best.name} | {mib(best.above)} | {best.ms:.0f} | {peers.quartiles(best.over(point))}"
            measured = statistics.median(point.over(whole))
            predicted = point.facts["estimate"] / whole.facts["estimate"]
            lines.append(f"| {point.facts['point']} | {mib(point.facts['plan'])} | {mib(point.above)} | "
                         f"{point.ms:.0f} | {measured:.3f} | {predicted:.3f} | {theirs} |")
        lines.append("")
    if others:
        lines += ["| PyTorch | resident, MiB | step, ms |", "|---|---|---|"]
        lines += [f"| {peer.name} | {mib(peer.above)} | {peer.ms:.0f} |" for peer in others]
        lines.append("")
    return lines


def page(cases: list[Case], results: pathlib.Path) -> str:
    turns = sum(1 for _ in results.open())
    version = importlib.metadata.version("torch")
    lines = ["# Memory: what a step costs under a budget", "",
             f"Made by `tools/benchmark-memory.py` on {datetime.date.today()}: {peers.cpu_name()}, "
             f"{os.cpu_count()} cores, PyTorch {version}, {turns} turns of {STEPS} steps. AdamW, clipping at 1. "
             "The budget is a fraction of the way from the smallest that works (0) to the plan without one (`none`), "
             "or a policy of `--checkpoint`. "
             "Resident: the peak of the process less that of the idle one. Times are medians; the last column is the "
             "median over the rounds of PyTorch's time over Hone's, with quartiles: above 1, Hone is faster in "
             "the same memory.", ""]
    for case in cases:
        lines += tables(results, case)
    return "\n".join(lines)


def words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--models", type=words, default=["gpt2", "gpt2-medium"])
    parser.add_argument("--shape", default="4x1024")
    parser.add_argument("--precisions", type=words, default=["fp32", "bf16"])
    parser.add_argument("--budgets", type=words, default=["none", "0.8", "0.6", "0.4", "0.2", "0", "full", "sqrt"])
    parser.add_argument("--systems", type=words, default=["hone", "eager", "eager-block", "compile", "compile-block"])
    parser.add_argument("--activation-budgets", type=words, default=["1", "0.8", "0.6", "0.4", "0.2", "0"])
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "build" / "benchmark" / "memory.jsonl")
    parser.add_argument("--worker", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("-o", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.worker:
        task, *rest = arguments.worker
        system = rest.pop(0) if task == "turn" else ""
        case = Case(rest[0], int(rest[1]), int(rest[2]), rest[3])
        return torch_turn(system, case) if task == "turn" else export(case, rest[4])

    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    cases = [Case(model, *map(int, arguments.shape.split("x")), precision)
             for model in arguments.models for precision in arguments.precisions]
    for case in cases if arguments.rounds else []:
        measure(case, arguments)
    text = page(cases, arguments.results)
    if arguments.o:
        arguments.o.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
