#!/usr/bin/env python3
"""What a user does with a tuned model must not be a wrong run without a word: tuned_models.py WORKDIR [CASE...].

The model is a Hugging Face GPT-2 of two layers, trained here until it knows which token follows which, saved, and read
again with from_pretrained. Each case makes an ordinary move with it and returns three lists of losses:

- ours: what the compiled program logs; within 1e-4 of
- right: what PyTorch computes;
- wrong: what the run gives where the move is misunderstood; at least 1 away from the right one at the last step, so
  that the case can fail.

A case that must be refused returns the one line instead, by `refusal`, and the words it must contain.
"""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import hone
import numpy as np
import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel, get_cosine_schedule_with_warmup

VOCAB, BATCH, LENGTH = 128, 4, 32
TOLERANCE, DISTANCE = 1e-4, 1.0


class Failure(Exception):
    """What a case failed at, in one line."""


@dataclass(frozen=True)
class Losses:
    ours: list[float]
    right: list[float]
    wrong: list[float]


#===---------------------------------------------------------------------------------------------------------------===//
# The tuned model and its data
#===---------------------------------------------------------------------------------------------------------------===//


def stream(seed: int, size: int) -> torch.Tensor:
    """Tokens each of which follows from the one before, by a rule that `seed` chooses; [size] i64."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(VOCAB, generator=generator)  # one cycle: every token has one successor
    start = torch.randint(VOCAB, (1,), generator=generator).item()
    return order.roll(-start).repeat(size // VOCAB + 1)[:size]


def batches(tokens: torch.Tensor, steps: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """What a run over `tokens` reads: inputs and, one later, targets; [BATCH, LENGTH] each."""
    size = BATCH * LENGTH
    cut = lambda begin: tokens[begin : begin + size].reshape(BATCH, LENGTH)
    return [(cut(i * size), cut(i * size + 1)) for i in range(steps)]


def token_loss(model: torch.nn.Module, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    logits = model(input_ids=tokens).logits
    return F.cross_entropy(logits.reshape(-1, VOCAB), targets.reshape(-1))


def tune(folder: Path) -> GPT2LMHeadModel:
    """The model, as from_pretrained gives it, from `folder`, which is made."""
    torch.manual_seed(5)
    dropouts = {f"{name}_pdrop": 0.0 for name in ("attn", "embd", "resid")}
    ends = {"bos_token_id": 0, "eos_token_id": 0}
    config = GPT2Config(vocab_size=VOCAB, n_positions=LENGTH, n_layer=2, n_head=2, n_embd=32, **dropouts, **ends)
    model = GPT2LMHeadModel(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for tokens, targets in batches(stream(1, 60 * BATCH * LENGTH + 1), 60):
        optimizer.zero_grad()
        token_loss(model, tokens, targets).backward()
        optimizer.step()
    model.save_pretrained(folder)
    return GPT2LMHeadModel.from_pretrained(folder).train()


#===---------------------------------------------------------------------------------------------------------------===//
# Runs
#===---------------------------------------------------------------------------------------------------------------===//


def run(*words: object, code: int = 0) -> str:
    """The output of a command, which must end with `code`."""
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != code:
        raise Failure(f"{' '.join(map(str, words))}: exit code {done.returncode}: {done.stdout.strip()[-400:]}")
    return done.stdout


def losses(program: Path, *flags: object) -> list[float]:
    """The loss of each step of a run of `program`."""
    log = program.parent / "log.jsonl"
    run(program, *flags, "--quiet", "--log", log)
    return [record["loss"] for line in log.read_text().splitlines() if "loss" in (record := json.loads(line))]


def compiled(work: Path, model: torch.nn.Module, loss_fn: Callable | None, batch: tuple, **options) -> Path:
    """The program for `model`, in `work`, after hone.export with `options` and honec."""
    hone.export(model, loss_fn, batch, out=str(work / "tuned.hone"), **options)
    run("honec", work / "tuned.hone", "-o", work / "train")
    return work / "train"


def eager(model: torch.nn.Module, loss_fn: Callable, feed: list[tuple], lr: float) -> list[float]:
    """The losses of a run in PyTorch, with AdamW; the model is left as it is."""
    model = copy.deepcopy(model).train()
    optimizer, seen = torch.optim.AdamW(model.parameters(), lr=lr), []
    for batch in feed:
        optimizer.zero_grad()
        loss = loss_fn(model, *batch)
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    return seen


def refusal(work: Path, model: torch.nn.Module, loss_fn: Callable | None, batch: tuple, *words: str, **options) -> str:
    """The line by which hone.export refuses, which contains `words`; no package is written."""
    out = work / "refused.hone"
    try:
        hone.export(model, loss_fn, batch, out=str(out), **options)
    except hone.HoneError as error:
        text = str(error)
        if "\n" in text or out.exists() or not all(word in text for word in words):
            raise Failure(f"the refusal is {text!r}, expected one line with {words}") from None
        return text
    raise Failure(f"hone.export wrote a package, expected a refusal with {words}")


def save_tokens(path: Path, tokens: torch.Tensor) -> Path:
    np.save(path, tokens.numpy().astype(np.uint16))
    return path


#===---------------------------------------------------------------------------------------------------------------===//
# Cases: each takes an empty folder and the tuned model, which it leaves as it is
#===---------------------------------------------------------------------------------------------------------------===//


def weights(work: Path, model: GPT2LMHeadModel) -> Losses:
    """A model from from_pretrained trains on from its weights, where --fresh asks for noise."""
    steps, tokens = 3, stream(1, 3 * BATCH * LENGTH + 1)
    feed = batches(tokens, steps)
    program = compiled(work, model, token_loss, feed[0], optimizer=torch.optim.AdamW(model.parameters(), lr=1e-4))
    flags = ["--data", save_tokens(work / "tokens.npy", tokens), "--steps", steps]
    right = eager(model, token_loss, feed, lr=1e-4)
    return Losses(losses(program, *flags), right, losses(program, *flags, "--fresh"))


def scheduler(work: Path, model: GPT2LMHeadModel) -> Losses:
    """A scheduler has set the rate to 0 before the first step: the rate that was asked for is taken."""
    steps, rate, tokens = 10, 3e-3, stream(2, 10 * BATCH * LENGTH + 1)  # another rule than the model knows
    feed = batches(tokens, steps)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    schedule = get_cosine_schedule_with_warmup(optimizer, 4, steps)
    assert optimizer.param_groups[0]["lr"] == 0.0 and schedule.optimizer is optimizer
    program = compiled(work, model, token_loss, feed[0], optimizer=optimizer)
    flags = ["--data", save_tokens(work / "tokens.npy", tokens), "--steps", steps]
    return Losses(losses(program, *flags), eager(model, token_loss, feed, rate), losses(program, *flags, "--lr", 0))


def labels(work: Path, model: GPT2LMHeadModel) -> Losses:
    """Labels that the model shifts itself are refused as targets, which are shifted already; the line helps."""
    steps, tokens = 3, stream(1, 3 * BATCH * LENGTH + 1)
    feed = [(x, x) for x, _ in batches(tokens, steps)]

    def own_loss(model: torch.nn.Module, input_ids: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return model(input_ids=input_ids, labels=labels).loss

    refusal(work, model, own_loss, feed[0], "labels: the loss shifts them itself", 'roles={"labels": "labels"}')
    flags = ["--data", save_tokens(work / "tokens.npy", tokens), "--steps", steps]

    def trained(name: str, role: str) -> list[float]:
        (work / name).mkdir()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        program = compiled(work / name, model, own_loss, feed[0], optimizer=optimizer, roles={"labels": role})
        return losses(program, *flags)

    return Losses(trained("right", "labels"), eager(model, own_loss, feed, lr=1e-4), trained("wrong", "targets"))


def masked_prompts(work: Path, model: GPT2LMHeadModel) -> Losses:
    """Instruction tuning: labels of prompts are -100, and only what follows them is learned."""

    def loss_fn(model: torch.nn.Module, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        logits = model(input_ids=tokens).logits
        return F.cross_entropy(logits.reshape(-1, VOCAB), labels.reshape(-1))

    steps, rate = 3, 1e-4
    prompts, answers = stream(1, steps * BATCH * LENGTH + 1), stream(2, steps * BATCH * LENGTH + 1)
    feed, whole = [], []
    for (tokens, targets), (_, others) in zip(batches(prompts, steps), batches(answers, steps)):
        # The model knows the prompt's rule and not the answer's: with the prompt counted, the loss is far lower.
        half = LENGTH // 2
        labels = torch.cat([torch.full_like(targets[:, :half], -100), others[:, half:]], dim=1)
        feed.append((tokens, labels))
        whole.append((tokens, torch.cat([targets[:, :half], others[:, half:]], dim=1)))
    options = {"optimizer": torch.optim.AdamW(model.parameters(), lr=rate), "roles": {"tokens": "", "labels": ""}}
    program = compiled(work, model, loss_fn, feed[0], **options)

    def run_on(batches: list[tuple[torch.Tensor, torch.Tensor]]) -> list[float]:
        files = [x for x in zip(*batches)]
        flags: list[object] = ["--steps", steps]
        for name, values in zip(("tokens", "labels"), files):
            np.save(work / f"{name}.npy", torch.stack(values).numpy())
            flags += ["--input", f"{name}={work / name}.npy"]
        return losses(program, *flags)

    return Losses(run_on(feed), eager(model, loss_fn, feed, rate), run_on(whole))


CASES: dict[str, Callable[[Path, GPT2LMHeadModel], Losses | str]] = {
    case.__name__: case
    for case in (
        weights,
        scheduler,
        labels,
        masked_prompts,
    )
}


def check(case: Callable, work: Path, model: GPT2LMHeadModel) -> str:
    work.mkdir(parents=True)
    result = case(work, model)
    if isinstance(result, str):
        return f"refused: {result}"
    apart = max(abs(a - b) for a, b in zip(result.ours, result.right, strict=True))
    distance = abs(result.wrong[-1] - result.right[-1])
    if not apart <= TOLERANCE:
        raise Failure(f"losses {result.ours}, expected {result.right}")
    if not distance > DISTANCE:
        raise Failure(f"the misunderstood run ends with {result.wrong[-1]}, too near to {result.right[-1]} to tell")
    return f"{apart:.0e} from PyTorch; misunderstood, {distance:.1f} away"


def main(argv: list[str]) -> int:
    work, names = Path(argv[1]), argv[2:] or list(CASES)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    model = tune(work / "tuned")
    failed = 0
    for name in names:
        try:
            print(f"{name:16s}{check(CASES[name], work / name, model)}", flush=True)
        except (Failure, hone.HoneError) as error:
            failed += 1
            print(f"{name:16s}FAILED: {error}", flush=True)
    print(f"{len(names) - failed} of {len(names)} cases are right or refused")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
