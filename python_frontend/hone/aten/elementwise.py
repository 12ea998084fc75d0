"""Elementwise ATen overloads: arithmetic, functions, comparisons, logic, selection, type conversion."""

from __future__ import annotations

import math

from ..builder import Builder
from ..errors import HoneError
from ..graph import Type, Value, is_float
from .promote import Operand, as_float, as_tensors, common_dtype
from .registry import emits

# -- arithmetic ---------------------------------------------------------------------------------------------------


@emits("add.Tensor", "add.Scalar")
def add(b: Builder, self: Operand, other: Operand, alpha: Operand = 1) -> Value:
    x, y = as_tensors(b, self, other)
    return b.binary("or" if x.dtype == "i1" else "add", x, b.scale(y, alpha))


@emits("sub.Tensor", "sub.Scalar")
def sub(b: Builder, self: Operand, other: Operand, alpha: Operand = 1) -> Value:
    x, y = as_tensors(b, self, other)
    return b.binary("sub", x, b.scale(y, alpha))


@emits("rsub.Tensor", "rsub.Scalar")
def rsub(b: Builder, self: Operand, other: Operand, alpha: Operand = 1) -> Value:
    return sub(b, other, self, alpha)


@emits("mul.Tensor", "mul.Scalar")
def mul(b: Builder, self: Operand, other: Operand) -> Value:
    x, y = as_tensors(b, self, other)
    return b.binary("and" if x.dtype == "i1" else "mul", x, y)


@emits("div.Tensor", "div.Scalar")
def div(b: Builder, self: Operand, other: Operand) -> Value:
    dtype = common_dtype(self, other)
    return b.binary("div", *as_tensors(b, self, other, dtype=dtype if is_float(dtype) else "f32"))


def floor_quotient(b: Builder, x: Value, y: Value) -> Value:
    """The integer quotient toward -inf: one less than the truncated one where a remainder has the other sign."""
    quotient = b.binary("div", x, y)
    rest = b.binary("sub", x, b.binary("mul", quotient, y))
    zero = b.splat(0, rest.type)
    inexact = b.compare("ne", rest, zero)
    opposite = b.compare(
        "ne", b.cast(b.compare("lt", rest, zero), "i8"), b.cast(b.compare("lt", y, b.splat(0, y.type)), "i8")
    )
    return b.binary("sub", quotient, b.cast(b.binary("and", inexact, opposite), quotient.dtype))


@emits("pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar")
def power(b: Builder, self: Operand, exponent: Operand) -> Value:
    x, y = as_tensors(b, self, exponent)
    if is_float(x.dtype):
        return b.binary("pow", x, y)
    if not isinstance(exponent, int) or exponent < 1:
        raise HoneError(f"an integer tensor to the power {exponent} is not supported")
    result = x
    for _ in range(exponent - 1):
        result = b.binary("mul", result, x)
    return result


@emits("square.default")
def square(b: Builder, self: Value) -> Value:
    return b.binary("mul", self, self)


@emits("reciprocal.default")
def reciprocal(b: Builder, self: Value) -> Value:
    return div(b, 1.0, self)


@emits("addcmul.default")
def addcmul(b: Builder, self: Value, tensor1: Value, tensor2: Value, value: Operand = 1) -> Value:
    return add(b, self, mul(b, tensor1, tensor2), value)


@emits("addcdiv.default")
def addcdiv(b: Builder, self: Value, tensor1: Value, tensor2: Value, value: Operand = 1) -> Value:
    return add(b, self, div(b, tensor1, tensor2), value)


@emits("lerp.Scalar", "lerp.Tensor")
def lerp(b: Builder, self: Value, end: Value, weight: Operand) -> Value:
    return add(b, self, mul(b, weight, sub(b, end, self)))


@emits("maximum.default", "max.other")
def maximum(b: Builder, self: Value, other: Value) -> Value:
    return b.binary("max", *as_tensors(b, self, other))


@emits("minimum.default", "min.other")
def minimum(b: Builder, self: Value, other: Value) -> Value:
    return b.binary("min", *as_tensors(b, self, other))


@emits("clamp.default", "clamp.Tensor")
def clamp(b: Builder, self: Value, min: Operand | None = None, max: Operand | None = None) -> Value:
    """Written with selections: at a bound the gradient passes, and NaN stays, as in PyTorch."""
    result = self
    for predicate, bound in (("lt", min), ("gt", max)):
        if bound is not None:
            x, limit = as_tensors(b, result, bound)
            result = b.select(b.compare(predicate, x, limit), limit, x)
    return result


@emits("clamp_min.default", "clamp_min.Tensor")
def clamp_min(b: Builder, self: Value, min: Operand) -> Value:
    return clamp(b, self, min=min)


@emits("clamp_max.default", "clamp_max.Tensor")
def clamp_max(b: Builder, self: Value, max: Operand) -> Value:
    return clamp(b, self, max=max)


# -- functions of one tensor --------------------------------------------------------------------------------------


def _unary(overload: str, name: str, floats: bool = True) -> None:
    @emits(overload)
    def emitter(b: Builder, self: Value) -> Value:
        return b.unary(name, as_float(b, self) if floats else self)


for _overload, _name in {
    "exp": "exp",
    "expm1": "expm1",
    "log": "log",
    "log1p": "log1p",
    "sqrt": "sqrt",
    "rsqrt": "rsqrt",
    "sin": "sin",
    "cos": "cos",
    "atan": "atan",
    "tanh": "tanh",
    "erf": "erf",
    "sigmoid": "logistic",
}.items():
    _unary(_overload + ".default", _name)
for _overload, _name in {"neg": "neg", "abs": "abs", "sign": "sign"}.items():
    _unary(_overload + ".default", _name, floats=False)


@emits("exp2.default")
def exp2(b: Builder, self: Value) -> Value:
    return b.unary("exp", mul(b, self, math.log(2)))


@emits("gelu.default")
def gelu(b: Builder, self: Value, approximate: str = "none") -> Value:
    return b.gelu(self, "tanh" if approximate == "tanh" else "erf")


@emits("silu.default")
def silu(b: Builder, self: Value) -> Value:
    return b.binary("mul", self, b.unary("logistic", self))


@emits("relu.default")
def relu(b: Builder, self: Value) -> Value:
    """A selection: the gradient at 0 is 0, and NaN stays, as in PyTorch."""
    zero = b.splat(0, self.type)
    return b.select(b.compare("le", self, zero), zero, self)


@emits("hardtanh.default")
def hardtanh(b: Builder, self: Value, min_val: Operand = -1, max_val: Operand = 1) -> Value:
    """Selections: unlike that of `clamp`, the gradient at a bound is 0, as in PyTorch."""
    low, high = b.splat(min_val, self.type), b.splat(max_val, self.type)
    return b.select(b.compare("le", self, low), low, b.select(b.compare("ge", self, high), high, self))


@emits("relu6.default")
def relu6(b: Builder, self: Value) -> Value:
    return hardtanh(b, self, 0, 6)


@emits("leaky_relu.default")
def leaky_relu(b: Builder, self: Value, negative_slope: Operand = 0.01) -> Value:
    return b.select(b.compare("gt", self, b.splat(0, self.type)), self, b.scale(self, negative_slope))


@emits("softplus.default")
def softplus(b: Builder, self: Value, beta: Operand = 1, threshold: Operand = 20) -> Value:
    """`log(1 + e^(beta x)) / beta`, and `x` above the threshold (where the exponential is not even evaluated)."""
    scaled = b.scale(self, beta)
    large = b.compare("gt", scaled, b.splat(threshold, scaled.type))
    exponential = b.unary("exp", b.select(large, b.splat(0, scaled.type), scaled))
    soft = b.scale(b.unary("log", add(b, exponential, 1.0)), 1 / beta)
    return b.select(large, self, soft)


@emits("log_sigmoid.default")
def log_sigmoid(b: Builder, self: Value) -> Value:
    """`min(x, 0) - log(1 + e^-|x|)`, which neither overflows nor takes the logarithm of 0."""
    rest = b.unary("log", add(b, b.unary("exp", b.unary("neg", b.unary("abs", self))), 1.0))
    return b.binary("sub", minimum(b, self, b.splat(0, self.type)), rest)


@emits("mish.default")
def mish(b: Builder, self: Value) -> Value:
    return b.binary("mul", self, b.unary("tanh", softplus(b, self)))


@emits("elu.default")
def elu(b: Builder, self: Value, alpha: Operand = 1, scale: Operand = 1, input_scale: Operand = 1) -> Value:
    """`scale x` above 0, else `scale alpha (e^(input_scale x) - 1)`."""
    zero = b.splat(0, self.type)
    positive = b.compare("gt", self, zero)
    exponential = b.unary("exp", b.scale(b.select(positive, zero, self), input_scale))
    return b.select(positive, b.scale(self, scale), b.scale(sub(b, exponential, 1.0), alpha * scale))


@emits("selu.default")
def selu(b: Builder, self: Value) -> Value:
    return elu(b, self, 1.6732632423543772, 1.0507009873554805)


@emits("logical_not.default")
def logical_not(b: Builder, self: Value) -> Value:
    return b.unary("not", b.cast(self, "i1"))


@emits("bitwise_not.default")
def bitwise_not(b: Builder, self: Value) -> Value:
    return b.unary("not", self)


# -- comparison, logic, selection ---------------------------------------------------------------------------------


def _comparison(predicate: str) -> None:
    @emits(f"{predicate}.Tensor", f"{predicate}.Scalar")
    def emitter(b: Builder, self: Operand, other: Operand) -> Value:
        x, y = as_tensors(b, self, other)
        if x.dtype == "i1":  # ordered and compared as 0 and 1
            x, y = b.cast(x, "i8"), b.cast(y, "i8")
        return b.compare(predicate, x, y)


for _predicate in ("eq", "ne", "lt", "le", "gt", "ge"):
    _comparison(_predicate)


@emits("isnan.default")
def isnan(b: Builder, self: Value) -> Value:
    return b.compare("ne", self, self)


def _logic(name: str) -> None:
    @emits(f"logical_{name}.default")
    def logical(b: Builder, self: Value, other: Value) -> Value:
        return b.binary(name, b.cast(self, "i1"), b.cast(other, "i1"))

    @emits(f"bitwise_{name}.Tensor", f"bitwise_{name}.Scalar", f"__{name}__.Tensor", f"__{name}__.Scalar")
    def bitwise(b: Builder, self: Operand, other: Operand) -> Value:
        return b.binary(name, *as_tensors(b, self, other))


_logic("and")
_logic("or")


@emits("where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar")
def where(b: Builder, condition: Value, self: Operand, other: Operand) -> Value:
    x, y = as_tensors(b, self, other)
    return b.select(b.cast(condition, "i1"), x, y)


@emits("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(b: Builder, self: Value, mask: Value, value: Operand) -> Value:
    fill = b.cast(value, self.dtype) if isinstance(value, Value) else b.splat(value, self.type)
    return b.select(mask, fill, self)


def _triangle(name: str, predicate: str) -> None:
    @emits(f"{name}.default")
    def emitter(b: Builder, self: Value, diagonal: int = 0) -> Value:
        """Keeps (row, column) where `column - row` is on the wanted side of `diagonal`."""
        rows, columns = (b.iota(self.rank - k, Type("i64", self.shape)) for k in (2, 1))
        kept = b.compare(predicate, columns, b.binary("add", rows, b.splat(diagonal, rows.type)) if diagonal else rows)
        return b.binary("and", kept, self) if self.dtype == "i1" else b.select(kept, self, b.splat(0, self.type))


_triangle("tril", "le")
_triangle("triu", "ge")


# -- conversion and identities ------------------------------------------------------------------------------------


@emits("to.dtype", "to.dtype_layout", "to.device", "_to_copy.default")
def convert(b: Builder, self: Value, dtype: str | None = None) -> Value:
    return b.cast(self, dtype or self.dtype)


@emits("to.other", "type_as.default")
def convert_like(b: Builder, self: Value, other: Value) -> Value:
    return b.cast(self, other.dtype)


@emits(
    "clone.default",
    "alias.default",
    "contiguous.default",
    "lift_fresh_copy.default",
    "lift_fresh.default",
    "positive.default",
)
def identity(b: Builder, self: Value) -> Value:
    return self


@emits("detach.default")
def detach(b: Builder, self: Value) -> Value:
    return b.stop_gradient(self)


@emits("copy.default")
def copy(b: Builder, self: Value, src: Value) -> Value:
    return b.broadcast_to(b.cast(src, self.dtype), self.shape)


@emits("fill.Scalar", "fill.Tensor")
def fill(b: Builder, self: Value, value: Operand) -> Value:
    if isinstance(value, Value):
        return b.broadcast_to(b.cast(value, self.dtype), self.shape)
    return b.splat(value, self.type)


@emits("zero.default")
def zero(b: Builder, self: Value) -> Value:
    return b.splat(0, self.type)
