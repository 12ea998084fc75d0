"""Definitions of operators that torch itself does not write with simpler ones, in torch.

Each is traced by decompose.py for the shapes at hand, as torch's own definitions are, and takes what the operator does.
A result that no program uses in training (pivots, places of bags) is None.
"""

from __future__ import annotations

import math
from typing import Callable

import torch

from .errors import HoneError

_DEFINED: dict[torch._ops.OpOverload, Callable] = {}

# Elimination is unrolled over the columns, a dozen ops each.
_LARGEST_MATRIX = 64


def defined(target: torch._ops.OpOverload) -> Callable | None:
    """The definition of an operator, None for one that this file does not define."""
    return _DEFINED.get(target)


def _defines(*targets: torch._ops.OpOverload) -> Callable:
    def register(function: Callable) -> Callable:
        _DEFINED.update(dict.fromkeys(targets, function))
        return function

    return register


# -- functions ----------------------------------------------------------------------------------------------------

# Lanczos' approximation of the gamma function with g = 7 and nine terms: 1e-15 relative (Godfrey's coefficients).
_LANCZOS_G = 7
_LANCZOS = (
    *(0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059),
    *(12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7),
)


def _lanczos(z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The series at z = x - 1, and its derivative."""
    series, slope = torch.full_like(z, _LANCZOS[0]), torch.zeros_like(z)
    for place, coefficient in enumerate(_LANCZOS[1:], 1):
        term = coefficient / (z + place)
        series, slope = series + term, slope - term / (z + place)
    return series, slope


def _mirrored(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Where x lies left of 1/2, and 1 - x there."""
    is_left = x < 0.5
    return is_left, torch.where(is_left, 1 - x, x)


@_defines(torch.ops.aten.lgamma.default)
def _lgamma(x: torch.Tensor) -> torch.Tensor:
    is_left, right = _mirrored(x)
    z = right - 1
    t = z + _LANCZOS_G + 0.5
    value = math.log(2 * math.pi) / 2 + (z + 0.5) * t.log() - t + _lanczos(z)[0].log()
    sine = torch.where(is_left, (math.pi * x).sin().abs(), 1)
    return torch.where(is_left, math.log(math.pi) - sine.log() - value, value)


@_defines(torch.ops.aten.digamma.default)
def _digamma(x: torch.Tensor) -> torch.Tensor:
    is_left, right = _mirrored(x)
    z = right - 1
    t = z + _LANCZOS_G + 0.5
    series, slope = _lanczos(z)
    value = t.log() + (z + 0.5) / t - 1 + slope / series
    angle = torch.where(is_left, math.pi * x, math.pi / 4)
    return torch.where(is_left, value - math.pi / angle.tan(), value)


@_defines(torch.ops.aten._native_batch_norm_legit_no_training.default)
def _normalised_by_statistics(x, weight, bias, running_mean, running_var, momentum, eps):
    """x [N, C, ...] with the running statistics [C]; those of the batch are None."""
    factor = torch.rsqrt(running_var + eps)
    factor = factor if weight is None else factor * weight
    offset = -running_mean * factor if bias is None else bias - running_mean * factor
    shape = (1, -1) + (1,) * (x.dim() - 2)
    return x * factor.view(shape) + offset.view(shape), None, None


# -- distances and bags -------------------------------------------------------------------------------------------


@_defines(torch.ops.aten.pdist.default, torch.ops.aten._pdist_forward.default)
def _pdist(x: torch.Tensor, p: float = 2) -> torch.Tensor:
    """x [N, D] -> the distances of all pairs of rows, [N (N - 1) / 2]."""
    first, second = torch.triu_indices(len(x), len(x), 1)
    return torch.linalg.vector_norm(x[first] - x[second], p, dim=-1)


@_defines(torch.ops.aten._embedding_bag.default, torch.ops.aten._embedding_bag_forward_only.default)
def _embedding_bag(
    weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
    include_last_offset=False, padding_idx=-1,
):
    """weight [V, D], indices [N], offsets [B] -> the sum or mean [B, D] of the rows of each bag, in order."""
    if scale_grad_by_freq or sparse:
        raise HoneError("embedding_bag with scale_grad_by_freq or sparse is not supported: leave both False")
    offsets = offsets[:-1] if include_last_offset else offsets
    bag = (offsets <= torch.arange(len(indices)).unsqueeze(1)).sum(1) - 1
    counts = (indices != padding_idx).to(weight.dtype)
    if mode == 2:
        rows = torch.where((counts != 0).unsqueeze(1), weight[indices], -math.inf)
        is_of_bag = bag.unsqueeze(1) == torch.arange(len(offsets))
        largest = torch.where(is_of_bag.unsqueeze(2), rows.unsqueeze(1), -math.inf).amax(0)
        return torch.where(largest == -math.inf, 0, largest), None, None, None
    factors = counts if per_sample_weights is None else counts * per_sample_weights
    empty = torch.zeros(len(offsets), weight.shape[1], dtype=weight.dtype)
    total = empty.index_add(0, bag, weight[indices] * factors.unsqueeze(1))
    if mode == 1:
        total = total / torch.zeros_like(empty[:, 0]).index_add(0, bag, counts).clamp(min=1).unsqueeze(1)
    return total, None, None, None


# -- matrices -----------------------------------------------------------------------------------------------------


def _eliminated(a: torch.Tensor) -> torch.Tensor:
    """The inverse of matrices [..., n, n] by Gauss and Jordan with partial pivoting."""
    n = a.shape[-1]
    if n > _LARGEST_MATRIX:
        raise HoneError(f"it inverts a matrix of size {n}, and elimination is unrolled up to {_LARGEST_MATRIX}")
    place = torch.arange(n)
    rows = torch.cat([a, torch.eye(n, dtype=a.dtype).expand(a.shape)], -1)
    for k in range(n):
        size = torch.where(place < k, -1, rows[..., k].abs())
        is_pivot = (place == size.argmax(-1, keepdim=True)).unsqueeze(-1)
        pivot = torch.where(is_pivot, rows, 0).sum(-2, keepdim=True)
        rows = torch.where(is_pivot, rows[..., k : k + 1, :], rows)
        pivot = pivot / pivot[..., k : k + 1]
        rows = torch.where((place == k).unsqueeze(-1), pivot, rows - rows[..., k : k + 1] * pivot)
    return rows[..., n:]


def _inverse(a: torch.Tensor) -> torch.Tensor:
    """A step of Newton's method from the inverse, a constant there: its value is the inverse with less rounding, and
    its derivative that of the inverse."""
    start = _eliminated(a.detach())
    return 2 * start - start @ a @ start


@_defines(torch.ops.aten.linalg_inv_ex.default)
def _inv_ex(a: torch.Tensor, *, check_errors: bool = False):
    return _inverse(a), None


@_defines(torch.ops.aten._linalg_solve_ex.default)
def _solve_ex(a: torch.Tensor, b: torch.Tensor, *, left: bool = True, check_errors: bool = False):
    """a [..., n, n], b [..., n, k], or [..., n] where that has a's batch dimensions -> x with a x = b, or x a = b."""
    is_vector = b.dim() == 1 or b.dim() == a.dim() - 1 and b.shape == a.shape[:-1]
    inverse = _inverse(a)
    if is_vector:
        return (inverse @ b.unsqueeze(-1)).squeeze(-1), None, None, None
    return inverse @ b if left else b @ inverse, None, None, None


@_defines(torch.ops.aten.linalg_cholesky_ex.default)
def _cholesky_ex(a: torch.Tensor, *, upper: bool = False, check_errors: bool = False):
    """a [..., n, n], symmetric -> the lower triangle L with L L^T = a, of whose columns each follows from those before.
    """
    n = a.shape[-1]
    if n > _LARGEST_MATRIX:
        raise HoneError(f"it factors a matrix of size {n}, and elimination is unrolled up to {_LARGEST_MATRIX}")
    columns: list[torch.Tensor] = []
    rest = (a + a.mT) / 2
    for k in range(n):
        column = rest[..., k] * (torch.arange(n) >= k) / rest[..., k : k + 1, k].sqrt()
        columns.append(column)
        rest = rest - column.unsqueeze(-1) * column.unsqueeze(-2)
    factor = torch.stack(columns, -1)
    return factor.mT if upper else factor, None
