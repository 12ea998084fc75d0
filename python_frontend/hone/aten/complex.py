"""Complex tensors as pairs of real ones: rotary embeddings written with them, and Fourier transforms.

The dialect has no complex type. While importing, a complex tensor is a `Complex`; overloads that take or make one are
in the table `COMPLEX`, and those that move elements act on both parts (`PER_PART`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import prod
from typing import Callable, Sequence, Union

from ..builder import Builder
from ..errors import HoneError
from ..graph import Type, Value
from .functions import hypot
from .nn import along
from .promote import Operand, as_float, as_tensors
from .registry import TABLE
from .shape import axis, unsqueeze


@dataclass(frozen=True)
class Complex:
    """A complex tensor: two real tensors of one type."""

    real: Value
    imag: Value

    @property
    def shape(self) -> tuple[int, ...]:
        return self.real.shape

    @property
    def rank(self) -> int:
        return self.real.rank


Number = Union[Complex, Operand]

COMPLEX: dict[str, Callable] = {}

# The element type of every complex tensor, as an argument of an overload.
COMPLEX_TYPE = "complex"

# Overloads that move elements, or name them anew: they do the same to either part.
PER_PART = {
    *("view.default", "reshape.default", "_unsafe_view.default", "flatten.using_ints", "unflatten.int"),
    *("unsqueeze.default", "squeeze.default", "squeeze.dim", "squeeze.dims", "permute.default", "transpose.int"),
    *("expand.default", "expand_as.default", "slice.Tensor", "narrow.default", "select.int", "index.Tensor"),
    *("index_select.default", "clone.default", "contiguous.default", "alias.default", "detach.default", "roll.default"),
    *("repeat.default", "movedim.int", "flip.default", "neg.default", "sum.dim_IntList", "mean.dim"),
    *("mT.default", "t.default", "swapaxes.default", "movedim.intlist"),
}


def emits(*overloads: str) -> Callable:
    """Registers a function as the emitter of these overloads on complex tensors."""

    def register(function: Callable) -> Callable:
        COMPLEX.update({overload: function for overload in overloads})
        return function

    return register


def per_part(b: Builder, name: str, bound: dict) -> Complex:
    """Applies the emitter of real tensors to either part."""
    first = next(value for value in bound.values() if isinstance(value, Complex))
    pick = lambda part: {key: getattr(value, part) if value is first else value for key, value in bound.items()}
    return Complex(TABLE[name](b, **pick("real")), TABLE[name](b, **pick("imag")))


def _parts(x: Number) -> tuple[Operand, Operand]:
    return (x.real, x.imag) if isinstance(x, (Complex, complex)) else (x, 0)


def _combined(b: Builder, op: str, x: Operand, y: Operand) -> Value:
    return b.binary(op, *as_tensors(b, x, y))


# -- made of real tensors -----------------------------------------------------------------------------------------


@emits("view_as_complex.default")
def view_as_complex(b: Builder, self: Value) -> Complex:
    """[..., 2] -> [...]."""
    last = self.rank - 1
    parts = [b.reshape(b.slice_dim(self, last, at, at + 1), self.shape[:-1]) for at in (0, 1)]
    return Complex(*parts)


@emits("complex.default")
def from_parts(b: Builder, real: Value, imag: Value) -> Complex:
    return Complex(*as_tensors(b, real, imag))


@emits("polar.default")
def polar(b: Builder, abs: Value, angle: Value) -> Complex:
    radius, angle = as_tensors(b, abs, angle)
    return Complex(*(b.binary("mul", radius, b.unary(name, angle)) for name in ("cos", "sin")))


# -- arithmetic ---------------------------------------------------------------------------------------------------


@emits("mul.Tensor", "mul.Scalar")
def mul(b: Builder, self: Number, other: Number) -> Complex:
    """A factor without an imaginary part multiplies both parts of the other."""
    (a, c), (d, e) = _parts(self), _parts(other)
    if not isinstance(other, (Complex, complex)):
        return Complex(_combined(b, "mul", a, other), _combined(b, "mul", c, other))
    if not isinstance(self, (Complex, complex)):
        return Complex(_combined(b, "mul", self, d), _combined(b, "mul", self, e))
    real = b.binary("sub", _combined(b, "mul", a, d), _combined(b, "mul", c, e))
    return Complex(real, b.binary("add", _combined(b, "mul", a, e), _combined(b, "mul", c, d)))


@emits("div.Tensor", "div.Scalar")
def div(b: Builder, self: Number, other: Number) -> Complex:
    if isinstance(other, (Complex, complex)) or not isinstance(self, Complex):
        raise HoneError("division by complex numbers is not supported")
    return Complex(_combined(b, "div", self.real, other), _combined(b, "div", self.imag, other))


def _sum(name: str, op: str) -> None:
    @emits(f"{name}.Tensor")
    def emitter(b: Builder, self: Number, other: Number, alpha: Operand = 1) -> Complex:
        if alpha != 1:
            other = mul(b, other, alpha) if isinstance(other, Complex) else _combined(b, "mul", other, alpha)
        real, imag = (_combined(b, op, x, y) for x, y in zip(_parts(self), _parts(other)))
        return Complex(real, b.broadcast_to(imag, real.shape))


_sum("add", "add")
_sum("sub", "sub")


def _product(overload: str, *names: str) -> None:
    """A product of two tensors, `names`, that is linear in each."""

    @emits(overload)
    def emitter(b: Builder, **bound) -> Complex:
        (a, c), (d, e) = ((x.real, x.imag) if isinstance(x, Complex) else (x, None) for x in (bound[n] for n in names))
        product = lambda x, y: TABLE[overload](b, **bound | dict(zip(names, (x, y))))
        return _product_of_parts(b, product, a, c, d, e)


def _product_of_parts(b: Builder, product: Callable, a: Value, c: Value | None, d: Value, e: Value | None) -> Complex:
    """(a + ic)(d + ie), where a part of None is zero."""
    real, imag = product(a, d), [product(x, y) for x, y in ((a, e), (c, d)) if x is not None and y is not None]
    if c is not None and e is not None:
        real = b.binary("sub", real, product(c, e))
    return Complex(real, imag[0] if len(imag) == 1 else b.binary("add", *imag))


_product("mm.default", "self", "mat2")
_product("bmm.default", "self", "mat2")
_product("matmul.default", "self", "other")
_product("mv.default", "self", "vec")


@emits("einsum.default")
def einsum(b: Builder, equation: str, tensors: Sequence[Complex | Value], path: object = None) -> Complex:
    if len(tensors) == 1:
        return Complex(*(TABLE["einsum.default"](b, equation, [part]) for part in (tensors[0].real, tensors[0].imag)))
    if len(tensors) > 2:
        raise HoneError(f"einsum '{equation}' of more than two complex tensors is not supported: write it in steps")
    (a, c), (d, e) = ((x.real, x.imag) if isinstance(x, Complex) else (x, None) for x in tensors)
    return _product_of_parts(b, lambda x, y: TABLE["einsum.default"](b, equation, [x, y]), a, c, d, e)


@emits("pad.default", "constant_pad_nd.default")
def padded(b: Builder, self: Complex, pad: Sequence[int], mode: str = "constant", value: complex | None = None):
    """With zeros around it; `pad` as in PyTorch, the last dimension first."""
    if mode != "constant" or value:
        raise HoneError("a complex tensor is padded with zeros only")
    return per_part(b, "constant_pad_nd.default", {"self": self, "pad": pad})


@emits("_conj.default", "conj.default", "conj_physical.default", "resolve_conj.default")
def conj(b: Builder, self: Complex) -> Complex:
    return Complex(self.real, b.unary("neg", self.imag))


@emits("to.dtype", "to.dtype_layout", "to.device", "_to_copy.default", "to.other", "type_as.default")
def convert(b: Builder, self: Complex | Value, dtype: str | None = None, other: Complex | Value | None = None):
    """Between complex types, or from a real one."""
    if isinstance(self, Complex) and dtype in (None, COMPLEX_TYPE) and not isinstance(other, Value):
        return self
    if isinstance(self, Value) and dtype in (None, COMPLEX_TYPE):
        return _as_complex(b, self)
    raise HoneError("a conversion from complex to real elements is not supported: take the real part")


# -- back to real tensors -----------------------------------------------------------------------------------------


@emits("view_as_real.default")
def view_as_real(b: Builder, self: Complex) -> Value:
    return b.concat([unsqueeze(b, self.real, -1), unsqueeze(b, self.imag, -1)], self.rank)


@emits("real.default")
def real(b: Builder, self: Complex) -> Value:
    return self.real


@emits("imag.default")
def imag(b: Builder, self: Complex) -> Value:
    return self.imag


@emits("abs.default")
def magnitude(b: Builder, self: Complex) -> Value:
    return hypot(b, self.real, self.imag)


# -- Fourier transforms -------------------------------------------------------------------------------------------


def _wave(b: Builder, rows: int, columns: int, period: int, dtype: str, name: str) -> Value:
    """[rows, columns]: cos or sin of 2 pi r c / period, from the remainder of r c: large angles would lose digits."""
    shape = Type("i64", (rows, columns))
    product = b.binary("mul", b.iota(0, shape), b.iota(1, shape))
    number = b.splat(period, shape)
    turns = b.binary("sub", product, b.binary("mul", b.binary("div", product, number), number))
    return b.unary(name, b.scale(b.cast(turns, dtype), 2 * math.pi / period))


def _transformed(b: Builder, x: Complex, dim: int, sign: int, rows: int | None = None) -> Complex:
    """The sums over n of x[n] e^(sign 2 pi i k n / N), for the first `rows` k."""
    size = x.shape[dim]
    cos, sin = (_wave(b, rows or size, size, size, x.real.dtype, name) for name in ("cos", "sin"))
    a, c = (along(b, x.real, dim, wave) for wave in (cos, sin))
    d, e = (along(b, x.imag, dim, wave) for wave in (cos, sin))
    if sign < 0:
        return Complex(b.binary("add", a, e), b.binary("sub", d, c))
    return Complex(b.binary("sub", a, e), b.binary("add", d, c))


def _resized(b: Builder, x: Complex, dim: int, size: int | None) -> Complex:
    """Cut, or filled with zeros, to `size` elements."""
    if size is None or size == x.shape[dim]:
        return x
    if size < x.shape[dim]:
        return Complex(*(b.slice_dim(part, dim, 0, size) for part in (x.real, x.imag)))
    high = [size - x.shape[dim] if d == dim else 0 for d in range(x.rank)]
    return Complex(*(b.pad(part, [0] * x.rank, high) for part in (x.real, x.imag)))


def _factor(norm: str | None, size: int, is_forward: bool) -> float:
    """What a transform of `size` elements is multiplied by: by default the inverse divides by the size."""
    if norm == "ortho":
        return size**-0.5
    return 1 / size if (norm == "forward") == is_forward else 1.0


def _as_complex(b: Builder, x: Complex | Value) -> Complex:
    if isinstance(x, Complex):
        return x
    x = as_float(b, x)
    return Complex(x, b.splat(0, x.type))


def _fft(name: str, sign: int) -> None:
    is_forward = sign < 0

    def over(b: Builder, x: Complex, dim: int, size: int | None, norm: str | None) -> Complex:
        x = _transformed(b, _resized(b, x, dim, size), dim, sign)
        factor = _factor(norm, x.shape[dim], is_forward)
        return Complex(b.scale(x.real, factor), b.scale(x.imag, factor))

    @emits(f"fft_{name}.default")
    def one(b: Builder, self: Complex | Value, n: int | None = None, dim: int = -1, norm: str | None = None) -> Complex:
        return over(b, _as_complex(b, self), axis(dim, self.rank), n, norm)

    @emits(f"fft_{name}n.default", f"fft_{name}2.default")
    def several(
        b: Builder,
        self: Complex | Value,
        s: Sequence[int] | None = None,
        dim: Sequence[int] | None = None,
        norm: str | None = None,
    ) -> Complex:
        x = _as_complex(b, self)
        dims = [axis(d, x.rank) for d in dim] if dim is not None else list(range(x.rank))[-len(s) if s else 0 :]
        for d, size in zip(dims, s or [None] * len(dims)):
            x = over(b, x, d, size, norm)
        return x


_fft("fft", -1)
_fft("ifft", 1)


def _normalised(b: Builder, x: Complex | Value, normalization: int, size: int):
    """`x` times 1, 1 / sqrt(size) or 1 / size, as torch's own operators number them."""
    factor = (1.0, size**-0.5, 1 / size)[normalization]
    return Complex(b.scale(x.real, factor), b.scale(x.imag, factor)) if isinstance(x, Complex) else b.scale(x, factor)


@emits("_fft_c2c.default", "_fft_r2c.default")
def transformed(
    b: Builder,
    self: Complex | Value,
    dim: Sequence[int],
    normalization: int,
    forward: bool = True,
    onesided: bool = False,
) -> Complex:
    """Over several dimensions; the half of the last one if `onesided`."""
    x, dims = _as_complex(b, self), [axis(d, self.rank) for d in dim]
    size = prod(x.shape[d] for d in dims)
    for d in reversed(dims):
        half = x.shape[d] // 2 + 1 if onesided and d == dims[-1] else None
        x = _transformed(b, x, d, -1 if forward else 1, half)
    return _normalised(b, x, normalization, size)


@emits("_fft_c2r.default")
def transformed_to_real(b: Builder, self: Complex, dim: Sequence[int], normalization: int, last_dim_size: int) -> Value:
    x, dims = self, [axis(d, self.rank) for d in dim]
    size = prod(x.shape[d] for d in dims[:-1]) * last_dim_size
    for d in dims[:-1]:
        x = _transformed(b, x, d, 1)
    return _normalised(b, irfft(b, x, last_dim_size, dims[-1], "forward"), normalization, size)


@emits("fft_rfft.default")
def rfft(b: Builder, self: Value, n: int | None = None, dim: int = -1, norm: str | None = None) -> Complex:
    """The first half of the transform of a real tensor: the rest mirrors it."""
    dim = axis(dim, self.rank)
    x = _resized(b, _as_complex(b, self), dim, n)
    size = x.shape[dim]
    result, factor = _transformed(b, x, dim, -1, size // 2 + 1), _factor(norm, size, True)
    return Complex(b.scale(result.real, factor), b.scale(result.imag, factor))


@emits("fft_irfft.default")
def irfft(b: Builder, self: Complex, n: int | None = None, dim: int = -1, norm: str | None = None) -> Value:
    """The real tensor of `n` elements whose transform begins with `self`."""
    dim = axis(dim, self.rank)
    size = 2 * (self.shape[dim] - 1) if n is None else n
    half = size // 2 + 1
    x = _resized(b, _as_complex(b, self), dim, half)
    # All but the first, and the middle one of an even size, stand for their mirror image too.
    weight = b.iota(0, Type(x.real.dtype, (half,)))
    alone = b.compare("eq", weight, b.splat(0, weight.type))
    if size % 2 == 0:
        alone = b.binary("or", alone, b.compare("eq", weight, b.splat(size // 2, weight.type)))
    weight = b.select(alone, b.splat(1, weight.type), b.splat(2, weight.type))
    cos, sin = (_wave(b, size, half, size, x.real.dtype, name) for name in ("cos", "sin"))
    weighted = [b.binary("mul", wave, weight) for wave in (cos, sin)]
    parts = [along(b, part, dim, wave) for part, wave in zip((x.real, x.imag), weighted)]
    return b.scale(b.binary("sub", *parts), _factor(norm, size, False))
