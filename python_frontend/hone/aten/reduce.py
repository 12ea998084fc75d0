"""ATen reductions and scans."""

from __future__ import annotations

from typing import Sequence

from ..builder import Builder
from ..errors import HoneError
from ..graph import Type, Value, is_float
from .elementwise import sub
from .functions import safe_sqrt
from .promote import as_float
from .registry import emits
from .shape import axes, axis


@emits("sum.default", "sum.dim_IntList")
def sum_(
    b: Builder, self: Value, dim: Sequence[int] | None = None, keepdim: bool = False, dtype: str | None = None
) -> Value:
    dtype = dtype or (self.dtype if is_float(self.dtype) else "i64")
    return b.reduce("sum", b.cast(self, dtype), axes(dim, self.rank), keepdim)


@emits("mean.default", "mean.dim")
def mean(
    b: Builder, self: Value, dim: Sequence[int] | None = None, keepdim: bool = False, dtype: str | None = None
) -> Value:
    total = sum_(b, self, dim, keepdim, dtype)
    count = self.type.numel / total.type.numel if total.type.numel else 0
    return b.binary("div", total, b.splat(count, total.type))


@emits("var.correction", "var.dim")
def var(
    b: Builder,
    self: Value,
    dim: Sequence[int] | None = None,
    correction: float | None = 1,
    keepdim: bool = False,
    unbiased: bool | None = None,
) -> Value:
    freedom = (1 if unbiased else 0) if unbiased is not None else 1 if correction is None else correction
    dims = axes([dim] if isinstance(dim, int) else dim, self.rank)
    centred = b.binary("sub", self, mean(b, self, dims, True))
    total = b.reduce("sum", b.binary("mul", centred, centred), dims, keepdim)
    count = self.type.numel // max(total.type.numel, 1)
    return b.binary("div", total, b.splat(float(count - freedom), total.type))


@emits("std.correction", "std.dim")
def std(
    b: Builder,
    self: Value,
    dim: Sequence[int] | None = None,
    correction: float | None = 1,
    keepdim: bool = False,
    unbiased: bool | None = None,
) -> Value:
    return safe_sqrt(b, var(b, self, dim, correction, keepdim, unbiased))


@emits("var_mean.correction", "var_mean.dim", "var_mean.default")
def var_mean(
    b: Builder,
    self: Value,
    dim: Sequence[int] | None = None,
    correction: float | None = 1,
    keepdim: bool = False,
    unbiased: bool | None = None,
) -> list[Value]:
    return [var(b, self, dim, correction, keepdim, unbiased), mean(b, self, dim, keepdim)]


@emits("std_mean.correction", "std_mean.dim", "std_mean.default")
def std_mean(
    b: Builder,
    self: Value,
    dim: Sequence[int] | None = None,
    correction: float | None = 1,
    keepdim: bool = False,
    unbiased: bool | None = None,
) -> list[Value]:
    return [std(b, self, dim, correction, keepdim, unbiased), mean(b, self, dim, keepdim)]


@emits("prod.default", "prod.dim_int")
def product(b: Builder, self: Value, dim: int | None = None, keepdim: bool = False, dtype: str | None = None) -> Value:
    """By halves: of n elements, about 2 n products in log n ops."""
    x = b.cast(self, dtype or (self.dtype if is_float(self.dtype) else "i64"))
    x = b.reshape(x, (x.type.numel,)) if dim is None else x
    at = axis(dim or 0, x.rank)
    kept = x.shape[:at] + ((1,) if keepdim else ()) + x.shape[at + 1 :]
    if x.shape[at] == 0:
        return b.splat(1, Type(x.dtype, kept))
    while (size := x.shape[at]) > 1:
        half = size // 2
        paired = b.binary("mul", b.slice_dim(x, at, 0, half), b.slice_dim(x, at, half, 2 * half))
        x = b.concat([paired, b.slice_dim(x, at, 2 * half, size)], at) if size % 2 else paired
    return b.reshape(x, kept)


def _scanned(b: Builder, parts: list[Value], dim: int, combine) -> list[Value]:
    """An inclusive scan of tensors that belong together, by doubling: `combine(earlier, later)` of lists of them."""
    step = 1
    while step < (size := parts[0].shape[dim]):
        earlier = [b.slice_dim(x, dim, 0, size - step) for x in parts]
        later = [b.slice_dim(x, dim, step, size) for x in parts]
        rest = [b.slice_dim(x, dim, 0, step) for x in parts]
        parts = [b.concat([x, y], dim) for x, y in zip(rest, combine(earlier, later))]
        step *= 2
    return parts


@emits("cumprod.default")
def cumprod(b: Builder, self: Value, dim: int, dtype: str | None = None) -> Value:
    x = b.cast(self, dtype or (self.dtype if is_float(self.dtype) else "i64"))
    if x.rank == 0:
        return x
    return _scanned(b, [x], axis(dim, x.rank), lambda x, y: [b.binary("mul", x[0], y[0])])[0]


def _running(name: str, loses: str) -> None:
    @emits(f"cum{name}.default")
    def emitter(b: Builder, self: Value, dim: int) -> list[Value]:
        """Extrema so far, and the last index of each, whose element has the gradient."""
        if self.rank == 0:
            return [self, b.splat(0, Type("i64", ()))]
        dim = axis(dim, self.rank)

        def combine(earlier: list[Value], later: list[Value]) -> list[Value]:
            is_earlier = b.compare(loses, later[0], earlier[0])
            return [b.select(is_earlier, x, y) for x, y in zip(earlier, later)]

        index = Type("i64", self.shape)
        _, places = _scanned(b, [b.stop_gradient(self), b.iota(dim, index)], dim, combine)
        return [b.take_along(self, places, dim), places]


_running("max", "lt")
_running("min", "gt")


@emits("logcumsumexp.default")
def logcumsumexp(b: Builder, self: Value, dim: int) -> Value:
    at = axis(dim, self.rank)
    top = b.broadcast_to(b.stop_gradient(b.reduce("max", self, [at], True)), self.shape)
    return b.binary("add", b.unary("log", b.cumsum(b.unary("exp", b.binary("sub", self, top)), at)), top)


def _extremum(name: str) -> None:
    @emits(f"a{name}.default")
    def over_dims(b: Builder, self: Value, dim: Sequence[int] | None = None, keepdim: bool = False) -> Value:
        return b.reduce(name, self, axes(dim, self.rank), keepdim)

    @emits(f"{name}.default")
    def over_all(b: Builder, self: Value) -> Value:
        return b.reduce(name, self, range(self.rank))

    @emits(f"{name}.dim")
    def with_index(b: Builder, self: Value, dim: int, keepdim: bool = False) -> list[Value]:
        """Values and the first index of each, whose element alone gets the gradient: a reduction would share it."""
        where = argmax(b, self if name == "max" else b.unary("neg", self), dim, keepdim)
        if self.rank == 0 or not b.is_differentiable(self):
            return [b.reduce(name, self, [axis(dim, self.rank)], keepdim), where]
        at = axis(dim, self.rank)
        first = b.reshape(where, [1 if d == at else size for d, size in enumerate(self.shape)])
        index = Type("i64", self.shape)
        is_first = b.compare("eq", b.iota(at, index), b.broadcast_to(first, self.shape))
        chosen = b.select(is_first, self, b.splat(0, self.type))
        return [b.reduce("sum", chosen, [at], keepdim), where]


@emits("argmax.default")
def argmax(b: Builder, self: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    x = b.reshape(self, (self.type.numel,)) if dim is None else self
    dim = axis(dim or 0, x.rank)
    index = b.argmax(x, dim)
    if not keepdim:
        return index
    return b.reshape(index, [1 if d == dim else size for d, size in enumerate(x.shape)])


@emits("argmin.default")
def argmin(b: Builder, self: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    return argmax(b, b.unary("neg", self), dim, keepdim)


_extremum("max")
_extremum("min")


def _quantifier(name: str, kind: str) -> None:
    @emits(f"{name}.default", f"{name}.dim", f"{name}.dims")
    def emitter(b: Builder, self: Value, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Value:
        dims = axes([dim] if isinstance(dim, int) else dim, self.rank)
        return b.cast(b.reduce(kind, b.cast(b.cast(self, "i1"), "i8"), dims, keepdim), "i1")


_quantifier("any", "max")
_quantifier("all", "min")


@emits("_is_all_true.default")
def is_true(b: Builder, self: Value) -> Value:
    """What `torch._check` asks of a tensor; the check itself is no op of the graph."""
    return b.cast(b.reduce("min", b.cast(self, "i8"), range(self.rank)), "i1")


@emits("logsumexp.default")
def logsumexp(b: Builder, self: Value, dim: Sequence[int], keepdim: bool = False) -> Value:
    dims = axes(dim, self.rank)
    top = b.stop_gradient(b.reduce("max", self, dims, True))
    total = b.reduce("sum", b.unary("exp", b.binary("sub", self, top)), dims, keepdim)
    return b.binary("add", b.unary("log", total), b.reshape(top, total.shape))


@emits("softmax.int", "_softmax.default")
def softmax(b: Builder, self: Value, dim: int, dtype: str | None = None, half_to_float: bool = False) -> Value:
    return _along_last(b, b.cast(self, dtype or self.dtype), dim, b.softmax)


@emits("log_softmax.int", "_log_softmax.default")
def log_softmax(b: Builder, self: Value, dim: int, dtype: str | None = None, half_to_float: bool = False) -> Value:
    x = b.cast(self, dtype or self.dtype)
    return sub(b, x, logsumexp(b, x, [dim], True))


def _along_last(b: Builder, x: Value, dim: int, function) -> Value:
    """Applies a function of rows to another dimension by exchanging it with the last."""
    if x.rank == 0:
        return b.reshape(function(b.reshape(x, (1,))), ())
    order = list(range(x.rank))
    order[axis(dim, x.rank)], order[-1] = order[-1], order[axis(dim, x.rank)]
    return b.transpose(function(b.transpose(x, order)), order)


@emits("cumsum.default")
def cumsum(b: Builder, self: Value, dim: int, dtype: str | None = None) -> Value:
    dtype = dtype or (self.dtype if is_float(self.dtype) else "i64")
    return b.cumsum(b.cast(self, dtype), axis(dim, self.rank))


@emits("norm.Scalar", "norm.ScalarOpt_dim", "linalg_vector_norm.default")
def vector_norm(
    b: Builder,
    self: Value,
    p: float | None = None,
    ord: float | None = 2,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: str | None = None,
) -> Value:
    degree = ord if p is None else p
    dims = axes([dim] if isinstance(dim, int) else dim, self.rank)
    x = as_float(b, b.cast(self, dtype or self.dtype))
    if degree == 2:
        return safe_sqrt(b, b.reduce("sum", b.binary("mul", x, x), dims, keepdim))
    size = b.unary("abs", x)
    if degree == 1:
        return b.reduce("sum", size, dims, keepdim)
    if degree in (float("inf"), float("-inf")):
        return b.reduce("max" if degree > 0 else "min", size, dims, keepdim)
    if degree == 0:
        return b.reduce("sum", b.cast(b.compare("ne", x, b.splat(0, x.type)), x.dtype), dims, keepdim)
    return _norm_of_powers(b, x, float(degree), dims, keepdim)


def _norm_of_powers(b: Builder, x: Value, degree: float, dims: Sequence[int], keepdim: bool) -> Value:
    """The gradient is 0 at elements that are 0, and where the norm is."""
    least = 0 if degree > 0 else float("inf")
    is_zero = b.compare("eq", x, b.splat(0, x.type))
    size = b.select(is_zero, b.splat(1, x.type), b.unary("abs", x))
    powers = b.select(is_zero, b.splat(least, x.type), b.binary("pow", size, b.splat(degree, x.type)))
    total = b.reduce("sum", powers, dims, keepdim)
    is_least = b.compare("eq", total, b.splat(least, total.type))
    safe = b.select(is_least, b.splat(1, total.type), total)
    return b.select(is_least, b.splat(0, total.type), b.binary("pow", safe, b.splat(1 / degree, total.type)))
