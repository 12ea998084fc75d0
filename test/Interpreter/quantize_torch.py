#!/usr/bin/env python3
"""Compares hone.quantize and hone.amax in the interpreter with PyTorch: quantize_torch.py WORKDIR [--rows N].

Every tile, both formats, rows as they are and transposed: codes and scales must be equal, of matrices with ties,
subnormal codes, the largest numbers and what is just beyond them, tiles of zeros, outliers, infinities and NaN, and with
tails of tiles. --rows: of the large matrices (8 by default, 40 checks more than 10^6 codes).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from fp8_reference import FORMATS, TENSOR, TILES, layout, quantize, tile_amax  # noqa: E402

Matrices = dict[str, torch.Tensor]


def matrices(rows: int) -> Matrices:
    """bf16 by name. Widths and heights are no multiples of tiles."""
    generator = torch.Generator().manual_seed(1)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator)

    numbers = {form: torch.arange(256, dtype=torch.uint8).view(dtype).float() for form, dtype in FORMATS.items()}
    ties = torch.cat([torch.cat([n[n.isfinite()], (n[:-1] + n[1:])[(n[:-1] + n[1:]).isfinite()] / 2])
                      for n in numbers.values()])
    ties = torch.cat([ties, ties * 1.0078125, torch.tensor([448.0, 449, 464, 480, 57344, 61440])])
    edges = normal(40, 160)
    edges[3] = 0
    edges[5, 40] = torch.inf
    edges[7, 150] = -torch.nan
    edges[9] *= 1e-38
    edges[11] *= 1e38
    edges[13, 2] = 1e30
    found = {
        "normal": normal(rows, 1600),
        "heavy": normal(rows, 1600) * torch.exp(2 * normal(rows, 1600)),
        "spread": normal(rows, 400) * torch.exp(4 * normal(rows, 1)),
        "tall": normal(300, rows),
        "ties": ties.repeat(2, 1),
        "edges": edges,
        "finite": edges.nan_to_num(nan=1.0, posinf=3.0),
        "zeros": torch.zeros(16, 200),
    }
    return {name: value.bfloat16() for name, value in found.items()}


def constant(x: torch.Tensor) -> str:
    """Elements in hexadecimal."""
    words = x.contiguous().view(torch.int16).numpy().astype(np.uint16)
    return "0x" + words.tobytes().hex().upper()


def scale_shape(tile: tuple[int, int], rows: int, columns: int) -> str:
    down, across = (1, 1) if tile == TENSOR else (-(-rows // tile[0]), -(-columns // tile[1]))
    if tile == (1, 128):
        return f"{across}x{down}xf32"
    if tile == (128, 128):
        return f"{down}x{-(-across // 4) * 4}xf32"
    return "f32" if tile == TENSOR else f"{-(-down // 128) * -(-across // 4) * 512}xi8"


def function(name: str, x: torch.Tensor, tile: tuple[int, int], form: str, transposed: bool) -> str:
    rows, columns = x.shape[::-1] if transposed else x.shape
    source, codes = f"tensor<{x.shape[0]}x{x.shape[1]}xbf16>", f"tensor<{rows}x{columns}x{form}>"
    scales = f"tensor<{scale_shape(tile, rows, columns)}>"
    word = " transposed" if transposed else ""
    amax = "amax %a " if tile == TENSOR else ""
    return (f"func.func @{name}() -> (tensor<f32>, {codes}, {scales}) {{\n"
            f"  %x = hone.constant dense<\"{constant(x)}\"> : {source}\n  %a = hone.amax %x : {source}\n"
            f"  %c, %s = hone.quantize %x {amax}tile [{tile[0]}, {tile[1]}]{word} : {source} -> {codes}, {scales}\n"
            f"  return %a, %c, %s : tensor<f32>, {codes}, {scales}\n}}\n")


def numbers_of(text: str) -> np.ndarray:
    """The elements of a printed tensor; nine digits tell numbers of f32 apart."""
    return np.array(re.sub(r"[\[\],]", " ", text).split(), dtype=np.float32)


def same(seen: np.ndarray, expected: torch.Tensor) -> bool:
    """Equal numbers, signs of zeros included; a NaN is a NaN."""
    theirs = expected.float().flatten().numpy()
    if seen.shape != theirs.shape:
        return False
    nan = np.isnan(theirs)
    return bool((np.isnan(seen) == nan).all() and (seen[~nan] == theirs[~nan]).all()
                and (np.signbit(seen) == np.signbit(theirs))[~nan].all())


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=Path)
    parser.add_argument("--rows", type=int, default=8)
    line = parser.parse_args()
    line.work.mkdir(parents=True, exist_ok=True)
    cases = [(f"{name}_{t}_{f}_{int(transposed)}", x, tile, form, transposed)
             for name, x in matrices(line.rows).items() for t, tile in enumerate(TILES)
             for f, form in enumerate(FORMATS) for transposed in (False, True)]
    source = line.work / "quantize.mlir"
    source.write_text("".join(function(*case) for case in cases))
    text = subprocess.run(["hone-run", "--eval", source], check=True, capture_output=True, text=True).stdout
    printed = re.split(r"^@(\w+)\n", text, flags=re.MULTILINE)[1:]
    results = dict(zip(printed[::2], printed[1::2], strict=True))
    problems, count = [], 0
    for name, x, tile, form, transposed in cases:
        values = [numbers_of(row.split(" = ", 1)[1]) for row in results[name].splitlines()]
        matrix = x.T if transposed else x
        codes, e = quantize(matrix, tile, form)
        expected = (tile_amax(matrix, TENSOR), codes.float(), layout(e, tile))
        count += codes.numel()
        problems += [f"{name}: {what} differ" for what, seen, right in
                     zip(("amaxes", "codes", "scales"), values, expected, strict=True) if not same(seen, right)]
    print("\n".join(problems) if problems else f"{count} codes in {len(cases)} matrices are equal")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
