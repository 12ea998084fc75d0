"""Primitives that move elements."""

from __future__ import annotations

import math
from typing import Any, Sequence

import numpy as np

from ..aten.shape import flip
from ..errors import HoneError
from ..graph import Type, Value
from .registry import emits
from .sharing import SharingBuilder
from .walk import Key, Operand, Walk


@emits("reshape", "squeeze", "expand_dims")
def reshape(w: Walk, e: Any, x: Value) -> Value:
    if e.params.get("dimensions") and e.primitive.name == "reshape":
        x = w.b.transpose(x, e.params["dimensions"])
    return w.b.reshape(x, e.outvars[0].aval.shape)


@emits("broadcast_in_dim", raw=True)
def broadcast_in_dim(w: Walk, e: Any, x: Operand) -> Value:
    shape, dims = tuple(e.params["shape"]), e.params["broadcast_dimensions"]
    x = w.value(x, shape) if not isinstance(x, Value) and x.size == 1 else w.value(x)
    if math.prod(x.shape) == math.prod(shape):  # only sizes of 1 are new
        return w.b.reshape(x, shape)
    kept = [i for i, d in enumerate(dims) if x.shape[i] == shape[d]]
    x = w.b.reshape(x, [x.shape[i] for i in kept])
    return w.b.broadcast(x, shape, [dims[i] for i in kept])


@emits("transpose")
def transpose(w: Walk, e: Any, x: Value) -> Value:
    return w.b.transpose(x, e.params["permutation"])


@emits("concatenate")
def concatenate(w: Walk, e: Any, *xs: Value) -> Value:
    return w.b.concat([x for x in xs if x.shape[e.params["dimension"]]], e.params["dimension"])


@emits("slice")
def slice_(w: Walk, e: Any, x: Value) -> Value:
    strides = e.params["strides"] or [1] * x.rank
    return w.b.slice(x, e.params["start_indices"], e.params["limit_indices"], strides)


@emits("split")
def split(w: Walk, e: Any, x: Value) -> list[Value]:
    start, parts = 0, []
    for size in e.params["sizes"]:
        parts.append(w.b.slice_dim(x, e.params["axis"], start, start + size))
        start += size
    return parts


@emits("rev")
def rev(w: Walk, e: Any, x: Value) -> Value:
    return flip(w.b, x, e.params["dimensions"])


@emits("pad", raw=True)
def pad(w: Walk, e: Any, x: Operand, filling: Operand) -> Value:
    """Padding of less than nothing takes elements away."""
    x, config = w.value(x), e.params["padding_config"]
    low, high, between = ([int(c[i]) for c in config] for i in range(3))
    x = _padded(w, x, [max(0, n) for n in low], [max(0, n) for n in high], between, filling)
    starts = [max(0, -n) for n in low]
    limits = [size - max(0, -n) for size, n in zip(x.shape, high)]
    return w.b.slice(x, starts, limits, [1] * x.rank)


def _padded(
    w: Walk, x: Value, low: Sequence[int], high: Sequence[int], between: Sequence[int], filling: Operand
) -> Value:
    if isinstance(filling, np.ndarray) and filling.item() == 0:
        return w.b.pad(x, low, high, between)
    if not any((*low, *high, *between)):
        return x
    marks = w.b.pad(w.b.splat(1, Type("i32", x.shape)), low, high, between)
    result = w.b.pad(x, low, high, between)
    rest = w.value(filling, result.shape)
    return w.b.select(w.b.compare("ne", marks, w.b.splat(0, marks.type)), result, w.b.broadcast_to(rest, result.shape))


def _starts(starts: Sequence[Operand], size: Sequence[int], inner: Sequence[int]) -> list[Operand]:
    """Known starts as numbers inside the array, to which JAX moves them."""
    return [min(max(int(s), 0), n - m) if isinstance(s, np.ndarray) else s for s, n, m in zip(starts, size, inner)]


@emits("dynamic_slice", raw=True)
def dynamic_slice(w: Walk, e: Any, x: Operand, *starts: Operand) -> Operand:
    if isinstance(x, Key):
        raise HoneError("picks a key by a number that the data decides, which is not supported; expected a fixed one")
    x, sizes = w.value(x), e.params["slice_sizes"]
    for dim, start in enumerate(_starts(starts, x.shape, sizes)):
        if isinstance(start, int):
            x = w.b.slice_dim(x, dim, start, start + sizes[dim])
        elif sizes[dim] < x.shape[dim]:
            x = _taken(w, x, dim, start, sizes[dim])
    return x


def _taken(w: Walk, x: Value, dim: int, start: Value, size: int) -> Value:
    """`size` elements along `dim` from a place that the data decides; moved inside where they would leave x."""
    start = w.b.cast(w.b.stop_gradient(start), "i64")
    start = w.b.binary("max", start, w.b.splat(0, start.type))
    start = w.b.binary("min", start, w.b.splat(x.shape[dim] - size, start.type))
    shape = x.shape[:dim] + (size,) + x.shape[dim + 1 :]
    places = w.b.iota(dim, Type("i64", shape))
    return w.b.take_along(x, w.b.binary("add", places, w.b.broadcast(start, shape, ())), dim)


@emits("dynamic_update_slice", raw=True)
def dynamic_update_slice(w: Walk, e: Any, x: Operand, update: Operand, *starts: Operand) -> Value:
    x, update = w.value(x), w.value(update)
    found = _starts(starts, x.shape, update.shape)
    if any(not isinstance(start, int) for start in found):
        return _updated(w, x, update, found)
    low = found
    high = [n - m - s for n, m, s in zip(x.shape, update.shape, low)]
    changed = [d for d in range(x.rank) if update.shape[d] != x.shape[d]]
    if not changed:
        return update
    if len(changed) == 1:
        return _replaced(w, x, update, changed[0], low[changed[0]])
    marks = w.b.pad(w.b.splat(1, Type("i32", update.shape)), low, high)
    return w.b.select(w.b.compare("ne", marks, w.b.splat(0, marks.type)), w.b.pad(update, low, high), x)


def _replaced(w: Walk, x: Value, update: Value, dim: int, start: int) -> Value:
    """x with `update` in place of as many elements along `dim`."""
    end = start + update.shape[dim]
    before, after = w.b.slice_dim(x, dim, 0, start), w.b.slice_dim(x, dim, end, x.shape[dim])
    parts = [part for part in (before, update, after) if part.shape[dim]]
    if isinstance(w.b, SharingBuilder):
        parts = [y for part in parts for y in w.b.parts_of(part, dim)]
    return w.b.concat(parts, dim)


def _updated(w: Walk, x: Value, update: Value, starts: Sequence[int | Value]) -> Value:
    """At a place that the data decides along one dimension, where one element is written."""
    dims = [d for d, (n, m) in enumerate(zip(x.shape, update.shape)) if n != m]
    if len(dims) != 1 or update.shape[dims[0]] != 1:
        raise HoneError("writes several elements at a place that the data decides, which is not supported")
    start = w.b.cast(starts[dims[0]], "i64")
    place = w.b.binary("min", w.b.binary("max", start, w.b.splat(0, start.type)),
                       w.b.splat(x.shape[dims[0]] - 1, start.type))
    here = w.b.compare("eq", w.b.iota(dims[0], Type("i64", x.shape)), w.b.broadcast(place, x.shape, ()))
    return w.b.select(here, w.b.broadcast_to(update, x.shape), x)
