"""ATen overloads that order elements, and that read or write elements at places given by tensors of indices."""

from __future__ import annotations

from math import prod
from typing import Sequence

from ..builder import Builder, broadcast_shape
from ..errors import HoneError
from ..graph import Type, Value, is_float
from ..source import SHAPE
from .promote import Operand, common_dtype
from .registry import emits
from .shape import axis

# -- order --------------------------------------------------------------------------------------------------------


def _as_line(b: Builder, x: Value) -> Value:
    """A tensor without dimensions as a line of one element."""
    return b.reshape(x, (1,)) if x.rank == 0 else x


def _numbers(b: Builder, x: Value) -> Value:
    """Booleans as integers, whose order they have."""
    return b.cast(x, "i8") if x.dtype == "i1" else x


@emits("topk.default")
def topk(b: Builder, self: Value, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> list[Value]:
    x = _as_line(b, self)
    dim = axis(dim, x.rank)
    ids = b.topk(_numbers(b, b.stop_gradient(x)), k, dim, smallest=not largest)
    shape = self.shape and ids.shape
    return [b.reshape(b.take_along(x, ids, dim), shape), b.reshape(ids, shape)]


@emits("sort.default", "sort.stable")
def sort(
    b: Builder, self: Value, dim: int = -1, descending: bool = False, stable: bool | None = None
) -> list[Value]:
    x = _as_line(b, self)
    dim = axis(dim, x.rank)
    ids = b.argsort(_numbers(b, b.stop_gradient(x)), dim, descending)
    return [b.reshape(b.take_along(x, ids, dim), self.shape), b.reshape(ids, self.shape)]


@emits("argsort.default", "argsort.stable")
def argsort(b: Builder, self: Value, dim: int = -1, descending: bool = False, stable: bool = True) -> Value:
    return sort(b, self, dim, descending)[1]


@emits("msort.default")
def msort(b: Builder, self: Value) -> Value:
    return sort(b, self, 0)[0]


@emits("kthvalue.default")
def kthvalue(b: Builder, self: Value, k: int, dim: int = -1, keepdim: bool = False) -> list[Value]:
    """The k-th smallest element of each line, counted from 1, and its index."""
    x = _as_line(b, self)
    dim = axis(dim, x.rank)
    ids = b.topk(_numbers(b, b.stop_gradient(x)), k, dim, smallest=True)
    last = b.slice_dim(ids, dim, k - 1, k)
    keeps = keepdim and self.rank > 0
    shape = last.shape if keeps else last.shape[:dim] + last.shape[dim + 1 :]
    return [b.reshape(b.take_along(x, last, dim), shape), b.reshape(last, shape)]


@emits("median.dim")
def median(b: Builder, self: Value, dim: int, keepdim: bool = False) -> list[Value]:
    x = _as_line(b, self)
    return kthvalue(b, self, (x.shape[axis(dim, x.rank)] + 1) // 2, dim, keepdim)


@emits("median.default")
def median_of_all(b: Builder, self: Value) -> Value:
    return kthvalue(b, b.reshape(self, (self.type.numel,)), (self.type.numel + 1) // 2, 0)[0]


# -- reading ------------------------------------------------------------------------------------------------------


def _narrowed(b: Builder, x: Value, shape: Sequence[int], dim: int) -> Value:
    """The first elements of `x` along every dimension but `dim`, as many as `shape` has."""
    for d, size in enumerate(shape):
        if d != dim:
            x = b.slice_dim(x, d, 0, size)
    return x


@emits("gather.default")
def gather(b: Builder, self: Value, dim: int, index: Value, sparse_grad: bool = False) -> Value:
    """`self` read at `index` along `dim`, at the index's own place along the others."""
    if self.rank == 0:
        return b.reshape(gather(b, b.reshape(self, (1,)), 0, b.reshape(index, (1,))), ())
    dim = axis(dim, self.rank)
    if (element := b.fill_of(self)) is not None:
        return b.splat(element, Type(self.dtype, index.shape))
    if is_float(self.dtype) and index.shape == self.shape[:dim] + (1,) + self.shape[dim + 1 :]:
        # One element per row, as in a loss written by hand: a masked sum, whose gradient needs no scatter.
        position = b.iota(dim, Type(index.dtype, self.shape))
        picked = b.select(b.compare("eq", position, index), self, b.splat(0, self.type))
        return b.reduce("sum", picked, [dim], True)
    return b.take_along(_narrowed(b, self, index.shape, dim), index, dim)


@emits("take_along_dim.default")
def take_along_dim(b: Builder, self: Value, indices: Value, dim: int | None = None) -> Value:
    if dim is None:
        return b.take_along(b.reshape(self, (self.type.numel,)), b.reshape(indices, (indices.type.numel,)), 0)
    dim = axis(dim, self.rank)
    at = lambda shape, size: shape[:dim] + (size,) + shape[dim + 1 :]
    shape = broadcast_shape(at(self.shape, 1), at(indices.shape, 1))
    x = b.broadcast_to(self, at(shape, self.shape[dim]))
    return b.take_along(x, b.broadcast_to(indices, at(shape, indices.shape[dim])), dim)


# -- writing ------------------------------------------------------------------------------------------------------


def _written(b: Builder, self: Value, updates: Value, ids: Value, dim: int) -> Value:
    """`self` with `updates` [ids' shape] at `ids` along `dim`; of several for one place the last."""
    size = self.shape[dim]
    winner = b.put_along("max", b.iota(dim, Type("i64", ids.shape)), ids, size, dim)
    is_written = b.compare("ge", winner, b.splat(0, winner.type))
    winner = b.binary("max", winner, b.splat(0, winner.type))
    return b.select(is_written, b.take_along(b.cast(updates, self.dtype), winner, dim), self)


def _added(b: Builder, self: Value, updates: Value, ids: Value, dim: int) -> Value:
    return b.binary("add", self, b.put_along("sum", b.cast(updates, self.dtype), ids, self.shape[dim], dim))


def _over_corner(b: Builder, self: Value, shape: Sequence[int], dim: int, change) -> Value:
    """`change` applied to the first elements of `self` along every dimension but `dim`, as many as `shape` has."""
    corner = _narrowed(b, self, shape, dim)
    changed = change(corner)
    if corner.shape == self.shape:
        return changed
    high = [size - inner for size, inner in zip(self.shape, changed.shape)]
    low = [0] * self.rank
    marks = b.pad(b.splat(1, Type("f32", changed.shape)), low, high)
    return b.select(b.compare("ne", marks, b.splat(0, marks.type)), b.pad(changed, low, high), self)


def _scattered(b: Builder, self: Value, dim: int, index: Value, src: Operand, write) -> Value:
    """`write(part of self, updates, ids, dim)` where ATen's scatter overloads write."""
    if self.rank == 0:
        flat = _scattered(b, b.reshape(self, (1,)), 0, _as_line(b, index), src, write)
        return b.reshape(flat, ())
    dim = axis(dim, self.rank)
    if index.type.numel == 0:
        return self
    if isinstance(src, Value):
        src = _narrowed(b, _as_line(b, src), index.shape, dim)
        src = b.slice_dim(src, dim, 0, index.shape[dim])
    else:
        src = b.splat(src, Type(self.dtype, index.shape))
    return _over_corner(b, self, index.shape, dim, lambda corner: write(b, corner, src, index, dim))


@emits("scatter.src", "scatter.value")
def scatter(
    b: Builder, self: Value, dim: int, index: Value, src: Value | None = None, value: Operand = 0
) -> Value:
    """Of several elements for one place PyTorch leaves open which is taken; here it is the last."""
    return _scattered(b, self, dim, index, value if src is None else src, _written)


@emits("scatter_add.default")
def scatter_add(b: Builder, self: Value, dim: int, index: Value, src: Value) -> Value:
    return _scattered(b, self, dim, index, src, _added)


@emits("scatter_reduce.two", "scatter.reduce")
def scatter_reduce(
    b: Builder, self: Value, dim: int, index: Value, src: Value, reduce: str, include_self: bool = True
) -> Value:
    """Sums, means, and extremes, whose gradient the elements that are equal to one share."""
    if reduce in ("amax", "amin"):
        extreme = lambda b, corner, updates, ids, dim: _extreme(b, reduce[1:], corner, updates, ids, dim, include_self)
        return _scattered(b, self, dim, index, src, extreme)
    if reduce not in ("sum", "add", "mean"):
        raise HoneError(f"a scatter that combines by '{reduce}' is not supported, only by sum, mean, amax and amin")

    def write(b: Builder, corner: Value, updates: Value, ids: Value, dim: int) -> Value:
        size = corner.shape[dim]
        total = b.put_along("sum", b.cast(updates, corner.dtype), ids, size, dim)
        counts = b.put_along("sum", b.splat(1, Type(corner.dtype, ids.shape)), ids, size, dim)
        zero, one = b.splat(0, counts.type), b.splat(1, counts.type)
        is_touched = b.compare("ne", counts, zero)
        base = corner if include_self else b.select(is_touched, zero, corner)
        total = b.binary("add", base, total)
        if reduce != "mean":
            return total
        divisor = b.binary("add", counts, one) if include_self else b.binary("max", counts, one)
        return b.binary("div", total, divisor)

    return _scattered(b, self, dim, index, src, write)


def _extreme(
    b: Builder, kind: str, corner: Value, updates: Value, ids: Value, dim: int, include_self: bool
) -> Value:
    """`corner`, and where `updates` [ids' shape] have a place in it the extreme of these, and of `corner` if included.
    """
    updates, size = b.cast(updates, corner.dtype), corner.shape[dim]
    touched = b.put_along("sum", b.splat(1, Type("i64", ids.shape)), ids, size, dim)
    is_touched = b.compare("ne", touched, b.splat(0, touched.type))
    of_updates = b.put_along(kind, b.stop_gradient(updates), ids, size, dim)
    seen = b.binary(kind, b.stop_gradient(corner), of_updates) if include_self else of_updates
    result = b.select(is_touched, seen, b.stop_gradient(corner))
    if not b.is_differentiable(corner) and not b.is_differentiable(updates):
        return result
    zero, one = b.splat(0, corner.type), b.splat(1, corner.type)
    has_it = b.cast(b.compare("eq", b.stop_gradient(updates), b.take_along(result, ids, dim)), corner.dtype)
    is_own = b.compare("eq", b.stop_gradient(corner), result)
    counts = b.select(is_own, one, zero) if include_self else b.select(is_touched, zero, one)
    own = counts
    counts = b.binary("add", counts, b.put_along("sum", has_it, ids, size, dim))
    share = b.binary("div", has_it, b.take_along(counts, ids, dim))
    mixed = b.binary("add", b.binary("mul", corner, b.binary("div", own, counts)),
                     b.put_along("sum", b.binary("mul", updates, share), ids, size, dim))
    # The extreme itself, with the gradient of the mean of those that are equal to it.
    return b.binary("add", result, b.binary("sub", mixed, b.stop_gradient(mixed)))


def _along_dim(b: Builder, index: Value, shape: Sequence[int], dim: int) -> Value:
    """Indices [n] or [] of slices along `dim`, as indices of every element of tensors of `shape`."""
    return b.broadcast(_as_line(b, index), shape, [dim])


@emits("index_add.default")
def index_add(b: Builder, self: Value, dim: int, index: Value, source: Value, alpha: Operand = 1) -> Value:
    x, updates = _as_line(b, self), b.scale(_as_line(b, source), alpha)
    dim = axis(dim, x.rank)
    return b.reshape(_added(b, x, updates, _along_dim(b, index, updates.shape, dim), dim), self.shape)


@emits("index_copy.default")
def index_copy(b: Builder, self: Value, dim: int, index: Value, source: Value) -> Value:
    x, updates = _as_line(b, self), _as_line(b, source)
    dim = axis(dim, x.rank)
    return b.reshape(_written(b, x, updates, _along_dim(b, index, updates.shape, dim), dim), self.shape)


@emits("index_fill.int_Scalar", "index_fill.int_Tensor")
def index_fill(b: Builder, self: Value, dim: int, index: Value, value: Operand) -> Value:
    x, index = _as_line(b, self), _as_line(b, index)
    dim = axis(dim, x.rank)
    shape = x.shape[:dim] + index.shape + x.shape[dim + 1 :]
    value = value if isinstance(value, Value) else b.splat(value, Type(x.dtype, ()))
    updates = b.broadcast_to(b.cast(value, x.dtype), shape)
    return b.reshape(_written(b, x, updates, _along_dim(b, index, shape, dim), dim), self.shape)


@emits("index_put.default")
def index_put(
    b: Builder, self: Value, indices: Sequence[Value | None], values: Value, accumulate: bool = False
) -> Value:
    """Integer indices for neighbouring dimensions, which must not be negative; or one mask, of leading dimensions."""
    places = [d for d, ids in enumerate(indices) if ids is not None]
    given = [indices[d] for d in places]
    if any(ids.dtype == "i1" for ids in given):
        return _masked(b, self, places, given, values, accumulate)
    if places != list(range(places[0], places[-1] + 1)):
        raise HoneError("writing by tensors of indices is supported for neighbouring dimensions only")
    first, last = places[0], places[-1] + 1
    shape: tuple[int, ...] = ()
    for ids in given:
        shape = broadcast_shape(shape, ids.shape)
    flat = b.splat(0, Type("i64", shape))
    for d, ids in zip(places, given):
        flat = b.binary("add", b.scale(flat, self.shape[d]), b.cast(ids, "i64"))
    outer, inner = self.shape[:first], self.shape[last:]
    updates = b.reshape(b.broadcast_to(values, outer + shape + inner), outer + (prod(shape),) + inner)
    x = b.reshape(self, outer + (prod(self.shape[first:last]),) + inner)
    ids = _along_dim(b, b.reshape(flat, (prod(shape),)), updates.shape, first)
    write = _added if accumulate else _written
    return b.reshape(write(b, x, updates, ids, first), self.shape)


def _masked(
    b: Builder, self: Value, places: Sequence[int], given: Sequence[Value], values: Value, accumulate: bool
) -> Value:
    """`self[mask] = values` for values that are equal for all masked places."""
    if len(given) != 1 or places != [0]:
        raise HoneError("writing by a mask together with other indices is not supported")
    mask, inner = given[0], self.shape[given[0].rank :]
    if values.rank > len(inner):
        if values.shape[: values.rank - len(inner)] != (1,) * (values.rank - len(inner)):
            raise HoneError(SHAPE)
        values = b.reshape(values, values.shape[values.rank - len(inner) :])
    mask = b.reshape(mask, mask.shape + (1,) * len(inner))
    updates = b.broadcast_to(b.cast(values, self.dtype), self.shape)
    if accumulate:
        updates = b.binary("add", self, updates)
    return b.select(mask, updates, self)


@emits("masked_scatter.default")
def masked_scatter(b: Builder, self: Value, mask: Value, source: Value) -> Value:
    """The masked elements in order are the first ones of `source`."""
    shape = broadcast_shape(self.shape, mask.shape)
    x, mask = b.broadcast_to(self, shape), b.broadcast_to(mask, shape)
    order = b.cumsum(b.cast(b.reshape(mask, (prod(shape),)), "i64"), 0)
    place = b.binary("sub", order, b.splat(1, order.type))
    place = b.binary("max", place, b.splat(0, order.type))
    place = b.binary("min", place, b.splat(max(source.type.numel - 1, 0), order.type))
    elements = b.take_along(b.reshape(b.cast(source, x.dtype), (source.type.numel,)), place, 0)
    return b.select(mask, b.reshape(elements, shape), x)


# -- counting -----------------------------------------------------------------------------------------------------


@emits("histc.default")
def histc(b: Builder, self: Value, bins: int = 100, min: Operand = 0, max: Operand = 0) -> Value:
    """Counts of elements in `bins` equal parts of [min, max], its end included."""
    if min == max:
        raise HoneError("histc needs min and max: its bins must not depend on the data")
    x = b.reshape(b.stop_gradient(self), (self.type.numel,))
    low, high = b.splat(min, x.type), b.splat(max, x.type)
    is_inside = b.binary("and", b.compare("ge", x, low), b.compare("le", x, high))
    offset = b.select(is_inside, b.binary("sub", x, low), b.splat(0, x.type))
    wide = b.cast(offset, "f32") if not is_float(x.dtype) else offset
    place = b.binary("div", b.scale(wide, bins), b.splat(max - min, wide.type))
    bin_of = b.binary("min", b.cast(place, "i64"), b.splat(bins - 1, Type("i64", x.shape)))
    counts = b.put_along("sum", b.cast(is_inside, self.dtype), bin_of, bins, 0)
    return counts


def _place_in(b: Builder, boundaries: Value, values: Operand, right: bool, dtype: str) -> Value:
    """How many of the sorted boundaries [..., n] come before each value [..., m]; also those equal to it if `right`."""
    if not isinstance(values, Value):
        values = b.splat(values, Type(boundaries.dtype, ()))
    boundaries, values = (b.stop_gradient(x) for x in as_tensors_alone(b, boundaries, values))
    shape = values.shape + boundaries.shape[-1:]
    if boundaries.rank == 1:
        wide = b.broadcast(boundaries, shape, [len(shape) - 1])
    else:
        wide = b.broadcast(boundaries, shape, [*range(boundaries.rank - 1), len(shape) - 1])
    before = b.compare("le" if right else "lt", wide, b.broadcast(values, shape, range(values.rank)))
    return b.reduce("sum", b.cast(before, dtype), [len(shape) - 1])


def as_tensors_alone(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    """Both in the element type that they are compared in, each of its own shape."""
    dtype = common_dtype(x, y)
    return b.cast(x, dtype), b.cast(y, dtype)


@emits("searchsorted.Tensor", "searchsorted.Scalar")
def searchsorted(
    b: Builder,
    sorted_sequence: Value,
    self: Operand,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Value | None = None,
) -> Value:
    if sorter is not None:
        raise HoneError("searchsorted with a sorter is not supported: sort the sequence first")
    return _place_in(b, sorted_sequence, self, right or side == "right", "i32" if out_int32 else "i64")


@emits("bucketize.Tensor", "bucketize.Scalar")
def bucketize(b: Builder, self: Operand, boundaries: Value, out_int32: bool = False, right: bool = False) -> Value:
    return _place_in(b, boundaries, self, right, "i32" if out_int32 else "i64")
