"""ATen functions of single elements that are made of a few ops each: rounding, quotients, and further functions."""

from __future__ import annotations

import math

from ..builder import Builder
from ..errors import HoneError
from ..graph import Value, is_float
from .elementwise import floor_quotient, mul
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
    x = b.stop_gradient(x)
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
    return b.binary("div", x, y) if rounding_mode == "trunc" else floor_quotient(b, x, y)


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


@emits("asinh.default")
def asinh(b: Builder, self: Value) -> Value:
    """`log(x + sqrt(x^2 + 1))`, by its odd half."""
    x = as_float(b, self)
    one, square = b.splat(1, x.type), b.binary("mul", x, x)
    root = b.unary("sqrt", b.binary("add", square, one))
    rest = b.binary("div", square, b.binary("add", root, one))
    half = b.unary("log1p", b.binary("add", b.unary("abs", x), rest))
    odd = b.select(b.compare("lt", x, b.splat(0, x.type)), b.unary("neg", half), half)
    # The gradient of |x| at 0 is not that of x.
    return b.select(b.compare("eq", x, b.splat(0, x.type)), x, odd)


@emits("acosh.default")
def acosh(b: Builder, self: Value) -> Value:
    x = as_float(b, self)
    root = b.unary("sqrt", b.binary("sub", b.binary("mul", x, x), b.splat(1, x.type)))
    return b.unary("log", b.binary("add", x, root))


@emits("atanh.default")
def atanh(b: Builder, self: Value) -> Value:
    x = as_float(b, self)
    return b.scale(b.binary("sub", b.unary("log1p", x), b.unary("log1p", b.unary("neg", x))), 0.5)


@emits("asin.default")
def asin(b: Builder, self: Value) -> Value:
    x = as_float(b, self)
    rest = b.binary("sub", b.splat(1, x.type), b.binary("mul", x, x))
    return b.unary("atan", b.binary("div", x, b.unary("sqrt", rest)))


@emits("acos.default")
def acos(b: Builder, self: Value) -> Value:
    """`2 atan(sqrt((1 - x) / (1 + x)))`, accurate near 1 too."""
    x = as_float(b, self)
    one = b.splat(1, x.type)
    quotient = b.binary("div", b.binary("sub", one, x), b.binary("add", one, x))
    return b.scale(b.unary("atan", b.unary("sqrt", quotient)), 2)


@emits("sinc.default")
def sinc(b: Builder, self: Value) -> Value:
    """`sin(pi x) / (pi x)`, and 1 at 0, where the gradient is 0."""
    x = b.scale(as_float(b, self), math.pi)
    one = b.splat(1, x.type)
    is_zero = b.compare("eq", x, b.splat(0, x.type))
    safe = b.select(is_zero, one, x)
    return b.select(is_zero, one, b.binary("div", b.unary("sin", safe), safe))


@emits("xlogy.Tensor", "xlogy.Scalar_Other", "xlogy.Scalar_Self")
def xlogy(b: Builder, self: Operand, other: Operand) -> Value:
    """`x log(y)`, and 0 where x is 0, also in its gradients."""
    x, y = (as_float(b, z) for z in as_tensors(b, self, other))
    is_zero = b.compare("eq", x, b.splat(0, x.type))
    return b.binary("mul", x, b.unary("log", b.select(is_zero, b.splat(1, y.type), y)))


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
    zero = b.splat(0, x.type)
    return b.unary("sqrt", b.select(b.compare("eq", x, zero), zero, x))


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


# -- comparisons and bits -----------------------------------------------------------------------------------------


@emits("logical_xor.default")
def logical_xor(b: Builder, self: Value, other: Value) -> Value:
    x, y = (b.cast(b.cast(z, "i1"), "i8") for z in (self, other))
    return b.compare("ne", x, y)


@emits("bitwise_xor.Tensor", "bitwise_xor.Scalar", "__xor__.Tensor", "__xor__.Scalar")
def bitwise_xor(b: Builder, self: Operand, other: Operand) -> Value:
    """Bits that one of the two has, and not both."""
    x, y = as_tensors(b, self, other)
    return b.binary("and", b.binary("or", x, y), b.unary("not", b.binary("and", x, y)))


def _ignoring_nan(overload: str, predicate: str) -> None:
    @emits(overload)
    def emitter(b: Builder, self: Value, other: Value) -> Value:
        """The first of two equals has the gradient."""
        x, y = as_tensors(b, self, other)
        is_first = b.binary("or", b.compare(predicate, x, y), b.compare("ne", y, y))
        return b.select(is_first, x, y)


_ignoring_nan("fmax.default", "ge")
_ignoring_nan("fmin.default", "le")


@emits("copysign.Tensor", "copysign.Scalar")
def copysign(b: Builder, self: Value, other: Operand) -> Value:
    """The size of one with the sign of the other; -0 counts as 0."""
    x, sign = as_tensors(b, self, other)
    size = b.unary("abs", as_float(b, x))
    return b.select(b.compare("lt", sign, b.splat(0, sign.type)), b.unary("neg", size), size)
