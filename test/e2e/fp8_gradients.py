#!/usr/bin/env python3
"""Gradients under policies of fp8 against the same recipe in PyTorch: fp8_gradients.py MODEL PACKAGE WORKDIR [options].

    --engine=honec|hone-run  what trains (hone-run)
    --policies=A,B           fp8, fp8-block, mxfp8 (all)
    --batches=N              of the first weights (8)
    --gradients=e4m3|e5m2    codes of gradients (e4m3)

MODEL is a name of test/fixtures/make.py. The emulation is autocast to bf16, but linear layers other than the head
multiply numbers that codes times scales are (fp8_reference.py), in both gradient products too. Errors are against fp64,
relative to each gradient's root mean square, over all batches. The median over parameters, and the root mean square,
may be 1.1 times the emulation's: which projections are packed, and where sums are f32, differs. An error that is no
more than three times bf16's means that no codes were made, and is an error too.
"""

from __future__ import annotations

import argparse
import copy
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch

import fp8_reference as fp8
from precision import Errors, Gradients, Reference  # first: it adds folders to the path
from golden import read_safetensors  # isort: skip

RATIO = 1.1
POLICIES = {"fp8": (fp8.TENSOR, fp8.TENSOR), "fp8-block": (fp8.ROW128, fp8.BLOCK128), "mxfp8": (fp8.ROW32, fp8.ROW32)}


class CodeProduct(torch.autograd.Function):
    """x w^T of codes of fp8, and its gradients."""

    @staticmethod
    def forward(ctx, x, w, rows, weights, gradients):
        ctx.save_for_backward(x, w)
        ctx.recipe = (rows, weights, gradients)
        return (fp8.fake(x, rows) @ fp8.fake(w, weights).T).bfloat16()

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        rows, weights, gradients = ctx.recipe
        dx = fp8.fake(g, rows, gradients) @ fp8.fake(w.T, weights).T
        dw = fp8.fake(g.T, rows, gradients) @ fp8.fake(x.T, rows).T
        return dx.bfloat16(), dw.float(), None, None, None


def emulate(model: torch.nn.Module, policy: str, gradients: str) -> None:
    """Makes linear layers multiply codes where their sizes are multiples of 16; the last of the model is its head."""
    layers = [module for module in model.modules() if isinstance(module, torch.nn.Linear)]
    for layer in layers[:-1]:
        if layer.in_features % 16 or layer.out_features % 16:
            continue

        def forward(x, layer=layer):
            shape = x.shape[:-1]
            y = CodeProduct.apply(x.bfloat16().reshape(-1, x.shape[-1]), Rounded.apply(layer.weight),
                                  *POLICIES[policy], gradients)
            y = y.reshape(*shape, -1)
            return y if layer.bias is None else y + layer.bias.bfloat16()

        layer.forward = forward


class Rounded(torch.autograd.Function):
    """A weight in bf16, whose gradient is f32."""

    @staticmethod
    def forward(ctx, w):
        return w.bfloat16()

    @staticmethod
    def backward(ctx, g):
        return g.float()


def theirs(reference: Reference, batch: tuple[torch.Tensor, ...], policy: str, gradients: str) -> Gradients:
    model = copy.deepcopy(reference.training.model).train()
    emulate(model, policy, gradients)
    reference.loss(model, batch, torch.bfloat16).backward()
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def ours(line: argparse.Namespace, window: np.ndarray, policy: str) -> Gradients:
    """Gradients that a step of the engine dumps."""
    np.save(line.work / "window.npy", window)
    flags = ["--data", line.work / "window.npy", "--init", line.package / "model.safetensors", "--quiet", "--steps", 1,
             "--dump", line.work, "--log", line.work / "log.jsonl"]
    program = [line.work / f"train-{policy}"]
    if line.engine == "hone-run":
        program = ["hone-run", line.package, f"--precision={policy}", f"--fp8-gradients={line.gradients}"]
    subprocess.run([str(word) for word in [*program, *flags]], check=True, stdout=subprocess.DEVNULL)
    dump = read_safetensors(line.work / "step1.safetensors")
    return {name.removeprefix("grad."): torch.from_numpy(np.array(value)) for name, value in dump.items()
            if name.startswith("grad.")}


def compile_program(line: argparse.Namespace, policy: str) -> None:
    subprocess.run(["honec", line.package, "-o", line.work / f"train-{policy}", f"--precision={policy}",
                    f"--fp8-gradients={line.gradients}", "--keep-gradients"], check=True)


def rms(values: list[float]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def check(line: argparse.Namespace, reference: Reference, stream: np.ndarray, policy: str) -> list[str]:
    if line.engine == "honec":
        compile_program(line, policy)
    mine, emulated, bf16 = Errors(), Errors(), Errors()
    form = {"e4m3": "f8E4M3FN", "e5m2": "f8E5M2"}[line.gradients]
    for index in range(line.batches):
        batch = reference.batch(stream, index)
        exact = reference.gradients(batch, torch.float64, None)
        window = stream[index * reference.size : (index + 1) * reference.size + 1]
        mine.add(ours(line, window, policy), exact)
        emulated.add(theirs(reference, batch, policy, form), exact)
        bf16.add(reference.gradients(batch, torch.float32, torch.bfloat16), exact)
    names = list(mine.error)
    errors = [[errors.relative(name) for name in names] for errors in (mine, emulated, bf16)]
    median, whole = ([float(measure(row)) for row in errors] for measure in (np.median, rms))
    print(f"{policy}: error of gradients {median[0]:.2%} (emulation {median[1]:.2%}, bf16 {median[2]:.2%}), "
          f"rms {whole[0]:.2%} ({whole[1]:.2%}, {whole[2]:.2%})")
    problems = [f"{policy}: the {what} error is {row[0] / row[1]:.2f} times the emulation's, expected {RATIO} at most"
                for what, row in (("median", median), ("rms", whole)) if not row[0] <= RATIO * row[1]]
    if not median[0] > 3 * median[2]:
        problems.append(f"{policy}: as near as bf16; were codes made?")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("package", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--engine", choices=("honec", "hone-run"), default="hone-run")
    parser.add_argument("--policies", default=",".join(POLICIES))
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--gradients", choices=("e4m3", "e5m2"), default="e4m3")
    line = parser.parse_args()
    line.work.mkdir(parents=True, exist_ok=True)
    reference = Reference(line.model, line.package)
    stream = np.random.default_rng(11).integers(2, 61, line.batches * reference.size + 1).astype(np.int32)
    problems = [problem for policy in line.policies.split(",") for problem in check(line, reference, stream, policy)]
    print("\n".join(problems) if problems else "within the bounds")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
