"""Convolutions and pooling: imported, and compared with PyTorch as in test_aten.py."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from hone.emit import emit  # noqa: E402
from test_aten import Case, check, no_input  # noqa: E402

LINE, PLANE, CUBE = (2, 4, 9), (2, 4, 7, 8), (1, 2, 4, 5, 3)

CASES = {
    "conv1d": (lambda x, w, c: F.conv1d(x, w, c), LINE, (3, 4, 2), (3,)),
    "conv1d causal depthwise": (lambda x, w: F.conv1d(x, w, padding=3, groups=4)[..., :9], LINE, (4, 1, 4)),
    "conv1d same": (lambda x, w: F.conv1d(x, w, padding="same", dilation=3), LINE, (3, 4, 4)),
    "conv1d valid without batch": (lambda x, w: F.conv1d(x, w, padding="valid"), (4, 9), (3, 4, 2)),
    "conv2d": (lambda x, w, c: F.conv2d(x, w, c), PLANE, (3, 4, 2, 3), (3,)),
    "conv2d strides padding": (lambda x, w: F.conv2d(x, w, stride=(2, 3), padding=(1, 2)), PLANE, (3, 4, 3, 3)),
    "conv2d groups dilation": (lambda x, w: F.conv2d(x, w, groups=2, dilation=2), PLANE, (6, 2, 2, 3)),
    "conv2d depthwise multiplied": (lambda x, w: F.conv2d(x, w, groups=4, padding=1), PLANE, (8, 1, 3, 3)),
    "conv2d patches": (lambda x, w, c: F.conv2d(x, w, c, stride=(7, 4)), PLANE, (5, 4, 7, 4), (5,)),
    "conv2d pointwise": (lambda x, w: F.conv2d(x, w), PLANE, (3, 4, 1, 1)),
    "conv2d without batch": (lambda x, w, c: F.conv2d(x, w, c, padding=1), (4, 7, 8), (3, 4, 3, 3), (3,)),
    "conv3d": (lambda x, w, c: F.conv3d(x, w, c, padding=1, stride=2), CUBE, (3, 2, 3, 3, 2), (3,)),
    "transposed 1d": (lambda x, w, c: F.conv_transpose1d(x, w, c, stride=3, padding=1), LINE, (4, 2, 4), (2,)),
    "transposed 2d": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=(1, 0), output_padding=(1, 1), groups=2, dilation=2),
        PLANE,
        (4, 3, 2, 3),
    ),
    "transposed 2d more behind": (lambda x, w: F.conv_transpose2d(x, w, stride=3, output_padding=2), PLANE, (4, 3, 2, 2)),
    "transposed 3d": (lambda x, w: F.conv_transpose3d(x, w, padding=1), CUBE, (2, 3, 2, 3, 3)),
    "convolution": (
        lambda x, w: torch.ops.aten.convolution(x, w, None, [2, 1], [0, 1], [1, 1], False, [0, 0], 2),
        PLANE,
        (6, 2, 3, 2),
    ),
    "max_pool1d": (lambda x: F.max_pool1d(x, 3, 2, 1), LINE),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), PLANE),
    "max_pool2d overlapping": (lambda x: F.max_pool2d(x, (3, 2), 1, 1, dilation=(2, 1)), PLANE),
    "max_pool2d ceil": (lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True), PLANE),
    "max_pool2d ceil in the padding": (lambda x: F.max_pool2d(x, 2, 2, 1, ceil_mode=True), (1, 1, 5, 5)),
    "max_pool2d of ties": (lambda x: F.max_pool2d(x * 0 + 1, 3, 1), PLANE),
    "max_pool2d without batch": (lambda x: F.max_pool2d(x, 2, 1), (4, 7, 8)),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2, (2, 1, 1)), CUBE),
    "max_pool2d places": (lambda x: F.max_pool2d(x, (2, 3), (1, 2), (1, 0), return_indices=True), PLANE),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, (7, 2)), PLANE),
}


@pytest.mark.parametrize("name", CASES)
def test_matches_pytorch(name: str, verified) -> None:
    function, *shapes = CASES[name]
    verified(emit(check(Case(no_input(function), *shapes))))
