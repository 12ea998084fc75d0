"""ATen overloads that move or rename elements, and those that create tensors."""

from __future__ import annotations

import math
from typing import Sequence

from ..builder import Builder, broadcast_shape
from ..errors import HoneError, UseDefinition
from ..graph import Type, Value
from .promote import Operand, common_dtype, scalar_dtype
from .registry import emits


def axis(dim: int, rank: int) -> int:
    """A dimension counted from either end, as a number in [0, rank)."""
    if not -max(rank, 1) <= dim < max(rank, 1):
        raise HoneError(f"dimension {dim} is out of range for rank {rank}")
    return dim + rank if dim < 0 else dim


def axes(dims: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """All dimensions for None or an empty list."""
    return tuple(axis(dim, rank) for dim in dims) if dims else tuple(range(rank))


# -- views --------------------------------------------------------------------------------------------------------


@emits("view.default", "reshape.default", "_unsafe_view.default")
def reshape(b: Builder, self: Value, size: Sequence[int] = (), shape: Sequence[int] = ()) -> Value:
    sizes = list(size or shape)
    if -1 in sizes:
        known = 1
        for extent in sizes:
            known *= extent if extent != -1 else 1
        sizes[sizes.index(-1)] = self.type.numel // known if known else 0
    return b.reshape(self, sizes)


@emits("view_as.default", "reshape_as.default")
def view_as(b: Builder, self: Value, other: Value) -> Value:
    return b.reshape(self, other.shape)


@emits("flatten.using_ints")
def flatten(b: Builder, self: Value, start_dim: int = 0, end_dim: int = -1) -> Value:
    if self.rank == 0:
        return b.reshape(self, (1,))
    start, end = axis(start_dim, self.rank), axis(end_dim, self.rank)
    joined = Type(self.dtype, self.shape[start : end + 1]).numel
    return b.reshape(self, self.shape[:start] + (joined,) + self.shape[end + 1 :])


@emits("unflatten.int")
def unflatten(b: Builder, self: Value, dim: int, sizes: Sequence[int]) -> Value:
    dim, sizes = axis(dim, self.rank), list(sizes)
    if -1 in sizes:
        known = 1
        for extent in sizes:
            known *= extent if extent != -1 else 1
        sizes[sizes.index(-1)] = self.shape[dim] // known
    return b.reshape(self, self.shape[:dim] + tuple(sizes) + self.shape[dim + 1 :])


@emits("unsqueeze.default")
def unsqueeze(b: Builder, self: Value, dim: int) -> Value:
    dim = axis(dim, self.rank + 1)
    return b.reshape(self, self.shape[:dim] + (1,) + self.shape[dim:])


@emits("squeeze.default", "squeeze.dim", "squeeze.dims")
def squeeze(b: Builder, self: Value, dim: int | Sequence[int] | None = None) -> Value:
    dims = axes([dim] if isinstance(dim, int) else dim, self.rank)
    return b.reshape(self, [size for d, size in enumerate(self.shape) if d not in dims or size != 1])


@emits("permute.default")
def permute(b: Builder, self: Value, dims: Sequence[int]) -> Value:
    return b.transpose(self, [axis(dim, self.rank) for dim in dims])


@emits("transpose.int", "swapaxes.default", "swapdims.default")
def transpose(
    b: Builder, self: Value, dim0: int = 0, dim1: int = 1, axis0: int | None = None, axis1: int | None = None
) -> Value:
    order = list(range(self.rank))
    x, y = axis(dim0 if axis0 is None else axis0, self.rank), axis(dim1 if axis1 is None else axis1, self.rank)
    if self.rank:
        order[x], order[y] = y, x
    return b.transpose(self, order)


@emits("t.default", "numpy_T.default", "mT.default", "matrix_H.default")
def transpose_matrix(b: Builder, self: Value) -> Value:
    return transpose(b, self, -2, -1) if self.rank >= 2 else self


@emits("movedim.int", "movedim.intlist")
def movedim(b: Builder, self: Value, source: int | Sequence[int], destination: int | Sequence[int]) -> Value:
    sources = [source] if isinstance(source, int) else source
    targets = [destination] if isinstance(destination, int) else destination
    placed = {axis(d, self.rank): axis(s, self.rank) for s, d in zip(sources, targets)}
    rest = iter([d for d in range(self.rank) if d not in placed.values()])
    return b.transpose(self, [placed[d] if d in placed else next(rest) for d in range(self.rank)])


@emits("expand.default", "broadcast_to.default")
def expand(b: Builder, self: Value, size: Sequence[int]) -> Value:
    offset = len(size) - self.rank
    return b.broadcast_to(self, [self.shape[d - offset] if extent == -1 else extent for d, extent in enumerate(size)])


@emits("expand_as.default")
def expand_as(b: Builder, self: Value, other: Value) -> Value:
    return b.broadcast_to(self, other.shape)


@emits("broadcast_tensors.default")
def broadcast_tensors(b: Builder, tensors: Sequence[Value]) -> list[Value]:
    shape: tuple[int, ...] = ()
    for x in tensors:
        shape = broadcast_shape(shape, x.shape)
    return [b.broadcast_to(x, shape) for x in tensors]


@emits("repeat.default")
def repeat(b: Builder, self: Value, repeats: Sequence[int]) -> Value:
    x = b.reshape(self, (1,) * (len(repeats) - self.rank) + self.shape)
    if all(count == 1 for count in repeats):
        return x
    paired = [extent for count, size in zip(repeats, x.shape) for extent in (count, size)]
    tiled = b.broadcast(x, paired, range(1, 2 * x.rank, 2))
    return b.reshape(tiled, [count * size for count, size in zip(repeats, x.shape)])


@emits("repeat_interleave.self_int")
def repeat_interleave(
    b: Builder, self: Value, repeats: int, dim: int | None = None, output_size: int | None = None
) -> Value:
    x = b.reshape(self, (self.type.numel,)) if dim is None else self
    dim = axis(dim or 0, x.rank)
    shape = x.shape[: dim + 1] + (repeats,) + x.shape[dim + 1 :]
    tiled = b.broadcast(x, shape, [d for d in range(x.rank + 1) if d != dim + 1])
    return b.reshape(tiled, x.shape[:dim] + (x.shape[dim] * repeats,) + x.shape[dim + 1 :])


# -- parts --------------------------------------------------------------------------------------------------------


@emits("slice.Tensor")
def slice_(
    b: Builder, self: Value, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Value:
    dim = axis(dim, self.rank)
    first, limit, _ = slice(start, end).indices(self.shape[dim])
    return b.slice_dim(self, dim, first, limit, step)


@emits("narrow.default")
def narrow(b: Builder, self: Value, dim: int, start: int, length: int) -> Value:
    dim = axis(dim, self.rank)
    first = start + self.shape[dim] if start < 0 else start
    return b.slice_dim(self, dim, first, first + length)


@emits("select.int")
def select(b: Builder, self: Value, dim: int, index: int) -> Value:
    dim = axis(dim, self.rank)
    first = axis(index, self.shape[dim])
    return b.reshape(b.slice_dim(self, dim, first, first + 1), self.shape[:dim] + self.shape[dim + 1 :])


@emits("split_with_sizes.default", "split.sizes")
def split_with_sizes(
    b: Builder, self: Value, split_sizes: Sequence[int] = (), dim: int = 0, split_size: Sequence[int] = ()
) -> list[Value]:
    dim, parts, first = axis(dim, self.rank), [], 0
    for extent in split_sizes or split_size:
        parts.append(b.slice_dim(self, dim, first, first + extent))
        first += extent
    return parts


@emits("split.Tensor")
def split(b: Builder, self: Value, split_size: int, dim: int = 0) -> list[Value]:
    extent = self.shape[axis(dim, self.rank)]
    sizes = [min(split_size, extent - first) for first in range(0, extent, split_size)]
    return split_with_sizes(b, self, sizes, dim)


@emits("chunk.default")
def chunk(b: Builder, self: Value, chunks: int, dim: int = 0) -> list[Value]:
    extent = self.shape[axis(dim, self.rank)]
    return split(b, self, max(1, -(-extent // chunks)), dim)


@emits("unbind.int")
def unbind(b: Builder, self: Value, dim: int = 0) -> list[Value]:
    return [select(b, self, dim, index) for index in range(self.shape[axis(dim, self.rank)])]


@emits("repeat_interleave.Tensor", "repeat_interleave.self_Tensor")
def repeat_interleave_by(
    b: Builder, repeats: Value, self: Value | None = None, dim: int | None = None, output_size: int | None = None
) -> Value:
    """Each element as often as `repeats` says; how many there are together must be known."""
    if output_size is None:
        raise HoneError("repeat_interleave by a tensor needs output_size: its size must not depend on the data")
    # Place i of the result belongs to the element before which all others have fewer than i + 1 places together.
    ends = b.cumsum(b.cast(repeats, "i64"), 0)
    shape = Type("i64", (output_size, repeats.type.numel))
    is_past = b.compare("le", b.broadcast(ends, shape.shape, [1]), b.iota(0, shape))
    ids = b.reduce("sum", b.cast(is_past, "i64"), [1])
    if self is None:
        return ids
    x = b.reshape(self, (self.type.numel,)) if dim is None else self
    at = axis(dim or 0, x.rank)
    shape = x.shape[:at] + (output_size,) + x.shape[at + 1 :]
    return b.take_along(x, b.broadcast(ids, shape, [at]), at)


@emits("slice_scatter.default")
def slice_scatter(
    b: Builder, self: Value, src: Value, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Value:
    """`self` with a slice replaced."""
    dim = axis(dim, self.rank)
    first, limit, _ = slice(start, end).indices(self.shape[dim])
    if step != 1 and src.shape[dim] > 1:
        return _every_nth_replaced(b, self, b.cast(src, self.dtype), dim, first, step)
    limit = first + src.shape[dim]
    parts = [
        b.slice_dim(self, dim, 0, first),
        b.cast(src, self.dtype),
        b.slice_dim(self, dim, max(first, limit), self.shape[dim]),
    ]
    return b.concat([x for x in parts if x.shape[dim]] or [self], dim)


def _every_nth_replaced(b: Builder, self: Value, src: Value, dim: int, first: int, step: int) -> Value:
    """`self` with the elements of `src` along `dim`, from `first` on, `step` apart."""
    count, size = src.shape[dim], self.shape[dim]
    high = size - first - (count - 1) * step - 1
    at = lambda n: [n if d == dim else 0 for d in range(self.rank)]
    placed = b.pad(src, at(first), at(high), at(step - 1))
    marks = b.pad(b.splat(1, Type("f32", (count,))), (first,), (high,), (step - 1,))
    is_placed = b.compare("ne", marks, b.splat(0, marks.type))
    is_placed = b.reshape(is_placed, [size if d == dim else 1 for d in range(self.rank)])
    return b.select(is_placed, placed, self)


@emits("select_scatter.default")
def select_scatter(b: Builder, self: Value, src: Value, dim: int, index: int) -> Value:
    dim = axis(dim, self.rank)
    first = axis(index, self.shape[dim])
    return slice_scatter(b, self, unsqueeze(b, src, dim), dim, first, first + 1)


@emits("cat.default", "concat.default")
def cat(b: Builder, tensors: Sequence[Value], dim: int = 0) -> Value:
    dtype = common_dtype(*tensors)
    parts = [b.cast(x, dtype) for x in tensors if x.shape != (0,)] or [b.cast(tensors[0], dtype)]
    return b.concat(parts, axis(dim, parts[0].rank))


@emits("stack.default")
def stack(b: Builder, tensors: Sequence[Value], dim: int = 0) -> Value:
    return cat(b, [unsqueeze(b, x, dim) for x in tensors], dim)


@emits("roll.default")
def roll(b: Builder, self: Value, shifts: Sequence[int] | int, dims: Sequence[int] | int = ()) -> Value:
    shifts = [shifts] if isinstance(shifts, int) else shifts
    dims = [dims] if isinstance(dims, int) else dims
    if not dims:
        return b.reshape(roll(b, b.reshape(self, (math.prod(self.shape),)), shifts, [0]), self.shape)
    for shift, dim in zip(shifts, dims):
        dim = axis(dim, self.rank)
        extent = self.shape[dim]
        if extent and shift % extent:
            first = extent - shift % extent
            self = b.concat([b.slice_dim(self, dim, first, extent), b.slice_dim(self, dim, 0, first)], dim)
    return self


@emits("flip.default")
def flip(b: Builder, self: Value, dims: Sequence[int]) -> Value:
    """Elements in reverse order along `dims`: each is taken from the other end."""
    x = self
    for dim in dims:
        at = axis(dim, x.rank)
        place = Type("i64", x.shape)
        x = b.take_along(x, b.binary("sub", b.splat(x.shape[at] - 1, place), b.iota(at, place)), at)
    return x


@emits("diagonal.default", "diagonal_copy.default")
def diagonal(b: Builder, self: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    """The diagonal of two dimensions, as the last one: every (columns + 1)-th element of the joined rows."""
    first, second = axis(dim1, self.rank), axis(dim2, self.rank)
    outer = [d for d in range(self.rank) if d not in (first, second)]
    rows, columns = self.shape[first], self.shape[second]
    count = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    x = b.transpose(self, [*outer, first, second])
    flat = b.reshape(x, x.shape[:-2] + (rows * columns,))
    start = offset if offset >= 0 else -offset * columns
    last = start + (count - 1) * (columns + 1) + 1 if count else start
    return b.slice_dim(flat, flat.rank - 1, start, last, columns + 1)


@emits("unfold.default")
def unfold(b: Builder, self: Value, dimension: int, size: int, step: int) -> Value:
    """Windows of `size` elements along a dimension, `step` apart, as a new last dimension."""
    dim = axis(dimension, self.rank)
    count = (self.shape[dim] - size) // step + 1
    taps = [b.slice_dim(self, dim, at, at + (count - 1) * step + 1, step) for at in range(size)]
    return b.concat([unsqueeze(b, tap, self.rank) for tap in taps], self.rank)


@emits("as_strided.default")
def as_strided(
    b: Builder, self: Value, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Value:
    """Elements of a tensor that lies in one piece from the start of its memory, by their places there."""
    index = Type("i64", tuple(size))
    place = b.splat(storage_offset or 0, index)
    for d, step in enumerate(stride):
        place = b.binary("add", place, b.scale(b.iota(d, index), step))
    flat = b.reshape(self, (self.type.numel,))
    return b.reshape(b.take_along(flat, b.reshape(place, (index.numel,)), 0), size)


@emits("meshgrid.default", "meshgrid.indexing")
def meshgrid(b: Builder, tensors: Sequence[Value], indexing: str = "ij") -> list[Value]:
    order = list(range(len(tensors)))
    if indexing == "xy" and len(tensors) > 1:
        order[0], order[1] = 1, 0
    shape = [tensors[i].type.numel for i in order]
    return [b.broadcast(b.reshape(x, (x.type.numel,)), shape, [order.index(i)]) for i, x in enumerate(tensors)]


@emits("constant_pad_nd.default", "pad.default")
def pad(b: Builder, self: Value, pad: Sequence[int], value: Operand | None = 0, mode: str = "constant") -> Value:
    if mode == "circular":
        return _wrapped(b, self, pad)
    if mode != "constant":
        raise UseDefinition(f"padding of mode '{mode}'")
    low, high = [0] * self.rank, [0] * self.rank
    for k in range(len(pad) // 2):
        low[self.rank - 1 - k], high[self.rank - 1 - k] = pad[2 * k], pad[2 * k + 1]
    x = self
    for d in range(self.rank):  # negative amounts cut off
        x = b.slice_dim(x, d, max(0, -low[d]), x.shape[d] - max(0, -high[d]))
    low, high = [max(0, n) for n in low], [max(0, n) for n in high]
    if not value:
        return b.pad(x, low, high)
    for d in range(self.rank):
        border = lambda size: [b.splat(value, Type(x.dtype, x.shape[:d] + (size,) + x.shape[d + 1 :]))] if size else []
        x = b.concat([*border(low[d]), x, *border(high[d])], d)
    return x


def _wrapped(b: Builder, x: Value, pad: Sequence[int]) -> Value:
    """Each end continued by what is at the other end."""
    for k in range(len(pad) // 2):
        dim, low, high = x.rank - 1 - k, pad[2 * k], pad[2 * k + 1]
        size = x.shape[dim]
        if min(low, high) < 0 or max(low, high) > size:
            raise HoneError(f"circular padding by {low} and {high} of {size} elements is not supported")
        parts = [b.slice_dim(x, dim, size - low, size), x, b.slice_dim(x, dim, 0, high)]
        x = b.concat([part for part in parts if part.shape[dim]], dim)
    return x


# -- creation -----------------------------------------------------------------------------------------------------


@emits("arange.default", "arange.start", "arange.start_step")
def arange(b: Builder, end: Operand, start: Operand = 0, step: Operand = 1, dtype: str | None = None) -> Value:
    whole = all(isinstance(number, int) for number in (start, end, step))
    dtype = dtype or ("i64" if whole else "f32")
    count = max(0, -(-(end - start) // step)) if whole else max(0, int(-(-(end - start) // step)))
    result = b.scale(b.iota(0, Type(dtype, (count,))), step)
    return result if start == 0 else b.binary("add", result, b.splat(start, result.type))


@emits("linspace.default")
def linspace(b: Builder, start: Operand, end: Operand, steps: int, dtype: str | None = None) -> Value:
    """`steps` numbers from `start` to `end`, counted from the nearer end as PyTorch does, so that both are exact."""
    type = Type(dtype or "f32", (steps,))
    step = (end - start) / max(1, steps - 1)
    place = b.iota(0, type)
    upward = b.binary("add", b.scale(place, step), b.splat(start, type))
    downward = b.binary("sub", b.splat(end, type), b.scale(b.binary("sub", b.splat(steps - 1, type), place), step))
    return b.select(b.compare("lt", place, b.splat(steps // 2, type)), upward, downward)


@emits("logspace.default")
def logspace(
    b: Builder, start: Operand, end: Operand, steps: int, base: float = 10.0, dtype: str | None = None
) -> Value:
    exponents = linspace(b, start, end, steps, dtype)
    return b.unary("exp", b.scale(exponents, math.log(base)))


@emits("full.default", "new_full.default")
def full(
    b: Builder, size: Sequence[int], fill_value: Operand, dtype: str | None = None, self: Value | None = None
) -> Value:
    default = self.dtype if self is not None else scalar_dtype(fill_value)
    return b.splat(fill_value, Type(dtype or default, tuple(size)))


@emits("full_like.default")
def full_like(b: Builder, self: Value, fill_value: Operand, dtype: str | None = None) -> Value:
    return b.splat(fill_value, Type(dtype or self.dtype, self.shape))


def _filled(name: str, number: int) -> None:
    @emits(f"{name}.default", f"new_{name}.default")
    def filled(b: Builder, size: Sequence[int], dtype: str | None = None, self: Value | None = None) -> Value:
        return b.splat(number, Type(dtype or (self.dtype if self is not None else "f32"), tuple(size)))

    @emits(f"{name}_like.default")
    def like(b: Builder, self: Value, dtype: str | None = None) -> Value:
        return b.splat(number, Type(dtype or self.dtype, self.shape))


_filled("zeros", 0)
_filled("ones", 1)


_LARGEST_INTEGER = {"i64": 2**63 - 1, "i32": 2**31 - 1, "i8": 127, "i1": 1}


def _unwritten(b: Builder, type: Type) -> Value:
    """Elements that the program is to write before it reads them: NaN, or the largest integer, where it does not.

    PyTorch fills such memory so too, where it is asked for reproducible results.
    """
    return b.splat(_LARGEST_INTEGER.get(type.dtype, math.nan), type)


@emits(
    *("empty.memory_format", "new_empty.default", "empty_permuted.default"),
    *("empty_strided.default", "new_empty_strided.default"),
)
def empty(
    b: Builder,
    size: Sequence[int],
    dtype: str | None = None,
    self: Value | None = None,
    stride: Sequence[int] | None = None,
    physical_layout: Sequence[int] = (),
) -> Value:
    return _unwritten(b, Type(dtype or (self.dtype if self is not None else "f32"), tuple(size)))


@emits("empty_like.default")
def empty_like(b: Builder, self: Value, dtype: str | None = None) -> Value:
    return _unwritten(b, Type(dtype or self.dtype, self.shape))


@emits("scalar_tensor.default")
def scalar_tensor(b: Builder, s: Operand, dtype: str | None = None) -> Value:
    return b.splat(s, Type(dtype or "f32", ()))


@emits("eye.default", "eye.m")
def eye(b: Builder, n: int, m: int | None = None, dtype: str | None = None) -> Value:
    shape = Type("i64", (n, n if m is None else m))
    return b.cast(b.compare("eq", b.iota(0, shape), b.iota(1, shape)), dtype or "f32")


def _triangle(name: str, is_inside) -> None:
    @emits(f"{name}_indices.default")
    def emitter(b: Builder, row: int, col: int, offset: int = 0, dtype: str | None = None) -> Value:
        """Rows and columns [2, n] of the places of a triangle, row by row."""
        places = [(i, j) for i in range(row) for j in range(col) if is_inside(j - i, offset)]
        return b.constant([place[k] for k in (0, 1) for place in places], Type(dtype or "i64", (2, len(places))))


_triangle("tril", lambda distance, offset: distance <= offset)
_triangle("triu", lambda distance, offset: distance >= offset)


@emits("one_hot.default")
def one_hot(b: Builder, self: Value, num_classes: int = -1) -> Value:
    if num_classes < 0:
        raise HoneError("one_hot needs num_classes: its size must not depend on the data")
    return b.cast(is_class(b, self, num_classes), "i64")


def is_class(b: Builder, ids: Value, classes: int) -> Value:
    """ids [...] -> [..., classes]: true at the class of each id."""
    shape = Type(ids.dtype, ids.shape + (classes,))
    return b.compare("eq", b.iota(ids.rank, shape), b.broadcast(ids, shape.shape, range(ids.rank)))
