#!/usr/bin/env python3
"""Exports, compiles and trains models that no fixture holds: new_models.py WORKDIR [--all | NAME...] [--OPTION=...].

Without a name, the quick ones of model_table.py. Options are honec's: for another target. For each, with one batch per step and with two:

- losses, gradient norms and the validation loss agree with PyTorch's within 1e-5 (relative to max(1, value)), from the
  same weights over the same tokens, unless the model draws random numbers;
- and with the interpreter's in double precision within 2e-5;
- weights are the same bits with 1 and with 2 threads, and after a break and --resume;
- hone.load puts them into the model, whose loss in PyTorch is the validation loss the program printed.
"""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import warnings
from pathlib import Path

import hone
import numpy as np
import torch

from hone.optimizer import rebuild
from model_table import MODELS, Case

STEPS = 5
BREAK = 2  # steps before --resume
VALIDATION = 2  # batches
TOLERANCE = {"pytorch": 1e-5, "interpreter": 2e-5}
ROLES = ("tokens", "targets")


class Failure(Exception):
    """What a model failed at, in one line."""


def command(*words: object) -> None:
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Failure(f"{' '.join(map(str, words))}: exit code {done.returncode}: {done.stdout.strip()[-400:]}")


def read_log(path: Path) -> list[dict]:
    """The lines that are steps or validations."""
    entries = map(json.loads, path.read_text().splitlines())
    return [entry for entry in entries if "loss" in entry or "val_loss" in entry]


#===---------------------------------------------------------------------------------------------------------------===//
# The same run in PyTorch
#===---------------------------------------------------------------------------------------------------------------===//


def input_names(case: Case) -> list[str]:
    return list(case.loss.__code__.co_varnames[1:case.loss.__code__.co_argcount])


class Data:
    """The batches of a run: windows of a token stream, and the values of the other inputs."""

    def __init__(self, case: Case, work: Path) -> None:
        self.case, self.names = case, input_names(case)
        self.flags: list[object] = []
        self.has_stream = "tokens" in self.names
        if self.has_stream:
            size = case.batch[0].numel()
            self.stream = torch.randint(case.vocab, (2 * STEPS * size + 1,), generator=torch.Generator().manual_seed(7))
            np.save(work / "tokens.npy", self.stream.numpy().astype(np.uint16 if case.vocab < 2**16 else np.int32))
            self.flags += ["--data", work / "tokens.npy"]
        for name, value in zip(self.names, case.batch):
            if name not in ROLES:
                np.save(work / f"{name}.npy", value.numpy())
                self.flags += ["--input", f"{name}={work / name}.npy"]
        if self.has_stream:
            self.flags += ["--val-data", work / "tokens.npy", "--val-batches", VALIDATION]

    def batch(self, index: int) -> list[torch.Tensor]:
        values = []
        for name, like in zip(self.names, self.case.batch):
            if name in ROLES:
                start = index * like.numel() + ROLES.index(name)
                like = self.stream[start:start + like.numel()].reshape(like.shape)
            values.append(like)
        return values


def validation_loss(case: Case, model: torch.nn.Module, data: Data) -> float:
    was_training = model.training
    model.eval()
    with torch.no_grad():
        loss = sum(case.loss(model, *data.batch(i)).item() for i in range(VALIDATION)) / VALIDATION
    model.train(was_training)
    return loss


def eager_log(case: Case, data: Data, micro_batches: int) -> list[dict]:
    """What the compiled program must log."""
    model = copy.deepcopy(case.model).train()
    parameters, copies = dict(case.model.named_parameters()), dict(model.named_parameters())
    optimizer, log = rebuild(case.optimizer, parameters, copies), []
    for step in range(STEPS):
        optimizer.zero_grad()
        losses = [case.loss(model, *data.batch(step * micro_batches + i)) / micro_batches for i in range(micro_batches)]
        for loss in losses:
            loss.backward()
        # clip_grad_norm_ returns a norm summed in single precision: 1e-4 off for 400 000 elements.
        norm = sum(p.grad.double().square().sum() for p in model.parameters() if p.grad is not None).sqrt()
        log.append({"loss": sum(loss.item() for loss in losses), "grad_norm": norm.item()})
        if case.clip is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), case.clip)
        optimizer.step()
    if data.has_stream:
        log.append({"val_loss": validation_loss(case, model, data)})
    return log


#===---------------------------------------------------------------------------------------------------------------===//
# Checks
#===---------------------------------------------------------------------------------------------------------------===//


def compare(what: str, ours: list[dict], theirs: list[dict]) -> float:
    """The largest difference; of losses, gradient norms and validation losses."""
    worst, count = 0.0, 0
    for a, b in zip(ours, theirs, strict=True):
        for key in ("loss", "grad_norm", "val_loss"):
            if (key in a) != (key in b):
                raise Failure(f"{what}: {key} in one log only, {a} and {b}")
            if key not in a:
                continue
            difference = abs(a[key] - b[key]) / max(1.0, abs(b[key]))
            worst, count = max(worst, difference), count + 1
            if not difference <= TOLERANCE[what]:
                raise Failure(f"{what}: {key} at step {a['step']} is {a[key]}, expected {b[key]}")
    if count < 2 * STEPS:
        raise Failure(f"{what}: {count} values only")
    return worst


def check_training(case: Case, data: Data, package: Path, work: Path, micro_batches: int, options: list[str]) -> str:
    work.mkdir()
    option = f"--micro-batches={micro_batches}"
    command("honec", package, "-o", work / "train", option, *options)
    start = [*data.flags, "--init", package / "model.safetensors", "--seed", 3, "--quiet"]

    def train(name: str, steps: int, threads: int, *flags: object) -> bytes:
        command(work / "train", *start, "--steps", steps, "--threads", threads, "--save", work / f"{name}.safetensors",
                "--log", work / f"{name}.jsonl", *flags)
        return (work / f"{name}.safetensors").read_bytes()

    weights = train("one", STEPS, 1)
    if train("two", STEPS, 2) != weights:
        raise Failure(f"{option}: 1 and 2 threads differ")
    train("broken", BREAK, 2, "--checkpoint-dir", work / "checkpoints")
    if train("resumed", STEPS, 1, "--checkpoint-dir", work / "checkpoints", "--resume") != weights:
        raise Failure(f"{option}: --resume differs from the unbroken run")
    log = read_log(work / "one.jsonl")
    command("hone-run", package, "--f64", option, *start, "--steps", STEPS, "--log", work / "interpreted.jsonl")
    worst = [f"interpreter {compare('interpreter', log, read_log(work / 'interpreted.jsonl')):.0e}"]
    if not case.is_random:
        worst.append(f"pytorch {compare('pytorch', log, eager_log(case, data, micro_batches)):.0e}")
    if data.has_stream:
        loaded = hone.load(copy.deepcopy(case.model), str(work / "one.safetensors"))
        reached, expected = validation_loss(case, loaded, data), log[-1]["val_loss"]
        if not abs(reached - expected) <= TOLERANCE["pytorch"] * max(1.0, expected):
            raise Failure(f"{option}: loaded weights give {reached}, expected {expected}")
    return ", ".join(worst)


def check(name: str, work: Path, options: list[str]) -> str:
    torch.manual_seed(11)
    case = MODELS[name].make()
    case.model.train()
    work.mkdir(parents=True)
    data = Data(case, work)
    package = work / "model.hone"
    hone.export(case.model, case.loss, case.batch, case.optimizer, str(package), clip=case.clip, weights=True)
    return "; ".join(f"K={k} {check_training(case, data, package, work / f'k{k}', k, options)}" for k in (1, 2))


def main(argv: list[str]) -> int:
    work, options = Path(argv[1]), [word for word in argv[2:] if word.startswith("--") and word != "--all"]
    names = list(MODELS) if "--all" in argv else [word for word in argv[2:] if not word.startswith("--")]
    names = names or [name for name, spec in MODELS.items() if spec.is_quick]
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    failed = 0
    for name in names:
        try:
            print(f"{name:24s}{check(name, work / name, options)}", flush=True)
        except (Failure, hone.HoneError) as error:
            failed += 1
            print(f"{name:24s}FAILED: {error}", flush=True)
    print(f"{len(names) - failed} of {len(names)} models train as they do in PyTorch")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
