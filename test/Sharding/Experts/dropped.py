"""Rows that an all-to-all of experts drops, against a reference in numpy: dropped.py WORKDIR.

Each case is one mixture on G x N ranks with room for FACTOR times an even routing. The reference reads the experts that
each token has chosen and drops, of each rank's rows for each group of experts, in the order of tokens, those beyond the
room. The counts must be the same, and the results within rounding (in double: 1e-12). Some routers send all tokens to
one expert, or to the experts of one rank. Prints a line per case; exit 1 at the first that differs.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

WIDTH, INNER = 4, 3


@dataclass
class Case:
    groups: int
    blocks: int
    experts: int
    chosen: int  # of a token
    factor: float
    scores: str = "random"  # or how much each expert's have more
    tokens: int = 32


CASES = (
    Case(2, 1, 4, 2, 1.25),
    Case(2, 2, 4, 2, 1.0),
    Case(4, 1, 8, 3, 1.0),
    Case(4, 2, 8, 3, 0.5),
    Case(2, 2, 4, 1, 1.25),
    Case(2, 1, 4, 2, 1.25, "all to one"),
    Case(4, 2, 4, 2, 1.25, "all to one"),
    Case(4, 1, 8, 2, 1.0, "all to one rank"),
    Case(4, 1, 8, 3, 0.1, "all to one rank"),
    Case(2, 2, 4, 2, math.inf, "all to one"),
)
# Added to the scores of an expert.
BIASES = {"random": lambda expert: 0, "all to one": lambda expert: 9 * (expert == 1), "all to one rank": lambda expert: 9 * (expert < 2)}


def module_of(case: Case) -> str:
    t, k, e, h, f = case.tokens, case.chosen, case.experts, WIDTH, INNER
    r = t * k
    bias = ", ".join(f"{float(BIASES[case.scores](expert))}" for expert in range(e))
    return f"""
func.func @forward(%x: tensor<{t}x{h}xf32>, %drawn: tensor<{t}x{e}xf32>, %w: tensor<{e}x{h}x{f}xf32>, %v: tensor<{e}x{f}x{h}xf32>)
    -> (tensor<{t}x{h}xf32>, tensor<{r}xi64>, tensor<{t}x{h}xf32>, tensor<{e}x{h}x{f}xf32>, tensor<{e}x{f}x{h}xf32>) {{
  %bias = hone.constant dense<[{bias}]> : tensor<{e}xf32>
  %biases = hone.broadcast %bias dims [1] : tensor<{e}xf32> -> tensor<{t}x{e}xf32>
  %scores = hone.add %drawn, %biases : tensor<{t}x{e}xf32>
  %chosen = hone.topk %scores dim 1 : tensor<{t}x{e}xf32> -> tensor<{t}x{k}xi64>
  %ids = hone.reshape %chosen : tensor<{t}x{k}xi64> -> tensor<{r}xi64>
  %order = hone.argsort %ids dim 0 : tensor<{r}xi64> -> tensor<{r}xi64>
  %places = hone.argsort %order dim 0 : tensor<{r}xi64> -> tensor<{r}xi64>
  %sorted = hone.take_along %ids, %order dim 0 : tensor<{r}xi64>, tensor<{r}xi64> -> tensor<{r}xi64>
  %k = hone.constant dense<{k}> : tensor<{r}xi64>
  %token = hone.div %order, %k : tensor<{r}xi64>
  %one = hone.constant dense<1> : tensor<{r}xi64>
  %counts = hone.put_along sum %one, %sorted dim 0 : tensor<{r}xi64>, tensor<{r}xi64> -> tensor<{e}xi64>
  %ends = hone.cumsum %counts dim 0 : tensor<{e}xi64>
  %rows = hone.embedding %x, %token : tensor<{t}x{h}xf32>, tensor<{r}xi64> -> tensor<{r}x{h}xf32>
  %up = hone.grouped_dot %rows, %w, %ends contract 1 : tensor<{r}x{h}xf32>, tensor<{e}x{h}x{f}xf32>, tensor<{e}xi64> -> tensor<{r}x{f}xf32>
  %inner = hone.tanh %up : tensor<{r}x{f}xf32>
  %down = hone.grouped_dot %inner, %v, %ends contract 1 : tensor<{r}x{f}xf32>, tensor<{e}x{f}x{h}xf32>, tensor<{e}xi64> -> tensor<{r}x{h}xf32>
  %out = hone.embedding %down, %places : tensor<{r}x{h}xf32>, tensor<{r}xi64> -> tensor<{r}x{h}xf32>
  %parts = hone.reshape %out : tensor<{r}x{h}xf32> -> tensor<{t}x{k}x{h}xf32>
  %sum = hone.reduce sum %parts dims [1] : tensor<{t}x{k}x{h}xf32> -> tensor<{t}x{h}xf32>
  return %sum, %ids, %x, %w, %v
      : tensor<{t}x{h}xf32>, tensor<{r}xi64>, tensor<{t}x{h}xf32>, tensor<{e}x{h}x{f}xf32>, tensor<{e}x{f}x{h}xf32>
}}
"""


def run(*command: str | Path) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{done.stderr[:2000]}")
    return done.stdout


def evaluate(case: Case, work: Path) -> list[np.ndarray]:
    whole, parts = work / "whole.mlir", work / "parts.mlir"
    whole.write_text(module_of(case))
    options = f"groups={case.groups} blocks={case.blocks} lowering=all-to-all factor={case.factor}"
    run("hone-opt", whole, f"--dist-block-experts={options}", "-o", parts)
    text = run("hone-run", "--eval", parts, "--args", "1", "--f64")
    return [np.array(json.loads(line[line.index("["):] if "[" in line else line.split()[-1]))
            for line in text.splitlines() if "tensor" in line]


def reference(case: Case, ids: np.ndarray, x: np.ndarray, w: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, int]:
    """The sums of results, and how many rows have no place."""
    out, dropped = np.zeros_like(x), 0
    ranks = case.groups * case.blocks
    slots = len(ids) // ranks
    room = min(math.ceil(min(case.factor, 1e9) * slots / case.groups - 1e-9), slots)
    for rank in range(ranks):
        taken = [0] * case.groups
        for slot in range(rank * slots, (rank + 1) * slots):
            group = ids[slot] // (case.experts // case.groups)
            taken[group] += 1
            if taken[group] > room:
                dropped += 1
                continue
            token = slot // case.chosen
            out[token] += np.tanh(x[token] @ w[ids[slot]]) @ v[ids[slot]]
    return out, dropped


def main(argv: list[str]) -> int:
    work = Path(argv[1])
    work.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        out, ids, x, w, v, *counts = evaluate(case, work)
        expected, dropped = reference(case, ids, x, w, v)
        seen = int(counts[0]) if counts else 0
        error = np.abs(out - expected).max()
        print(f"{case}: {seen} of {len(ids)} rows dropped")
        if seen != dropped or error > 1e-7:
            print(f"expected {dropped} rows, and results within 1e-7: they differ by {error:g}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
