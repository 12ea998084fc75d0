"""ATen overloads of neural networks: contractions, embedding, norms, attention, dropout, losses."""

from __future__ import annotations

from typing import Sequence

from ..builder import Builder, broadcast_shape
from ..errors import HoneError, UseDefinition
from ..graph import Type, Value, is_float
from ..source import SHAPE
from .elementwise import add, mul, sub
from .promote import Operand, as_tensors
from .reduce import logsumexp, mean, sum_, vector_norm
from .registry import emits
from .shape import axis, is_class, unsqueeze

REDUCTIONS = ("none", "mean", "sum")  # ATen's enumeration

# Smallest difference from 1 in each type: the default epsilon of rms_norm.
_EPSILON = {"f64": 2.0**-52, "f32": 2.0**-23, "bf16": 2.0**-7, "f16": 2.0**-10}

# -- contractions -------------------------------------------------------------------------------------------------


@emits("linear.default")
def linear(b: Builder, input: Value, weight: Value, bias: Value | None = None) -> Value:
    """input [..., in], weight [out, in] or [in], bias [out] -> [..., out]."""
    result = b.dot_general(input, weight, ((), ()), ((input.rank - 1,), (weight.rank - 1,)))
    return result if bias is None else b.binary("add", result, bias)


@emits("mm.default", "bmm.default", "matmul.default", "dot.default", "mv.default")
def matmul(
    b: Builder,
    self: Value,
    other: Value | None = None,
    mat2: Value | None = None,
    tensor: Value | None = None,
    vec: Value | None = None,
) -> Value:
    """PyTorch's matmul: vectors contract, leading dimensions broadcast."""
    lhs, rhs = self, next(x for x in (other, mat2, tensor, vec) if x is not None)
    if rhs.rank <= 2:
        return b.dot_general(lhs, rhs, ((), ()), ((lhs.rank - 1,), (max(rhs.rank - 2, 0),)))
    if lhs.rank == 1:
        return b.reshape(
            product := matmul(b, b.reshape(lhs, (1,) + lhs.shape), rhs), product.shape[:-2] + product.shape[-1:]
        )
    leading = broadcast_shape(lhs.shape[:-2], rhs.shape[:-2])
    lhs, rhs = (b.broadcast_to(x, leading + x.shape[-2:]) for x in (lhs, rhs))
    batch = tuple(range(len(leading)))
    return b.dot_general(lhs, rhs, (batch, batch), ((lhs.rank - 1,), (rhs.rank - 2,)))


@emits("addmm.default", "baddbmm.default")
def addmm(
    b: Builder,
    self: Value,
    mat1: Value | None = None,
    mat2: Value | None = None,
    beta: Operand = 1,
    alpha: Operand = 1,
    batch1: Value | None = None,
    batch2: Value | None = None,
) -> Value:
    product = b.scale(matmul(b, mat1 or batch1, mat2 or batch2), alpha)
    return product if beta == 0 else b.binary("add", product, b.scale(self, beta))


@emits("einsum.default")
def einsum(b: Builder, equation: str, tensors: Sequence[Value], path: object = None) -> Value:
    """Two operands at most, no repeated index within one, no ellipsis."""
    terms, _, output = equation.replace(" ", "").partition("->")
    inputs = terms.split(",")
    if "." in equation or "->" not in equation or len(inputs) > 2 or any(len(set(t)) < len(t) for t in inputs):
        raise UseDefinition(f"einsum '{equation}'")
    operands = []
    for k, (term, x) in enumerate(zip(inputs, tensors)):  # an index in one place only is summed away first
        kept = [c for c in term if c in output or any(c in other for j, other in enumerate(inputs) if j != k)]
        operands.append(("".join(kept), b.reduce("sum", x, [d for d, c in enumerate(term) if c not in kept])))
    indices, result = operands[0]
    if len(operands) == 2:
        (lhs, x), (rhs, y) = operands
        both = [c for c in lhs if c in rhs]
        batch, contract = [c for c in both if c in output], [c for c in both if c not in output]
        result = b.dot_general(
            x,
            y,
            ([lhs.index(c) for c in batch], [rhs.index(c) for c in batch]),
            ([lhs.index(c) for c in contract], [rhs.index(c) for c in contract]),
        )
        indices = "".join(batch + [c for c in lhs if c not in both] + [c for c in rhs if c not in both])
    return b.transpose(result, [indices.index(c) for c in output])


# -- tables -------------------------------------------------------------------------------------------------------


def along(b: Builder, x: Value, dim: int, matrix: Value) -> Value:
    """`x` with the matrix [rows, columns] applied along `dim`, which has as many elements as the matrix columns."""
    last = b.dot_general(x, matrix, ((), ()), ((dim,), (1,)))
    order = list(range(last.rank - 1))
    order.insert(dim, last.rank - 1)
    return b.transpose(last, order)


@emits("addbmm.default")
def addbmm(b: Builder, self: Value, batch1: Value, batch2: Value, beta: Operand = 1, alpha: Operand = 1) -> Value:
    """beta self + alpha sum over the batch of the products."""
    total = b.dot_general(batch1, batch2, ((), ()), ((0, 2), (0, 1)))
    return b.binary("add", b.scale(self, beta), b.scale(total, alpha))


@emits("bilinear.default")
def bilinear(b: Builder, input1: Value, input2: Value, weight: Value, bias: Value | None = None) -> Value:
    """input1 [..., I], input2 [..., J], weight [O, I, J] -> [..., O]."""
    rows = b.dot_general(input1, weight, ((), ()), ((input1.rank - 1,), (1,)))  # [..., O, J]
    batch = tuple(range(input1.rank - 1))
    result = b.dot_general(rows, input2, (batch, batch), ((rows.rank - 1,), (input2.rank - 1,)))
    return result if bias is None else b.binary("add", result, bias)


@emits("_cdist_forward.default", "cdist.default")
def cdist(b: Builder, x1: Value, x2: Value, p: float = 2.0, compute_mode: int | None = None) -> Value:
    """x1 [..., M, D], x2 [..., N, D] -> distances [..., M, N]."""
    difference = b.binary("sub", unsqueeze(b, x1, -2), unsqueeze(b, x2, -3))
    return vector_norm(b, difference, p=p, dim=[-1])


@emits("embedding.default")
def embedding(
    b: Builder,
    weight: Value,
    indices: Value,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Value:
    if scale_grad_by_freq or sparse:
        raise HoneError("an embedding with scale_grad_by_freq or sparse gradients is not supported")
    rows = b.embedding(weight, indices)
    if padding_idx < 0 or not b.is_differentiable(rows):
        return rows
    # The padding row is read but gets no gradient.
    padding = b.compare("eq", indices, b.splat(padding_idx, indices.type))
    return b.select(unsqueeze(b, padding, -1), b.stop_gradient(rows), rows)


@emits("index_select.default")
def index_select(b: Builder, self: Value, dim: int, index: Value) -> Value:
    return table_lookup(b, self, axis(dim, self.rank), [index])


@emits("index.Tensor")
def index(b: Builder, self: Value, indices: Sequence[Value | None]) -> Value:
    """Integer indices for neighbouring dimensions; they broadcast, and must not be negative."""
    places = [d for d, ids in enumerate(indices) if ids is not None]
    given = [indices[d] for d in places]
    if any(ids.dtype == "i1" for ids in given):
        raise HoneError(SHAPE)
    if places != list(range(places[0], places[-1] + 1)):
        raise HoneError("indexing by tensors is supported for neighbouring dimensions only")
    return table_lookup(b, self, places[0], given)


def _picked_rows(b: Builder, table: Value, ids: Value) -> Value:
    """table [rows, width], ids [...] -> [..., width]; integers are picked one by one, since an embedding has floats."""
    if is_float(table.dtype):
        return b.embedding(table, ids)
    shape, width = ids.shape + (table.shape[1],), table.shape[1]
    first = b.broadcast(b.scale(b.cast(ids, "i64"), width), shape, range(ids.rank))
    place = b.binary("add", first, b.iota(ids.rank, first.type))
    elements = b.reshape(table, (table.type.numel,))
    return b.reshape(b.take_along(elements, b.reshape(place, (place.type.numel,)), 0), shape)


def table_lookup(b: Builder, table: Value, first: int, indices: Sequence[Value]) -> Value:
    """`table[:, ..., ids_0, ids_1, ...]` with the indices from dimension `first` on: rows of a table made of them."""
    last = first + len(indices)
    outer, picked, inner = table.shape[:first], table.shape[first:last], table.shape[last:]
    shape = indices[0].shape
    for ids in indices:
        shape = broadcast_shape(shape, ids.shape)
    ids = b.splat(0, Type(indices[0].dtype, shape))
    for size, part in zip(picked, indices):
        fill = b.fill_of(part)
        if fill is not None and fill < 0:  # one constant index, counted from the end
            part = b.splat(fill + size, part.type)
        ids = b.binary("add", b.scale(ids, size), b.cast(part, ids.dtype))
    rest = list(range(first)) + list(range(last, table.rank))
    width = Type("i1", outer + inner).numel
    rows = b.reshape(b.transpose(table, [*range(first, last), *rest]), (Type("i1", picked).numel, width))
    found = b.reshape(_picked_rows(b, rows, ids), shape + outer + inner)
    count = len(shape)
    return b.transpose(found, [*range(count, count + first), *range(count), *range(count + first, found.rank)])


# -- norms --------------------------------------------------------------------------------------------------------


def _rows(b: Builder, x: Value, normalized_shape: Sequence[int], *vectors: Value | None) -> list[Value | None]:
    """Joins the normalised dimensions into one, of the input and of the per-element vectors."""
    kept = x.rank - len(normalized_shape)
    width = Type(x.dtype, tuple(normalized_shape)).numel
    joined = [v if v is None else b.reshape(v, (width,)) for v in vectors]
    return [b.reshape(x, x.shape[:kept] + (width,)), *joined]


@emits("layer_norm.default")
def layer_norm(
    b: Builder,
    input: Value,
    normalized_shape: Sequence[int],
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Value:
    x, scale, shift = _rows(b, input, normalized_shape, weight, bias)
    return b.reshape(b.layer_norm(x, scale, shift, eps), input.shape)


@emits("rms_norm.default")
def rms_norm(
    b: Builder, input: Value, normalized_shape: Sequence[int], weight: Value | None = None, eps: float | None = None
) -> Value:
    x, scale = _rows(b, input, normalized_shape, weight)
    return b.reshape(b.rms_norm(x, scale, _EPSILON[input.dtype] if eps is None else eps), input.shape)


# -- attention and dropout ----------------------------------------------------------------------------------------


@emits("dropout.default")
def dropout(b: Builder, input: Value, p: float, train: bool) -> Value:
    return b.dropout(input, p) if train else input


@emits("native_dropout.default")
def native_dropout(b: Builder, input: Value, p: float, train: bool | None) -> list[Value | None]:
    """The result; its mask, which only PyTorch's own backward reads, is not made."""
    return [dropout(b, input, p, bool(train)), None]


@emits("scaled_dot_product_attention.default")
def attention(
    b: Builder,
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Value:
    """query [..., H, T, D], key [..., G, S, D], value [..., G, S, E] -> [..., H, T, E]."""
    if query.rank < 2 or not query.rank == key.rank == value.rank:
        raise HoneError("attention needs query, key and value of one rank, at least 2")
    if not query.shape[:-3] == key.shape[:-3] == value.shape[:-3]:
        raise HoneError(f"attention over batches {list(query.shape[:-3])} and {list(key.shape[:-3])} is not supported")
    if query.rank > 2 and not enable_gqa and key.shape[-3] not in (query.shape[-3], 1):
        raise HoneError(f"attention with {query.shape[-3]} query and {key.shape[-3]} key heads needs enable_gqa=True")
    result_shape = query.shape[:-1] + value.shape[-1:]
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    mask = None if attn_mask is None else _additive_mask(b, attn_mask, query.dtype)
    query, key, value = (_heads(b, x) for x in (query, key, value))
    if mask is not None:
        mask = _mask_of_heads(b, mask, query, key, result_shape)
    if mask is not None and b.is_differentiable(mask):
        key, value = (_repeated_heads(b, x, query.shape[1]) for x in (key, value))
        return b.reshape(_written_out(b, query, key, value, mask, is_causal, scale, dropout_p), result_shape)
    heads_last = (0, 2, 1, 3)
    operands = [b.transpose(x, heads_last) for x in (query, key, value)]
    result = b.attention(*operands, mask, is_causal, scale, dropout_p)
    return b.reshape(b.transpose(result, heads_last), result_shape)


def _heads(b: Builder, x: Value) -> Value:
    """[..., H, T, D] with any number of leading dimensions -> [B, H, T, D]."""
    heads = x.shape[-3] if x.rank > 2 else 1
    batch = x.type.numel // max(1, heads * x.shape[-2] * x.shape[-1])
    return b.reshape(x, (batch, heads) + x.shape[-2:])


def _repeated_heads(b: Builder, x: Value, heads: int) -> Value:
    """[B, G, S, D] -> [B, heads, S, D]: each head as often as queries share it."""
    batch, groups, length, width = x.shape
    tiled = b.broadcast(x, (batch, groups, heads // groups, length, width), [0, 1, 3, 4])
    return b.reshape(tiled, (batch, heads, length, width))


def _additive_mask(b: Builder, mask: Value, dtype: str) -> Value:
    if mask.dtype != "i1":
        return b.cast(mask, dtype)
    type = Type(dtype, mask.shape)
    return b.select(mask, b.splat(0, type), b.splat(float("-inf"), type))


def _mask_of_heads(b: Builder, mask: Value, query: Value, key: Value, result_shape: tuple[int, ...]) -> Value:
    """A mask that broadcasts to the scores [..., H, T, S] -> [B or 1, H or 1, T, S]."""
    length, keys = query.shape[2], key.shape[2]
    if mask.rank <= 2 or all(size == 1 for size in mask.shape[:-2]):
        leading = (1, 1)
    elif len(result_shape) == 4:
        leading = (1,) * (4 - mask.rank) + mask.shape[:-2]
    else:
        mask = b.broadcast_to(mask, result_shape[:-2] + mask.shape[-2:])
        leading = query.shape[:2]
    mask = b.broadcast_to(mask, mask.shape[:-2] + (length, keys))
    return b.reshape(mask, leading + (length, keys))


def _written_out(
    b: Builder, query: Value, key: Value, value: Value, mask: Value, causal: bool, scale: float, dropout_p: float
) -> Value:
    """Attention op by op, for a mask that needs a gradient (a learned bias). All [B, H, T or S, D or E]."""
    batch = ((0, 1), (0, 1))
    scores = b.binary("add", b.scale(b.dot_general(query, key, batch, ((3,), (3,))), scale), mask)
    if causal:
        position = Type("i64", scores.shape)
        future = b.compare("gt", b.iota(3, position), b.iota(2, position))
        scores = b.select(future, b.splat(float("-inf"), scores.type), scores)
    return b.dot_general(b.dropout(b.softmax(scores), dropout_p), value, batch, ((3,), (2,)))


# -- losses -------------------------------------------------------------------------------------------------------


def _classes_last(b: Builder, x: Value) -> Value:
    """[N, C, ...] -> [N, ..., C]."""
    return b.transpose(x, [0, *range(2, x.rank), 1]) if x.rank > 2 else x


@emits("cross_entropy_loss.default")
def cross_entropy(
    b: Builder,
    self: Value,
    target: Value,
    weight: Value | None = None,
    reduction: int = 1,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Value:
    if is_float(target.dtype):
        return _soft_cross_entropy(b, self, target, weight, reduction, label_smoothing)
    logits = _classes_last(b, self)
    if weight is not None:
        return _weighted_cross_entropy(b, logits, target, weight, reduction, ignore_index, label_smoothing)
    return b.cross_entropy(logits, target, REDUCTIONS[reduction], ignore_index, label_smoothing)


@emits("nll_loss.default", "nll_loss_nd.default", "nll_loss2d.default")
def nll_loss(
    b: Builder, self: Value, target: Value, weight: Value | None = None, reduction: int = 1, ignore_index: int = -100
) -> Value:
    """Minus the log-probability of each target, as a masked sum; ignored rows are 0 and not counted in a mean."""
    logp = _classes_last(b, self)
    rows = b.unary("neg", _of_class(b, logp, target))
    shares = _class_weights(b, target, weight, ignore_index, logp)
    rows = b.select(_is_kept(b, target, ignore_index), rows, b.splat(0, rows.type))
    return _weighted_mean(b, rows, shares, reduction)


def _is_kept(b: Builder, target: Value, ignore_index: int) -> Value:
    return b.compare("ne", target, b.splat(ignore_index, target.type))


def _of_class(b: Builder, rows: Value, target: Value) -> Value:
    """rows [..., C], target [...] -> the element of each row at its class, as a masked sum; 0 for no class."""
    picked = b.select(is_class(b, target, rows.shape[-1]), rows, b.splat(0, rows.type))
    return b.reduce("sum", picked, [rows.rank - 1])


def _class_weights(b: Builder, target: Value, weight: Value | None, ignore_index: int, logits: Value) -> Value:
    """What each row counts: the weight of its class, or 1; 0 for ignored ones."""
    kept = _is_kept(b, target, ignore_index)
    if weight is None:
        return b.cast(kept, logits.dtype)
    wide = b.broadcast(b.cast(weight, logits.dtype), logits.shape, [logits.rank - 1])
    own = _of_class(b, wide, target)
    return b.select(kept, own, b.splat(0, own.type))


def _weighted_mean(b: Builder, rows: Value, shares: Value, reduction: int) -> Value:
    """Rows times their shares; a mean divides by the sum of the shares."""
    rows = b.binary("mul", rows, shares)
    if REDUCTIONS[reduction] == "none":
        return rows
    total = b.reduce("sum", rows, range(rows.rank))
    if REDUCTIONS[reduction] == "sum":
        return total
    return b.binary("div", total, b.reduce("sum", shares, range(shares.rank)))


def _weighted_cross_entropy(
    b: Builder, logits: Value, target: Value, weight: Value, reduction: int, ignore_index: int, smoothing: float
) -> Value:
    """Class weights: the loss of each row counts as its class; smoothing spreads over the weighted classes."""
    last = logits.rank - 1
    logp = b.binary("sub", logits, logsumexp(b, logits, [last], True))
    rows = b.unary("neg", _of_class(b, logp, target))
    shares = _class_weights(b, target, weight, ignore_index, logits)
    kept = _is_kept(b, target, ignore_index)
    loss = b.select(kept, b.binary("mul", rows, shares), b.splat(0, rows.type))
    if smoothing:
        wide = b.broadcast(b.cast(weight, logits.dtype), logits.shape, [last])
        spread = b.unary("neg", b.reduce("sum", b.binary("mul", logp, wide), [last]))
        spread = b.select(kept, spread, b.splat(0, spread.type))
        share = smoothing / logits.shape[-1]
        loss = b.binary("add", b.scale(loss, 1 - smoothing), b.scale(spread, share))
    if REDUCTIONS[reduction] == "none":
        return loss
    total = b.reduce("sum", loss, range(loss.rank))
    if REDUCTIONS[reduction] == "sum":
        return total
    return b.binary("div", total, b.reduce("sum", shares, range(shares.rank)))


def _soft_cross_entropy(
    b: Builder, self: Value, target: Value, weight: Value | None, reduction: int, smoothing: float
) -> Value:
    """Class probabilities as targets; a mean divides by the number of rows."""
    logits, target = _classes_last(b, self), _classes_last(b, b.cast(target, self.dtype))
    last = logits.rank - 1
    logp = b.binary("sub", logits, logsumexp(b, logits, [last], True))
    if smoothing:
        share = b.splat(smoothing / logits.shape[-1], target.type)
        target = b.binary("add", b.scale(target, 1 - smoothing), share)
    terms = b.binary("mul", logp, target)
    if weight is not None:
        terms = b.binary("mul", terms, b.broadcast(b.cast(weight, terms.dtype), terms.shape, [last]))
    return _reduced(b, b.unary("neg", b.reduce("sum", terms, [last])), reduction)


def _reduced(b: Builder, rows: Value, reduction: int) -> Value:
    return {"none": lambda: rows, "mean": lambda: mean(b, rows), "sum": lambda: sum_(b, rows)}[REDUCTIONS[reduction]]()


@emits("mse_loss.default")
def mse_loss(b: Builder, self: Value, target: Value, reduction: int = 1) -> Value:
    x, y = as_tensors(b, self, target)
    difference = b.binary("sub", x, y)
    return _reduced(b, mul(b, difference, difference), reduction)


@emits("l1_loss.default")
def l1_loss(b: Builder, self: Value, target: Value, reduction: int = 1) -> Value:
    x, y = as_tensors(b, self, target)
    return _reduced(b, b.unary("abs", b.binary("sub", x, y)), reduction)


# The logarithms of binary_cross_entropy are bounded below, and the product in its gradient too, as in PyTorch.
_LEAST_LOG, _LEAST_PRODUCT = -100.0, 1e-12


@emits("binary_cross_entropy.default")
def binary_cross_entropy(
    b: Builder, self: Value, target: Value, weight: Value | None = None, reduction: int = 1
) -> Value:
    """The gradient for the probability x is `(x - t) / (x (1 - x))`, its divisor bounded below."""
    x, t = as_tensors(b, self, target)
    fixed = b.stop_gradient(x)
    bounded = lambda y: b.select(
        b.compare("lt", y, b.splat(_LEAST_LOG, y.type)), b.splat(_LEAST_LOG, y.type), y
    )
    off = bounded(b.unary("log1p", b.unary("neg", fixed)))
    on = bounded(b.unary("log", fixed))
    rows = b.binary("sub", b.binary("mul", sub(b, t, 1.0), off), b.binary("mul", t, on))
    product = b.binary("mul", sub(b, 1.0, fixed), fixed)
    product = b.binary("max", product, b.splat(_LEAST_PRODUCT, product.type))
    slope = b.binary("div", b.binary("sub", fixed, b.stop_gradient(t)), product)
    rows = b.binary("add", rows, b.binary("mul", b.binary("sub", x, fixed), slope))
    return _reduced(b, rows if weight is None else mul(b, rows, weight), reduction)
