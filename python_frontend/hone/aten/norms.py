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
    """input [N, C, ...]; `running_mean` and `running_var` are read where the input's own statistics are not used."""
    if not use_input_stats:
        return with_statistics(b, input, weight, bias, running_mean, running_var, eps)
    return _scaled(b, _normal_rows(b, input, input.shape[:2], eps), weight, bias)


def with_statistics(
    b: Builder, x: Value, weight: Value | None, bias: Value | None, mean: Value, var: Value, eps: float
) -> Value:
    """x [N, C, ...] normalised by a mean and a variance per channel."""
    mean, var = (b.cast(v, x.dtype) for v in (mean, var))
    rstd = b.unary("rsqrt", b.binary("add", var, b.splat(eps, var.type)))
    centred = b.binary("sub", x, _per_channel(b, mean, x))
    return _scaled(b, b.binary("mul", centred, _per_channel(b, rstd, x)), weight, bias)


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
    """input [N, C, ...], in evaluation mode: with the running statistics, which stay as they are."""
    if training:
        raise HoneError(
            "batch norm in training mode is not supported: the graph would lose the change of its running statistics; "
            "put the module in evaluation mode (.eval()) to train with the statistics it has"
        )
    return with_statistics(b, input, weight, bias, running_mean, running_var, eps)
