#!/usr/bin/env python3
"""hone-quantize-products on random products, against PyTorch: quantized.py WORKDIR [--count N].

Operands have their free and contracted dimensions in any order, with one or two of either. The product of codes must be
that of the numbers that codes times scales are (test/e2e/fp8_reference.py), which both add up in double: results differ
by one rounding to f32 and by what the order of sums does to a double. A product with other sizes than multiples of 16
must stay as it is.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from fp8_reference import BLOCK128, ROW128, ROW32, TENSOR, fake  # noqa: E402

ROLES = (("activation", "weight"), ("weight", "activation"), ("gradient", "weight"), ("gradient", "activation"),
         ("weight", "gradient"), ("activation", "gradient"))
SIZES = (1, 2, 3, 4, 8, 16, 20, 32, 40, 48)


def tile_of(scaling: str, role: str) -> tuple[int, int]:
    if scaling == "block":
        return BLOCK128 if role == "weight" else ROW128
    return TENSOR if scaling == "tensor" else ROW32


@dataclass
class Side:
    """An operand: a tensor whose dimensions are a permutation of free and contracted ones."""

    tensor: torch.Tensor
    order: list[int]  # of [free..., contracted...], what lies at each dimension
    free: int

    @property
    def contracted(self) -> list[int]:
        return [self.order.index(self.free + i) for i in range(len(self.order) - self.free)]

    @property
    def type(self) -> str:
        return f"tensor<{'x'.join(map(str, self.tensor.shape))}xbf16>"

    def free_dims(self) -> list[int]:
        return [dim for dim, what in enumerate(self.order) if what < self.free]

    def matrix(self, pairs: list[int]) -> torch.Tensor:
        """[free, contracted], the former as they lie, the latter in the order of `pairs`."""
        free = self.free_dims()
        contracted = [self.contracted[pair] for pair in pairs]
        rows = 1
        for dim in free:
            rows *= self.tensor.shape[dim]
        return self.tensor.permute(*free, *contracted).reshape(rows, -1)


def random_sizes(pick: random.Random, multiple: int) -> list[int]:
    """One or two sizes; their product is mostly a multiple of 16."""
    while True:
        sizes = [pick.choice(SIZES) * pick.choice((1, 1, 1, 10)) for _ in range(pick.randint(1, 2))]
        product = int(np.prod(sizes))
        if product <= 400 and (product % multiple == 0):
            return sizes


def random_side(pick: random.Random, free: list[int], contracted: list[int]) -> Side:
    order = list(range(len(free) + len(contracted)))
    pick.shuffle(order)
    sizes = [(free + contracted)[what] for what in order]
    generator = torch.Generator().manual_seed(pick.randrange(1 << 30))
    values = torch.randn(sizes, generator=generator) * torch.exp(2 * torch.randn(sizes, generator=generator))
    return Side(values.bfloat16(), order, len(free))


@dataclass
class Case:
    name: str
    scaling: str
    roles: tuple[str, str]
    lhs: Side
    rhs: Side

    def text(self) -> str:
        rows = [self.lhs.tensor.shape[dim] for dim in self.lhs.free_dims()]
        columns = [self.rhs.tensor.shape[dim] for dim in self.rhs.free_dims()]
        result = f"tensor<{'x'.join(map(str, rows + columns))}xf32>"
        constants = "".join(f"  %{name} = hone.constant dense<\"{hexadecimal(side.tensor)}\"> : {side.type}\n"
                            for name, side in (("x", self.lhs), ("w", self.rhs)))
        return (f"func.func @{self.name}() -> {result} {{\n{constants}"
                f"  %y = hone.dot_general %x, %w batch [] x [] contract {self.lhs.contracted} x {self.rhs.contracted} "
                f"quantized <{self.scaling}, {self.roles[0]} x {self.roles[1]}> : {self.lhs.type}, {self.rhs.type} "
                f"-> {result}\n  return %y : {result}\n}}\n")

    def matrices(self) -> tuple[torch.Tensor, torch.Tensor]:
        # Tiles lie along contracted dimensions in the order of the left operand.
        pairs = sorted(range(len(self.lhs.contracted)), key=lambda pair: self.lhs.contracted[pair])
        return self.lhs.matrix(pairs), self.rhs.matrix(pairs)

    def is_quantized(self) -> bool:
        left, right = self.matrices()
        return all(size % 16 == 0 for size in (*left.shape, *right.shape))

    def expected(self, gradients: str) -> tuple[torch.Tensor, torch.Tensor]:
        """The product, and the sums of the magnitudes of its terms."""
        values = []
        for matrix, role in zip(self.matrices(), self.roles, strict=True):
            form = gradients if role == "gradient" else "f8E4M3FN"
            values.append(fake(matrix, tile_of(self.scaling, role), form) if self.is_quantized() else matrix.double())
        return values[0] @ values[1].T, values[0].abs() @ values[1].abs().T


def hexadecimal(x: torch.Tensor) -> str:
    return "0x" + x.contiguous().view(torch.int16).numpy().astype(np.uint16).tobytes().hex().upper()


def random_case(seed: int) -> Case:
    pick = random.Random(seed)
    multiples = (16, 16, 16) if pick.random() < 0.9 else (1, 1, 1)
    rows, columns, depth = (random_sizes(pick, multiple) for multiple in multiples)
    return Case(f"g{seed}", pick.choice(("tensor", "block", "mx")), pick.choice(ROLES),
                random_side(pick, rows, depth), random_side(pick, columns, depth))


def run(work: Path, cases: list[Case], gradients: str) -> tuple[str, dict[str, np.ndarray]]:
    """The text after the pass, and the results by name."""
    source, target = work / "in.mlir", work / "out.mlir"
    source.write_text("".join(case.text() for case in cases))
    option = "e5m2" if gradients == "f8E5M2" else "e4m3"
    subprocess.run(["hone-opt", source, f"--hone-quantize-products=gradients={option}", "-o", target], check=True)
    text = subprocess.run(["hone-run", "--eval", target], check=True, capture_output=True, text=True).stdout
    printed = re.split(r"^@(\w+)\n", text, flags=re.MULTILINE)[1:]
    results = {name: np.array(re.sub(r"[\[\],]", " ", row.split(" = ", 1)[1]).split(), dtype=np.float32)
               for name, row in zip(printed[::2], printed[1::2], strict=True)}
    return target.read_text(), results


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=Path)
    parser.add_argument("--count", type=int, default=60)
    line = parser.parse_args()
    line.work.mkdir(parents=True, exist_ok=True)
    problems, quantized = [], 0
    for half, gradients in enumerate(("f8E4M3FN", "f8E5M2")):
        cases = [random_case(seed) for seed in range(half, line.count, 2)]
        text, results = run(line.work, cases, gradients)
        bodies = dict(re.findall(r"func\.func @(\w+)\(.*?\n(.*?)\n  }", text, flags=re.DOTALL))
        for case in cases:
            product, sizes = (value.numpy().flatten() for value in case.expected(gradients))
            error = np.abs(results[case.name] - product)
            if not (error <= 2.0**-24 * np.abs(product) + 1e-13 * sizes).all():
                problems.append(f"@{case.name}: differs by {error.max():.3g}")
            if ("hone.quantize" in bodies[case.name]) != case.is_quantized():
                problems.append(f"@{case.name}: {'no ' if case.is_quantized() else ''}codes")
            quantized += case.is_quantized()
    print("\n".join(problems) if problems else f"{line.count} products are right, {quantized} of them of codes")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
