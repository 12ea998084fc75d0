#!/usr/bin/env python3
"""Trains a package in fp8 on an emulated GPU, or a CPU: emulated_fp8.py WORKDIR PACKAGE ARCH PRECISION [--OPTION=...].

ARCH may be cpu. Options are honec's. Losses, gradient norms and validation losses agree with the interpreter's as
fp8.py says. Weights are the bits of a program whose kernels of codes compute nothing else
(--without=hone-fuse-into-codes); where they add up columns, in another order, its losses agree as with the interpreter.
The last line says what the kernels of codes of the step or a micro-batch compute, and how many kernels only find a
largest magnitude.
"""

from __future__ import annotations

import array
import random
import re
import subprocess
import sys
from pathlib import Path

import fp8
import interpreter

STEPS = 4
APART = "--without=hone-fuse-into-codes"


def computed(package: Path, words: list[str]) -> dict[str, int]:
    """Kernels of codes of a micro-batch, by what they compute besides: rotations, norms (of values per row), maps."""
    plan = subprocess.run(["honec", package, "--emit=plan", "-o", "-", *words], check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    start = plan.index("plan.function @accumulate" if "--micro-batches=2" in words else "plan.function @step")
    counts = dict.fromkeys(("none", "norm", "rotation", "map", "sums", "amax"), 0)
    for body in re.findall(r"plan\.launch .*?plan\.yield", plan[start : plan.find("plan.function", start + 1)], re.S):
        ops = re.findall(r"hone\.(\w+)", body)
        counts["amax"] += ops == ["amax"]
        if "quantize" in ops:
            counts["sums"] += "reduce" in ops
            ops = [op for op in ops if op not in ("cast", "reduce") or "reduce" not in ops]
            has_rows = re.search(r"hone\.broadcast .* dims \[0\]", body)
            kind = "rotation" if "rope" in ops else "norm" if has_rows else "map"
            counts[kind if set(ops) != {"quantize"} else "none"] += 1
    return counts


def main(argv: list[str]) -> int:
    work, package, arch, precision, options = Path(argv[1]), Path(argv[2]), argv[3], argv[4], argv[5:]
    work.mkdir(parents=True)
    draw = random.Random(3)
    tokens = work / "tokens.bin"
    vocabulary = interpreter.vocabulary(package)
    tokens.write_bytes(array.array("H", [draw.randrange(vocabulary) for _ in range(interpreter.TOKENS)]).tobytes())
    shared = [f"--precision={precision}", "--fp8-small", *options]
    target = ["--target=cpu"] if arch == "cpu" else ["--target=cuda", f"--arch={arch}", "--emulate"]
    words = [*target, *shared]

    def train(name: str, *more: str) -> tuple[list[dict], bytes]:
        subprocess.run(["honec", package, "-o", work / name, *words, *more], check=True)
        saved = work / f"{name}.safetensors"
        log = interpreter.run([work / name, "--save", saved], work / f"{name}.jsonl", package, tokens, STEPS)
        return log, saved.read_bytes()

    log, weights = train("train")
    counts = computed(package, words)
    again = train("apart", APART)
    differs = fp8.worst_difference(log, again[0])
    if not differs <= interpreter.FP8_TOLERANCE if counts["sums"] else again[1] != weights or differs != 0:
        print("FAILED: kernels that compute what they make codes of have other bits")
        return 1
    meaning = interpreter.run(["hone-run", package, *shared], work / "interpreted.jsonl", package, tokens, STEPS)
    worst = fp8.worst_difference(log, meaning)
    if not worst <= interpreter.FP8_TOLERANCE:
        print(f"FAILED: {worst:.1e} from the interpreter")
        return 1
    bits = "equal losses" if counts["sums"] else "equal bits"
    print(f"{bits}; kernels of codes: " + ", ".join(f"{count} {kind}" for kind, count in counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
