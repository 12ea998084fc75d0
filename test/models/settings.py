"""One model under every kind of setting: meshes, precisions, memory budgets, a second arena, threads, a break. A check
compiles what it needs and compares:

| setting | with | must hold |
|---|---|---|
| `dp=2`, `fs=2` (weights divided too), `tp=2` | one rank | losses within 1e-5, gradient norms within 1e-4, weights |
| the same `--exact` | one rank with `--exact` | every bit |
| `bf16`, `fp16` | PyTorch in fp64 | losses and each gradient at most twice as far as autocast's, or one rounding |
| `fp8` (blocks) | bf16 | losses within 2e-2, or as near as the recipe's in PyTorch |
| least and full memory budget | no budget | every bit |
| `--offload=state` | all state in memory | every bit |
| 2 threads, `--resume` after a break | 1 thread, unbroken | every bit |
| combined | the same mesh and precision, otherwise plain | every bit; and one rank, within what rounding may do |

"Every bit" is of losses, gradient norms and saved weights after ten steps. Weights on a mesh may differ by 2 % of what
ten steps can move them. JAX has no autocast: losses in low precision must be within 5e-3 of JAX in fp32.
"""

from __future__ import annotations

import copy
import functools
import os
import sys
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Callable, Iterator

import torch
from catalogue.base import Entry, Trial
from programs import Ended, Row, compared, compile_program, one_line, shown, train_program, written_inputs
from trial import (LOSS_TOLERANCE, NORM_TOLERANCE, STEPS, as_double, batches, eager_steps, made, made_in_double,
                   rms, side_of)

sys.path.append(str(Path(__file__).resolve().parents[1] / "e2e"))
from autocast import RATIO, TYPES, is_as_good  # noqa: E402
from fp8_gradients import emulate  # noqa: E402
from plans import dry_run, smallest_budget  # noqa: E402
from ranks import MPI  # noqa: E402

MESHES = {"dp=2": ("--mesh=dp=2",), "fs=2": ("--mesh=fs=2", "--recipe=zero3"), "tp=2": ("--mesh=tp=2",)}
RANKS = 2
WEIGHTS = 0.02  # of the largest step that AdamW can have made: where a gradient is nearly zero, rounding decides
# Of losses, between meshes. In fp8 ranks scale their own rows, and a neighbour in bf16 moves a code to its own.
LOW_TOLERANCE = {"fp32": LOSS_TOLERANCE, "bf16": 5e-3, "fp16": 5e-3, "fp8": 1e-2}
PRECISIONS = ("fp32", *TYPES, "fp8")
# Of losses, from bf16: gradients of codes err by some 7 %, and ten steps follow them. Where weights are large, as those
# of the base of an adapter, RATIO times what the recipe errs by in PyTorch.
FP8_TOLERANCE = 2e-2
OFFLOAD = ("--offload=state", "--offload-chunk=6000")
WINDOWS = 8  # batches whose gradients are compared
SCALES = (2.0**16, 2.0**10, 2.0**4)  # of autocast's losses in fp16: the first with which nothing overflows
NEGLIGIBLE = 1e-5  # a gradient so far below the largest is cancellation
BREAK = 4  # steps before --resume

Batch = tuple[torch.Tensor, ...]
Gradients = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Combined:
    """Several settings at once."""

    mesh: str  # "": one rank
    precision: str
    budget: str  # full or least
    threads: int
    resumes: bool
    offloads: bool

    def __str__(self) -> str:
        words = [self.mesh or "one rank", self.precision, f"{self.budget} budget", f"{self.threads} threads"]
        return " ".join(words + ["resumed"] * self.resumes + ["offloaded"] * self.offloads)


def pairs() -> list[Combined]:
    """Combinations that together hold every pair of two settings: each mesh with each precision."""
    rows = []
    for (m, mesh), (p, precision) in product(enumerate(("", *MESHES)), enumerate(PRECISIONS)):
        # Four columns of two values, of which any two are independent, and each of meshes and precisions.
        budget, threads, resumes = ((bit + p) % 2 for bit in (m, m // 2, (m + 1) // 2))
        offloads = (m + p // 2) % 2
        rows.append(Combined(mesh, precision, ("full", "least")[budget], 1 + threads, bool(resumes), bool(offloads)))
    return rows


@dataclass(frozen=True)
class Trained:
    """What a run left: the lines of its log, and the file of its weights."""

    log: list[dict]
    weights: Path

    def numbers(self, key: str) -> list[float]:
        return [line[key] for line in self.log]

    def expect_bits_of(self, other: Trained, what: str) -> None:
        for key in ("loss", "grad_norm"):
            if self.numbers(key) != other.numbers(key):
                raise Ended("differs", f"{key} is {shown(self.numbers(key))}, with {what} {shown(other.numbers(key))}")
        if self.weights.read_bytes() != other.weights.read_bytes():
            raise Ended("differs", f"weights after {STEPS} steps have other bits than with {what}")


@dataclass
class Model:
    """One entry's package, and its programs and runs, each made once."""

    entry: Entry
    work: Path
    honec: str
    trial: Trial = field(init=False)
    package: Path = field(init=False)
    inputs: list[str] = field(init=False)
    programs: dict[tuple[str, ...], Path] = field(default_factory=dict)
    runs: dict[tuple, Trained] = field(default_factory=dict)
    autocasts: dict[str, tuple[list[float], float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        side = side_of(self.entry)
        self.package = side.exported(self.entry, side.made(self.entry), self.work, {})
        self.trial = side.made(self.entry)
        self.inputs = written_inputs(self.trial.names, batches(self.trial), self.work)

    def program(self, *options: str) -> Path:
        if options not in self.programs:
            path = self.work / "-".join(["train", *(option.strip("-").replace("=", "") for option in options)])
            compile_program(self.honec, self.package, path, options)
            self.programs[options] = path
        return self.programs[options]

    def in_precision(self, name: str) -> tuple[str, ...]:
        """Options of honec; the loss scale is one with which autocast does not overflow either."""
        options = () if name == "fp32" else (f"--precision={'fp8-block' if name == 'fp8' else name}",)
        if name == "fp16" and self.entry.framework != "JAX":
            options += (f"--loss-scale={self.autocast(name)[1]:g}",)
        return options

    def autocast(self, precision: str) -> tuple[list[float], float]:
        """Losses of PyTorch's autocast, and the scale with which it has them. JAX has none."""
        if precision not in self.autocasts:
            self.autocasts[precision] = autocast_losses(self.entry, precision)
        return self.autocasts[precision]

    @functools.cached_property
    def exact(self) -> list[float]:
        """PyTorch's losses in fp64."""
        return in_double(lambda: eager_steps(made_in_double(self.entry), {}).losses,
                         lambda: eager_steps(made(self.entry), {}).losses)

    def error_of_autocast(self, precision: str) -> float:
        """The largest of a loss."""
        return compared(self.autocast(precision)[0], self.exact)

    def error_of_codes(self) -> float:
        """The largest of a loss, from bf16, of the recipe in PyTorch: autocast, and codes in linear layers."""
        trial = made(self.entry)
        emulate(trial.model, "fp8-block", "f8E4M3FN")
        losses = with_primitives(lambda: eager_steps(trial, {}, torch.bfloat16, 1.0).losses)
        return compared(losses, self.autocast("bf16")[0])

    def train(self, *options: str, threads: int = 1, resumes: bool = False) -> Trained:
        key = (options, threads, resumes)
        if key not in self.runs:
            program = self.program(*options)
            stem = f"{program}-{threads}-{resumes}"
            is_divided = any(option.startswith("--mesh") for option in options)
            command = [*(("mpirun", "-np", RANKS) if is_divided else ()), program, "--threads", threads, *self.inputs]
            command += ["--check-replicas", 1] if is_divided else []
            log, saved = Path(f"{stem}.jsonl"), Path(f"{stem}.safetensors")
            kept = ["--checkpoint-dir", f"{stem}.checkpoints"] if resumes else []
            run = lambda *flags: train_program([*command, *kept, *flags], log, os.environ | MPI)
            if resumes:
                run("--steps", BREAK)
            # A log that is there goes on after --resume.
            self.runs[key] = Trained(run("--steps", STEPS, "--save", saved, *["--resume"] * resumes), saved)
        return self.runs[key]


#===---------------------------------------------------------------------------------------------------------------===//
# Checks: each returns the largest difference it saw, or None where every bit is compared
#===---------------------------------------------------------------------------------------------------------------===//


def check_mesh(model: Model, mesh: str) -> float:
    alone, divided = model.train(), model.train(*MESHES[mesh])
    for key, tolerance in (("grad_norm", NORM_TOLERANCE), ("loss", LOSS_TOLERANCE)):
        seen, expected = divided.numbers(key), alone.numbers(key)
        if not (difference := compared(seen, expected)) <= tolerance:
            raise Ended("differs", f"{key} is {shown(seen)}, on one rank {shown(expected)}")
    bound = WEIGHTS * model.trial.rate * STEPS
    if not (moved := largest_difference(alone.weights, divided.weights)) <= bound:
        raise Ended("differs", f"weights differ by {moved:.1e} from those of one rank, expected at most {bound:.1e}")
    return difference


def check_exact(model: Model, mesh: str) -> None:
    model.train("--exact", *MESHES[mesh]).expect_bits_of(model.train("--exact"), "one rank")


def check_threads(model: Model) -> None:
    model.train(threads=2).expect_bits_of(model.train(), "one thread")


def check_resume(model: Model) -> None:
    model.train(resumes=True).expect_bits_of(model.train(), "an unbroken run")


def budget(model: Model, which: str, *options: str) -> str:
    try:
        if which == "full":
            return f"--memory-budget={dry_run(model.package, *options, honec=model.honec).peak}"
        return f"--memory-budget={smallest_budget(model.package, *options, honec=model.honec)}"
    except RuntimeError as error:
        raise Ended("compile error", one_line(str(error))) from error


def check_budget(model: Model, which: str) -> None:
    model.train(budget(model, which)).expect_bits_of(model.train(), "no budget")


def with_gradients(model: Model, precision: str) -> tuple[str, ...]:
    """Options of a program that can be asked for gradients where errors are measured."""
    options = model.in_precision(precision)
    return (*options, "--keep-gradients") if options else ()


def check_combined(model: Model, row: Combined) -> float:
    options = (*MESHES.get(row.mesh, ()), *model.in_precision(row.precision))
    # On one rank this compares programs with and without gradients kept too.
    plain = model.train(*options) if row.mesh else model.train(*with_gradients(model, row.precision))
    more = (*options, *OFFLOAD) if row.offloads else options
    seen = model.train(*more, budget(model, row.budget, *more), threads=row.threads, resumes=row.resumes)
    seen.expect_bits_of(plain, "no budget, one thread, no break and all state in memory")
    alone = model.train(*with_gradients(model, row.precision)).numbers("loss")
    tolerance = LOW_TOLERANCE[row.precision]
    if model.entry.framework != "JAX" and row.precision != "fp32":  # batch norms of a small batch are rough
        autocast = row.precision if row.precision in TYPES else "bf16"  # PyTorch has none of fp8
        tolerance = max(tolerance, RATIO * model.error_of_autocast(autocast))
    if not (difference := compared(plain.numbers("loss"), alone)) <= tolerance:
        raise Ended("differs", f"losses are {shown(plain.numbers('loss'))}, on one rank {shown(alone)}")
    return difference


def check_offload(model: Model) -> None:
    model.train(*OFFLOAD).expect_bits_of(model.train(), "all state in memory")


def check_fp8(model: Model) -> float:
    """The largest difference of a loss from bf16's."""
    bf16, fp8 = (model.train(*model.in_precision(name)).numbers("loss") for name in ("bf16", "fp8"))
    difference = compared(fp8, bf16)
    if difference > FP8_TOLERANCE and (
            model.entry.framework == "JAX" or not difference <= RATIO * model.error_of_codes()):
        raise Ended("differs", f"losses are {shown(fp8)}, in bf16 {shown(bf16)}")
    return difference


def largest_difference(one: Path, other: Path) -> float:
    from safetensors.torch import load_file

    first, second = load_file(one), load_file(other)
    if first.keys() != second.keys():
        raise Ended("differs", f"{other.name} holds other tensors than {one.name}")
    return max(float((first[name].double() - second[name].double()).abs().max()) for name in first)


#===---------------------------------------------------------------------------------------------------------------===//
# Low precision
#===---------------------------------------------------------------------------------------------------------------===//


def check_precision(model: Model, precision: str) -> float:
    """The largest error in units of autocast's."""
    trained = model.train(*with_gradients(model, precision))
    ours = trained.numbers("loss")
    if skipped := [line["step"] for line in trained.log if line.get("skipped")]:
        raise Ended("differs", f"gradients overflow at steps {shown(skipped)}")
    if model.entry.framework == "JAX":
        return check_losses_of_jax(model, precision, ours)
    mine, theirs = compared(ours, model.exact), model.error_of_autocast(precision)
    if not is_as_good(mine, theirs, precision):
        raise Ended("differs", f"losses are {mine:.1e} off PyTorch in fp64, autocast's {theirs:.1e}")
    return max(mine / theirs, gradient_ratio(model, precision, model.autocast(precision)[1]))


def autocast_losses(entry: Entry, precision: str) -> tuple[list[float], float]:
    """Losses of PyTorch's autocast, and the scale with which it has them."""
    for scale in SCALES if precision == "fp16" else (1.0,):
        try:
            return with_primitives(lambda: eager_steps(made(entry), {}, TYPES[precision], scale).losses), scale
        except ValueError:  # not finite
            continue
    raise Ended("untested", f"PyTorch's autocast overflows with the loss scale {SCALES[-1]}")


def with_primitives(work: Callable):
    """What `work` returns; without oneDNN where it has no primitive for PyTorch (an LSTM in fp16)."""
    try:
        return work()
    except RuntimeError as error:
        if "could not create a primitive" not in str(error):
            raise
        with torch.backends.mkldnn.flags(enabled=False):
            return work()


def check_losses_of_jax(model: Model, precision: str, ours: list[float]) -> float:
    expected = side_of(model.entry).eager_run(model.entry, {}).losses
    if not (difference := compared(ours, expected)) <= LOW_TOLERANCE[precision]:
        raise Ended("differs", f"losses are {shown(ours)}, JAX's in fp32 {shown(expected)}")
    return difference


def gradient_ratio(model: Model, precision: str, scale: float) -> float:
    """The worst ratio over parameters, of errors of the lower quartile of batches. Where a rounding switches a ReLU or
    the choice of an expert, a batch is far off, now in one of the two, now in the other: in half of a ResNet's batches.
    What is wrong in all batches is wrong in that quartile."""
    ours: dict[str, list[float]] = {}
    autocast: dict[str, list[float]] = {}
    trial = made(model.entry)
    for number in range(WINDOWS):
        batch = trial.batch(number)
        exact = in_double(lambda: gradients(trial, batch, torch.float64),
                          lambda: gradients(trial, batch, torch.float32))
        add_errors(ours, dumped_gradients(model, precision, batch, exact), exact)
        low = with_primitives(lambda: gradients(trial, batch, torch.float32, TYPES[precision], scale))
        add_errors(autocast, low, exact)
    worst = 0.0
    for name in ours:
        mine, theirs = lower_quartile(ours[name]), lower_quartile(autocast[name])
        if not is_as_good(mine, theirs, precision):
            raise Ended("differs", f"the gradient of {name} is {mine:.1e} of its rms off, autocast's {theirs:.1e}")
        worst = max(worst, mine / theirs) if theirs > 0 else worst
    return worst


def lower_quartile(values: list[float]) -> float:
    return sorted(values)[len(values) // 4]


def add_errors(errors: dict[str, list[float]], seen: Gradients, exact: Gradients) -> None:
    """Root mean square errors in units of the root mean square, by name."""
    least = NEGLIGIBLE * max(map(rms, exact.values()))
    for name, value in exact.items():
        errors.setdefault(name, []).append(rms(seen[name].double() - value) / max(rms(value), least))


def gradients(
    trial: Trial, batch: Batch, dtype: torch.dtype, low: torch.dtype | None = None, scale: float = 1.0
) -> Gradients:
    """Gradients at the first weights."""
    model = copy.deepcopy(trial.model).to(dtype)
    values = [as_double(x) if dtype == torch.float64 else x for x in batch]
    with torch.autocast("cpu", dtype=low, enabled=low is not None):
        loss = trial.loss(model, *values)
    (loss * scale).backward()
    return {name: p.grad / scale for name, p in model.named_parameters() if p.grad is not None}


def dumped_gradients(model: Model, precision: str, batch: Batch, names: Gradients) -> Gradients:
    from safetensors.torch import load_file

    folder = model.work / "window"
    folder.mkdir(exist_ok=True)
    inputs = written_inputs(model.trial.names, [batch], folder)
    program = model.program(*with_gradients(model, precision))
    train_program([program, "--steps", 1, "--threads", 1, "--dump", folder, *inputs], folder / "log.jsonl")
    dump = load_file(folder / "step1.safetensors")
    return {name: dump[f"grad.{name}"] for name in names}


def in_double(work: Callable, single: Callable):
    """What `work` returns with fp64 as the type of new tensors; what `single` does where PyTorch has an operator of the
    model in fp32 alone, which is as good as exact beside low precision."""
    try:
        torch.set_default_dtype(torch.float64)
        return work()
    except (RuntimeError, NotImplementedError):
        torch.set_default_dtype(torch.float32)
        return single()
    finally:
        torch.set_default_dtype(torch.float32)


#===---------------------------------------------------------------------------------------------------------------===//
# All settings of a model
#===---------------------------------------------------------------------------------------------------------------===//


def checks(combined: list[Combined], alone: bool) -> Iterator[tuple[str, Callable[[Model], float | None]]]:
    """Checks by name; `alone` adds each setting by itself."""
    if alone:
        for mesh in MESHES:
            yield mesh, functools.partial(check_mesh, mesh=mesh)
            yield f"{mesh} exact", functools.partial(check_exact, mesh=mesh)
        for precision in TYPES:
            yield precision, functools.partial(check_precision, precision=precision)
        for which in ("full", "least"):
            yield f"{which} budget", functools.partial(check_budget, which=which)
        yield "fp8", check_fp8
        yield "offload", check_offload
        yield "2 threads", check_threads
        yield "resume", check_resume
    for row in combined:
        yield str(row), functools.partial(check_combined, row=row)


def run_settings(entry: Entry, work: Path, honec: str, row: Row, enter: Callable[[str], None],
                 combined: list[Combined], alone: bool) -> None:
    """Fills `row`: `settings` has a row for each; `result` is the first that is neither equal nor refused."""
    torch.set_num_threads(1)
    row["settings"] = {}
    try:
        enter("export")
        model = Model(entry, work, honec)
        enter("one rank")
        model.train()
    except Ended as end:
        row |= {"result": end.result, "reason": end.reason}
        return
    for name, check in checks(combined, alone):
        enter(name)
        try:
            difference = check(model)
            found: Row = {"result": "equal"} | ({} if difference is None else {"difference": difference})
        except Ended as end:
            found = {"result": end.result, "reason": end.reason}
        except Exception as error:
            found = {"result": "harness fails", "reason": one_line(f"{type(error).__name__}: {error}")}
        row["settings"][name] = found
    wrong = {name: found for name, found in row["settings"].items() if not is_fine(found)}
    row["result"] = next((found["result"] for found in wrong.values()), "equal")
    if wrong:
        row["reason"] = "; ".join(f"{name}: {found['reason']}" for name, found in wrong.items())


def is_fine(row: Row) -> bool:
    return row["result"] == "equal" or row["result"].startswith("refused")
