#!/usr/bin/env python3
"""Compares what a training program occupies with its plan.

    resident_memory.py WORKDIR PACKAGE|small|gpt2 [--budgets N] [options of honec]

`small` is a GPT of 21M parameters made here, `gpt2` the one of 124M at 4 x 1024 tokens. With --budgets N, for N budgets
from the plan without one to the smallest that works, the first run below alone. The plan is the arena. Beside it the program states constants, which do not grow with the
model: the library's workspace, and all else (`--info`). Checked for a training run, one that starts from a weights file
and saves, and one that resumes from a checkpoint:

- the peak of resident memory, less that of the same program idle (`--info`: libraries loaded, nothing computed), is the
  plan within 1 % and the constants,
- memory that is no file (RssAnon) is at most the plan, 1 % and the constants, with nothing taken off.

Pages of the arena that no step touches are not resident; how many are is printed.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

from allocations import status, vocabulary, watch, write_tokens
from plans import spread_budgets

ROOT = Path(__file__).resolve().parents[2]
SHARE = 0.01
STEPS = 2


def make(name: str, out: Path) -> Path:
    """A GPT without weights."""
    sys.path[:0] = [str(ROOT / "python_frontend"), str(ROOT / "python_frontend" / "examples")]
    import gpt2
    import hone
    import torch

    # Of the small one the vocabulary is odd, so that its padding is part of the test.
    small = gpt2.Config(vocab=16381, context=64, layers=4, heads=8, width=512)
    with torch.device("meta"):
        training = gpt2.training(*{"small": (small, 2, 64), "gpt2": (gpt2.Config(), 4, 1024)}[name])
    init = {"*.bias": {"dist": "constant", "value": 0.0}, "*ln_*.weight": {"dist": "constant", "value": 1.0},
            "*": {"dist": "normal", "mean": 0.0, "std": 0.02}}
    hone.export(training.model, training.loss_fn, training.example_batch, training.optimizer, clip=training.clip,
                out=str(out), init=init)
    return out


def mib(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"


def planned(info: str, name: str) -> int:
    return int(re.search(rf"^  {re.escape(name)} +(\d+) bytes", info, re.MULTILINE)[1])


def arena_mapping(smaps: str) -> tuple[int, int]:
    """Size and resident bytes of the largest mapping that is no file."""
    pattern = r"^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ 0 *\nSize: +(\d+) kB\n(?:.*\n)*?Rss: +(\d+) kB$"
    sizes = [(int(size) * 1024, int(resident) * 1024) for size, resident in re.findall(pattern, smaps, re.MULTILINE)]
    return max(sizes)


def check(package: Path, work: Path, options: list[str], files_too: bool) -> list[str]:
    """Compiles, runs and measures; returns what is wrong."""
    work.mkdir(parents=True, exist_ok=True)
    program = work / "train"
    subprocess.run(["honec", package, "-o", program, *options], check=True)
    info = subprocess.run([program, "--info"], check=True, capture_output=True, text=True).stdout
    arena = planned(info, "arena (peak)")
    constants = planned(info, "library workspace") + planned(info, "other, at most")
    room = int(SHARE * arena) + constants
    idle = status(watch(program, ["--info"], work, STEPS), "end")["VmHWM"]
    print(f"plan {mib(arena)}, constants {mib(constants)}, idle {mib(idle)} resident")

    write_tokens(work / "tokens.bin", vocabulary(package), 200000)
    data = ["--data", work / "tokens.bin", "--log", work / "log.jsonl", "--quiet"]
    files = ["--checkpoint-dir", work / "checkpoints", "--checkpoint-every", STEPS]
    weights = work / "weights.safetensors"
    runs = {"training": [*data, "--fresh", "--steps", STEPS]}
    if files_too:
        runs = {
            "training": [*data, *files, "--fresh", "--steps", STEPS, "--save", weights],
            "from weights": [*data, "--steps", STEPS, "--init", weights, "--save", work / "again.safetensors"],
            "resumed": [*data, *files, "--steps", 2 * STEPS, "--resume"],
        }
    problems = []
    for name, arguments in runs.items():
        stem = watch(program, arguments, work, STEPS)
        peak, anonymous = status(stem, "end")["VmHWM"], status(stem, "last")["RssAnon"]
        size, resident = arena_mapping(stem.with_suffix(".last").read_text())
        above = peak - idle
        over, anonymous_over = (100 * (value / arena - 1) for value in (above, anonymous))
        print(f"{name}: peak {mib(peak)}, {mib(above)} above idle, plan {over:+.2f} %; no file: {mib(anonymous)}, "
              f"plan {anonymous_over:+.2f} %; {100 * resident / size:.1f} % of the arena resident")
        if abs(above - arena) > room:
            problems.append(f"{name}: {mib(above)} above idle, expected the plan of {mib(arena)} within {mib(room)}")
        if anonymous > arena + room:
            problems.append(f"{name}: {mib(anonymous)} that are no file, expected at most {mib(arena + room)}")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("package")
    parser.add_argument("--budgets", type=int, default=0)
    arguments, options = parser.parse_known_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    package = Path(arguments.package)
    if arguments.package in ("small", "gpt2"):
        package = make(arguments.package, arguments.work / f"{arguments.package}.hone")
    problems = []
    if arguments.budgets:
        for budget in spread_budgets(package, arguments.budgets, *options):
            print(f"--memory-budget={budget}")
            problems += check(package, arguments.work, [*options, f"--memory-budget={budget}"], files_too=False)
    else:
        problems += check(package, arguments.work, options, files_too=True)
    print("\n".join(problems) if problems else "resident memory is the plan")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
