"""What a graph cannot hold: state of a model, hooks and calls that capture would lose without a word.

A forward graph says what the loss is made from. Gradients that a hook changes, state that the forward pass keeps in
Python, seeds, or a backward pass inside the loss are not in it: each is refused here by name.
"""

from __future__ import annotations

import contextlib
import random
import re
import sys
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Mapping, Sequence

import torch
from torch._subclasses import FakeTensor
from torch.nn.parameter import UninitializedTensorMixin
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from .custom_gradients import Call, applying
from .errors import HoneError
from .source import is_of_torch, placed_here

_COMPILED = "_orig_mod"  # what torch.compile calls the module it wraps
_QUANTISED = ("torch.ao.nn.", "torch.ao.quantization.", "torch.nn.quantized.", "torchao.", "bitsandbytes.")


def unwrapped(model: torch.nn.Module) -> torch.nn.Module:
    """The user's module inside torch.compile, DataParallel and DistributedDataParallel."""
    while True:
        if isinstance(model, (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)):
            model = model.module
        elif _COMPILED in model._modules:
            model = model._modules[_COMPILED]
        else:
            return model


def plain_name(name: str) -> str:
    """A parameter's name without the layers that torch.compile puts between."""
    return ".".join(part for part in name.split(".") if part != _COMPILED)


# -- before capture -----------------------------------------------------------------------------------------------


def check_model(model: torch.nn.Module, batch: Sequence[torch.Tensor]) -> None:
    """Raises HoneError for what of the model capture would lose."""
    _check_modules(model)
    _check_tensors(model)
    _check_devices(model, batch)
    _check_memory(model)


def _check_modules(model: torch.nn.Module) -> None:
    for hooks in ("_global_backward_hooks", "_global_backward_pre_hooks"):
        if getattr(torch.nn.modules.module, hooks):
            raise HoneError("model: a backward hook of all modules is registered; the graph would lose it, remove it")
    for name, module in model.named_modules():
        where, kind = (f"module '{plain_name(name)}'" if name else "model"), type(module)
        if kind.__module__.startswith(_QUANTISED):
            raise HoneError(f"{where}: is quantised ({kind.__name__}); export the model before quantisation")
        if isinstance(module, torch.jit.ScriptModule):
            raise HoneError(f"{where}: is TorchScript; export the Python module")
        if any(base.__name__ in ("FullyShardedDataParallel", "FSDPModule") for base in kind.__mro__):
            raise HoneError(f"{where}: is sharded by FSDP; export the model before that (honec divides it: --mesh)")
        if module._backward_hooks or module._backward_pre_hooks:
            raise HoneError(
                f"{where}: has a backward hook, and the graph would lose what it does to gradients: remove it, "
                "and write a factor into forward (x * s + (x * (1 - s)).detach() scales the gradient by s)"
            )


def _check_tensors(model: torch.nn.Module) -> None:
    for kind, named in (("parameter", model.named_parameters()), ("buffer", model.named_buffers())):
        for name, tensor in named:
            what = f"{kind} '{plain_name(name)}'"
            if isinstance(tensor, UninitializedTensorMixin):
                raise HoneError(f"{what}: has no shape yet (a lazy module); call the model once before export")
            if tensor.is_complex():
                raise HoneError(f"{name}: complex tensors are not supported, write the rotation with cos and sin")
            _check_plain(tensor, what)
            for hooks, method in (("_backward_hooks", "hook"), ("_post_accumulate_grad_hooks", "hook after backward")):
                if getattr(tensor, hooks, None):
                    raise HoneError(
                        f"{what}: has a gradient {method}, and the graph would lose it; remove it: weight decay, "
                        "clipping and learning rates per group are the optimizer's"
                    )


def _check_plain(tensor: torch.Tensor, what: str) -> None:
    """A strided tensor, whose operators mean what PyTorch says."""
    if tensor.is_nested or tensor.layout != torch.strided:
        layout = "nested" if tensor.is_nested else str(tensor.layout)
        raise HoneError(f"{what}: is {layout}, expected a dense tensor")
    own = type(tensor).__torch_function__
    plain = (torch.Tensor.__torch_function__, torch.nn.Parameter.__torch_function__)
    dispatches = type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__
    if dispatches or getattr(own, "__func__", own) not in [getattr(f, "__func__", f) for f in plain]:
        raise HoneError(f"{what}: is a {type(tensor).__name__}, a tensor class with operators of its own")


def check_batch(batch: Sequence[torch.Tensor]) -> None:
    for index, tensor in enumerate(batch):
        _check_plain(tensor, f"example_batch: item {index}")


def _check_devices(model: torch.nn.Module, batch: Sequence[torch.Tensor]) -> None:
    named = [(f"parameter '{plain_name(name)}'", x) for name, x in model.named_parameters()]
    named += [(f"buffer '{plain_name(name)}'", x) for name, x in model.named_buffers()]
    absent = [name for name, x in named if x.is_meta]
    named += [(f"example_batch: item {index}", x) for index, x in enumerate(batch)]
    present = [name for name, x in named if not x.is_meta]
    if absent and present:
        raise HoneError(
            f"{absent[0]}: has no values (meta device), and {present[0]} has; load the weights before export, or make "
            "everything under torch.device('meta') and give init="
        )


def _check_memory(model: torch.nn.Module) -> None:
    """Parameters that an optimizer updates one by one must not overlap."""
    seen: dict[int, list[tuple[str, torch.Tensor]]] = {}
    for name, parameter in model.named_parameters():
        if parameter.is_meta or not parameter.numel():
            continue
        what = f"parameter '{plain_name(name)}'"
        if any(stride == 0 and size > 1 for stride, size in zip(parameter.stride(), parameter.shape)):
            raise HoneError(f"{what}: is expanded, so that its elements share memory; make it contiguous()")
        others = seen.setdefault(parameter.untyped_storage().data_ptr(), [])
        for other, tensor in others:
            if overlap(parameter, tensor):
                raise HoneError(
                    f"{what}: shares memory with {other}, and is another tensor; tie them "
                    "(a.weight = b.weight), or clone() one"
                )
        others.append((what, parameter))


def overlap(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two strided tensors have an element in common."""
    if a.is_meta or b.is_meta or not a.numel() or not b.numel():
        return False
    if a.untyped_storage().data_ptr() != b.untyped_storage().data_ptr():
        return False
    (low, high), (start, end) = (_extent(x) for x in (a, b))
    if high <= start or end <= low:
        return False
    if a.is_contiguous() or b.is_contiguous() or a.element_size() != b.element_size():
        return True
    marks = torch.zeros(max(high, end) // a.element_size(), dtype=torch.bool)
    marks.as_strided(a.shape, a.stride(), a.storage_offset()).fill_(True)
    return bool(marks.as_strided(b.shape, b.stride(), b.storage_offset()).any())


def _extent(x: torch.Tensor) -> tuple[int, int]:
    """First byte of a tensor in its storage, and one past its last."""
    last = sum((size - 1) * stride for size, stride in zip(x.shape, x.stride()))
    return x.storage_offset() * x.element_size(), (x.storage_offset() + last + 1) * x.element_size()


# -- while capturing ----------------------------------------------------------------------------------------------


class OwnTensorsOnly(TorchFunctionMode):
    """Refuses operators whose effect on training the graph would not hold. Under it a tensor's `data` is detach()."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self._own = {id(parameter) for parameter in model.parameters()}

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function in _REFUSED and (function != _GRAD_FN or not _called_by_torch()):
            _refuse(_REFUSED[function])
        if function in (torch.Tensor.requires_grad_, _SET_REQUIRES_GRAD):
            if isinstance(args[0], torch.nn.Parameter):
                _refuse("changes requires_grad of a parameter while it runs; freeze parameters before export")
        if function == _DATA:
            return args[0].detach()
        for x in pytree.tree_leaves((args, kwargs)):
            if isinstance(x, torch.Tensor) and not isinstance(x, FakeTensor) and x.requires_grad:
                if id(x) not in self._own and (isinstance(x, torch.nn.Parameter) or _is_real(x)):
                    what = "a parameter" if isinstance(x, torch.nn.Parameter) else "a tensor that requires a gradient"
                    raise HoneError(
                        f"loss_fn: {what} of shape {list(x.shape)} is not part of the model: register "
                        f"{'the module that holds it as a submodule' if what == 'a parameter' else 'it as a parameter'}"
                    )
        return function(*args, **(kwargs or {}))


_DATA = torch.Tensor.data.__get__
_GRAD_FN = torch.Tensor.grad_fn.__get__
_SET_REQUIRES_GRAD = torch.Tensor.requires_grad.__set__
_GRADIENT_HOOK = "registers a gradient hook, which the graph would lose; write what it does into forward"
_REFUSED = {
    torch.Tensor.register_hook: _GRADIENT_HOOK,
    torch.Tensor.register_post_accumulate_grad_hook: _GRADIENT_HOOK,
    _GRAD_FN: "reads grad_fn, and the graph would lose a hook on it; write what it does into forward",
    torch.Tensor.data.__set__: "assigns a tensor's data while it runs; the graph holds no such state",
}


def _is_real(x: torch.Tensor) -> bool:
    """Neither fake nor a wrapper that tracing puts around one: a tensor that was there before."""
    return type(x) in (torch.Tensor, torch.nn.Parameter) and not torch._is_functional_tensor(x)


_CONTEXTLIB = torch.utils._contextlib.__file__


def _called_by_torch() -> bool:
    """Whether the caller of the caller is torch itself, and no mode or decorator of torch's between."""
    frame = sys._getframe(2)
    while frame.f_code.co_name == "__torch_function__" or frame.f_code.co_filename == _CONTEXTLIB:
        frame = frame.f_back
    return is_of_torch(frame.f_code.co_filename)


def _refuse(what: str) -> None:
    raise HoneError(placed_here(f"the program {what}"))


def _refusing(what: str, original: Callable | None = None) -> Callable:
    """A function that refuses the user's calls; torch's own, while it traces, go to `original`."""

    def refuse(*args, **kwargs):
        if original is None or not _called_by_torch():
            _refuse(what)
        return original(*args, **kwargs)

    return refuse


_SEEDING = ("manual_seed", "seed", "set_rng_state")
_SEEDED = (
    "seeds the random numbers while it runs; compiled programs number them by seed, step and place: leave the seed to "
    "--seed, or make a constant tensor once, outside"
)
_BACKWARD = (
    "computes gradients itself; return the loss alone: the compiled program differentiates it, and adds up "
    "micro-batches (--micro-batches)"
)


@contextlib.contextmanager
def refusing_side_effects(calls: list[Call]) -> Iterator[None]:
    """Replaces, while open, calls of the user's that tracing would run and lose. Those of functions with a backward of
    their own are added to `calls`."""
    refused = [
        *((owner, name, _SEEDED) for owner in (torch, torch.random) for name in _SEEDING),
        *((owner, "backward", _BACKWARD) for owner in (torch.Tensor, torch.autograd)),
        (torch.autograd, "grad", _BACKWARD),
        (torch.inference_mode, "__enter__", "enters inference_mode; write torch.no_grad()"),
    ]
    replaced = [(owner, name, _refusing(what, owner.__dict__[name])) for owner, name, what in refused]
    replaced.append((torch.autograd.Function, "apply", classmethod(applying(calls))))
    originals = [(owner, name, owner.__dict__[name]) for owner, name, _ in replaced]
    step = register_optimizer_step_pre_hook(
        _refusing("calls optimizer.step(); return the loss: the compiled program makes the step")
    )
    try:
        for owner, name, function in replaced:
            setattr(owner, name, function)
        yield
    finally:
        step.remove()
        for owner, name, function in originals:
            setattr(owner, name, function)


# -- state in Python ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """An attribute that a forward pass has changed."""

    module: torch.nn.Module
    key: str
    name: str
    before: Any
    after: Any

    @property
    def is_tensor(self) -> bool:
        return isinstance(self.before, torch.Tensor)


class State:
    """What a model holds besides the values of its tensors: numbers, texts, and which tensors it has."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._modules = [(plain_name(name), module, _held(module)) for name, module in model.named_modules()]

    def changes(self) -> list[Change]:
        found = []
        for name, module, held in self._modules:
            now = _held(module)
            for key, value in held.items():
                if key in now and not _is_same(value, now[key]):
                    found.append(Change(module, key, f"{name}.{key}".lstrip("."), value, now[key]))
        return found


@contextlib.contextmanager
def having(changes: Sequence[Change]) -> Iterator[None]:
    """While open, the numbers and texts among `changes` are as the forward pass left them."""
    numbers = [change for change in changes if not change.is_tensor]
    try:
        for change in numbers:
            change.module.__dict__[change.key] = change.after
        yield
    finally:
        for change in numbers:
            change.module.__dict__[change.key] = change.before


@contextlib.contextmanager
def removing_fake_attributes(model: torch.nn.Module) -> Iterator[None]:
    """Removes attributes that the forward pass made while tracing: torch puts back only those that were there."""
    try:
        yield
    finally:
        for module in model.modules():
            for key in [key for key, value in module.__dict__.items() if isinstance(value, FakeTensor)]:
                del module.__dict__[key]


@contextlib.contextmanager
def refusing_random_numbers() -> Iterator[None]:
    """Refuses a program that draws numbers where tracing does not see it."""
    before = random.getstate(), _numpy_state()
    yield
    if before != (random.getstate(), _numpy_state()):
        raise HoneError(
            "model: draws from Python's or NumPy's random numbers while it runs, and one draw would be frozen into the "
            "graph; use torch.rand, or draw outside and give the numbers as an input"
        )


def _numpy_state():
    numpy = sys.modules.get("numpy")
    state = numpy.random.get_state() if numpy else ()
    return tuple(x.tobytes() if hasattr(x, "tobytes") else x for x in state)


def _held(module: torch.nn.Module) -> dict[str, Any]:
    """Numbers, texts and tensors of a module by attribute name."""
    kinds = (bool, int, float, str, torch.Tensor, type(None))
    plain = {key: value for key, value in module.__dict__.items() if isinstance(value, kinds)}
    return plain | module._parameters | module._buffers


def _is_same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        return a is b
    return type(a) is type(b) and (a == b or a != a and b != b)


def shared_with(tensor: torch.Tensor, parameters: Mapping[str, torch.nn.Parameter]) -> str | None:
    """The trained parameter that a tensor shares memory with."""
    found = (name for name, p in parameters.items() if p.requires_grad and overlap(tensor, p))
    return next(found, None)
