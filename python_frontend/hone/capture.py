"""Captures a model and its loss with torch.export: the training IR, where named operators are whole."""

from __future__ import annotations

import contextlib
import inspect
import logging
import re
import traceback
import warnings
from dataclasses import dataclass
from typing import Callable, Iterator, Sequence

import torch
from torch.export import _trace
from torch.export.graph_signature import InputKind

from .assumptions import Answers, private_copy, recorded
from .custom_gradients import Call
from .errors import HoneError
from .guards import (
    Change,
    OwnTensorsOnly,
    State,
    check_model,
    having,
    plain_name,
    refusing_random_numbers,
    refusing_side_effects,
    removing_fake_attributes,
)
from .huggingface import single_attention
from .source import BRANCH, NUMBER, placed, user_frame
from .substitutes import Substituting

_WRAPPED = "model"  # the name the wrapper gives the user's model


@dataclass(frozen=True)
class Capture:
    """What torch.export saw, and the state behind it by fully qualified name."""

    program: torch.export.ExportedProgram
    parameters: dict[str, torch.nn.Parameter]  # canonical names, in named_parameters order
    aliases: dict[str, tuple[str, ...]]  # other names of a parameter, by canonical name
    names: dict[str, str]  # any name of a parameter -> the canonical one
    buffers: dict[str, torch.Tensor]
    inputs: tuple[str, ...]
    changed_in_evaluation: Callable[[], frozenset[str]]  # names of buffers that evaluation writes to; traces once more
    calls: tuple[Call, ...] = ()  # of functions with a backward of their own, by number


class _Loss(torch.nn.Module):
    def __init__(self, model: torch.nn.Module, loss_fn: Callable | None, changes: list[Change]) -> None:
        super().__init__()
        self.model = model
        self._loss_fn = loss_fn
        self._changes = changes  # of the model's state, which torch puts back after tracing

    def forward(self, *batch):
        state = State(self)
        result = self.model(*batch) if self._loss_fn is None else self._loss_fn(self.model, *batch)
        self._changes[:] = state.changes()
        return result


def local_name(name: str) -> str:
    """A name inside the wrapper as the user knows it."""
    return "" if name == _WRAPPED else plain_name(name.removeprefix(_WRAPPED + "."))


def capture(model: torch.nn.Module, loss_fn: Callable | None, batch: Sequence[torch.Tensor]) -> Capture:
    """Traces `loss_fn(model, *batch)`, or `model(*batch)` without a loss function.

    The model is captured in training mode; one that is in training mode already is taken as it is, so a part of it may
    be in evaluation mode. Raises HoneError where the program cannot be captured, or does what a graph would lose.
    """
    check_model(model, batch)
    if any(torch.is_autocast_enabled(device) for device in ("cpu", "cuda")):
        raise HoneError("export: called under torch.autocast; precision is chosen when compiling, export outside it")
    changes: list[Change] = []
    calls: list[Call] = []
    program, answers = _answered(model, loss_fn, batch, changes, calls)
    with having(changes):
        _check_changes(changes, program, lambda: _traced(model, loss_fn, batch, [], [], answers))
    parameters = {plain_name(name): tensor for name, tensor in model.named_parameters()}
    canonical = {id(tensor): name for name, tensor in parameters.items()}
    names = {plain_name(n): canonical[id(tensor)] for n, tensor in model.named_parameters(remove_duplicate=False)}
    aliases = {
        name: tuple(other for other, first in names.items() if first == name and other != name) for name in parameters
    }
    return Capture(
        program,
        parameters,
        aliases,
        names,
        {plain_name(name): tensor for name, tensor in model.named_buffers(remove_duplicate=False)},
        _input_names(model, loss_fn, len(batch)),
        lambda: _changed_in_evaluation(model, loss_fn, batch),
        tuple(calls),
    )


def _changed_in_evaluation(
    model: torch.nn.Module, loss_fn: Callable | None, batch: Sequence[torch.Tensor]
) -> frozenset[str]:
    try:
        program = _traced(model, loss_fn, batch, [], [], training=False).run_decompositions({})
    except _DependsOnValues:  # then evaluation is taken to leave them
        return frozenset()
    return frozenset(map(local_name, program.graph_signature.buffers_to_mutate.values()))


class _DependsOnValues(HoneError):
    """A branch or a number of the program that tracing alone does not know."""


def _answered(
    model: torch.nn.Module,
    loss_fn: Callable | None,
    batch: Sequence[torch.Tensor],
    changes: list[Change],
    calls: list[Call],
) -> tuple[torch.export.ExportedProgram, Answers | None]:
    """The program, and what the example batch answered, where it was asked (see assumptions.py)."""
    try:
        program = _traced(model, loss_fn, batch, changes, calls)
        if not _reads_numbers(program.graph_module):
            return program, None
        error = None
    except _DependsOnValues as depends:
        program, error = None, depends
    answers = _answers_of(model, loss_fn, batch)
    if answers is None:
        if program is None:
            raise error
        return program, None
    changes.clear()
    calls.clear()
    return _traced(model, loss_fn, batch, changes, calls, answers), answers


def _reads_numbers(module: torch.fx.GraphModule) -> bool:
    asked = (torch.ops.aten.item.default, torch.ops.aten._local_scalar_dense.default)
    inner = (m for m in module.modules() if isinstance(m, torch.fx.GraphModule))
    return any(node.target in asked for m in inner for node in m.graph.nodes)


def _answers_of(model: torch.nn.Module, loss_fn: Callable | None, batch: Sequence[torch.Tensor]) -> Answers | None:
    """From an eager run on the example batch; None where there are no values, or the program does not run."""
    if any(x.is_meta for x in (*model.parameters(), *model.buffers(), *batch)):
        return None
    try:
        own = private_copy(model)
    except Exception:  # a module that cannot be copied
        return None
    given = [x.detach().clone() for x in batch]
    with _mode(own, True), single_attention(own), refusing_side_effects([]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return recorded(lambda: own(*given) if loss_fn is None else loss_fn(own, *given))


def _traced(
    model: torch.nn.Module,
    loss_fn: Callable | None,
    batch: Sequence[torch.Tensor],
    changes: list[Change],
    calls: list[Call],
    answers: Answers | None = None,
    training: bool = True,
) -> torch.export.ExportedProgram:
    with removing_fake_attributes(model), _mode(model, training), single_attention(model):
        return _exported(_Loss(model, loss_fn, changes), batch, model, calls, answers)


def _exported(
    module: torch.nn.Module,
    inputs: Sequence[torch.Tensor],
    model: torch.nn.Module,
    calls: list[Call],
    answers: Answers | None = None,
) -> torch.export.ExportedProgram:
    """Traces `module`, which may read parameters of `model` only."""
    with contextlib.ExitStack() as stack:
        for context in (
            refusing_random_numbers(),
            refusing_side_effects(calls),
            _whole_stack_traces(),
            _quiet_torch(),
            warnings.catch_warnings(),
            OwnTensorsOnly(model),
            Substituting(),
            answers.replayed() if answers else contextlib.nullcontext(),
        ):
            stack.enter_context(context)
        warnings.simplefilter("ignore")
        try:
            return torch.export.export(module, tuple(inputs), strict=False)
        except HoneError:
            raise
        except Exception as error:  # whatever the user's code or torch.export raises becomes one line
            raise _captured_error(error) from error


class _Backward(torch.nn.Module):
    def __init__(self, call: Call, counts: tuple[int, int]) -> None:
        super().__init__()
        self._call, self._counts = call, counts

    def forward(self, *tensors):
        inputs, cotangents = self._counts
        given = tensors[:inputs], tensors[inputs : inputs + cotangents], tensors[inputs + cotangents :]
        return tuple(self._call.gradients(*given))


def traced_backward(
    call: Call, inputs: Sequence[torch.Tensor], values: Sequence[torch.Tensor], saved: Sequence[torch.Tensor]
) -> torch.export.ExportedProgram:
    """The backward of a call as a program of the inputs, the cotangents of those `values` that are of floating point,
    and the saved tensors, with the gradient of each input as its outputs. The arguments may be fake tensors."""
    like = lambda x: torch.empty(x.shape, dtype=x.dtype)
    cotangents = [x for x in values if x.is_floating_point()]
    module = _Backward(call, (len(inputs), len(cotangents)))
    nested: list[Call] = []
    try:
        program = _exported(module, [like(x) for x in (*inputs, *cotangents, *saved)], module, nested)
        if nested:
            raise HoneError(f"its backward calls another one, '{nested[0].name}'")
    except HoneError as error:
        raise HoneError(f"custom autograd.Function '{call.name}' is not supported: {error}") from error
    return program


def _check_changes(
    changes: Sequence[Change], program: torch.export.ExportedProgram, trace: Callable[[], torch.export.ExportedProgram]
) -> None:
    """Refuses state that the forward pass reads and changes: each step would see another value of it."""
    used = {node.name for node in program.graph.nodes if node.op == "placeholder" and node.users}
    targets = {local_name(s.target) for s in program.graph_signature.input_specs if s.target and s.arg.name in used}
    tensors = [local_name(change.name) for change in changes if change.is_tensor]
    numbers = [local_name(change.name) for change in changes if not change.is_tensor]
    culprit = next((name for name in tensors if name in targets), None)
    if culprit is None and numbers and str(trace().graph) != str(program.graph):
        culprit = numbers[0]
    if culprit is not None:
        raise HoneError(
            f"model: its forward pass reads and changes '{culprit}', and the graph would hold one value of it for "
            "all steps; make it an input, or leave it as it is"
        )


@contextlib.contextmanager
def _mode(model: torch.nn.Module, training: bool) -> Iterator[None]:
    if model.training and training:
        yield
        return
    modes = {module: module.training for module in model.modules()}
    model.train(training)
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode


@contextlib.contextmanager
def _whole_stack_traces() -> Iterator[None]:
    """Has every frame below the wrapper's forward recorded, where torch keeps functions called `forward` only."""
    tracer, name = torch.fx.proxy.TracerBase, "_filter_traceback_frames"
    original = getattr(tracer, name, None)
    if original is None:  # another version of torch: lines are then those of the nearest forward
        yield
        return

    def frames_below_wrapper(self, summary):
        first = next(
            (i for i, frame in enumerate(summary) if frame.filename == __file__ and frame.name == "forward"), None
        )
        return original(self, summary) if first is None else traceback.StackSummary.from_list(summary[first + 1 :])

    setattr(tracer, name, frames_below_wrapper)
    try:
        yield
    finally:
        setattr(tracer, name, original)


@contextlib.contextmanager
def _quiet_torch() -> Iterator[None]:
    """Keeps torch from logging, and printing the graph so far, beside the error that it raises."""
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    _trace.print = lambda *text, **options: None  # shadows the builtin in that module
    try:
        yield
    finally:
        del _trace.print
        logging.disable(disabled)


def described(error: Exception) -> str:
    """An exception of the user's program or of torch in one line: its class, its first line, and where it arose."""
    place = user_frame(_frames(error))
    return f"{type(error).__name__}: {_first_line(error)}" + (f" (at {place[0]}:{place[1]})" if place else "")


def _frames(error: BaseException) -> list[tuple[str, int]]:
    return [(frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(error.__traceback__)]


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "no message")


# What torch's words mean to the user, by what they begin with or hold.
_MEANINGS = (
    (r"(GuardOnDataDependentSymNode|DataDependent).*(Eq|Ne)\(u\d+, [01]\)|bool.*data-dependent", BRANCH),
    (r"GuardOnDataDependentSymNode|data-dependent|\.numpy\(\) is not supported|BooleanAtom not allowed", NUMBER),
    (
        r"fake tensor in the exported program constant's list",
        "capture: a tensor was made from the model's own where tracing does not follow (a new Parameter, torch.tensor)",
    ),
)


def _captured_error(error: Exception) -> HoneError:
    text = f"{type(error).__name__}: {_first_line(error)}"
    for pattern, meaning in _MEANINGS:
        if re.search(pattern, text):
            kind = _DependsOnValues if meaning in (BRANCH, NUMBER) else HoneError
            return kind(placed(meaning, _frames(error)))
    return HoneError(f"capture: {described(error)}")


def _input_names(model: torch.nn.Module, loss_fn: Callable | None, count: int) -> tuple[str, ...]:
    """Parameter names of the loss function after the model, `input<i>` where it has none."""
    function = model.forward if loss_fn is None else loss_fn
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in inspect.signature(function).parameters.values() if p.kind in positional]
    names = names if loss_fn is None else names[1:]
    return tuple(names[i] if i < len(names) else f"input{i}" for i in range(count))
