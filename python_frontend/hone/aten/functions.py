"""ATen functions of single elements that are made of a few ops each: rounding, quotients, and further functions."""

from __future__ import annotations

import math

from ..builder import Builder
from ..errors import HoneError
from ..graph import Value, is_float
from .elementwise import _floor_quotient, mul
from .promote import Operand, as_float, as_tensors
from .registry import emits

# -- rounding -----------------------------------------------------------------------------------------------------


def floor(b: Builder, x: Value) -> Value:
    return b.unary("floor", x) if is_float(x.dtype) else x


def ceil(b: Builder, x: Value) -> Value:
    return b.unary("neg", floor(b, b.unary("neg", x))) if is_float(x.dtype) else x


def trunc(b: Builder, x: Value) -> Value:
    """Toward zero."""
    if not is_float(x.dtype):
        return x
    return b.select(b.compare("lt", x, b.splat(0, x.type)), ceil(b, x), floor(b, x))


def round_to_even(b: Builder, x: Value) -> Value:
    """To the nearest whole number, ties to the even one."""
    if not is_float(x.dtype):
        return x
    low = floor(b, x)
    rest = b.binary("sub", x, low)
    half, one = b.splat(0.5, x.type), b.splat(1, x.type)
    is_odd = b.compare("ne", low, b.scale(floor(b, b.scale(low, 0.5)), 2))
    goes_up = b.binary("or", b.compare("gt", rest, half), b.binary("and", b.compare("eq", rest, half), is_odd))
    # Infinities have no rest.
    is_whole = b.compare("eq", x, low)
    return b.select(is_whole, x, b.select(goes_up, b.binary("add", low, one), low))


def _rounding(name: str, function) -> None:
    @emits(f"{name}.default")
    def emitter(b: Builder, self: Value) -> Value:
        return function(b, self)


for _name, _function in {"floor": floor, "ceil": ceil, "trunc": trunc, "fix": trunc, "round": round_to_even}.items():
    _rounding(_name, _function)


@emits("round.decimals")
def round_decimals(b: Builder, self: Value, decimals: int = 0) -> Value:
    if not is_float(self.dtype):
        return self
    factor = 10.0 ** abs(decimals)
    number = b.splat(factor, self.type)
    up, down = ("mul", "div") if decimals >= 0 else ("div", "mul")
    return b.binary(down, round_to_even(b, b.binary(up, self, number)), number)


@emits("frac.default")
def frac(b: Builder, self: Value) -> Value:
    return b.binary("sub", self, b.stop_gradient(trunc(b, self)))


# -- quotients ----------------------------------------------------------------------------------------------------


@emits("div.Tensor_mode", "div.Scalar_mode")
def div_mode(b: Builder, self: Operand, other: Operand, rounding_mode: str | None) -> Value:
    x, y = as_tensors(b, self, other)
    if rounding_mode is None:
        return b.binary("div", as_float(b, x), as_float(b, y))
    if is_float(x.dtype):
        return (trunc if rounding_mode == "trunc" else floor)(b, b.binary("div", x, y))
    return b.binary("div", x, y) if rounding_mode == "trunc" else _floor_quotient(b, x, y)


@emits("floor_divide.default", "floor_divide.Scalar")
def floor_divide(b: Builder, self: Operand, other: Operand) -> Value:
    return div_mode(b, self, other, "floor")


def _rest(b: Builder, self: Operand, other: Operand, mode: str) -> Value:
    """x - y * (x / y rounded by `mode`); the quotient counts as constant for the gradient, as in PyTorch."""
    x, y = as_tensors(b, self, other)
    quotient = b.stop_gradient(div_mode(b, x, y, mode))
    return b.binary("sub", x, b.binary("mul", quotient, y))


@emits("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def remainder(b: Builder, self: Operand, other: Operand) -> Value:
    return _rest(b, self, other, "floor")


@emits("fmod.Tensor", "fmod.Scalar")
def fmod(b: Builder, self: Operand, other: Operand) -> Value:
    return _rest(b, self, other, "trunc")


# -- functions ----------------------------------------------------------------------------------------------------


def _scaled(name: str, base: str, factor: float) -> None:
    @emits(f"{name}.default")
    def emitter(b: Builder, self: Value) -> Value:
        return b.scale(b.unary(base, as_float(b, self)), factor)


_scaled("log2", "log", 1 / math.log(2))
_scaled("log10", "log", 1 / math.log(10))


@emits("erfc.default")
def erfc(b: Builder, self: Value) -> Value:
    x = as_float(b, self)
    return b.binary("sub", b.splat(1, x.type), b.unary("erf", x))


@emits("tan.default")
def tan(b: Builder, self: Value) -> Value:
    x = as_float(b, self)
    return b.binary("div", b.unary("sin", x), b.unary("cos", x))


def _exponentials(b: Builder, x: Value) -> tuple[Value, Value]:
    return b.unary("exp", x), b.unary("exp", b.unary("neg", x))


@emits("cosh.default")
def cosh(b: Builder, self: Value) -> Value:
    up, down = _exponentials(b, as_float(b, self))
    return b.scale(b.binary("add", up, down), 0.5)


@emits("sinh.default")
def sinh(b: Builder, self: Value) -> Value:
    """(e^x - 1 + (e^x - 1) / e^x) / 2, which is accurate near 0 too."""
    part = b.unary("expm1", as_float(b, self))
    one = b.splat(1, part.type)
    return b.scale(b.binary("add", part, b.binary("div", part, b.binary("add", part, one))), 0.5)


@emits("hypot.default")
def hypot(b: Builder, self: Value, other: Value) -> Value:
    x, y = as_tensors(b, self, other)
    return safe_sqrt(b, b.binary("add", mul(b, x, x), mul(b, y, y)))


@emits("atan2.default", "arctan2.default")
def atan2(b: Builder, self: Value, other: Value) -> Value:
    """The angle of (other, self): arctan of the quotient, turned by a half where `other` is negative."""
    y, x = (as_float(b, t) for t in as_tensors(b, self, other))
    y, x = b.binary("add", y, b.splat(0, x.type)), b.binary("add", x, b.splat(0, y.type))
    zero = b.splat(0, x.type)
    is_vertical = b.compare("eq", x, zero)
    safe = b.select(is_vertical, b.splat(1, x.type), x)
    angle = b.unary("atan", b.binary("div", y, safe))
    half_turn = b.select(b.compare("lt", y, zero), b.splat(-math.pi, x.type), b.splat(math.pi, x.type))
    turned = b.select(b.compare("lt", x, zero), b.binary("add", angle, half_turn), angle)
    # On the vertical axis the sign of y decides; its gradient is that of -x / y.
    steep = b.binary("sub", b.scale(b.unary("sign", y), math.pi / 2), b.binary("div", x, y))
    origin = b.binary("and", is_vertical, b.compare("eq", y, zero))
    return b.select(origin, zero, b.select(is_vertical, steep, turned))


def safe_sqrt(b: Builder, x: Value) -> Value:
    """sqrt(x) whose gradient at 0 is 0, as PyTorch's norms and standard deviations have it."""
    is_zero = b.compare("eq", x, b.splat(0, x.type))
    root = b.unary("sqrt", b.select(is_zero, b.splat(1, x.type), x))
    return b.select(is_zero, b.splat(0, x.type), root)


@emits("_prelu_kernel.default", "prelu.default")
def prelu(b: Builder, self: Value, weight: Value) -> Value:
    """A slope for all elements, or one per channel (dimension 1)."""
    if weight.type.numel > 1 and weight.rank == 1 and self.rank > 1:
        weight = b.reshape(weight, weight.shape + (1,) * (self.rank - 2))
    elif weight.type.numel == 1:
        weight = b.reshape(weight, ())
    if weight.rank > self.rank:
        raise HoneError(f"prelu of shape {list(self.shape)} with weights {list(weight.shape)} is not supported")
    is_positive = b.compare("gt", self, b.splat(0, self.type))
    return b.select(is_positive, self, b.binary("mul", self, b.broadcast_to(weight, self.shape)))
