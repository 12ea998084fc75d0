#!/usr/bin/env python3
"""Trains a package in fp8: fp8.py WORKDIR PACKAGE PRECISION... [--OPTION=...].

Options are honec's. With two micro-batches:

- losses, gradient norms and validation losses agree with the interpreter's within what interpreter.py says;
- weights are the same bits with 1 and with 2 threads, and after a break and --resume, which makes codes of weights anew;
- they are those of a program that makes codes of weights in each micro-batch (--without=hone-hoist-weight-codes);
- the step makes codes at all, and its micro-batches fewer than those of that program.
"""

from __future__ import annotations

import array
import random
import subprocess
import sys
from pathlib import Path

import interpreter

STEPS = 4
BREAK = 2  # steps before --resume
MICRO_BATCHES = "--micro-batches=2"


class Failure(Exception):
    pass


def worst_difference(ours: list[dict], theirs: list[dict]) -> float:
    pairs = [(a[key], b[key]) for a, b in zip(ours, theirs, strict=True) for key in ("loss", "grad_norm", "val_loss")
             if key in a or key in b]
    if len(pairs) < 2 * STEPS + 1:
        raise Failure(f"{len(pairs)} values only")
    return max(abs(a - b) / abs(b) for a, b in pairs)


def quantizations(package: Path, words: list[str]) -> int:
    """In a micro-batch."""
    plan = subprocess.run(["honec", package, "--emit=plan", "-o", "-", *words], check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    start = plan.index('plan.function @accumulate') if 'plan.function @accumulate' in plan else 0
    return plan[start:plan.find("plan.function", start + 1)].count("hone.quantize")


def check(work: Path, package: Path, precision: str, options: list[str]) -> str:
    work.mkdir(parents=True)
    draw = random.Random(3)
    tokens = work / "tokens.bin"
    vocabulary = interpreter.vocabulary(package)
    tokens.write_bytes(array.array("H", [draw.randrange(vocabulary) for _ in range(interpreter.TOKENS)]).tobytes())
    words = [f"--precision={precision}", MICRO_BATCHES, *options]
    everywhere = "--without=hone-hoist-weight-codes"
    subprocess.run(["honec", package, "-o", work / "train", *words], check=True)
    subprocess.run(["honec", package, "-o", work / "everywhere", *words, everywhere], check=True)
    codes = quantizations(package, words)
    if not 0 < codes < quantizations(package, [*words, everywhere]):
        raise Failure(f"a micro-batch makes codes {codes} times")

    def train(name: str, steps: int, threads: int, *flags: object, program: str = "train") -> tuple[list[dict], bytes]:
        saved = work / f"{name}.safetensors"
        log = interpreter.run([work / program, "--threads", str(threads), "--save", saved, *flags],
                              work / f"{name}.jsonl", package, tokens, steps)
        return log, saved.read_bytes()

    log, weights = train("one", STEPS, 1)
    if train("two", STEPS, 2)[1] != weights:
        raise Failure("1 and 2 threads differ")
    again = train("everywhere", STEPS, 1, program="everywhere")
    if again[1] != weights or worst_difference(log, again[0]) != 0:
        raise Failure("codes of weights in each micro-batch lead elsewhere")
    train("broken", BREAK, 2, "--checkpoint-dir", work / "checkpoints")
    if train("resumed", STEPS, 1, "--checkpoint-dir", work / "checkpoints", "--resume")[1] != weights:
        raise Failure("--resume differs from the unbroken run")
    meaning = interpreter.run(["hone-run", package, f"--precision={precision}", MICRO_BATCHES],
                              work / "interpreted.jsonl", package, tokens, STEPS)
    worst = worst_difference(log, meaning)
    if not worst <= interpreter.FP8_TOLERANCE:
        raise Failure(f"{worst:.1e} from the interpreter")
    return f"{codes} quantizations, {worst:.1e} from the interpreter, equal bits"


def main(argv: list[str]) -> int:
    work, package = Path(argv[1]), Path(argv[2])
    options = [word for word in argv[3:] if word.startswith("--")]
    failed = 0
    for precision in [word for word in argv[3:] if not word.startswith("--")]:
        try:
            print(f"{package.stem} {precision}: {check(work / precision, package, precision, options)}", flush=True)
        except Failure as failure:
            failed += 1
            print(f"{package.stem} {precision}: FAILED: {failure}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
