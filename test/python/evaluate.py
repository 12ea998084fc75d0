"""Evaluates a graph with PyTorch in double precision, so that the import can be compared with the module it came from,
gradients included. Each entry is the op's formula as the dialect states it, written independently of the emitters."""

from __future__ import annotations

import torch

from hone.graph import Graph, Op, is_float

_DTYPES = {
    "f64": torch.float64,
    "f32": torch.float64,
    "bf16": torch.float64,
    "f16": torch.float64,
    "i64": torch.int64,
    "i32": torch.int32,
    "i8": torch.int8,
    "i1": torch.bool,
}


def evaluate(graph: Graph, arguments: dict[str, torch.Tensor]) -> torch.Tensor:
    """The loss for arguments by name; floats are computed in double precision."""
    return evaluate_all(graph, arguments)[0]


def evaluate_all(graph: Graph, arguments: dict[str, torch.Tensor]) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """The loss in training, and the new values of buffers by name."""
    values = {a.value.id: arguments[a.fqn] for a in graph.arguments}
    for argument in graph.arguments:
        assert tuple(values[argument.value.id].shape) == argument.value.shape, argument.fqn
    _run(graph.ops, values)
    return values[graph.loss.id], {name: values[value.id] for name, value in graph.changed}


def _run(ops: tuple[Op, ...], values: dict[int, torch.Tensor]) -> None:
    """Adds the results of `ops` to `values`."""
    for op in ops:
        operands = [values[value.id] for value in op.operands]
        results = _RULES[op.name](op, *operands)
        results = results if isinstance(results, tuple) else (results,)
        for value, result in zip(op.results, results):
            assert tuple(result.shape) == value.shape, f"{op.name}: {tuple(result.shape)} is not {value.type}"
            assert result.dtype == _DTYPES[value.dtype], f"{op.name}: {result.dtype} is not {value.type}"
            values[value.id] = result


class _CustomGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, op: Op, *operands: torch.Tensor):
        ctx.op, (values, inputs, _) = op, op.attribute("operandSegmentSizes").sizes
        ctx.save_for_backward(*operands[values + inputs :])
        ctx.counts = values, inputs
        return tuple(x.clone() for x in operands[:values])

    @staticmethod
    def backward(ctx, *cotangents):
        body, (values, inputs) = ctx.op.body, ctx.counts
        floats = [g for g, value in zip(cotangents, ctx.op.results) if is_float(value.dtype)]
        known = dict(zip((value.id for value in body.arguments), (*floats, *ctx.saved_tensors), strict=True))
        _run(body.ops, known)
        given = [known[value.id] for value in body.results]
        return None, *[None] * values, *given, *[None] * len(ctx.saved_tensors)


def _constant(op: Op) -> torch.Tensor:
    dense = op.attribute("value")
    count = dense.type.numel
    values = dense.values * count if len(dense.values) == 1 else dense.values
    return torch.tensor(values[:count], dtype=_DTYPES[dense.type.dtype]).reshape(dense.type.shape)


def _iota(op: Op) -> torch.Tensor:
    type, dim = op.results[0].type, op.attribute("dim")
    shape = [size if d == dim else 1 for d, size in enumerate(type.shape)]
    return torch.arange(type.shape[dim]).to(_DTYPES[type.dtype]).reshape(shape).expand(type.shape)


def _broadcast(op: Op, x: torch.Tensor) -> torch.Tensor:
    shape, dims = op.results[0].shape, op.attribute("dims")
    assert [shape[d] for d in dims] == list(x.shape) and sorted(set(dims)) == list(dims)
    return x.reshape([shape[d] if d in dims else 1 for d in range(len(shape))]).expand(shape)


def _slice(op: Op, x: torch.Tensor) -> torch.Tensor:
    bounds = list(zip(*map(op.attribute, ("starts", "limits", "strides"))))
    assert all(0 <= start <= limit <= size and stride >= 1 for (start, limit, stride), size in zip(bounds, x.shape))
    return x[tuple(slice(*bound) for bound in bounds)]


def _pad(op: Op, x: torch.Tensor) -> torch.Tensor:
    result = x.new_zeros(op.results[0].shape)
    places = zip(op.attribute("low"), x.shape, op.attribute("interior"))
    result[tuple(slice(low, low + max((n - 1) * (gap + 1) + 1, 0), gap + 1) for low, n, gap in places)] = x
    return result


def _reduce(op: Op, x: torch.Tensor) -> torch.Tensor:
    kind, dims = op.attribute("kind").case, list(op.attribute("dims"))
    assert dims == sorted(set(dims))
    return x.sum(dims, dtype=x.dtype) if kind == "sum" else x.amax(dims) if kind == "max" else x.amin(dims)


def _dot_general(op: Op, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    left, right = [next(letters) for _ in x.shape], [next(letters) for _ in y.shape]
    batch = list(zip(op.attribute("lhs_batch"), op.attribute("rhs_batch")))
    contract = list(zip(op.attribute("lhs_contract"), op.attribute("rhs_contract")))
    for a, b in batch + contract:
        right[b] = left[a]
    paired = [left[a] for a, _ in batch + contract]
    output = [left[a] for a, _ in batch] + [c for c in left + right if c not in paired]
    return torch.einsum(f"{''.join(left)},{''.join(right)}->{''.join(output)}", x, y)


def _layer_norm(op: Op, x: torch.Tensor, *rest: torch.Tensor):
    _, has_scale, has_bias = op.attribute("operandSegmentSizes").sizes
    mean, var = x.mean(-1), x.var(-1, correction=0)
    rstd = (var + op.attribute("eps")).rsqrt()
    y = (x - mean.unsqueeze(-1)) * rstd.unsqueeze(-1)
    rest = list(rest)
    y = y * rest.pop(0) if has_scale else y
    y = y + rest.pop(0) if has_bias else y
    return y, mean, rstd


def _rms_norm(op: Op, x: torch.Tensor, scale: torch.Tensor | None = None):
    rstd = (x.square().mean(-1) + op.attribute("eps")).rsqrt()
    y = x * rstd.unsqueeze(-1)
    return (y if scale is None else y * scale), rstd


def _cross_entropy(op: Op, x: torch.Tensor, target: torch.Tensor):
    smoothing, lse = op.attribute("label_smoothing"), x.logsumexp(-1)
    kept = target != op.attribute("ignore_index")
    picked = x.gather(-1, torch.where(kept, target, 0).long().unsqueeze(-1)).squeeze(-1)
    rows = (1 - smoothing) * (lse - picked) + smoothing * (lse - x.mean(-1))
    rows = torch.where(kept, rows, 0.0)
    reduction = op.attribute("reduction").case
    loss = rows if reduction == "none" else rows.sum() if reduction == "sum" else rows.sum() / kept.sum()
    return loss, lse


def _attention(op: Op, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None = None):
    assert op.attribute("dropout") is None
    group = q.shape[2] // k.shape[2]
    k, v = k.repeat_interleave(group, 2), v.repeat_interleave(group, 2)
    scores = op.attribute("scale") * torch.einsum("bthd,buhd->bhtu", q, k)
    if mask is not None:
        scores = scores + mask
    if op.attribute("causal"):
        future = torch.arange(k.shape[1]) > torch.arange(q.shape[1]).unsqueeze(-1)
        scores = scores.masked_fill(future, float("-inf"))
    return torch.einsum("bhtu,buhe->bthe", scores.softmax(-1), v), scores.logsumexp(-1)


def _order(x: torch.Tensor, op: Op, descending: bool) -> torch.Tensor:
    dim = op.attribute("dim")
    order = x.sort(dim=dim, descending=descending, stable=True)[1]
    return order.narrow(dim, 0, op.results[0].shape[dim])


def _put_along(op: Op, updates: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    kind, shape = op.attribute("kind").case, op.results[0].shape
    if kind == "sum":
        return updates.new_zeros(shape).scatter_add(op.attribute("dim"), ids.long(), updates)
    limits = (torch.finfo if updates.is_floating_point() else torch.iinfo)(updates.dtype)
    start = torch.full(shape, limits.min if kind == "max" else limits.max, dtype=updates.dtype)
    return start.scatter_reduce(op.attribute("dim"), ids.long(), updates, "amax" if kind == "max" else "amin")


def _grouped_dot(op: Op, x: torch.Tensor, weight: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    weight = weight if op.attribute("contract") == 1 else weight.mT
    group = torch.bucketize(torch.arange(len(x)), ends.long(), right=True)
    inside = group < len(weight)
    y = torch.einsum("rh,rhf->rf", x, weight[group.clamp(max=len(weight) - 1)])
    return torch.where(inside.unsqueeze(1), y, 0.0)


def _padded(op: Op, x: torch.Tensor, value: float) -> torch.Tensor:
    """[N, S..., C] -> [N, C, S...] with the op's padding."""
    pads = [n for pair in zip(reversed(op.attribute("low")), reversed(op.attribute("high"))) for n in pair]
    return torch.nn.functional.pad(x.movedim(-1, 1), pads, value=value)


def _conv(op: Op, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    rank = x.dim() - 2
    function = getattr(torch.nn.functional, f"conv{rank}d")
    kernel = weight.movedim((-1, -2), (0, 1))
    groups = x.shape[-1] // weight.shape[-2]
    y = function(_padded(op, x, 0), kernel, None, op.attribute("strides"), 0, op.attribute("dilations"), groups)
    return y.movedim(1, -1)


def _conv_bwd_input(op: Op, grad: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    x = torch.zeros(op.results[0].shape, dtype=grad.dtype, requires_grad=True)
    return torch.autograd.grad(_conv(op, x, weight), x, grad, create_graph=True)[0]


def _max_pool(op: Op, x: torch.Tensor):
    """Over tensors of windows [N, C, R..., taps]."""
    windows, sizes = _padded(op, x, float("-inf")), op.attribute("sizes")
    for d, (size, stride, gap) in enumerate(zip(sizes, op.attribute("strides"), op.attribute("dilations"))):
        count = op.results[0].shape[1 + d]
        places = (torch.arange(count) * stride).unsqueeze(1) + torch.arange(size) * gap
        windows = windows.index_select(2 + d, places.flatten()).unflatten(2 + d, (count, size)).movedim(3 + d, -1)
    values, taps = windows.flatten(2 + len(sizes)).max(-1)
    return values.movedim(1, -1), taps.int().movedim(1, -1)


def _cast(op: Op, x: torch.Tensor) -> torch.Tensor:
    return x.to(_DTYPES[op.results[0].dtype])


def _truncated(op: Op, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x / y if x.is_floating_point() else torch.div(x, y, rounding_mode="trunc")


_COMPARE = {name: getattr(torch, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}

_RULES = {
    "constant": _constant,
    "iota": _iota,
    "cast": _cast,
    "div": _truncated,
    "neg": lambda op, x: -x,
    "abs": lambda op, x: x.abs(),
    "exp": lambda op, x: x.exp(),
    "expm1": lambda op, x: x.expm1(),
    "log": lambda op, x: x.log(),
    "log1p": lambda op, x: x.log1p(),
    "floor": lambda op, x: x.floor(),
    "atan": lambda op, x: x.atan(),
    "sqrt": lambda op, x: x.sqrt(),
    "rsqrt": lambda op, x: x.rsqrt(),
    "sin": lambda op, x: x.sin(),
    "cos": lambda op, x: x.cos(),
    "tanh": lambda op, x: x.tanh(),
    "erf": lambda op, x: x.erf(),
    "logistic": lambda op, x: x.sigmoid(),
    "sign": lambda op, x: x.sign(),
    "not": lambda op, x: ~x,
    "add": lambda op, x, y: x + y,
    "sub": lambda op, x, y: x - y,
    "mul": lambda op, x, y: x * y,
    "max": lambda op, x, y: torch.maximum(x, y),
    "min": lambda op, x, y: torch.minimum(x, y),
    "pow": lambda op, x, y: x**y,
    "and": lambda op, x, y: x & y,
    "or": lambda op, x, y: x | y,
    "cmp": lambda op, x, y: _COMPARE[op.attribute("predicate").case](x, y),
    "select": lambda op, p, x, y: torch.where(p, x, y),
    "reshape": lambda op, x: x.reshape(op.results[0].shape),
    "transpose": lambda op, x: x.permute(op.attribute("permutation")),
    "broadcast": _broadcast,
    "slice": _slice,
    "pad": _pad,
    "reduce": _reduce,
    "concat": lambda op, *xs: torch.cat(xs, op.attribute("dim")),
    "argmax": lambda op, x: x.argmax(op.attribute("dim")),
    "cumsum": lambda op, x: x.cumsum(op.attribute("dim"), dtype=x.dtype),
    "argsort": lambda op, x: _order(x, op, bool(op.attribute("descending"))),
    "topk": lambda op, x: _order(x, op, not op.attribute("smallest")),
    "take_along": lambda op, x, ids: x.gather(op.attribute("dim"), ids.long()),
    "put_along": _put_along,
    "grouped_dot": _grouped_dot,
    "conv": _conv,
    "conv_bwd_input": _conv_bwd_input,
    "max_pool": _max_pool,
    "dot_general": _dot_general,
    "embedding": lambda op, table, ids: table[ids.long()],
    "softmax": lambda op, x: x.softmax(-1),
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "cross_entropy": _cross_entropy,
    "attention": _attention,
    "gelu": lambda op, x: torch.nn.functional.gelu(
        x, approximate={"erf": "none", "tanh": "tanh"}[op.attribute("approximate").case]
    ),
    "stop_gradient": lambda op, x: x.detach(),
    "select_mode": lambda op, training, evaluation: training,
    "custom_gradient": _CustomGradient.apply,
}
