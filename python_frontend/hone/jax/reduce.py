"""Primitives that reduce, scan along a dimension, multiply matrices, and order elements."""

from __future__ import annotations

from typing import Any

from ..aten.reduce import product
from ..aten.shape import flip
from ..errors import HoneError
from ..graph import Value, is_float
from .elementwise import numbers
from .names import inner_dtype
from .registry import emits
from .sharing import SharingBuilder
from .walk import Walk


def _reduction(primitive: str, kind: str) -> None:
    @emits(primitive)
    def emitter(w: Walk, e: Any, x: Value) -> Value:
        return w.b.cast(w.b.reduce(kind, numbers(w, x), e.params["axes"]), x.dtype)


for _name, _kind in {"reduce_sum": "sum", "reduce_max": "max", "reduce_min": "min", "reduce_and": "min",
                     "reduce_or": "max"}.items():
    _reduction(_name, _kind)


@emits("reduce_prod")
def reduce_prod(w: Walk, e: Any, x: Value) -> Value:
    for dim in sorted(e.params["axes"], reverse=True):
        x = product(w.b, x, dim, dtype=x.dtype)
    return x


@emits("argmax", "argmin")
def argmax(w: Walk, e: Any, x: Value) -> Value:
    x = w.b.stop_gradient(numbers(w, x))
    x = w.b.unary("neg", x) if e.primitive.name == "argmin" else x
    return w.b.cast(w.b.argmax(x, e.params["axes"][0]), inner_dtype(e.params["index_dtype"]))


@emits("cumsum")
def cumsum(w: Walk, e: Any, x: Value) -> Value:
    dim = e.params["axis"]
    if not e.params["reverse"]:
        return w.b.cumsum(x, dim)
    return flip(w.b, w.b.cumsum(flip(w.b, x, [dim]), dim), [dim])


@emits("dot_general")
def dot_general(w: Walk, e: Any, x: Value, y: Value) -> Value:
    """Operands of fewer bits than the result are widened first: their products are exact there."""
    contract, batch = e.params["dimension_numbers"]
    dtype = inner_dtype(e.outvars[0].aval.dtype)
    if not is_float(dtype):
        raise HoneError("a product of integers is not supported; expected floating point")
    return w.b.dot_general(w.b.cast(x, dtype), w.b.cast(y, dtype), batch, contract)


@emits("ragged_dot_general")
def ragged_dot(w: Walk, e: Any, x: Value, weight: Value, sizes: Value) -> Value:
    """x [R, H], weight [E, H, F], sizes [E] of the groups of rows, as jax.lax.ragged_dot has them."""
    numbers_ = e.params["ragged_dot_dimension_numbers"]
    form = (tuple(map(tuple, numbers_.dot_dimension_numbers[0])), tuple(numbers_.lhs_ragged_dimensions),
            tuple(numbers_.rhs_group_dimensions))
    if form != (((1,), (1,)), (0,), (0,)) or any(numbers_.dot_dimension_numbers[1]):
        raise HoneError("only the form of jax.lax.ragged_dot is supported: [R, H], [E, H, F], [E]")
    return w.b.grouped_dot(x, weight, w.b.cumsum(sizes, 0))


# -- order --------------------------------------------------------------------------------------------------------


@emits("sort")
def sort(w: Walk, e: Any, *xs: Value) -> list[Value]:
    if e.params["num_keys"] != 1:
        raise HoneError("sorts by several keys, which is not supported; expected num_keys=1")
    dim = e.params["dimension"]
    order = w.b.argsort(numbers(w, w.b.stop_gradient(xs[0])), dim, False)
    found = []
    for x in xs:
        op = w.b.made_by.get(x.id) if isinstance(w.b, SharingBuilder) else None
        is_place = op is not None and op.name == "iota" and op.attribute("dim") == dim
        found.append(w.b.cast(order, x.dtype) if is_place else w.b.take_along(x, order, dim))
    return found


@emits("top_k")
def top_k(w: Walk, e: Any, x: Value) -> list[Value]:
    dim = e.params.get("axis", -1) % x.rank
    places = w.b.topk(w.b.stop_gradient(x), e.params["k"], dim)
    return [w.b.take_along(x, places, dim), w.b.cast(places, inner_dtype(e.outvars[1].aval.dtype))]
