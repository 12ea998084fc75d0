"""Random functions before and after the passes from joining pads to groups, in the interpreter and in double.

    passes.py WORKDIR [--seeds FROM TO]

Prints the functions that a pass fails on or changes, each named by its seed (`@g17`), and a summary; exits 1 if there
is one.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from graphs import random_function

# The fuse phase (lib/Pipelines/Pipelines.cpp), without what its cleanups do not need.
PASSES = "builtin.module(func.func(hone-join-pads,hone-normalize-contractions,canonicalize,cse,hone-decompose-rows," \
         "canonicalize,cse,hone-fuse-groups,hone-verify-groups))"
# Sums in another order and row ops spelled out, in double, after some ten ops that each may lose a digit.
TOLERANCE = ["--rtol", "1e-9", "--atol", "1e-9"]


def call(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True)


def check(work: Path, name: str, functions: str) -> list[str]:
    """Complaints about one module."""
    before, after = work / f"{name}.mlir", work / f"{name}.groups.mlir"
    before.write_text("module {\n" + functions + "}\n")
    done = call("hone-opt", before, "--pass-pipeline=" + PASSES, "-o", after)
    if done.returncode != 0:
        message = (done.stderr.splitlines() or ["no message"])[0][:300]
        return [f"{name}: hone-opt exits with {done.returncode}: {message}"]
    done = call("hone-run", "--compare", before, after, "--f64", "--args", "1", *TOLERANCE)
    lines = (done.stdout + done.stderr).splitlines()
    wrong = [f"{name}: {line}" for line in lines if ": equal" not in line]
    return wrong or ([f"{name}: hone-run exits with {done.returncode}"] if done.returncode != 0 else [])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=Path)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 200), metavar=("FROM", "TO"))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    seeds = range(*options.seeds)
    functions = {seed: random_function(seed, f"g{seed}") for seed in seeds}
    problems = check(options.work, "all", "".join(functions.values()))
    if problems and "hone-opt" in problems[0]:  # one by one: a failing pass hides the others
        problems = [line for seed, text in functions.items() for line in check(options.work, f"g{seed}", text)]
    print("\n".join([*problems, f"{len(seeds)} graphs, {len(problems)} failures"]))
    return 1 if problems or not seeds else 0


if __name__ == "__main__":
    sys.exit(main())
