"""ATen norms over channels and groups of channels, made of layer norms and reductions."""

from __future__ import annotations

from math import prod
from typing import Sequence

from ..builder import Builder
from ..errors import HoneError
from ..graph import Value
from .registry import emits


def _per_channel(b: Builder, vector: Value, x: Value) -> Value:
    """[C] as a tensor that broadcasts along the channels of [N, C, ...]."""
    return b.reshape(vector, vector.shape + (1,) * (x.rank - 2))


def _scaled(b: Builder, x: Value, weight: Value | None, bias: Value | None) -> Value:
    if weight is not None:
        x = b.binary("mul", x, _per_channel(b, b.cast(weight, x.dtype), x))
    if bias is not None:
        x = b.binary("add", x, _per_channel(b, b.cast(bias, x.dtype), x))
    return x


def _normal_rows(b: Builder, x: Value, rows: Sequence[int], eps: float) -> Value:
    """Normalises what `rows` leave of each row of `x`: a layer norm without parameters."""
    flat = b.reshape(x, (*rows, x.type.numel // max(1, prod(rows))))
    return b.reshape(b.layer_norm(flat, None, None, eps), x.shape)


@emits("group_norm.default")
def group_norm(
    b: Builder,
    input: Value,
    num_groups: int,
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Value:
    """input [N, C, ...], weight and bias [C]."""
    return _scaled(b, _normal_rows(b, input, (input.shape[0], num_groups), eps), weight, bias)


@emits("instance_norm.default")
def instance_norm(
    b: Builder,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value | None,
    running_var: Value | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Value:
    """input [N, C, ...]; with running statistics, evaluation normalises by them."""
    statistics = lambda: with_statistics(b, input, weight, bias, running_mean, running_var, eps)
    if not use_input_stats:
        return statistics()
    normal = _scaled(b, _normal_rows(b, input, input.shape[:2], eps), weight, bias)
    return normal if running_mean is None else b.select_mode(normal, statistics())


def with_statistics(
    b: Builder, x: Value, weight: Value | None, bias: Value | None, mean: Value, var: Value, eps: float
) -> Value:
    """x [N, C, ...] normalised by a mean and a variance per channel."""
    mean, var = (b.cast(v, x.dtype) for v in (mean, var))
    rstd = b.unary("rsqrt", b.binary("add", var, b.splat(eps, var.type)))
    centred = b.binary("sub", x, _per_channel(b, mean, x))
    return _scaled(b, b.binary("mul", centred, _per_channel(b, rstd, x)), weight, bias)


def _mean(b: Builder, x: Value, dims: Sequence[int]) -> Value:
    total = b.reduce("sum", x, dims)
    return b.binary("div", total, b.splat(x.type.numel // total.type.numel, total.type))


def _statistics(b: Builder, x: Value, dims: Sequence[int]) -> tuple[Value, Value]:
    """Mean and variance (biased) over `dims` of x."""
    mean = _mean(b, x, dims)
    kept = [1 if d in dims else size for d, size in enumerate(x.shape)]
    centred = b.binary("sub", x, b.reshape(mean, kept))
    return mean, _mean(b, b.binary("mul", centred, centred), dims)


def _unbiased(b: Builder, var: Value, n: int) -> Value:
    return b.binary("mul", var, b.splat(n / (n - 1), var.type))


def _moved(b: Builder, running: Value, new: Value, momentum: float) -> Value:
    """(1 - momentum) * running + momentum * new."""
    new = b.cast(new, running.dtype)
    part = lambda x, weight: b.binary("mul", x, b.splat(weight, x.type))
    return b.binary("add", part(running, 1 - momentum), part(new, momentum))


def _rows(x: Value) -> list[int]:
    """The dimensions of [N, C, ...] over which a batch norm takes its mean."""
    return [0, *range(2, x.rank)]


@emits("batch_norm.default")
def batch_norm(
    b: Builder,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value | None,
    running_var: Value | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Value:
    """input [N, C, ...]: in training normalised by the statistics of the batch, in evaluation by running ones."""
    statistics = lambda: with_statistics(b, input, weight, bias, running_mean, running_var, eps)
    if not training:
        return statistics()
    normal = with_statistics(b, input, weight, bias, *_statistics(b, input, _rows(input)), eps)
    return normal if running_mean is None else b.select_mode(normal, statistics())


def _batch_statistics(
    b: Builder, input: Value, running_mean: Value | None, running_var: Value | None, training: bool, momentum: float, **_
) -> dict[str, Value]:
    """New running statistics of a batch norm: of the variance, the unbiased one."""
    if not training or running_mean is None:
        return {}
    mean, var = _statistics(b, input, _rows(input))
    var = _unbiased(b, var, input.type.numel // input.shape[1])
    return {
        "running_mean": _moved(b, running_mean, mean, momentum),
        "running_var": _moved(b, running_var, var, momentum),
    }


def _instance_statistics(
    b: Builder,
    input: Value,
    running_mean: Value | None,
    running_var: Value | None,
    use_input_stats: bool,
    momentum: float,
    **_,
) -> dict[str, Value]:
    """New running statistics of an instance norm: means over the batch of those of each item."""
    if not use_input_stats or running_mean is None:
        return {}
    mean, var = _statistics(b, input, range(2, input.rank))
    var = _unbiased(b, var, prod(input.shape[2:]))
    return {
        "running_mean": _moved(b, running_mean, _mean(b, mean, [0]), momentum),
        "running_var": _moved(b, running_var, _mean(b, var, [0]), momentum),
    }


# What operators write to arguments of theirs besides: new values by the name of the argument.
RUNNING_STATISTICS = {"batch_norm.default": _batch_statistics, "instance_norm.default": _instance_statistics}
