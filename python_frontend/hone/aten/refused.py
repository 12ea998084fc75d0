"""Overloads that are refused though torch calls them by name: each with why, and what to do. Standard library only."""

from __future__ import annotations

from ..source import NUMBER, SHAPE

_GRADIENT = "it computes a gradient; return the loss alone, the compiled program differentiates it"

# The result's shape, or a number in Python, depends on values.
BY_VALUE = {
    **dict.fromkeys(("item.default", "_local_scalar_dense.default"), NUMBER),
    **dict.fromkeys(("nonzero.default", "nonzero_numpy.default", "masked_select.default", "argwhere.default"), SHAPE),
}

REFUSED = {
    "_adaptive_avg_pool2d_backward.default": _GRADIENT,
    "avg_pool2d_backward.default": _GRADIENT,
    "convolution_backward.default": _GRADIENT,
    "_native_batch_norm_legit.default": "it writes running statistics by itself; write torch.nn.functional.batch_norm",
    "resize_.default": "it changes the size of a tensor; write a new one",
}
