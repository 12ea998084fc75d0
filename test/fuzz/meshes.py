"""Random transformers on random meshes: a step of all ranks and stages against the step of one rank.

    meshes.py WORKDIR [--graphs N] [--first SEED]      (in the check: 30 graphs; tools/check-large.sh: 1000)

Plans and models are those of mesh_models.py. Each plan goes through all phases up to checkpoints, within the smallest
memory budget now and then; of a pipeline, hone-split-turns makes the functions that its schedule runs. hone-run --step
then runs all ranks, each stage its own list, in double, and compares what evaluation and step leave with one rank's, up
to the error of sums in another order. Exact plans run in fp32, and must have every bit of one rank.

A plan may be refused, in words that the documentation has (REFUSALS). Prints a line per failure with the seed that
repeats it, how many plans were compared and refused for what, and a summary; exits 1 if there is a failure.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from mesh_models import AXES, MeshTransformer, Plan
from modules import SOME_STATE, ZERO_STATE, call, module

# Sums in another order, of graphs of some hundred ops; constants are of fp32.
NEAR = ("--f64", "--rtol", "1e-7", "--atol", "1e-7")
EQUAL = ("--rtol", "0", "--atol", "0")  # 0 equals -0
# Parameters are those of the graph, whatever the mesh.
ALIKE = "target=cpu arch=znver4 pad=off without=hone-pack-projections,hone-join-rotations"
# What docs/distributed.md and the passes' descriptions say that they refuse.
REFUSALS = {
    "rows": r"input '\w+' has \d+ rows, expected a multiple of \d+, the ranks that share the batch",
    "positions": r"input '\w+' has \d+ positions, expected a multiple of \d+",
    "experts": r"has \d+ experts, expected a multiple of \d+, the ranks along axis ep",
    "tokens": r"has \d+ tokens, expected a multiple of \d+, the ranks that share the batch",
    "key heads of cp-heads": r"has \d+ key heads, expected a multiple of \d+, the ranks along cp and tp together",
    "no parameter for tp": r"axis tp of \d+ ranks divides none of \d+ parameters",
    "nothing for sp": r"sequence divides nothing|'sequence' .*divides no",
    "too few cuts": r"can be cut at \d+ of its values, expected at least \d+ for \d+ stages",
}
LEAST_COMPARED = 0.6


@dataclass
class Tally:
    problems: list[str] = field(default_factory=list)
    compared: Counter[str] = field(default_factory=Counter)  # by axis, word, schedule and kind
    refused: Counter[str] = field(default_factory=Counter)


class Case:
    def __init__(self, work: Path, seed: int) -> None:
        self.work = work
        self.plan = Plan.draw(random.Random(f"plan {seed}"))
        self.name = f"mesh{seed}"
        _, text = MeshTransformer(seed, self.plan).build()
        self.source = work / "forward.mlir"
        self.source.write_text(module(self.name, text))

    def lower(self, target: str, options: list[str]) -> str:
        """Writes the module after the phases to `target`; the first error, if any."""
        words = " ".join([ALIKE, f"micro-batches={self.plan.micro}", *options])
        passes = f"builtin.module(hone-pipeline{{{words}}},builtin.module(hone-split-turns,hone-overlap-turns))"
        done = call("hone-opt", self.source, f"--pass-pipeline={passes}", "-o", self.work / target)
        lines = [line for line in done.stderr.splitlines() if "error: " in line] or [f"exit code {done.returncode}"]
        return lines[0] if done.returncode else ""

    def lower_parts(self) -> str:
        options = ["upto=checkpoint", *self.plan.options(), *(["exact=true"] if self.plan.is_exact else [])]
        if not self.plan.has_budget:
            return self.lower("parts.mlir", options)
        budget, smallest = 1, None
        while (error := self.lower("parts.mlir", [*options, f"memory-budget={budget}"])) and (
            smallest := re.search(r"the smallest that works is (\d+) bytes", error)
        ):
            budget = int(smallest[1])
        return error

    def compare(self) -> list[str]:
        """What differs, or what went wrong."""
        whole = self.work / "whole.mlir"
        options = ["upto=checkpoint", "exact=true"] if self.plan.is_exact else ["upto=step"]
        if error := self.lower(whole.name, options):
            return [f"one rank: {error}"]
        whole.write_text(whole.read_text().replace(ZERO_STATE, SOME_STATE))
        rules = EQUAL if self.plan.is_exact else NEAR
        ran = call("hone-run", "--compare", whole, self.work / "parts.mlir", "--step", "--args", "1", *rules)
        wrong = [line for line in ran.stdout.splitlines() if ": different" in line]
        if ran.returncode and not wrong:
            wrong = ran.stderr.splitlines()[:1] or [f"hone-run exits with {ran.returncode}"]
        return wrong


def check(work: Path, seed: int, tally: Tally) -> None:
    case = Case(work, seed)
    plan = case.plan
    if error := case.lower_parts():
        known = next((name for name, text in REFUSALS.items() if re.search(text, error)), "")
        if known:
            tally.refused[known] += 1
        else:
            tally.problems.append(f"{case.name} ({plan.text()}): {error}")
        return
    if wrong := case.compare():
        tally.problems.append(f"{case.name} ({plan.text()}): {len(wrong)} wrong, {wrong[0]}")
    kinds = {"exact": plan.is_exact, "budget": plan.has_budget, plan.schedule: bool(plan.schedule)}
    tally.compared.update({"all", *plan.mesh, *plan.words, *(kind for kind, holds in kinds.items() if holds)})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--graphs", type=int, default=30)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    tally = Tally()
    for seed in range(options.first, options.first + options.graphs):
        check(options.work, seed, tally)
    problems = list(tally.problems)
    if tally.compared["all"] < LEAST_COMPARED * options.graphs:
        problems.append(f"{tally.compared['all']} plans are compared, expected {LEAST_COMPARED:.0%}")
    problems += [f"no plan with {axis} is compared" for axis in AXES if not tally.compared[axis]]
    counts = [f"{what}: {', '.join(f'{count} {name}' for name, count in counter.most_common())}"
              for what, counter in (("compared", tally.compared), ("refused", tally.refused))]
    print("\n".join([*problems, *counts, f"{options.graphs} graphs, {len(problems)} failures"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
