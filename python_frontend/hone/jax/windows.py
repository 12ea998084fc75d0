"""Primitives over windows: convolutions and pooling.

Hone has channels last: x [N, S..., C], kernel [K..., C / G, O].
"""

from __future__ import annotations

import math
from typing import Any, Sequence

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
    x, low, high = _shown(w, x, *zip(*p["padding"]))
    window = Window(kernel.shape[:-2], tuple(p["window_strides"]), low, high, tuple(p["rhs_dilation"]))
    result = w.b.conv(x, kernel, window)  # [N, R..., O]
    order = (dims.out_spec[0], *spatial(dims.out_spec), dims.out_spec[1])
    return w.b.transpose(result, [order.index(d) for d in range(result.rank)])


def _windowed(w: Walk, e: Any, x: Value, reduced) -> Value:
    """`reduced(x [N, S..., 1 or C], window)`, with the dimensions that windows are 1 in as N, and the last as C."""
    p = e.params
    if any(n != 1 for n in p["base_dilation"]):
        raise HoneError("base_dilation is not supported; expected 1")
    facts = list(zip(p["window_dimensions"], p["window_strides"], p["padding"], p["window_dilation"]))
    is_spatial = [(size, stride, tuple(pad)) != (1, 1, (0, 0)) for size, stride, pad, _ in facts]
    inner = [d for d in range(x.rank) if is_spatial[d]]
    if not inner:
        return x
    channels = [] if is_spatial[-1] else [x.rank - 1]
    outer = [d for d in range(x.rank) if not is_spatial[d] and d not in channels]
    order = [*outer, *inner, *channels]
    shape = [math.prod(x.shape[d] for d in outer), *(x.shape[d] for d in inner), x.shape[-1] if channels else 1]
    sizes, strides, padding, dilations = zip(*(facts[d] for d in inner))
    shown, low, high = _shown(w, w.b.reshape(w.b.transpose(x, order), shape), *zip(*padding))
    result = reduced(shown, Window(sizes, strides, low, high, dilations))
    result = w.b.reshape(result, [x.shape[d] for d in outer] + list(result.shape[1:-1]) + [x.shape[-1]] * len(channels))
    return w.b.transpose(result, [order.index(d) for d in range(x.rank)])


@emits("reduce_window_max")
def max_pool(w: Walk, e: Any, x: Value) -> Value:
    return _windowed(w, e, x, lambda x, window: w.b.max_pool(x, window)[0])


@emits("reduce_window_sum")
def sum_pool(w: Walk, e: Any, x: Value) -> Value:
    """A convolution with ones, one for each channel."""

    def summed(x: Value, window: Window) -> Value:
        return w.b.conv(x, w.b.splat(1, Type(x.dtype, (*window.sizes, 1, x.shape[-1]))), window)

    return _windowed(w, e, x, summed)
