"""A learning-rate scheduler on the optimizer: the rate it started from, and flags that make its schedule.

A scheduler overwrites the `lr` of an optimizer's groups and leaves what it found in `initial_lr`. A package holds the
rate the run is to have at most, and the program schedules it by flags.
"""

from __future__ import annotations

import gc

import torch
from torch.optim import lr_scheduler

from .errors import HoneError
from .optimizer_spec import number

_FLAGS = "--warmup, --schedule and --min-lr"


def base_rate(group: dict, where: str) -> object:
    """The learning rate that a group has before a scheduler changes it."""
    if "max_lr" in group and "initial_lr" in group:  # OneCycleLR: initial_lr is a fraction of what was asked for
        _refuse_cycled_momentum(group, where)
        return number(group["max_lr"])
    if "initial_lr" in group:
        _refuse_cycled_momentum(group, where)
    return number(group.get("initial_lr", group["lr"]))


def _refuse_cycled_momentum(group: dict, where: str) -> None:
    if "max_momentum" in group:
        low, high = number(group["base_momentum"]), number(group["max_momentum"])
        raise HoneError(
            f"{where}: its scheduler cycles the momentum too, from {low} to {high}, which the program cannot; "
            "expected a scheduler with cycle_momentum=False, or none"
        )


def scheduler_note(optimizer: torch.optim.Optimizer) -> str | None:
    """A line about the scheduler of the optimizer, which the package leaves out; None without one."""
    groups = [group for group in optimizer.param_groups if "initial_lr" in group]
    if not groups:
        return None
    present, taken = number(groups[0]["lr"]), base_rate(groups[0], "optimizer")
    rate = f"lr is {taken:g}" + ("" if present == taken else f", not {present:g} as the scheduler has set it")
    flags = _flags_of(optimizer)
    ways = f"schedules are flags of ./train: {_FLAGS}"
    if flags:
        ways = f"./train {flags} makes its schedule, one step ahead"
    return f"optimizer: a scheduler is attached, which the package leaves out: {rate}; {ways}"


def _flags_of(optimizer: torch.optim.Optimizer) -> str | None:
    """The flags for a schedule of known form; None for another one, or where the scheduler is gone."""
    found = [
        thing
        for thing in gc.get_objects()
        if issubclass(type(thing), lr_scheduler.LRScheduler) and getattr(thing, "optimizer", None) is optimizer
    ]
    whole = [one for one in found if type(one) is lr_scheduler.SequentialLR]
    outer = whole or found
    if len(outer) != 1:
        return None
    scheduler = outer[0]
    if type(scheduler) is lr_scheduler.LambdaLR:
        return _flags_of_lambdas(scheduler.lr_lambdas)
    if type(scheduler) is lr_scheduler.SequentialLR:
        return _flags_of_sequence(scheduler)
    if type(scheduler) is lr_scheduler.CosineAnnealingLR:
        return f"--schedule cosine --min-lr {scheduler.eta_min:g} --steps {scheduler.T_max}"
    warmup = _warmup_steps(scheduler)
    return f"--warmup {warmup}" if warmup else None


def _flags_of_lambdas(lambdas: list) -> str | None:
    """Those of transformers' get_constant_schedule_with_warmup and get_cosine_schedule_with_warmup."""
    facts = [(getattr(getattr(one, "func", None), "__name__", ""), getattr(one, "keywords", None)) for one in lambdas]
    name, given = facts[0]
    if given is None or any(other != facts[0] for other in facts):
        return None
    if name == "_get_constant_schedule_with_warmup_lr_lambda" and set(given) == {"num_warmup_steps"}:
        return f"--warmup {given['num_warmup_steps']}"
    known = {"num_warmup_steps", "num_training_steps", "num_cycles"}
    if name == "_get_cosine_schedule_with_warmup_lr_lambda" and set(given) == known and given["num_cycles"] == 0.5:
        warmup = f"--warmup {given['num_warmup_steps']} " if given["num_warmup_steps"] else ""
        return f"{warmup}--schedule cosine --min-lr 0 --steps {given['num_training_steps']}"
    return None


def _flags_of_sequence(sequence: lr_scheduler.SequentialLR) -> str | None:
    """Those of a linear warm-up, then a cosine."""
    parts = sequence._schedulers
    if len(parts) != 2 or type(parts[1]) is not lr_scheduler.CosineAnnealingLR:
        return None
    warmup, cosine = _warmup_steps(parts[0]), parts[1]
    if not warmup or sequence._milestones != [warmup]:
        return None
    return f"--warmup {warmup} --schedule cosine --min-lr {cosine.eta_min:g} --steps {warmup + cosine.T_max}"


def _warmup_steps(scheduler: lr_scheduler.LRScheduler) -> int | None:
    """The steps of a LinearLR that rises from next to nothing."""
    if type(scheduler) is not lr_scheduler.LinearLR or scheduler.end_factor != 1:
        return None
    return scheduler.total_iters if scheduler.start_factor * scheduler.total_iters <= 1 else None
