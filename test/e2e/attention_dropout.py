#!/usr/bin/env python3
"""Checks dropout inside a library's attention: attention_dropout.py PACKAGE WORKDIR [honec options].

The library's generator is its own, so masks are not the interpreter's. What is checked of them:

- the same seed gives the same losses, another seed others;
- forward and backward draw one mask: along the gradient of the projections of query, key and value, the loss of step 1
  rises by the square of the gradient's norm. Both losses are 0.02 from the middle, where the third derivative is worth
  0.4 % and the rounding of fp16 0.2 %; within 2 %. With two masks and dropout 0.5 half of it was left.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from golden import read_safetensors
from pad_zeros import write

RISE = 0.02
TOLERANCE = 0.02
PART = "attn.qkv"

Weights = dict[str, np.ndarray]


class Program:
    """A compiled package that trains one step from any weights."""

    def __init__(self, package: Path, work: Path, options: list[str]) -> None:
        self.work = work
        subprocess.run(["honec", package, "-o", work / "train", "--keep-gradients", *options], check=True)
        np.save(work / "tokens.npy", np.random.default_rng(1).integers(2, 61, 1000).astype(np.int32))

    def loss(self, weights: Weights, seed: int, *flags: object) -> float:
        write(self.work / "w.safetensors", {name: value.astype(np.float32) for name, value in weights.items()})
        log = self.work / "log.jsonl"
        command = [self.work / "train", "--data", self.work / "tokens.npy", "--init", self.work / "w.safetensors",
                   "--steps", 1, "--seed", seed, "--log", log, "--quiet", *flags]
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
        return next(line["loss"] for line in map(json.loads, log.read_text().splitlines()) if "loss" in line)

    def gradients(self, weights: Weights, seed: int) -> Weights:
        self.loss(weights, seed, "--dump", self.work)
        dump = read_safetensors(self.work / "step1.safetensors")
        return {name.removeprefix("grad."): np.array(value, dtype=np.float64) for name, value in dump.items()
                if name.startswith("grad.")}


def slope(program: Program, weights: Weights, seed: int) -> float:
    """The rise of the loss along the gradient, over what the gradient says."""
    along = {name: value for name, value in program.gradients(weights, seed).items() if PART in name}
    square = sum(float(np.square(value).sum()) for value in along.values())
    step = RISE / square
    high, low = (program.loss(weights | {name: weights[name] + sign * step * value for name, value in along.items()},
                              seed) for sign in (1, -1))
    return (high - low) / (2 * step * square)


def main(argv: list[str]) -> int:
    package, work, options = Path(argv[1]), Path(argv[2]), argv[3:]
    work.mkdir(parents=True, exist_ok=True)
    weights = {name: np.array(value) for name, value in read_safetensors(package / "model.safetensors").items()}
    program = Program(package, work, options)
    losses = [program.loss(weights, seed) for seed in (1, 1, 2)]
    print(f"losses of seeds 1, 1, 2: {losses}")
    slopes = [slope(program, weights, seed) for seed in (1, 2)]
    print(f"slopes over those of the gradients: {', '.join(f'{value:.4f}' for value in slopes)}")
    good = losses[0] == losses[1] != losses[2] and all(abs(value - 1) <= TOLERANCE for value in slopes)
    print("one mask, forward and backward" if good else "the masks are wrong")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
