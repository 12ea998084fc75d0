"""Schedulers on the optimizer: the rate they started from is taken, and the flags named that make their schedule."""

from __future__ import annotations

import math
import re

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from hone.errors import HoneError  # noqa: E402
from hone.optimizer import read_optimizer, rebuild  # noqa: E402
from torch.optim import lr_scheduler as schedules  # noqa: E402

LR = 0.5
OTHER = "schedules are flags of ./train: --warmup, --schedule and --min-lr"


def make(**options) -> tuple[dict[str, torch.nn.Parameter], torch.optim.Optimizer]:
    p = {"w": torch.nn.Parameter(torch.ones(3)), "b": torch.nn.Parameter(torch.ones(2))}
    return p, torch.optim.AdamW([{"params": [p["w"]]}, {"params": [p["b"]], "lr": LR / 4}], **{"lr": LR} | options)


def warmup_then_cosine(o: torch.optim.Optimizer) -> schedules.LRScheduler:
    parts = [schedules.LinearLR(o, 1 / 20, 1.0, 10), schedules.CosineAnnealingLR(o, 30, eta_min=0.125)]
    return schedules.SequentialLR(o, parts, milestones=[10])


# Scheduler -> the flags that the warning names, or None.
FLAGS = {
    "hf cosine": (lambda o: transformers.get_cosine_schedule_with_warmup(o, 10, 40),
                  "--warmup 10 --schedule cosine --min-lr 0 --steps 40"),
    "hf cosine without warm-up": (lambda o: transformers.get_cosine_schedule_with_warmup(o, 0, 40),
                                  "--schedule cosine --min-lr 0 --steps 40"),
    "hf constant": (lambda o: transformers.get_constant_schedule_with_warmup(o, 10), "--warmup 10"),
    "cosine": (lambda o: schedules.CosineAnnealingLR(o, 40, eta_min=0.125),
               "--schedule cosine --min-lr 0.125 --steps 40"),
    "linear warm-up": (lambda o: schedules.LinearLR(o, 1 / 20, 1.0, 10), "--warmup 10"),
    "warm-up, then cosine": (warmup_then_cosine, "--warmup 10 --schedule cosine --min-lr 0.125 --steps 40"),
    "hf linear": (lambda o: transformers.get_linear_schedule_with_warmup(o, 10, 40), None),
    "hf cosine, half cycles": (lambda o: transformers.get_cosine_schedule_with_warmup(o, 10, 40, num_cycles=1.5), None),
    "a high start": (lambda o: schedules.LinearLR(o, 0.5, 1.0, 10), None),
    "steps": (lambda o: schedules.StepLR(o, 10), None),
    "a rule of its own": (lambda o: schedules.LambdaLR(o, lambda step: step / 100), None),
    "one rule per group": (lambda o: schedules.LambdaLR(o, [lambda step: step / 100, lambda step: 1.0]), None),
    "two schedulers": (lambda o: [schedules.StepLR(o, 10), schedules.CosineAnnealingLR(o, 40)], None),
}


@pytest.mark.parametrize("name", FLAGS)
def test_the_rate_before_the_scheduler_is_taken(name: str, capfd) -> None:
    make_scheduler, flags = FLAGS[name]
    p, optimizer = make()
    scheduler = make_scheduler(optimizer)
    spec = read_optimizer(optimizer, p, None)
    assert spec.attribute["lr"] == LR and [g["lr_scale"] for g in spec.attribute["groups"]] == [1.0, 0.25]
    line = capfd.readouterr().err
    present = optimizer.param_groups[0]["lr"]
    changed = "" if present == LR else f", not {present:g} as the scheduler has set it"
    ways = f"./train {flags} makes its schedule, one step ahead" if flags else OTHER
    assert line == (
        f"warning: optimizer: a scheduler is attached, which the package leaves out: lr is 0.5{changed}; {ways}\n"
    )
    assert [group["lr"] for group in rebuild(optimizer, p, p).param_groups] == [LR, LR / 4]
    del scheduler


def rate_of_train(flags: str, step: int) -> float:
    """What ./train --help says of step 1, 2, ..."""
    read = lambda name, default: float(found[1]) if (found := re.search(rf"--{name} (\S+)", flags)) else default
    warmup = read("warmup", 0)
    if step <= warmup:
        return LR * step / warmup
    if "cosine" not in flags:
        return LR
    least, progress = read("min-lr", LR / 10), (step - warmup) / (read("steps", 100) - warmup)
    return least + (LR - least) * 0.5 * (1 + math.cos(math.pi * min(progress, 1)))


@pytest.mark.parametrize("name", [name for name, (_, flags) in FLAGS.items() if flags and name != "linear warm-up"])
def test_the_flags_make_the_schedule(name: str) -> None:
    make_scheduler, flags = FLAGS[name]
    _, optimizer = make()
    scheduler = make_scheduler(optimizer)
    for step in range(1, 40):
        optimizer.step()
        scheduler.step()
        if "warm-up, then" in name and step <= 10:  # LinearLR starts at 1/20 of the rate, the flag at 0
            assert abs(optimizer.param_groups[0]["lr"] - rate_of_train(flags, step)) <= LR / 20
            continue
        assert optimizer.param_groups[0]["lr"] == pytest.approx(rate_of_train(flags, step), rel=1e-9, abs=1e-12)


def test_a_scheduler_that_is_gone(capfd) -> None:
    p, optimizer = make()
    transformers.get_cosine_schedule_with_warmup(optimizer, 10, 40)
    assert read_optimizer(optimizer, p, None).attribute["lr"] == LR
    assert capfd.readouterr().err == (
        "warning: optimizer: a scheduler is attached, which the package leaves out: lr is 0.5, not 0 as the scheduler "
        f"has set it; {OTHER}\n"
    )


def test_one_cycle_without_momentum_gives_its_highest_rate(capfd) -> None:
    p, optimizer = make()
    schedules.OneCycleLR(optimizer, max_lr=[1.0, 0.5], total_steps=20, cycle_momentum=False)
    spec = read_optimizer(optimizer, p, None)
    assert spec.attribute["lr"] == 1.0 and [g["lr_scale"] for g in spec.attribute["groups"]] == [1.0, 0.5]
    assert "lr is 1, not 0.04 as the scheduler has set it" in capfd.readouterr().err


@pytest.mark.parametrize("cycle", [
    lambda o: schedules.OneCycleLR(o, max_lr=1.0, total_steps=20),
    lambda o: schedules.CyclicLR(o, base_lr=0.1, max_lr=1.0, cycle_momentum=True),
])
def test_cycled_momentum_is_refused(cycle) -> None:
    p, optimizer = make()
    cycle(optimizer)
    with pytest.raises(HoneError, match=r"AdamW group 0: its scheduler cycles the momentum too, from 0.8\d* to 0.9\d*"):
        read_optimizer(optimizer, p, None)


def test_a_scheduler_of_rate_zero_is_refused() -> None:
    p, optimizer = make(lr=0.0)
    optimizer.param_groups[1]["lr"] = 0.0
    schedules.StepLR(optimizer, 10)
    with pytest.raises(HoneError, match="lr is 0, which trains nothing"):
        read_optimizer(optimizer, p, None)


def test_a_rate_in_a_tensor() -> None:
    p, optimizer = make(lr=torch.tensor(LR), foreach=False)
    transformers.get_cosine_schedule_with_warmup(optimizer, 10, 40)
    assert read_optimizer(optimizer, p, None).attribute["lr"] == LR
