#!/usr/bin/env python3
"""Trains pipelines in combination with all else: ranks_matrix.py WORKDIR HOW MADE [MODEL].

A case is a model, stages, other axes with a recipe, numbers (a precision, dropout, a memory budget or state in the second
arena), micro-batches and a schedule. With MODEL, cases of other models are left out. MADE holds the packages gpt2_heads
and llama_heads of test/fixtures/cached.py, whose products are large enough for codes of fp8. HOW says what is covered, by
as few cases as a greedy choice finds:

- `pairs`: all pairs of these, but budgets and schedules with several chunks per stage, and the pairs of axes with
  numbers or micro-batches;
- `schedules`: all pairs of all but the schedule. Each case is trained with every schedule, and weights must be equal in
  every bit; nothing is clipped, for updates would follow the norms. So must losses and norms where chunks end at the
  same layers. Where they do not, a stage adds up squares of other gradients, and a kernel may end before the sum over
  rows of a loss or behind it: losses and norms must agree within 1e-6 then.
- `all`: as `schedules`, with every case there is: some 2,700 runs, of up to 8 ranks.

Each case is compared with one rank that has as many micro-batches (ranks.py says how closely), and with a budget or a
second arena also with the same case without, in every bit. As many cases at a time as the machine has processors. A line
per case; exit code 1 if one differs.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
import threading
from array import array
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import ranks

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
BATCH = 2 * 16  # tokens
SCHEDULES = ("gpipe", "1f1b", "zb-h1")
CHUNKED = ("interleaved=2", "zb-v")  # several chunks per stage


@dataclass(frozen=True)
class Numbers:
    """What a model computes with, and how far it may be from one rank: as in ranks.py."""

    options: tuple[str, ...] = ()
    numbers: float = ranks.TOLERANCE
    weights: float = 0.02


NUMBERS = {
    "fp32": Numbers(),
    # Losses agree within 2e-7. One gradient norm of four stages with divided sums is off by 1.06e-6, the step after
    # updates of gradients that are rounding alone.
    "dropout": Numbers(numbers=2e-6),
    "budget": Numbers(),
    # Gradients of key biases are rounding alone, so that updates may have opposite directions.
    "bf16": Numbers(("--precision=bf16",), 1e-3, 2.1),
    "fp16": Numbers(("--precision=fp16",), 1e-3, 2.1),
    # A neighbour in bf16 may move a code to its own.
    "fp8": Numbers(("--precision=fp8-block",), 1e-2, 2.1),
    "offload": Numbers(),
}
OFFLOAD = ["--offload=state", "--offload-chunk=6000"]
# By model and micro-batches: a first loss scale, and the step whose tokens a run begins with, so that its second
# step overflows, and the first does not.
OVERFLOWS = {
    ("gpt2", 3): (2097152, 2),
    ("gpt2", 4): (2965821, 5),
    ("gpt2", 5): (3178688, 1),
    ("llama", 3): (1482910, 2),
    ("llama", 4): (2097152, 5),
    ("llama", 5): (2097152, 7),
}


@dataclass(frozen=True)
class Case:
    model: str
    stages: int
    others: str  # MESH[:RECIPE]
    numbers: str
    micro: str
    schedule: str

    def package(self) -> Path:
        if self.numbers == "fp8":
            return Path(sys.argv[3]) / f"{self.model}_heads.hone"
        name = "gpt2_tiny_dropout" if self.numbers == "dropout" else f"{self.model}_tiny"
        return FIXTURES / f"{name}.hone"

    def count(self) -> int:
        """Micro-batches: fewer than stages, no multiple of them, or a multiple."""
        return {"fewer": self.stages - 1, "uneven": self.stages + 1, "even": 4}[self.micro]

    def mesh(self) -> str:
        axes = self.others.split(":")[0]
        return f"pp={self.stages}" + (f",{axes}" if axes else "")

    def recipe(self) -> str:
        return self.others.partition(":")[2]

    def options(self) -> list[str]:
        scale = [f"--loss-scale={OVERFLOWS[self.model, self.count()][0]}"] if self.numbers == "fp16" else []
        return [*NUMBERS[self.numbers].options, *scale]

    def alone(self) -> tuple:
        """What the run on one rank depends on."""
        return self.package().name, self.count(), *self.options()

    def is_possible(self) -> bool:
        """Whether there is such a package, or a known overflow."""
        if self.numbers == "fp16":
            return (self.model, self.count()) in OVERFLOWS
        return (self.model, self.numbers) != ("llama", "dropout")

    def text(self) -> str:
        return f"{self.model} {self.mesh()} {self.recipe() or 'ddp'} {self.numbers} {self.schedule} x{self.count()}"


FACTORS = {
    "model": ("gpt2", "llama"),
    "stages": (2, 4),
    "others": ("", "dp=2", "tp=2", "tp=2:sp", "fs=2:zero1", "fs=2:zero2", "fs=2:zero3"),
    "numbers": tuple(NUMBERS),
    "micro": ("fewer", "uneven", "even"),
    "schedule": SCHEDULES,
}


def pairs_of(case: Case, skipped: set[frozenset[str]]) -> set[tuple]:
    values = vars(case).items()
    return {pair for pair in itertools.combinations(values, 2) if frozenset(dict(pair)) not in skipped}


def all_cases(factors: dict[str, tuple]) -> list[Case]:
    """Those of one run on one rank after each other."""
    known = [Case(*values) for values in itertools.product(*factors.values())]
    return sorted((case for case in known if case.is_possible()), key=lambda case: case.alone())


def cover(factors: dict[str, tuple], skipped: set[frozenset[str]]) -> list[Case]:
    """Cases that have all pairs of values of two factors, but those `skipped`."""
    pairs = {case: pairs_of(case, skipped) for case in all_cases(factors)}
    missing, chosen = set().union(*pairs.values()), []
    compared: set[tuple] = set()  # with these runs on one rank, of which there should be few
    while missing:
        chosen.append(max(pairs, key=lambda case: (len(missing & pairs[case]), case.alone() in compared)))
        missing -= pairs[chosen[-1]]
        compared.add(chosen[-1].alone())
    return chosen


class Matrix:
    """Runs of cases, of several threads."""

    def __init__(self, work: Path, flags: tuple[str, ...]) -> None:
        self.work, self.flags = work, flags
        self.results: dict[tuple, Future] = {}
        self.lock = threading.Lock()

    def train(self, case: Case, mesh: str, schedule: str, *more: str) -> tuple:
        """What a case leaves on a mesh, which may be none. Each is trained once."""
        key = (case.package().name, *case.options(), mesh, case.recipe() if mesh else "", case.count(), schedule, *more)
        with self.lock:
            is_first = key not in self.results
            result = self.results.setdefault(key, Future())
            folder = self.work / str(len(self.results))
        if is_first:
            try:
                result.set_result(self.train_in(folder, case, mesh, schedule, *more))
            except Exception as error:
                result.set_exception(error)
        return result.result()

    def train_in(self, folder: Path, case: Case, mesh: str, schedule: str, *more: str) -> tuple:
        folder.mkdir(parents=True)
        trainer = ranks.Trainer(case.package(), folder, "mpi", [*case.options(), *more], self.flags)
        if case.numbers == "fp16":
            begin = OVERFLOWS[case.model, case.count()][1] * case.count() * BATCH
            tokens = array("H", trainer.tokens.read_bytes())
            trainer.tokens.write_bytes((tokens[begin:] + tokens[:begin]).tobytes())
        left = trainer.train("train", mesh, case.recipe() if mesh else "", case.count(), schedule)
        if case.numbers == "fp16":
            skipped = [entry["skipped"] for entry in left[0] if "loss" in entry]
            assert skipped[:2] == [False, True] and not all(skipped[1:]), f"{case.text()}: {skipped}"
        shutil.rmtree(folder)
        return left

    def budget(self, case: Case) -> str:
        """The smallest with which all stages work."""
        smallest = 1
        while True:
            option = f"--memory-budget={smallest}"
            command = ["honec", case.package(), f"--mesh={case.mesh()}", f"--recipe={case.recipe()}"]
            command += [f"--micro-batches={case.count()}", f"--schedule={case.schedule}", "--dry-run", option]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return option
            needed = int(re.search(r"the smallest that works is (\d+) bytes", done.stderr)[1])
            assert needed > smallest, done.stderr
            smallest = needed

    def run(self, case: Case) -> tuple[str, tuple]:
        """The verdict, and what the case left."""
        expected = self.train(case, "", "")
        more = {"budget": lambda: [self.budget(case)], "offload": lambda: OFFLOAD}.get(case.numbers, list)()
        seen = self.train(case, case.mesh(), case.schedule, *more)
        limits = NUMBERS[case.numbers]
        numbers, worst = ranks.differences(expected, seen)
        agrees = numbers <= limits.numbers and worst <= limits.weights * ranks.RATE * ranks.STEPS
        if more and not ranks.has_bits_of(self.train(case, case.mesh(), case.schedule), seen):
            return f"DIFFERENT from the run without {more[0]}", seen
        return f"{'equal' if agrees else 'DIFFERENT'}, numbers {numbers:.2g}, weights {worst:.2g}", seen


def trains_alike(expected: tuple, seen: tuple) -> bool:
    """Whether weights have the same bits, and losses and norms those of another order of additions."""
    same = all(seen[1][name].tobytes() == tensor.tobytes() for name, tensor in expected[1].items())
    return same and ranks.differences(expected, seen)[0] <= ranks.TOLERANCE


def run_schedules(matrix: Matrix, first: Case, schedules: tuple[str, ...]) -> list[str]:
    """The verdicts on a case and its likes with other schedules."""
    verdicts: list[str] = []
    left: list[tuple] = []
    for schedule in schedules:
        case = Case(**(vars(first) | {"schedule": schedule}))
        try:
            verdict, seen = matrix.run(case)
            left.append(seen)
            if not (trains_alike if schedule in CHUNKED else ranks.has_bits_of)(left[0], seen):
                verdict = "DIFFERENT from the schedule before"
        except subprocess.CalledProcessError as error:
            verdict = f"DIFFERENT: {' '.join(map(str, error.cmd))} failed"
        except Exception as error:
            verdict = f"DIFFERENT: {error!r}"
        verdicts.append(f"{case.text()}: {verdict}")
    return verdicts


def main(argv: list[str]) -> int:
    how = argv[2]
    has_groups = how in ("schedules", "all")
    matrix = Matrix(Path(argv[1]), ("--clip", "0") if has_groups else ())
    schedules = SCHEDULES + CHUNKED if has_groups else ()
    if has_groups:
        factors, skipped = FACTORS | {"schedule": SCHEDULES[:1]}, set()
    else:
        factors = FACTORS | {"numbers": tuple(name for name in NUMBERS if name != "budget")}
        skipped = {frozenset({"others", other}) for other in ("numbers", "micro")}
    cases, failures = all_cases(factors) if how == "all" else cover(factors, skipped), 0
    cases = [case for case in cases if case.model == (argv[4] if len(argv) > 4 else case.model)]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        runs = pool.map(lambda case: run_schedules(matrix, case, schedules or (case.schedule,)), cases)
        for verdict in itertools.chain.from_iterable(runs):
            failures += "DIFFERENT" in verdict
            print(verdict, flush=True)
    print(f"{len(cases) * max(len(schedules), 1) - failures} agree, {failures} differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
