"""One model of the catalogue: exported, compiled, and trained ten steps beside PyTorch from the same weights. Models of
JAX are trained beside JAX: jax_trial.py has what differs.

Both train in fp32 with AdamW and clipping, on two batches in turn that differ from the one it was exported with. The
losses must agree within 1e-5 of themselves. That a wrong gradient shows in them takes three things:

- AdamW's eps of 1e-3, about the size of the gradients' elements here. With the usual 1e-8 a step does not depend on a
  gradient's scale, and elements whose gradient is nothing but rounding would move as far as any other.
- The gradient's norm of every step is compared as well, within 1e-4, and what ten steps made of each weight, within 1 %
  of what they moved it by: at small weights a loss hardly depends on what attention reads.
- Over the ten steps the loss must change by a hundred times the tolerance or more; otherwise the result is `untested`.
"""

from __future__ import annotations

import functools
import importlib
import math
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Callable, NamedTuple

import torch
from catalogue.base import Entry, Trial
from programs import Ended, Row, compared, compile_program, one_line, shown, train_program, written_inputs

STEPS = 10
LOSS_TOLERANCE = 1e-5
# The norm is a sum over all gradients, whose elements carry errors of a few 1e-6 of their rms where sums cancel.
NORM_TOLERANCE = 1e-4
# Of a weight's root mean square change; sums of near-cancelling gradients are off by some 1e-3 of it.
MOVE_TOLERANCE = 1e-2
ROUNDINGS = 2.0**-24 * STEPS  # of a weight that is stored in fp32 after each step, in units of it
NEGLIGIBLE = 1e-3  # a weight that moves so much less than others moves by cancellation: a bias of keys
LEAST_CHANGE = 100 * LOSS_TOLERANCE
EPS, CLIP = 1e-3, 1.0
SEED, EXAMPLE_SEED = 11, 99

Weights = dict[str, torch.Tensor]


class Steps(NamedTuple):
    """What ten steps give."""

    losses: list[float]
    norms: list[float]  # of gradients
    weights: Weights  # afterwards
    moves: Weights  # what they were changed by


def run_trial(entry: Entry, work: Path, honec: str, row: Row, enter: Callable[[str], None]) -> None:
    """Fills `row`; `enter` is told the name of each stage as it begins. WORK is an empty folder."""
    torch.set_num_threads(1)
    side = side_of(entry)
    try:
        enter(entry.framework)
        expected = side.eager_run(entry, row)
        trial = side.made(entry)
        enter("export")
        package = side.exported(entry, trial, work, row)
        enter("honec")
        compiled(package, work, honec, row)
        enter("training")
        found = side.trained(trial, work, row)
        try:
            judged(found, expected, row)
        except Ended as end:
            enter(f"{entry.framework} in fp64")
            raise side.conditioned(entry, expected, end, row) from end
    except Ended as end:
        row |= {"result": end.result, "reason": end.reason}


def side_of(entry: Entry) -> ModuleType:
    """The module that makes, trains and exports the entry's model with its framework."""
    return importlib.import_module("jax_trial") if entry.framework == "JAX" else sys.modules[__name__]


def made(entry: Entry) -> Trial:
    torch.manual_seed(SEED)
    trial = entry.make()
    trial.model.train()
    return trial


def batches(trial: Trial) -> list[tuple[torch.Tensor, ...]]:
    two = [trial.batch(1), trial.batch(2)]
    return [two[step % 2] for step in range(STEPS)]


def optimizer(trial: Trial) -> torch.optim.AdamW:
    trained = [p for p in trial.model.parameters() if p.requires_grad]
    return torch.optim.AdamW(trained, lr=trial.rate, eps=EPS)


def eager_run(entry: Entry, row: Row) -> Steps:
    """PyTorch's own ten steps. A model that PyTorch does not train is a mistake of the entry."""
    try:
        trial = made(entry)
        row["parameters"] = sum(p.numel() for p in trial.model.parameters())
        if any(forward_losses(entry, seed) != forward_losses(entry, 0) for seed in (1, 2, 3)):
            raise ValueError("the loss depends on torch's seed: the model draws random numbers")
        return eager_steps(trial, row)
    except Exception as error:
        raise Ended("wrong entry", one_line(f"{type(error).__name__}: {error}")) from error


def forward_losses(entry: Entry, seed: int) -> list[float]:
    """Of a few batches, before any step."""
    trial = made(entry)
    torch.manual_seed(seed)
    with torch.no_grad():
        return [trial.loss(trial.model, *trial.batch(number)).item() for number in range(4)]


def eager_steps(
    trial: Trial, row: Row, low: torch.dtype | None = None, scale: float = 1.0
) -> Steps:
    """`low`: the type of products under autocast; `scale` multiplies the loss before backward."""
    update = optimizer(trial)
    losses, norms, times = [], [], []
    trained = {name: p for name, p in trial.model.named_parameters() if p.requires_grad}
    before = {name: p.detach().clone() for name, p in trained.items()}
    for batch in batches(trial):
        start = time.perf_counter()
        update.zero_grad()
        with torch.autocast("cpu", dtype=low, enabled=low is not None):
            loss = trial.loss(trial.model, *batch)
        (loss * scale).backward()
        held = [p for group in update.param_groups for p in group["params"] if p.grad is not None]
        for p in held if scale != 1 else ():
            p.grad.div_(scale)
        # clip_grad_norm_ sums in single precision, which is 1e-4 off for large models.
        norms.append(math.sqrt(sum(p.grad.double().square().sum().item() for p in held)))
        torch.nn.utils.clip_grad_norm_(held, CLIP)
        update.step()
        losses.append(loss.item())
        times.append(time.perf_counter() - start)
    row["eager_ms"] = round(1e3 * sorted(times)[STEPS // 2], 3)
    weights = {name: p.detach() for name, p in trained.items()}
    return Steps(all_finite(losses), norms, weights, {name: p - before[name] for name, p in weights.items()})


def all_finite(losses: list[float]) -> list[float]:
    if not all(map(math.isfinite, losses)):
        raise ValueError(f"losses are not finite: {losses}")
    return losses


def exported(entry: Entry, trial: Trial, work: Path, row: Row) -> Path:
    import hone

    def write(out: str) -> None:
        hone.export(
            trial.model,
            trial.loss,
            trial.batch(EXAMPLE_SEED),
            optimizer(trial),
            out=out,
            clip=CLIP,
            roles=dict.fromkeys(trial.names, ""),
            weights=True,
            name=entry.name,
            frozen=trial.frozen,
        )

    return written(write, work, row)


def written(write: Callable[[str], None], work: Path, row: Row) -> Path:
    """The package that `write` writes to the path it is given."""
    from hone.errors import HoneError

    package = work / "model.hone"
    start = time.perf_counter()
    try:
        write(str(package))
    except HoneError as error:
        raise Ended("refused at export", one_line(str(error))) from error
    except Exception as error:
        raise Ended("export crashes", one_line(f"{type(error).__name__}: {error}")) from error
    row["export_s"] = round(time.perf_counter() - start, 2)
    return package


def compiled(package: Path, work: Path, honec: str, row: Row) -> None:
    start = time.perf_counter()
    try:
        compile_program(honec, package, work / "train")
    finally:
        row["compile_s"] = round(time.perf_counter() - start, 2)


def trained(trial: Trial, work: Path, row: Row) -> Steps:
    """The compiled program's ten steps; the changes of weights are left out."""
    from safetensors.torch import load_file

    losses, norms = run_program(trial, work, row)
    return Steps(losses, norms, load_file(work / "weights.safetensors"), {})


def run_program(trial: Trial, work: Path, row: Row) -> tuple[list[float], list[float]]:
    """Losses and norms; WORK/weights.safetensors has the weights."""
    inputs = written_inputs(trial.names, batches(trial), work)
    command = [work / "train", "--steps", STEPS, "--threads", 1, "--save", work / "weights.safetensors", *inputs]
    log = train_program(command, work / "log.jsonl")
    info = subprocess.run([work / "train", "--info"], capture_output=True, text=True, check=True).stdout
    row["arena_mib"] = round(int(re.search(r"arena \(peak\) +(\d+) bytes", info)[1]) / 2**20, 3)
    row["hone_ms"] = round(sorted(line["ms"] for line in log)[STEPS // 2], 3)
    return [line["loss"] for line in log], [line["grad_norm"] for line in log]


TOLERANCES = {"difference": LOSS_TOLERANCE, "norm_difference": NORM_TOLERANCE, "move_difference": MOVE_TOLERANCE}


def differences(found: Steps, expected: Steps) -> dict[str, float]:
    """By the keys of TOLERANCES."""
    moved = move_differences(found.weights, expected)
    return {
        "difference": compared(found.losses, expected.losses),
        "norm_difference": compared(found.norms, expected.norms),
        "move_difference": max(moved.values(), default=0.0),
    }


def move_differences(weights: Weights, expected: Steps) -> dict[str, float]:
    """Root mean square differences of weights, in units of what the steps moved them by."""
    moves = {name: rms(move) for name, move in expected.moves.items()}
    least = NEGLIGIBLE * max(moves.values(), default=0.0)
    found = {}
    for name, move in moves.items():
        rounding = ROUNDINGS / MOVE_TOLERANCE * rms(expected.weights[name])
        difference = rms(weights[name].double() - expected.weights[name].double())
        found[name] = difference / max(move, least, rounding, 1e-30)
    return found


def rms(x: torch.Tensor) -> float:
    return float(x.double().square().mean().sqrt()) if x.numel() else 0.0


def judged(found: Steps, expected: Steps, row: Row) -> None:
    losses = expected.losses
    row |= differences(found, expected)
    row["change"] = max(compared(losses[step : step + 1], losses[step % 2 : step % 2 + 1]) for step in range(2, STEPS))
    if not row["difference"] <= LOSS_TOLERANCE:
        raise Ended("differs", f"losses are {shown(found.losses)}, expected {shown(losses)}")
    if not row["norm_difference"] <= NORM_TOLERANCE:
        raise Ended("differs", f"gradient norms are {shown(found.norms)}, expected {shown(expected.norms)}")
    if not row["move_difference"] <= MOVE_TOLERANCE:
        moved = move_differences(found.weights, expected)
        worst = max(moved, key=moved.get)
        raise Ended("differs", f"{worst} differs by {moved[worst]:.1e} of what ten steps changed it by")
    if not row["change"] >= LEAST_CHANGE:
        raise Ended("untested", f"the loss changes by {row['change']:.1e} of itself, expected {LEAST_CHANGE:.0e}")
    row["result"] = "equal"


def conditioned(entry: Entry, expected: Steps, end: Ended, row: Row) -> Ended:
    """Of a model that differs: whether PyTorch in fp32 is as far from PyTorch in fp64. Then rounding grows from step to
    step (a rate too large, a norm over two numbers), no comparison can tell, and the entry is to be mended."""
    if end.result != "differs":
        return end
    try:
        exact = eager_steps(made_in_double(entry), {})
    except (RuntimeError, NotImplementedError):  # PyTorch has an operator of the model in fp32 alone
        return end
    own = differences(expected, exact)
    wrong = next(key for key, tolerance in TOLERANCES.items() if not row[key] <= tolerance)
    if own[wrong] > TOLERANCES[wrong] and row[wrong] <= 10 * own[wrong]:
        return Ended("ill-conditioned", f"PyTorch in fp32 is {own[wrong]:.1e} off PyTorch in fp64; {end.reason}")
    return end


def made_in_double(entry: Entry) -> Trial:
    """The same trial in fp64, which is torch's type of new tensors from here on: what is drawn at random is drawn in
    fp32, since the numbers of fp64 are others."""
    torch.set_default_dtype(torch.float32)
    trial = made(entry)
    trial.model.double()
    torch.set_default_dtype(torch.float64)

    def doubled(draw, generator):
        torch.set_default_dtype(torch.float32)
        drawn = as_double(draw(generator))
        torch.set_default_dtype(torch.float64)
        return drawn

    return replace(trial, inputs=tuple(functools.partial(doubled, draw) for draw in trial.inputs))


def as_double(x: torch.Tensor) -> torch.Tensor:
    return x.double() if x.is_floating_point() else x
