#!/usr/bin/env python3
"""Compares a compiled training run with the interpreter's: interpreter.py PACKAGE WORKDIR STEPS [options].

Options are those of honec; hone-run gets all but those that say where the compiled program runs.

Both start from the package's weights with the same seed and tokens, so dropout masks are the same too. Losses, gradient
norms and validation losses must agree within 2e-5 of themselves: fp32 on one side, fp64 on the other. With --precision
both sides round to the low type, at the same places but not always in the same direction: within 2e-3. With codes of
fp8 within 1e-2: where the order of a sum moves a bf16 to its neighbour, its code may move to its own, 2^-4 away. A
program that was to have codes and has none is an error.
"""

from __future__ import annotations

import array
import json
import random
import subprocess
import sys
from pathlib import Path

TOLERANCE = 2e-5
LOW_TOLERANCE = 2e-3
FP8_TOLERANCE = 1e-2
TOKENS = 2000
PLACES = ("--target", "--arch", "--emulate", "--attention")  # options that the interpreter does not have


def vocabulary(package: Path) -> int:
    arguments = json.loads((package / "manifest.json").read_text())["arguments"]
    return min(entry["vocab"] for entry in arguments if "vocab" in entry)


def run(command: list, log: Path, package: Path, tokens: Path, steps: int) -> list[dict]:
    subprocess.run(
        [
            *command,
            "--data",
            tokens,
            "--val-data",
            tokens,
            "--val-batches",
            "3",
            "--init",
            package / "model.safetensors",
            "--steps",
            str(steps),
            "--seed",
            "5",
            "--log",
            log,
            "--quiet",
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    entries = map(json.loads, log.read_text().splitlines())
    return [entry for entry in entries if "loss" in entry or "val_loss" in entry]


def tolerance(options: list[str]) -> float:
    if any(option.startswith(("--precision=fp8", "--precision=mxfp8")) for option in options):
        return FP8_TOLERANCE
    return LOW_TOLERANCE if any(option.startswith("--precision=") for option in options) else TOLERANCE


def main(argv: list[str]) -> int:
    package, work, steps, options = Path(argv[1]), Path(argv[2]), int(argv[3]), argv[4:]
    work.mkdir(parents=True, exist_ok=True)
    draw = random.Random(3)
    tokens = work / "tokens.bin"
    tokens.write_bytes(array.array("H", [draw.randrange(vocabulary(package)) for _ in range(TOKENS)]).tobytes())
    command = ["honec", package, "-o", work / "train", *options]
    said = subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True).stderr
    sys.stderr.write(said)
    if "no product multiplies codes" in said:
        print("no product multiplies codes")
        return 1
    compiled = run([work / "train"], work / "compiled.jsonl", package, tokens, steps)
    bound = tolerance(options)
    mode = ["--f64"] if bound == TOLERANCE else []
    shared = [option for option in options if not option.startswith(PLACES)]
    expected = run(["hone-run", package, *mode, *shared], work / "interpreted.jsonl", package, tokens, steps)
    worst, compared = 0.0, 0
    for ours, theirs in zip(compiled, expected, strict=True):
        for key in ("loss", "grad_norm", "val_loss"):
            if (key in ours) != (key in theirs):
                print(f"step {ours.get('step')}: {key} in one log only")
                return 1
            if key in ours:
                worst = max(worst, abs(ours[key] - theirs[key]) / abs(theirs[key]))
                compared += 1
    print(f"{compared} values, worst difference {worst:.2e}")
    return 0 if compared >= 2 * steps + 1 and worst <= bound else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
