"""Every operator that torch tags as core is imported, composed or refused: an example of each that no emitter takes.

Examples are compared as in test_aten.py. Overloads without an emitter must have one here, so that no row of
docs/operators.md is only said.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from conftest import ROOT  # noqa: E402
from hone.aten import TABLE  # noqa: E402
from hone.aten.complex import COMPLEX  # noqa: E402
from hone.aten.refused import BY_VALUE, REFUSED  # noqa: E402
from hone.coverage import core_operators, name_of, support_of  # noqa: E402
from hone.emit import emit  # noqa: E402
from hone.errors import HoneError  # noqa: E402
from test_aten import Case, check, imported, no_input  # noqa: E402

aten = torch.ops.aten
IMAGE, VOLUME = (2, 3, 4, 4), (1, 2, 3, 4, 3)
IDS = torch.tensor([3, 1, 3, 0])
OFFSETS = torch.tensor([0, 1, 3])


def layer_norm_backward(x, gradient, weight):
    _, mean, scale = aten.native_layer_norm(x.detach(), [4], weight, None, 1e-5)
    state = x.detach(), [4], mean.detach(), scale.detach()
    return aten.native_layer_norm_backward(gradient, *state, weight, None, [True, True, False])[:2]


def group_norm_backward(x, gradient):
    sizes = (2, 4, 16, 2)
    _, mean, scale = aten.native_group_norm(x.detach(), None, None, *sizes, 1e-5)
    state = gradient.detach(), x.detach(), mean.detach(), scale.detach()  # PyTorch does not differentiate it again
    return x * aten.native_group_norm_backward(*state, None, *sizes, [True, False, False])[0]


def max_pool_backward(x, gradient):
    place = aten.max_pool2d_with_indices(x.detach(), [2, 2])[1]
    return aten.max_pool2d_with_indices_backward(gradient, x.detach(), [2, 2], [2, 2], [0, 0], [1, 1], False, place)


# name: a function of tensors, and their shapes.
COMPOSED = {
    "_embedding_bag.default": (lambda w: aten._embedding_bag(w, IDS, OFFSETS, False, 1)[0], (5, 3)),
    "_native_batch_norm_legit.no_stats": (
        lambda x, w: aten._native_batch_norm_legit.no_stats(x, w, None, True, 0.1, 1e-5)[0], IMAGE, (3,)
    ),
    "_native_batch_norm_legit_no_training.default": (
        lambda x, w: aten._native_batch_norm_legit_no_training(x, w, w, w.detach(), w.detach().exp(), 0.1, 1e-5)[0],
        IMAGE, (3,),
    ),
    "_pdist_forward.default": (lambda x: F.pdist(x) + aten._pdist_forward(x.detach()), (4, 3)),
    "atan2.out": (lambda x, y: x * aten.atan2.out(x.detach(), y.detach(), out=torch.empty(3, 2)), (3, 2), (3, 2)),
    "col2im.default": (lambda x: F.fold(x, (4, 4), 2, stride=2), (2, 12, 4)),
    "embedding_dense_backward.default": (lambda g: aten.embedding_dense_backward(g, IDS, 5, -1, False), (4, 3)),
    "grid_sampler_2d.default": (lambda x, g: F.grid_sample(x, g.sigmoid(), align_corners=False), IMAGE, (2, 3, 3, 2)),
    "isinf.default": (lambda x: x * torch.isinf(x / x.relu()), (3, 2)),
    "max_pool2d_with_indices_backward.default": (max_pool_backward, IMAGE, (2, 3, 2, 2)),
    "native_group_norm.default": (
        lambda x, w: aten.native_group_norm(x, w, w, 2, 4, 16, 2, 1e-5)[0], (2, 4, 4, 4), (4,)
    ),
    "native_group_norm_backward.default": (group_norm_backward, (2, 4, 4, 4), (2, 4, 4, 4)),
    "native_layer_norm.default": (lambda x, w: aten.native_layer_norm(x, [4], w, w, 1e-5)[0], (3, 4), (4,)),
    "native_layer_norm_backward.default": (layer_norm_backward, (3, 4), (3, 4), (4,)),
    "reflection_pad1d.default": (lambda x: F.pad(x, (2, 1), mode="reflect"), (2, 3, 4)),
    "reflection_pad2d.default": (lambda x: F.pad(x, (2, 1, 0, 3), mode="reflect"), IMAGE),
    "reflection_pad3d.default": (lambda x: F.pad(x, (2, 1, 0, 3, 1, 1), mode="reflect"), VOLUME),
    "replication_pad2d.default": (lambda x: F.pad(x, (2, 1, 0, 3), mode="replicate"), IMAGE),
    "replication_pad3d.default": (lambda x: F.pad(x, (2, 1, 0, 3, 1, 1), mode="replicate"), VOLUME),
    "upsample_bilinear2d.vec": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), IMAGE),
    "upsample_nearest2d.vec": (lambda x: F.interpolate(x, size=(7, 3)), IMAGE),
}

REFUSING = {
    "_adaptive_avg_pool2d_backward.default": (
        lambda x: aten._adaptive_avg_pool2d_backward(x.mean((2, 3), True), x), IMAGE
    ),
    "_local_scalar_dense.default": (lambda x: x * x.sum().item(), (3,)),
    "_native_batch_norm_legit.default": (
        lambda x: aten._native_batch_norm_legit(x, None, None, torch.zeros(3), torch.ones(3), True, 0.1, 1e-5)[0], IMAGE
    ),
    "avg_pool2d_backward.default": (
        lambda x, g: aten.avg_pool2d_backward(g, x, [2, 2], [2, 2], [0, 0], False, True, None), IMAGE, (2, 3, 2, 2)
    ),
    "convolution_backward.default": (
        lambda x, w, g: aten.convolution_backward(
            g, x, w, None, [1], [0], [1], False, [0], 1, [True, False, False]
        )[0],
        (1, 2, 5), (3, 2, 3), (1, 3, 3),
    ),
    "nonzero.default": (lambda x: x.sum() * torch.nonzero(x > 0).sum(), (3,)),
    "resize_.default": (lambda x: x.sum() * (x.detach() * 1).resize_(2), (3,)),
}


def of_kind(*kinds: str) -> set[str]:
    return {name_of(target) for target in core_operators() if support_of(target).kind in kinds}


def test_every_core_operator_has_an_answer() -> None:
    assert not of_kind("missing")
    assert of_kind("torch", "hone", "in place") == COMPOSED.keys()
    assert of_kind("refused") == REFUSING.keys()


def test_no_refused_operator_has_an_emitter() -> None:
    assert not (BY_VALUE.keys() | REFUSED.keys()) & (TABLE.keys() | COMPLEX.keys())


@pytest.mark.parametrize("name", COMPOSED)
def test_composed_operators_match_pytorch(name: str, verified) -> None:
    function, *shapes = COMPOSED[name]
    verified(emit(check(Case(no_input(function), *shapes))))


@pytest.mark.parametrize("name", REFUSING)
def test_refused_operators_say_why(name: str) -> None:
    function, *shapes = REFUSING[name]
    with pytest.raises(HoneError) as error:
        imported(Case(no_input(function), *shapes))
    assert {**BY_VALUE, **REFUSED}[name] in str(error.value)


def test_page_is_up_to_date() -> None:
    script, page = f"{ROOT}/tools/operators_page.py", f"{ROOT}/docs/operators.md"
    subprocess.run([sys.executable, script, page, "--check"], check=True)
