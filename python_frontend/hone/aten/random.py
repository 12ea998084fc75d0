"""ATen overloads that draw random numbers: from the op `random`, whose draws PyTorch's own do not repeat."""

from __future__ import annotations

from typing import Sequence

from ..builder import Builder
from ..graph import Type, Value, is_float
from .elementwise import add, sub
from .functions import floor
from .promote import Operand
from .registry import emits


def _random(name: str, dist: str) -> None:
    @emits(f"{name}.default")
    def fresh(b: Builder, size: Sequence[int], dtype: str | None = None) -> Value:
        return b.random(dist, Type(dtype or "f32", tuple(size)))

    @emits(f"{name}_like.default")
    def like(b: Builder, self: Value, dtype: str | None = None) -> Value:
        return b.random(dist, Type(dtype or self.dtype, self.shape))


_random("rand", "uniform")
_random("randn", "normal")


@emits("uniform.default")
def uniform(b: Builder, self: Value, to: float = 1.0, **bounds: float) -> Value:
    low = bounds.get("from", 0.0)
    return add(b, b.scale(b.random("uniform", self.type), to - low), low)


@emits("normal_functional.default")
def normal(b: Builder, self: Value, mean: float = 0.0, std: float = 1.0) -> Value:
    return add(b, b.scale(b.random("normal", self.type), std), mean)


@emits("normal.float_float")
def normal_of(b: Builder, mean: float, std: float, size: Sequence[int], dtype: str | None = None) -> Value:
    return add(b, b.scale(b.random("normal", Type(dtype or "f32", tuple(size))), std), mean)


@emits("exponential.default")
def exponential(b: Builder, self: Value, lambd: float = 1.0) -> Value:
    rest = sub(b, 1.0, b.random("uniform", self.type))  # in (0, 1], whose logarithm is finite
    return b.scale(b.unary("log", rest), -1 / lambd)


@emits("bernoulli.p", "bernoulli.default", "bernoulli.Tensor")
def bernoulli(b: Builder, self: Value, p: Operand | None = None) -> Value:
    """1 with probability `p`, of the tensor itself where none is given."""
    drawn = b.random("uniform", Type(self.dtype if is_float(self.dtype) else "f32", self.shape))
    chance = self if p is None else p
    limit = b.cast(chance, drawn.dtype) if isinstance(chance, Value) else b.splat(chance, drawn.type)
    return b.cast(b.compare("lt", drawn, b.stop_gradient(limit)), self.dtype)


@emits("randint.default", "randint.low")
def randint(b: Builder, high: int, size: Sequence[int], low: int = 0, dtype: str | None = None) -> Value:
    """Whole numbers from `low` to `high` - 1."""
    shape = Type("f32", tuple(size))
    whole = b.cast(floor(b, b.scale(b.random("uniform", shape), high - low)), dtype or "i64")
    return add(b, whole, low)


@emits("randint_like.default", "randint_like.low_dtype")
def randint_like(b: Builder, self: Value, high: int, low: int = 0, dtype: str | None = None) -> Value:
    return randint(b, high, self.shape, low, dtype or self.dtype)


@emits("randperm.default")
def randperm(b: Builder, n: int, dtype: str | None = None) -> Value:
    """The numbers below `n` in a random order."""
    order = b.argsort(b.random("uniform", Type("f32", (n,))), 0, False)
    return b.cast(order, dtype or "i64")
