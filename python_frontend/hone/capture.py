"""Captures a model and its loss with torch.export: the training IR, where named operators are whole."""

from __future__ import annotations

import contextlib
import inspect
import logging
import traceback
import warnings
from dataclasses import dataclass
from typing import Callable, Iterator, Sequence

import torch
from torch._subclasses import FakeTensor
from torch.export import _trace
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from .errors import HoneError
from .huggingface import single_attention
from .source import user_frame

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


class _Loss(torch.nn.Module):
    def __init__(self, model: torch.nn.Module, loss_fn: Callable | None) -> None:
        super().__init__()
        self.model = model
        self._loss_fn = loss_fn

    def forward(self, *batch):
        return self.model(*batch) if self._loss_fn is None else self._loss_fn(self.model, *batch)


def local_name(name: str) -> str:
    """A name inside the wrapper as the user knows it."""
    return "" if name == _WRAPPED else name.removeprefix(_WRAPPED + ".")


def capture(model: torch.nn.Module, loss_fn: Callable | None, batch: Sequence[torch.Tensor]) -> Capture:
    """Traces `loss_fn(model, *batch)`, or `model(*batch)` without a loss function.

    The model is captured in training mode; one that is in training mode already is taken as it is, so a part of it may
    be in evaluation mode. Raises HoneError where the program cannot be captured.
    """
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if tensor.is_complex():
            raise HoneError(f"{name}: complex tensors are not supported, write the rotation with cos and sin")
    if any(torch.is_autocast_enabled(device) for device in ("cpu", "cuda")):
        raise HoneError("export: called under torch.autocast; precision is chosen when compiling, export outside it")
    with contextlib.ExitStack() as stack:
        for context in (
            _training(model),
            single_attention(model),
            _refusing_custom_gradients(),
            _whole_stack_traces(),
            _quiet_torch(),
            warnings.catch_warnings(),
            _OwnParametersOnly(model),
        ):
            stack.enter_context(context)
        warnings.simplefilter("ignore")
        try:
            program = torch.export.export(_Loss(model, loss_fn), tuple(batch), strict=False)
        except HoneError:
            raise
        except Exception as error:  # whatever the user's code or torch.export raises becomes one line
            raise HoneError(f"capture: {described(error)}") from error
    parameters = dict(model.named_parameters())
    canonical = {id(tensor): name for name, tensor in parameters.items()}
    names = {name: canonical[id(tensor)] for name, tensor in model.named_parameters(remove_duplicate=False)}
    aliases = {
        name: tuple(other for other, first in names.items() if first == name and other != name) for name in parameters
    }
    return Capture(
        program,
        parameters,
        aliases,
        names,
        dict(model.named_buffers(remove_duplicate=False)),
        _input_names(model, loss_fn, len(batch)),
    )


@contextlib.contextmanager
def _training(model: torch.nn.Module) -> Iterator[None]:
    if model.training:
        yield
        return
    modes = {module: module.training for module in model.modules()}
    model.train()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode


@contextlib.contextmanager
def _refusing_custom_gradients() -> Iterator[None]:
    """A custom autograd.Function would lose its backward in a forward graph: better refused by name."""

    def apply(cls, *args, **kwargs):
        raise HoneError(
            f"custom autograd.Function '{cls.__name__}' is not supported: only its forward would be captured, "
            "and the gradient of that may differ from its backward"
        )

    original = torch.autograd.Function.__dict__["apply"]
    torch.autograd.Function.apply = classmethod(apply)
    try:
        yield
    finally:
        torch.autograd.Function.apply = original


class _OwnParametersOnly(TorchFunctionMode):
    """Refuses a parameter that is not the model's: torch.export would freeze it at its present values."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self._own = {id(parameter) for parameter in model.parameters()}

    def __torch_function__(self, function, types, args=(), kwargs=None):
        for x in pytree.tree_leaves((args, kwargs)):
            if (
                isinstance(x, torch.nn.Parameter)
                and x.requires_grad
                and id(x) not in self._own
                and not isinstance(x, FakeTensor)
            ):
                raise HoneError(
                    f"loss_fn: a parameter of shape {list(x.shape)} is not part of the model: register the "
                    "module that holds it as a submodule"
                )
        return function(*args, **(kwargs or {}))


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
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "no message")
    frames = inspect.getinnerframes(error.__traceback__) if error.__traceback__ else []
    place = user_frame([(frame.filename, frame.lineno) for frame in frames])
    return f"{type(error).__name__}: {text}" + (f" (at {place[0]}:{place[1]})" if place else "")


def _input_names(model: torch.nn.Module, loss_fn: Callable | None, count: int) -> tuple[str, ...]:
    """Parameter names of the loss function after the model, `input<i>` where it has none."""
    function = model.forward if loss_fn is None else loss_fn
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in inspect.signature(function).parameters.values() if p.kind in positional]
    names = names if loss_fn is None else names[1:]
    return tuple(names[i] if i < len(names) else f"input{i}" for i in range(count))
