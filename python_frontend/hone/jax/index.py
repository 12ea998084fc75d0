"""Primitives that read or write at places given by arrays of indices: gather and scatter.

Indices must lie in their array. jnp counts negative ones from the end, by a selection that stays in the graph; but not
before a table, x[ids], where the data must give indices from 0 on: the check of ids refuses others.
"""

from __future__ import annotations

import math
from typing import Any, Sequence

import numpy as np

from ..aten.selection import _added, _written
from ..builder import Builder
from ..errors import HoneError
from ..graph import Type, Value, is_float
from .registry import emits
from .sharing import SharingBuilder
from .walk import Operand, Walk


def _as_given(b: Builder, ids: Value) -> Value:
    """Indices without jnp's wrapping of negative ones, `select(ids < 0, ids + n, ids)`."""
    op = b.made_by.get(ids.id) if isinstance(b, SharingBuilder) else None
    if op is None:
        return ids
    if op.name in ("reshape", "broadcast"):
        source = _as_given(b, op.operands[0])
        if source is op.operands[0]:
            return ids
        return b.reshape(source, ids.shape) if op.name == "reshape" else b.broadcast(
            source, ids.shape, op.attribute("dims")
        )
    if op.name == "select":
        test, wrapped, plain = (b.made_by.get(x.id) for x in op.operands)
        if (
            test is not None and test.name == "cmp" and test.operands[0] == op.operands[2]
            and test.attribute("predicate").case == "lt" and b.fill_of(test.operands[1]) == 0
            and wrapped is not None and wrapped.name == "add" and wrapped.operands[0] == op.operands[2]
        ):
            return _as_given(b, op.operands[2])
    return ids


def _columns(w: Walk, ids: Operand, as_given: bool = False) -> list[Value]:
    """The indices [..., k] of k dimensions, each without the last dimension. `as_given`: those of a table, which checks
    that they are not negative, without the wrapping."""
    if not isinstance(ids, Value):
        return [w.value(np.ascontiguousarray(ids[..., i])) for i in range(ids.shape[-1])]
    op = w.b.made_by.get(ids.id) if isinstance(w.b, SharingBuilder) else None
    if op is not None and op.name == "concat" and op.attribute("dim") == ids.rank - 1:
        if all(x.shape[-1] == 1 for x in op.operands):
            return [w.b.reshape(x, x.shape[:-1]) for x in op.operands]
    last = ids.rank - 1
    parts = [w.b.slice_dim(ids, last, i, i + 1) for i in range(ids.shape[-1])]
    parts = [w.b.reshape(x, ids.shape[:-1]) for x in parts]
    return [_as_given(w.b, x) for x in parts] if as_given else parts


def _normal(ids: Operand, sizes: Sequence[int]) -> Operand:
    """Known indices moved inside the array, as JAX does for those that reach beyond it."""
    if isinstance(ids, Value):
        return ids
    return np.clip(ids, 0, np.asarray(sizes) - 1).astype(np.int64)


@emits("gather", raw=True)
def gather(w: Walk, e: Any, x: Operand, ids: Operand) -> Value:
    x, d, sizes = w.value(x), e.params["dimension_numbers"], e.params["slice_sizes"]
    places = d.start_index_map
    ids = _normal(ids, [x.shape[a] for a in places])
    if not isinstance(ids, Value) and ids.size == len(places) and not d.operand_batching_dims:
        return _sliced(w, e, x, [int(i) for i in ids.ravel()])
    columns = _columns(w, ids, as_given=len(places) == 1 and not d.operand_batching_dims)
    partial = [a for a in places if sizes[a] != 1]
    if any(sizes[a] != x.shape[a] for a in partial) or len(partial) == len(places) > 0:
        raise HoneError("takes slices of several elements at places that the data decides, which is not supported")
    kept = [(a, c) for a, c in zip(places, columns) if sizes[a] == 1]  # full slices can only start at 0
    if any(n != x.shape[a] for a, n in enumerate(sizes) if a not in [p for p, _ in kept] + [*d.operand_batching_dims]):
        raise HoneError("takes parts of other dimensions as well, which is not supported; slice first")
    axes = [a for a, _ in kept]
    if axes != list(range(axes[0], axes[0] + len(axes))):
        order = [*axes, *(a for a in range(x.rank) if a not in axes)]
        if d.operand_batching_dims:
            raise HoneError("indexes dimensions that are not neighbours, under batching dimensions")
        x, renamed = w.b.transpose(x, order), {a: order.index(a) for a in range(x.rank)}
    else:
        renamed = {a: a for a in range(x.rank)}
    flat = _flat(w, [x.shape[renamed[a]] for a in axes], [c for _, c in kept])
    return _read(w, e, x, [renamed[a] for a in axes], flat, renamed)


def _sliced(w: Walk, e: Any, x: Value, starts: list[int]) -> Value:
    """One slice, at a known place."""
    d, sizes = e.params["dimension_numbers"], e.params["slice_sizes"]
    first = dict(zip(d.start_index_map, starts))
    for a, size in enumerate(sizes):
        start = min(first.get(a, 0), x.shape[a] - size)
        x = w.b.slice_dim(x, a, start, start + size)
    return w.b.reshape(x, e.outvars[0].aval.shape)


def _flat(w: Walk, sizes: Sequence[int], columns: Sequence[Value]) -> Value:
    """Indices of several dimensions as those of the joined one."""
    flat = columns[0]
    for size, column in zip(sizes[1:], columns[1:]):
        flat = w.b.binary("add", w.b.scale(flat, size), column)
    return flat


def _read(w: Walk, e: Any, x: Value, axes: list[int], ids: Value, renamed: dict[int, int]) -> Value:
    """Elements of x at `ids` of the joined dimensions `axes`, in the order of dimensions that JAX gives them."""
    b, d = w.b, e.params["dimension_numbers"]
    batch = [renamed[a] for a in d.operand_batching_dims]
    of_ids = list(d.start_indices_batching_dims)
    rest = [a for a in range(x.rank) if a not in axes and a not in batch]
    rows = [a for a in range(ids.rank) if a not in of_ids]
    x = b.transpose(x, [*batch, *axes, *rest])
    lead, inner = [x.shape[i] for i in range(len(batch))], list(x.shape[len(batch) + len(axes) :])
    count, row_shape = math.prod(x.shape[len(batch) : len(batch) + len(axes)]), [ids.shape[a] for a in rows]
    ids = b.transpose(ids, [*of_ids, *rows])
    if not batch:
        table = b.reshape(x, (count, math.prod(inner)))
        w.lookups.add((ids.id, count))
        taken = b.reshape(b.embedding(table, ids), [*row_shape, *inner])
    else:
        taken = _along(w, b.reshape(x, [*lead, count, *inner]), ids, len(batch), math.prod(row_shape))
        taken = b.reshape(taken, [*lead, *row_shape, *inner])
    # taken: [batch, rows, rest]; in JAX's result dimensions of ids keep their order, and `rest` are the offsets.
    places = {("id", a): i for i, a in enumerate([*of_ids, *rows])}
    back = {new: old for old, new in renamed.items()}
    kept = sorted(back[a] for a in rest)
    places |= {("x", a): len(of_ids) + len(rows) + [back[r] for r in rest].index(a) for a in kept}
    shape = e.outvars[0].aval.shape
    ones = [back[a] for a in axes if back[a] not in d.collapsed_slice_dims]  # indexed dimensions kept with size 1
    offsets = iter(sorted([*kept, *ones]))
    leading, order = iter(range(ids.rank)), []
    for i in range(len(shape)):
        label = ("x", next(offsets)) if i in d.offset_dims else ("id", next(leading))
        if label in places:
            order.append(places[label])
    return b.reshape(b.transpose(taken, order), shape)


def _along(w: Walk, x: Value, ids: Value, dim: int, count: int) -> Value:
    """x [B..., n, F...] at ids [B..., R...] along dimension `dim` -> [B..., R, F...]."""
    b, inner = w.b, x.shape[dim + 1 :]
    ids = b.reshape(ids, [*x.shape[:dim], count])
    shape = (*x.shape[:dim], count, *inner)
    if count == 1 and is_float(x.dtype):
        # One element per row, as in a loss written by hand: a masked sum, whose gradient needs no scatter.
        place = b.broadcast(ids, (*x.shape[:dim], 1, *inner), range(dim + 1)) if inner else ids
        hit = b.compare("eq", b.iota(dim, Type(ids.dtype, x.shape)), place)
        return b.reduce("sum", b.select(hit, x, b.splat(0, x.type)), [dim], True)
    wide = b.broadcast(ids, shape, range(dim + 1)) if inner else ids
    return b.take_along(x, wide, dim)


@emits("scatter-add", "scatter", "scatter_add", raw=True)
def scatter(w: Walk, e: Any, x: Operand, ids: Operand, updates: Operand) -> Value:
    """Sums, or the last update for each place."""
    x, updates, d = w.value(x), w.value(updates), e.params["dimension_numbers"]
    axes, batch = list(d.scatter_dims_to_operand_dims), list(d.operand_batching_dims)
    window = [a for a in range(x.rank) if a not in d.inserted_window_dims and a not in batch]
    sizes = {a: updates.shape[u] for a, u in zip(window, d.update_window_dims)}
    full = {a: n for a, n in sizes.items() if n != x.shape[a]}
    if not isinstance(ids, Value) and ids.size == len(axes) and not batch:
        return _window_written(w, e, x, ids, updates, axes, sizes)
    if set(full) - set(axes) or any(sizes.get(a, 1) != 1 for a in axes):
        if batch:
            raise HoneError("writes blocks under batching dimensions, which is not supported")
        return _window_written(w, e, x, ids, updates, axes, sizes)
    columns = _scatter_columns(w, _normal(ids, [x.shape[a] for a in axes]), x, axes, batch)
    places = [w.b.iota(dim, columns[0].type) for dim in d.scatter_indices_batching_dims]
    axes, columns = [*batch, *axes], [*places, *columns]
    rest = [a for a in range(x.rank) if a not in axes]
    rows = [i for i in range(updates.rank) if i not in d.update_window_dims]
    place = dict(zip(window, d.update_window_dims))
    moved = w.b.transpose(updates, [*rows, *(place[a] for a in axes if a in place), *(place[a] for a in rest)])
    is_sum = e.primitive.name != "scatter"
    if is_sum and not rest and batch and len(axes) == len(batch) + 1 and is_float(x.dtype):
        lines = math.prod(x.shape[a] for a in batch)
        if columns[-1].type.numel == lines and list(d.scatter_indices_batching_dims) == list(range(len(batch))):
            return _one_per_line(w, x, moved, columns[-1], batch, axes[-1])
    flat = _flat(w, [x.shape[a] for a in axes], columns)
    inner = math.prod(x.shape[a] for a in rest)
    order = [*axes, *rest]
    table = w.b.reshape(w.b.transpose(x, order), (math.prod(x.shape[a] for a in axes), inner))
    moved, flat = w.b.reshape(moved, (flat.type.numel, inner)), w.b.reshape(flat, (flat.type.numel,))
    if is_sum and is_float(x.dtype) and inner > 1 and not w.b.is_differentiable(moved):
        found = w.b.embedding_bwd(moved, flat, table.shape[0])
        found = found if w.b.fill_of(table) == 0 else w.b.binary("add", table, found)
    else:
        wide = w.b.broadcast(flat, moved.shape, [0])
        found = (_added if is_sum else _written)(w.b, table, moved, wide, 0)
    result = w.b.reshape(found, [x.shape[a] for a in order])
    return w.b.transpose(result, [order.index(a) for a in range(x.rank)])


def _scatter_columns(w: Walk, ids: Operand, x: Value, axes: list[int], batch: list[int]) -> list[Value]:
    """The indices of each dimension; without jnp's wrapping where a lookup of as many rows reads the same ones, whose
    gradient this is."""
    if isinstance(ids, Value) and len(axes) == 1 and not batch:
        plain = _columns(w, ids, as_given=True)
        if (plain[0].id, x.shape[axes[0]]) in w.lookups:
            return plain
    return _columns(w, ids)


def _one_per_line(w: Walk, x: Value, updates: Value, ids: Value, batch: list[int], axis: int) -> Value:
    """x, and in each line along `axis` one element more: a selection. It is the gradient of one that was picked, as by
    a loss."""
    lines, sizes = sorted(batch), [x.shape[a] for a in batch]
    column = [n if a in batch else 1 for a, n in enumerate(x.shape)]

    def moved(v: Value) -> Value:
        v = w.b.transpose(w.b.reshape(v, sizes), [batch.index(a) for a in lines])
        return w.b.broadcast_to(w.b.reshape(v, column), x.shape)

    hit = w.b.compare("eq", w.b.iota(axis, Type(ids.dtype, x.shape)), moved(ids))
    found = w.b.select(hit, moved(w.b.cast(updates, x.dtype)), w.b.splat(0, x.type))
    return found if w.b.fill_of(x) == 0 else w.b.binary("add", x, found)


def _window_written(
    w: Walk, e: Any, x: Value, ids: Operand, updates: Value, axes: list[int], sizes: dict[int, int]
) -> Value:
    """A block of x, at a known place, as x.at[a:b].set(...) writes it."""
    if isinstance(ids, Value) or ids.size != len(axes):
        raise HoneError("writes blocks at places that the data decides, which is not supported")
    block = [sizes.get(a, 1) for a in range(x.rank)]
    start = {a: min(max(int(i), 0), x.shape[a] - block[a]) for a, i in zip(axes, ids.ravel())}
    low = [start.get(a, 0) for a in range(x.rank)]
    high = [n - s - l for n, s, l in zip(x.shape, block, low)]
    update = w.b.reshape(updates, block)
    wide = w.b.pad(update, low, high)
    if e.primitive.name != "scatter":
        return wide if w.b.fill_of(x) == 0 else w.b.binary("add", x, wide)
    marks = w.b.pad(w.b.splat(1, Type("i32", update.shape)), low, high)
    return w.b.select(w.b.compare("ne", marks, w.b.splat(0, marks.type)), wide, x)
