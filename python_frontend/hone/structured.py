"""Buffers whose values follow a rule (a fill, positions, a triangle) are computed in the graph instead of stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .builder import Builder
from .graph import Type, Value

if TYPE_CHECKING:
    import torch


def structured_constant(b: Builder, tensor: torch.Tensor, type: Type) -> Value | None:
    """The tensor as constant, iota or comparison of iotas; None where no rule fits."""
    wide = tensor.detach().float() if type.dtype in ("bf16", "f16") else tensor.detach()
    return structured_array(b, wide.cpu().numpy(), type)


def structured_array(b: Builder, array: np.ndarray, type: Type) -> Value | None:
    """The same of an array, whose element type may be wider."""
    if array.size == 0 or (array == array.flat[0]).all():
        return b.constant([array.flat[0].item()] if array.size else [], type)
    if array.dtype.kind in "iu" and (array == np.arange(array.shape[-1])).all():
        return b.iota(array.ndim - 1, type)
    if array.ndim < 2:
        return None
    ones = np.ones(array.shape[-2:], dtype=array.dtype)
    for predicate, triangle in (
        ("ge", np.tril(ones)),
        ("lt", np.triu(ones, 1)),
        ("le", np.triu(ones)),
        ("gt", np.tril(ones, -1)),
    ):
        if (array == triangle).all():
            index = Type("i64", type.shape)
            rows, columns = b.iota(array.ndim - 2, index), b.iota(array.ndim - 1, index)
            return b.cast(b.compare(predicate, rows, columns), type.dtype)
    return None


def has_equal_halves(tensor: torch.Tensor) -> bool:
    """Whether both halves of the last dimension are the same, as in a table of rotary angles made for whole heads."""
    if tensor.ndim < 2 or tensor.shape[-1] % 2 or not tensor.numel():
        return False
    first, second = tensor.chunk(2, dim=-1)
    return bool((first == second).all())
