#!/usr/bin/env python3
"""Trains a small model under many memory budgets: budgets.py gpt2|llama|mixtral WORKDIR COUNT [honec options].

Six layers, four micro-batches, GPT-2 with dropout, Mixtral with four experts. For COUNT budgets from the smallest that works to one that keeps
everything, and for the classic policies: the arena is at most the budget, gradients of the first step and weights after
three are those of the run without a budget, bit for bit, with one thread and with two. Less memory never is estimated to
be faster. A byte less than the smallest budget is refused, and no policy needs less.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("test/e2e", "python_frontend", "python_frontend/examples")]

import gpt2  # noqa: E402
import hone  # noqa: E402
import llama  # noqa: E402
from golden import read_safetensors  # noqa: E402
from plans import DoesNotFit, dry_run, spread_budgets  # noqa: E402

MICRO_BATCHES = 4


def mixtral() -> hone.Training:
    """Tokens choose two of four experts: recomputed, they must choose the same."""
    import transformers

    config = transformers.MixtralConfig(vocab_size=61, hidden_size=32, intermediate_size=48, num_hidden_layers=6,
                                        num_attention_heads=4, num_key_value_heads=2, num_local_experts=4,
                                        num_experts_per_tok=2, max_position_embeddings=32)
    model = transformers.MixtralForCausalLM(config)

    def loss(model, tokens, targets):
        return torch.nn.functional.cross_entropy(model(tokens).logits.flatten(0, 1), targets.flatten())

    ids = torch.zeros(2, 32, dtype=torch.long)
    return hone.Training(model, loss, (ids, ids), torch.optim.AdamW(model.parameters(), lr=1e-3), clip=1.0)


def export(model: str, package: Path) -> None:
    torch.manual_seed(1)
    if model == "mixtral":
        training = mixtral()
    elif model == "gpt2":
        training = gpt2.training(gpt2.Config(vocab=61, context=32, layers=6, heads=4, width=32, dropout=0.1), 2, 32, lr=1e-3)
    else:
        training = llama.training(llama.Config(vocab=61, layers=6, heads=4, key_heads=2, width=32, hidden=80), 2, 32, lr=1e-3)
    hone.export(training.model, training.loss_fn, training.example_batch, optimizer=training.optimizer,
                clip=training.clip, out=str(package))


def train(package: Path, work: Path, options: list[str], threads: int) -> dict[str, np.ndarray]:
    """Gradients of the first step and weights after three."""
    binary = work / "train"
    subprocess.run(["honec", package, "-o", binary, "--keep-gradients", f"--micro-batches={MICRO_BATCHES}", *options],
                   check=True)
    subprocess.run([binary, "--data", work / "tokens.npy", "--steps", "3", "--seed", "7", "--dump", work, "--save",
                    work / "weights.safetensors", "--quiet"], check=True, stdout=subprocess.DEVNULL,
                   env=os.environ | {"OMP_NUM_THREADS": str(threads)})
    found = dict(read_safetensors(work / "step1.safetensors"))
    return found | dict(read_safetensors(work / "weights.safetensors"))


def differing(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> list[str]:
    return [name for name in one if np.asarray(one[name]).tobytes() != np.asarray(other[name]).tobytes()]


def main(argv: list[str]) -> int:
    work, count, given = Path(argv[2]), int(argv[3]), argv[4:]
    work.mkdir(parents=True, exist_ok=True)
    package = work / "model.hone"
    export(argv[1], package)
    np.save(work / "tokens.npy", np.random.default_rng(0).integers(0, 61, 4096).astype(np.int32))
    options = [f"--micro-batches={MICRO_BATCHES}", "--keep-gradients", *given]
    expected = train(package, work, given, 1)
    budgets = spread_budgets(package, count, *options)
    problems, seconds = [], 0.0
    cases = [f"--memory-budget={budget}" for budget in budgets] + [f"--checkpoint={name}" for name in ("full", "sqrt")]
    for number, case in enumerate(cases):
        plan = dry_run(package, *options, case)
        wrong = differing(expected, train(package, work, [*given, case], 1 + number % 2))
        print(f"{case}: {plan.peak} bytes, {1e3 * plan.seconds:.3f} ms, {len(wrong)} tensors differ")
        if wrong:
            problems.append(f"{case}: {', '.join(wrong[:5])} differ")
        if case.startswith("--memory-budget"):
            if plan.peak > budgets[number]:
                problems.append(f"{case}: the arena takes {plan.peak} bytes")
            if plan.seconds < seconds:
                problems.append(f"{case}: faster than with more memory")
            seconds = plan.seconds
        elif plan.peak < budgets[-1]:
            problems.append(f"{case}: {plan.peak} bytes are less than the smallest budget")
    if len(set(budgets)) < count:
        problems.append(f"only {len(set(budgets))} budgets differ")
    try:
        dry_run(package, *options, f"--memory-budget={budgets[-1] - 1}")
        problems.append(f"a budget of {budgets[-1] - 1} bytes works too")
    except DoesNotFit as refusal:
        print(f"refused: {refusal}")
    print("\n".join(problems) or f"equal with {len(cases)} plans, of {budgets[-1]} to {budgets[0]} bytes")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
