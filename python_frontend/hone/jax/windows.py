"""Primitives over windows: convolutions and pooling.

Hone has channels last: x [N, S..., C], kernel [K..., C / G, O].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Sequence

from ..builder import Window
from ..errors import HoneError
from ..graph import Type, Value
from .names import inner_dtype
from .registry import emits
from .walk import Walk


def _shown(w: Walk, x: Value, low: Sequence[int], high: Sequence[int]) -> tuple[Value, tuple, tuple]:
    """x [N, S..., C] without what negative padding takes away, and the padding that is left."""
    starts = [0, *(max(0, -n) for n in low), 0]
    limits = [x.shape[0], *(s - max(0, -n) for s, n in zip(x.shape[1:-1], high)), x.shape[-1]]
    x = w.b.slice(x, starts, limits, [1] * x.rank)
    return x, tuple(max(0, n) for n in low), tuple(max(0, n) for n in high)


def _plain(padding: Sequence[tuple]) -> list[tuple[int, int]]:
    """Padding without NumPy's integers, which gradients have."""
    return [(int(low), int(high)) for low, high in padding]


@emits("conv_general_dilated")
def conv(w: Walk, e: Any, x: Value, kernel: Value) -> Value:
    p, dims = e.params, e.params["dimension_numbers"]
    if p["batch_group_count"] != 1:
        raise HoneError("batch_group_count is not supported; expected 1")
    dtype = inner_dtype(e.outvars[0].aval.dtype)
    spatial = lambda spec: tuple(spec[2:])
    x = w.b.transpose(w.b.cast(x, dtype), (dims.lhs_spec[0], *spatial(dims.lhs_spec), dims.lhs_spec[1]))
    kernel = w.b.transpose(
        w.b.cast(kernel, dtype), (*spatial(dims.rhs_spec), dims.rhs_spec[1], dims.rhs_spec[0])
    )
    none = (0,) * x.rank
    x = w.b.pad(x, none, none, (0, *(n - 1 for n in p["lhs_dilation"]), 0))
    x, low, high = _shown(w, x, *zip(*_plain(p["padding"])))
    window = Window(kernel.shape[:-2], tuple(p["window_strides"]), low, high, tuple(p["rhs_dilation"]))
    result = w.b.conv(x, kernel, window)  # [N, R..., O]
    order = (dims.out_spec[0], *spatial(dims.out_spec), dims.out_spec[1])
    return w.b.transpose(result, [order.index(d) for d in range(result.rank)])


@dataclass(frozen=True)
class _Pooling:
    """How dimensions of a pooling become [N, S..., C]: those with windows are S, the others N, and C if it is last."""

    outer: list[int]
    inner: list[int]
    channels: list[int]
    facts: list[tuple]  # size, stride, padding and dilation of each of `inner`

    @staticmethod
    def of(p: Mapping[str, Any], rank: int) -> _Pooling:
        ones = (1,) * rank
        if any(n != 1 for n in p.get("base_dilation", ones)):
            raise HoneError("base_dilation is not supported; expected 1")
        dilations = p.get("window_dilation", ones)
        facts = list(zip(p["window_dimensions"], p["window_strides"], _plain(p["padding"]), dilations))
        is_spatial = [(size, stride, pad) != (1, 1, (0, 0)) for size, stride, pad, _ in facts]
        inner = [d for d in range(rank) if is_spatial[d]]
        channels = [] if is_spatial[-1] else [rank - 1]
        outer = [d for d in range(rank) if not is_spatial[d] and d not in channels]
        return _Pooling(outer, inner, channels, [facts[d] for d in inner])

    @property
    def order(self) -> list[int]:
        return [*self.outer, *self.inner, *self.channels]

    def arranged(self, w: Walk, x: Value) -> Value:
        sizes = [math.prod(x.shape[d] for d in self.outer), *(x.shape[d] for d in self.inner)]
        return w.b.reshape(w.b.transpose(x, self.order), [*sizes, x.shape[-1] if self.channels else 1])

    def restored(self, w: Walk, result: Value, x: Value) -> Value:
        """A result in the order of the dimensions of x."""
        sizes = [x.shape[d] for d in self.outer] + list(result.shape[1:-1])
        result = w.b.reshape(result, sizes + [x.shape[-1]] * len(self.channels))
        return w.b.transpose(result, [self.order.index(d) for d in range(x.rank)])


def _windowed(w: Walk, e: Any, x: Value, reduced: Callable[[Value, Window], Value]) -> Value:
    """`reduced(x [N, S..., 1 or C], window)`."""
    form = _Pooling.of(e.params, x.rank)
    if not form.inner:
        return x
    sizes, strides, padding, dilations = zip(*form.facts)
    shown, low, high = _shown(w, form.arranged(w, x), *zip(*padding))
    return form.restored(w, reduced(shown, Window(sizes, strides, low, high, dilations)), x)


@emits("reduce_window_max")
def max_pool(w: Walk, e: Any, x: Value) -> Value:
    return _windowed(w, e, x, lambda x, window: w.b.max_pool(x, window)[0])


@emits("select_and_scatter_add")
def max_pool_bwd(w: Walk, e: Any, grad: Value, x: Value) -> Value:
    """The gradient of max_pool's input: each goes to the first maximum of its window."""
    form = _Pooling.of(e.params, x.rank)
    if not form.inner:
        return grad
    sizes, strides, padding, dilations = zip(*form.facts)
    if any(n < 0 for pair in padding for n in pair):
        raise HoneError("negative padding of windows is not supported; slice first")
    window, shown = Window(sizes, strides, *zip(*padding), dilations), form.arranged(w, x)
    taps = w.b.max_pool(shown, window)[1]
    return form.restored(w, w.b.max_pool_bwd(form.arranged(w, grad), taps, window, shown.shape), x)


@emits("reduce_window_sum")
def sum_pool(w: Walk, e: Any, x: Value) -> Value:
    """A convolution with ones, one for each channel."""

    def summed(x: Value, window: Window) -> Value:
        return w.b.conv(x, w.b.splat(1, Type(x.dtype, (*window.sizes, 1, x.shape[-1]))), window)

    return _windowed(w, e, x, summed)
