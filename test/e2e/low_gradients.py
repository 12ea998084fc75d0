#!/usr/bin/env python3
"""Gradients in bf16 against such in f32: low_gradients.py MODEL WORKDIR PRECISION K[,K..] [honec options].

MODEL is a name of test/fixtures/make.py, its package that of $HONE_FIXTURES or test/fixtures. For each number K of
micro-batches two programs, without and with --gradients=bf16, dump the gradients of WINDOWS steps at the first weights.
Errors are against fp64, root mean squares over all batches. With gradients in bf16 they may be 1.1 times those in f32,
and the roundings, which are independent of that and of each other, in quadrature: one of each partial sum of
micro-batches, and one of each micro-batch's share, which a table's kernel, and the interpreter, round before they add.
A rounding of x is off by at most half an ulp, 2^-8 |x|, evenly spread: by 2^-8 / sqrt(3) of the root mean square of x.

Matrices must be bf16 in the dump, and the vectors' gradients must have the bits of the program with f32.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch

from precision import ROOT, Errors, Reference, train  # first: it adds folders to the path
from golden import read_safetensors  # isort: skip

WINDOWS = 3
RATIO = 1.1
ROUNDING = 2.0**-8 / 3.0**0.5


def is_low(file: Path, name: str) -> bool:
    """Whether a tensor of the file is bf16, of which read_safetensors makes f32."""
    data = file.read_bytes()
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length])[name]["dtype"] == "BF16"


class Program:
    """One that trains with gradients of a type."""

    def __init__(self, work: Path, package: Path, options: list[str]) -> None:
        work.mkdir(parents=True, exist_ok=True)
        self.work, self.package, self.errors = work, package, Errors()
        self.values: list[dict[str, np.ndarray]] = []
        subprocess.run(["honec", package, "-o", work / "train", *options], check=True)

    def run(self, window: np.ndarray, exact: dict[str, torch.Tensor]) -> None:
        entry = train(self.work, self.package, window, "window", "--steps", 1, "--dump", self.work)[0]
        self.file = self.work / "step1.safetensors"
        dump = read_safetensors(self.file)
        # Of fp16, sums over micro-batches are those of a scaled loss.
        scale = float(entry.get("loss_scale", 1.0)) if self.sums else 1.0
        seen = {name: np.array(dump["grad." + name], dtype=np.float64) / scale for name in exact}
        self.values.append(seen)
        self.errors.add({name: torch.from_numpy(value) for name, value in seen.items()}, exact)

    sums = False


def main(argv: list[str]) -> int:
    name, work, precision, options = argv[1], Path(argv[2]), argv[3], argv[5:]
    package = Path(os.environ.get("HONE_FIXTURES", ROOT / "test" / "fixtures")) / f"{name}.hone"
    reference = Reference(name, package)
    vocab = int(read_safetensors(package / "golden.safetensors")["tokens"].max()) + 1
    problems = []
    for count in map(int, argv[4].split(",")):
        stream = np.random.default_rng(count).integers(2, vocab, WINDOWS * count * reference.size + 1).astype(np.int32)
        flags = [f"--precision={precision}", f"--micro-batches={count}", "--keep-gradients", *options]
        wide = Program(work / f"wide{count}", package, flags)
        low = Program(work / f"low{count}", package, [*flags, "--gradients=bf16"])
        wide.sums = low.sums = count > 1
        roundings: dict[str, float] = {}
        for window in range(WINDOWS):
            total: dict[str, torch.Tensor] = {}
            for index in range(window * count, (window + 1) * count):
                for key, value in reference.gradients(reference.batch(stream, index), torch.float64, None).items():
                    share = value / count
                    total[key] = total.get(key, torch.zeros_like(share)) + share
                    squares = float(total[key].square().mean() + share.square().mean())
                    roundings[key] = roundings.get(key, 0.0) + ROUNDING**2 * squares
            first = window * count * reference.size
            tokens = stream[first : first + count * reference.size + 1]
            for program in (wide, low):
                program.run(tokens, total)
        worst, matrices = 0.0, 0
        for key in roundings:
            expected = ((RATIO**2 * wide.errors.error[key] + roundings[key]) / max(wide.errors.size[key], 1e-300)) ** 0.5
            error = low.errors.relative(key)
            if low.values[0][key].ndim < 2:
                if any((a[key] != b[key]).any() for a, b in zip(wide.values, low.values, strict=True)):
                    problems.append(f"{key}: the gradient of a vector has other bits")
                continue
            matrices += 1
            # What one micro-batch leaves is divided by the scale of the loss for the dump, in f32.
            if not is_low(low.file, "grad." + key) and (precision != "fp16" or low.sums):
                problems.append(f"{key}: the gradient of a matrix is no bf16")
            worst = max(worst, error / expected)
            if not error <= expected:
                problems.append(f"K={count} {key}: error {error:.2e} of its rms, expected at most {expected:.2e}")
        print(f"K={count}: {matrices} matrices, worst error {worst:.2f} of the bound")
    print("\n".join(problems) if problems else "within the bounds")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
