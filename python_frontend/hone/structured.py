"""Buffers whose values follow a rule (a fill, positions, a triangle) are computed in the graph instead of stored."""

from __future__ import annotations

import torch

from .builder import Builder
from .graph import Type, Value


def structured_constant(b: Builder, tensor: torch.Tensor, type: Type) -> Value | None:
    """The tensor as constant, iota or comparison of iotas; None where no rule fits."""
    if tensor.numel() == 0 or tensor.numel() == 1 or bool((tensor == tensor.flatten()[0]).all()):
        return b.constant([] if tensor.numel() == 0 else [tensor.flatten()[0].item()], type)
    width = tensor.shape[-1]
    positions = torch.arange(width, device=tensor.device)
    if not tensor.dtype.is_floating_point and tensor.dtype != torch.bool and bool((tensor == positions).all()):
        return b.iota(tensor.ndim - 1, type)
    if tensor.ndim < 2:
        return None
    ones = torch.ones(tensor.shape[-2:], dtype=tensor.dtype, device=tensor.device)
    for predicate, triangle in (
        ("ge", torch.tril(ones)),
        ("lt", torch.triu(ones, 1)),
        ("le", torch.triu(ones)),
        ("gt", torch.tril(ones, -1)),
    ):
        if bool((tensor == triangle).all()):
            index = Type("i64", type.shape)
            rows, columns = b.iota(tensor.ndim - 2, index), b.iota(tensor.ndim - 1, index)
            return b.cast(b.compare(predicate, rows, columns), type.dtype)
    return None


def has_equal_halves(tensor: torch.Tensor) -> bool:
    """Whether both halves of the last dimension are the same, as in a table of rotary angles made for whole heads."""
    if tensor.ndim < 2 or tensor.shape[-1] % 2 or not tensor.numel():
        return False
    first, second = tensor.chunk(2, dim=-1)
    return bool((first == second).all())
