"""Primitives of single elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..aten import functions
from ..aten.elementwise import exp2
from ..errors import HoneError
from ..graph import Value, is_float
from .names import inner_dtype
from .registry import emits
from .walk import Operand, Walk


def _unary(primitive: str, op: str) -> None:
    @emits(primitive)
    def emitter(w: Walk, e: Any, x: Value) -> Value:
        return w.b.unary(op, x)


for _name in ("neg", "exp", "expm1", "log", "log1p", "tanh", "logistic", "sin", "cos", "atan", "sqrt", "rsqrt", "abs",
              "sign", "erf", "not"):
    _unary(_name, _name)


def _function(primitive: str, function) -> None:
    @emits(primitive)
    def emitter(w: Walk, e: Any, *xs: Value) -> Value:
        return function(w.b, *xs)


for _name, _made in {
    "floor": functions.floor,
    "ceil": functions.ceil,
    "tan": functions.tan,
    "sinh": functions.sinh,
    "cosh": functions.cosh,
    "asin": functions.asin,
    "acos": functions.acos,
    "asinh": functions.asinh,
    "atan2": functions.atan2,
    "erfc": functions.erfc,
    "exp2": exp2,
    "rem": functions.fmod,
    "xor": functions.bitwise_xor,
}.items():
    _function(_name, _made)


def _filled(w: Walk, xs: tuple[Operand, ...], shape: tuple[int, ...]) -> list[Value]:
    """The operands of an elementwise primitive, scalars among them as fills."""
    return [w.value(x, shape) if not isinstance(x, Value) and x.size == 1 else w.value(x) for x in xs]


def _binary(primitive: str, op: str) -> None:
    @emits(primitive, raw=True)
    def emitter(w: Walk, e: Any, *xs: Operand) -> Value:
        x, y = _filled(w, xs, e.outvars[0].aval.shape)
        if x.dtype == "i1" and op in ("max", "min"):
            return w.b.binary("or" if op == "max" else "and", x, y)
        return w.b.binary(op, x, y)


for _name, _op in {"add": "add", "add_any": "add", "sub": "sub", "mul": "mul", "div": "div", "max": "max",
                   "min": "min", "and": "and", "or": "or"}.items():
    _binary(_name, _op)


def _comparison(predicate: str) -> None:
    @emits(predicate, raw=True)
    def emitter(w: Walk, e: Any, *xs: Operand) -> Value:
        x, y = (w.b.cast(z, "i8") if z.dtype == "i1" else z for z in _filled(w, xs, e.outvars[0].aval.shape))
        return w.b.compare(predicate, x, y)


for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    _comparison(_name)


@emits("pow", raw=True)
def power(w: Walk, e: Any, *xs: Operand) -> Value:
    x, y = _filled(w, xs, e.outvars[0].aval.shape)
    return w.b.binary("pow", x, w.b.cast(y, x.dtype))


@emits("square")
def square(w: Walk, e: Any, x: Value) -> Value:
    return w.b.binary("mul", x, x)


@emits("integer_pow")
def integer_pow(w: Walk, e: Any, x: Value) -> Value:
    exponent = e.params["y"]
    if exponent == 0:
        return w.b.splat(1, x.type)
    result, factor, rest = None, x, abs(exponent)
    while rest:
        if rest % 2:
            result = factor if result is None else w.b.binary("mul", result, factor)
        rest //= 2
        factor = w.b.binary("mul", factor, factor) if rest else factor
    return result if exponent > 0 else w.b.binary("div", w.b.splat(1, x.type), result)


@emits("cbrt")
def cbrt(w: Walk, e: Any, x: Value) -> Value:
    root = w.b.binary("pow", w.b.unary("abs", x), w.b.splat(1 / 3, x.type))
    return w.b.binary("mul", w.b.unary("sign", x), root)


@emits("round")
def round_(w: Walk, e: Any, x: Value) -> Value:
    if int(e.params["rounding_method"]) == 1:
        return functions.round_to_even(w.b, x)
    moved = w.b.binary("add", w.b.unary("abs", x), w.b.splat(0.5, x.type))
    return w.b.binary("mul", w.b.unary("sign", x), functions.floor(w.b, moved))


@emits("is_finite")
def is_finite(w: Walk, e: Any, x: Value) -> Value:
    return w.b.compare("lt", w.b.unary("abs", x), w.b.splat(math.inf, x.type))


@emits("clamp", raw=True)
def clamp(w: Walk, e: Any, *xs: Operand) -> Value:
    """Selections: the gradient at a bound is 0, as in JAX."""
    low, x, high = _filled(w, xs, e.outvars[0].aval.shape)
    below, above = w.b.compare("le", x, low), w.b.compare("ge", x, high)
    return w.b.select(below, low, w.b.select(above, high, x))


@emits("select_n", raw=True)
def select_n(w: Walk, e: Any, which: Operand, *cases: Operand) -> Value:
    shape = e.outvars[0].aval.shape
    which, cases = w.value(which), _filled(w, cases, shape)
    if which.rank == 0 and shape:
        which = w.b.broadcast(which, shape, ())
    if which.dtype == "i1":
        return w.b.select(which, cases[1], cases[0])
    result = cases[0]
    for number, case in enumerate(cases[1:], 1):
        result = w.b.select(w.b.compare("ge", which, w.b.splat(number, which.type)), case, result)
    return result


@emits("convert_element_type")
def convert_element_type(w: Walk, e: Any, x: Value) -> Value:
    return w.b.cast(x, inner_dtype(e.params["new_dtype"]))


@emits("stop_gradient")
def stop_gradient(w: Walk, e: Any, *xs: Value) -> list[Value]:
    return [w.b.stop_gradient(x) if is_float(x.dtype) else x for x in xs]


@emits("copy", "copy_p", "name", "optimization_barrier", "sharding_constraint", "layout_constraint", "pvary",
       "mesh_cast", raw=True)
def identity(w: Walk, e: Any, *xs: Operand) -> list[Operand]:
    return list(xs)


@emits("reduce_precision")
def reduce_precision(w: Walk, e: Any, x: Value) -> Value:
    """Rounding to a type that the dialect has."""
    for name, bits in {"f64": (11, 52), "f32": (8, 23), "bf16": (8, 7), "f16": (5, 10)}.items():
        if bits == (e.params["exponent_bits"], e.params["mantissa_bits"]):
            return w.b.cast(w.b.cast(x, name), x.dtype)
    raise HoneError("rounds to a type that is not supported; expected that of float32, bfloat16 or float16")


@emits("iota", raw=True)
def iota(w: Walk, e: Any) -> Value:
    type = w.type_of(e.outvars[0].aval)
    return w.b.iota(e.params["dimension"], type) if type.shape else w.value(np.zeros((), e.params["dtype"]))


def numbers(w: Walk, x: Value) -> Value:
    """Booleans as integers, whose order they have."""
    return w.b.cast(x, "i8") if x.dtype == "i1" else x
