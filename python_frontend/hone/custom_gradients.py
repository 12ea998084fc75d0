"""Functions with a backward of their own: torch.autograd.Function, and operators of torch.library.custom_op.

A trace sees only what runs forward. So while a program is traced, `apply` runs the function's `forward` and hands the
results to an operator that stands for their gradient in the graph. The function's `backward` is traced alone when the
importer meets that operator, and becomes the body of a hone.custom_gradient. An operator of a library is a node of the
trace; the importer traces its implementation in Python the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Sequence

import torch
from torch._library.custom_ops import OPDEFS, CustomOpDef
from torch.utils import _pytree as pytree
from torch.utils.checkpoint import CheckpointFunction

from .errors import HoneError
from .source import placed_here

# values: what the function returns; inputs: its tensors of floating point; saved: what its backward reads of them and
# of others; function: the number of the call. The results are the values.
torch.library.define(
    "hone::custom_gradient", "(Tensor[] values, Tensor[] inputs, Tensor[] saved, int function) -> Tensor[]"
)
CUSTOM_GRADIENT = torch.ops.hone.custom_gradient.default


@torch.library.impl("hone::custom_gradient", "CompositeExplicitAutograd")
def _values(values, inputs, saved, function):
    return [value.clone() for value in values]


# How torch.library calls the class that it makes of an operator with a backward of its own.
_GENERATED = "GeneratedBackwardFor_"
_APPLY = torch.autograd.Function.__dict__["apply"]
_SETUP = torch.autograd.Function.setup_context


class _Context:
    """What `forward` and `backward` know as ctx."""

    def __init__(self, needs: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs
        self.saved_tensors: tuple = ()
        self.without_gradient: tuple = ()

    def save_for_backward(self, *tensors) -> None:
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors) -> None:
        """For forward-mode derivatives, which training takes none of."""

    def mark_non_differentiable(self, *tensors) -> None:
        self.without_gradient = tensors

    def mark_dirty(self, *tensors) -> None:
        what = "an autograd.Function changes its input in place (mark_dirty)"
        raise HoneError(placed_here(f"{what}, which is not supported"))

    def set_materialize_grads(self, value: bool) -> None:
        """Gradients are always tensors here, zeros where the loss does not depend on a result."""


@dataclass
class Call:
    """A call of a function, as its backward needs to know it."""

    name: str
    backward: Callable
    context: _Context
    results: list[bool]  # for each result of `forward`, whether it is a tensor of floating point
    arguments: list[bool]  # for each argument of `forward`, whether it is one of the inputs

    def saved(self) -> list[torch.Tensor]:
        return [x for x in pytree.tree_leaves(vars(self.context)) if isinstance(x, torch.Tensor)]

    def gradients(self, inputs: Sequence[torch.Tensor], cotangents: Sequence, saved: Sequence) -> list[torch.Tensor]:
        """The gradients of `inputs`, computed by `backward` from those of the results and from saved tensors."""
        leaves, spec = pytree.tree_flatten(vars(self.context))
        given = iter(saved)
        context = _Context(())
        vars(context).update(
            pytree.tree_unflatten([next(given) if isinstance(x, torch.Tensor) else x for x in leaves], spec)
        )
        remaining = iter(cotangents)
        found = self.backward(context, *(next(remaining) if is_float else None for is_float in self.results))
        found = found if isinstance(found, (tuple, list)) else (found,)
        if len(found) < len(self.arguments):
            raise HoneError(
                f"backward returns {len(found)} gradient(s), expected one for each of {len(self.arguments)} arguments"
            )
        wanted = [gradient for gradient, is_input in zip(found, self.arguments) if is_input]
        return [torch.zeros_like(x) if g is None else g.to(x.dtype) for g, x in zip(wanted, inputs, strict=True)]


def applying(calls: list[Call]) -> Callable:
    """What stands for `torch.autograd.Function.apply` while a program is traced. Adds the calls to `calls`."""

    def apply(cls, *args, **kwargs):
        if cls.__name__.startswith(_GENERATED):  # its operator is a node of the trace
            return _APPLY.__func__(cls, *args, **kwargs)
        if cls is CheckpointFunction:  # the compiler chooses itself what to compute again
            function, _, *args = args
            return function(*args)
        inputs = [_is_float(x) for x in args]
        context = _Context(tuple(is_float and x.requires_grad for is_float, x in zip(inputs, args)))
        if cls.setup_context is _SETUP:
            output = cls.forward(context, *args, **kwargs)
        else:
            output = cls.forward(*args, **kwargs)
            cls.setup_context(context, args, output)
        if not any(inputs):
            return output
        results = list(output) if isinstance(output, (tuple, list)) else [output]
        call = Call(cls.__name__, cls.backward, context, [_is_float(x) for x in results], inputs)
        values = [x for x in results if isinstance(x, torch.Tensor)]
        given = CUSTOM_GRADIENT(values, [x for x in args if _is_float(x)], call.saved(), len(calls))
        calls.append(call)
        constant = {id(x) for x in context.without_gradient}
        given = [new.detach() if id(old) in constant else new for old, new in zip(values, given)]
        remaining = iter(given)
        results = [next(remaining) if isinstance(x, torch.Tensor) else x for x in results]
        return tuple(results) if isinstance(output, (tuple, list)) else results[0]

    return apply


def _is_float(x: object) -> bool:
    return isinstance(x, torch.Tensor) and x.is_floating_point()


# -- operators of torch.library.custom_op -------------------------------------------------------------------------


def custom_op_of(target: torch._ops.OpOverload) -> CustomOpDef | None:
    """What `torch.library.custom_op` made an operator of; None for another operator."""
    return OPDEFS.get(target._schema.name)


def implementation_of(custom: CustomOpDef) -> Callable:
    """The function in Python that computes an operator on a CPU."""
    return custom._backend_fns.get("cpu", custom._init_fn)


def has_gradient(custom: CustomOpDef) -> bool:
    return custom._backward_fn is not None


def differentiable(custom: CustomOpDef, calls: list[Call]) -> Callable:
    """The implementation of an operator with its own backward, as a function to trace. Adds the calls to `calls`."""

    def function(*args, **kwargs):
        def setup_context(ctx, inputs, output):
            if custom._setup_context_fn:
                keywords = {"keyword_only_inputs": kwargs} if kwargs else {}
                custom._setup_context_fn(ctx=ctx, inputs=inputs, output=output, **keywords)

        methods = {
            "forward": staticmethod(lambda *args: implementation_of(custom)(*args, **kwargs)),
            "setup_context": staticmethod(setup_context),
            "backward": staticmethod(custom._backward_fn),
        }
        return applying(calls)(type(custom._name, (torch.autograd.Function,), methods), *args)

    return function
