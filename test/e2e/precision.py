#!/usr/bin/env python3
"""Compares low-precision training with PyTorch's autocast: precision.py MODEL WORKDIR bf16|fp16 [honec options].

MODEL is a name of test/fixtures/make.py, its package that of $HONE_FIXTURES or test/fixtures. Both train from the same weights on the same tokens, with fp32 master weights.

- Losses of 10 steps: within 5e-3 of the same run in fp64 (relative to max(1, loss)).
- Gradients of WINDOWS batches at the first weights, against fp64: for every parameter the root mean square error, over
  all batches, is at most twice autocast's own, or one rounding of the type where autocast happens to do better.
"""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("test/fixtures", "python_frontend", "python_frontend/examples")]

import make  # noqa: E402
from autocast import TYPES, is_as_good  # noqa: E402
from golden import read_safetensors  # noqa: E402
from hone.optimizer import rebuild  # noqa: E402

WINDOWS = 8
STEPS = 10
LOSS_TOLERANCE = 5e-3

Gradients = dict[str, torch.Tensor]


class Reference:
    """The model in PyTorch, from the package's weights."""

    def __init__(self, name: str, package: Path) -> None:
        torch.manual_seed(sum(map(ord, name)))
        self.training = make.MODELS[name]()
        hone_weights = {key: torch.from_numpy(np.array(value))
                        for key, value in read_safetensors(package / "model.safetensors").items()}
        for fqn, parameter in self.training.model.named_parameters():
            parameter.data.copy_(hone_weights[fqn])
        self.size = self.training.example_batch[0].numel()

    def batch(self, stream: np.ndarray, index: int) -> tuple[torch.Tensor, ...]:
        ids = torch.from_numpy(stream[index * self.size : (index + 1) * self.size + 1].astype(np.int64))
        shape = self.training.example_batch[0].shape
        return ids[:-1].reshape(shape), ids[1:].reshape(shape)

    def loss(self, model: torch.nn.Module, batch: tuple[torch.Tensor, ...], low: torch.dtype | None) -> torch.Tensor:
        with torch.autocast("cpu", dtype=low, enabled=low is not None):
            return self.training.loss_fn(model, *batch)

    def gradients(self, batch: tuple[torch.Tensor, ...], dtype: torch.dtype, low: torch.dtype | None) -> Gradients:
        """Gradients at the first weights."""
        model = copy.deepcopy(self.training.model).to(dtype).train()
        # The cotangent is scaled as a gradient scaler does, so that fp16 does not underflow.
        scale = 2.0**16 if low == torch.float16 else 1.0
        (self.loss(model, batch, low) * scale).backward()
        return {name: p.grad / scale for name, p in model.named_parameters() if p.grad is not None}

    def losses(self, stream: np.ndarray) -> list[float]:
        """Losses of STEPS steps in fp64."""
        model = copy.deepcopy(self.training.model).double().train()
        old, new = dict(self.training.model.named_parameters()), dict(model.named_parameters())
        optimizer = rebuild(self.training.optimizer, old, new)
        losses = []
        for index in range(STEPS):
            model.zero_grad(set_to_none=True)
            loss = self.loss(model, self.batch(stream, index), None)
            loss.backward()
            losses.append(loss.item())
            if self.training.clip is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), self.training.clip)
            optimizer.step()
        return losses


def train(work: Path, package: Path, stream: np.ndarray, name: str, *flags: object) -> list[dict]:
    """Runs the binary over a token stream; returns the lines of its log."""
    np.save(work / f"{name}.npy", stream)
    log = work / f"{name}.jsonl"
    command = [work / "train", "--data", work / f"{name}.npy", "--init", package / "model.safetensors", "--log", log,
               "--quiet", *flags]
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
    return [line for line in map(json.loads, log.read_text().splitlines()) if "loss" in line]


class Errors:
    """Square errors of gradients, and the squares of the exact ones, summed over batches."""

    def __init__(self) -> None:
        self.error: dict[str, float] = {}
        self.size: dict[str, float] = {}

    def add(self, seen: Gradients, exact: Gradients) -> None:
        for name, value in exact.items():
            self.error[name] = self.error.get(name, 0.0) + float((seen[name].double() - value).square().mean())
            self.size[name] = self.size.get(name, 0.0) + float(value.square().mean())

    def relative(self, name: str) -> float:
        """Root mean square error in units of the root mean square."""
        return (self.error[name] / max(self.size[name], 1e-300)) ** 0.5


def main(argv: list[str]) -> int:
    name, work, precision, options = argv[1], Path(argv[2]), argv[3], argv[4:]
    work.mkdir(parents=True, exist_ok=True)
    package = Path(os.environ.get("HONE_FIXTURES", ROOT / "test" / "fixtures")) / f"{name}.hone"
    reference = Reference(name, package)
    vocab = int(read_safetensors(package / "golden.safetensors")["tokens"].max()) + 1
    generator = np.random.default_rng(20761)
    count = max(WINDOWS, STEPS)
    stream = generator.integers(2, vocab, count * reference.size + 1).astype(np.int32)
    subprocess.run(["honec", package, "-o", work / "train", f"--precision={precision}", "--keep-gradients", *options],
                   check=True)

    problems = []
    ours = [line["loss"] for line in train(work, package, stream, "steps", "--steps", STEPS)]
    exact_losses = reference.losses(stream)
    worst = max(abs(a - b) / max(1.0, abs(b)) for a, b in zip(ours, exact_losses, strict=True))
    print(f"losses      {STEPS} steps, worst difference from fp64 {worst:.2e}")
    if not worst <= LOSS_TOLERANCE:
        problems.append(f"losses differ by {worst:.2e}: {ours}, expected {exact_losses}")

    compiled, autocast = Errors(), Errors()
    for index in range(WINDOWS):
        window = stream[index * reference.size : (index + 1) * reference.size + 1]
        train(work, package, window, "window", "--steps", 1, "--dump", work)
        dump = read_safetensors(work / "step1.safetensors")
        batch = reference.batch(stream, index)
        exact = reference.gradients(batch, torch.float64, None)
        compiled.add({name: torch.from_numpy(np.array(dump["grad." + name])) for name in exact}, exact)
        autocast.add(reference.gradients(batch, torch.float32, TYPES[precision]), exact)
    rows = []
    for key in compiled.error:
        theirs, mine = autocast.relative(key), compiled.relative(key)
        rows.append((mine / max(theirs, 1e-300), key, mine, theirs))
        if not is_as_good(mine, theirs, precision):
            problems.append(f"{key}: error {mine:.2e} of its rms, autocast {theirs:.2e}")
    ratios = sorted(row[0] for row in rows)
    print(f"gradients   {len(rows)} tensors, error over autocast's: median {ratios[len(ratios) // 2]:.2f}, "
          f"worst {ratios[-1]:.2f} ({max(rows)[1]})")
    print("\n".join(problems) if problems else "within the bounds")
    return 1 if problems or not rows else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
