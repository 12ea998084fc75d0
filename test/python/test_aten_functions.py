"""Functions, losses, norms, pooling, resizing and padding that are made of several ops, compared with PyTorch as in
test_aten.py, also at the points where their formulas meet."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from hone.emit import emit  # noqa: E402
from test_aten import M, R, TARGETS, V, Case, check, no_input  # noqa: E402

LINE, PLANE, CUBE = (2, 4, 9), (2, 4, 7, 8), (1, 2, 4, 5, 3)


def around(*points: float):
    """The parameters' numbers plus fixed points, at which they are 0: formulas are compared at the points themselves."""
    return torch.tensor(points).repeat(5, 7)[:, :7]


def at(function, *points: float):
    return lambda x: function(x * 0 + around(*points).to(x.dtype)), M


FUNCTIONS = {
    "log1p expm1": (lambda x: torch.log1p(x.abs()) + torch.expm1(x) + torch.special.expm1(x * 1e-9) * 1e9, M),
    "log1p small": (lambda x: torch.log1p(x.abs() * 1e-12) * 1e12, M),
    "log2 log10": (lambda x: torch.log2(x.abs() + 0.1) + torch.log10(x.abs() + 0.1), M),
    "logaddexp": (lambda x, y: torch.logaddexp(x * 50, y) + torch.logaddexp2(x, y), M, M),
    "xlogy": (lambda x, y: torch.xlogy(x, y.abs() + 0.1) + torch.xlogy(x * 0, y), M, M),
    "logit": (lambda x: torch.logit(x.sigmoid()) + torch.logit(x, eps=0.2), M),
    "erfc sinc": (lambda x: torch.erfc(x) + torch.sinc(x) + torch.sinc(x * 0), M),
    "hyperbolic": (lambda x: torch.cosh(x) + torch.sinh(x) + torch.sinh(x * 1e-9) * 1e9, M),
    "hyperbolic inverse": (
        lambda x: torch.asinh(x * 9) + torch.acosh(x.abs() + 1.1) + torch.atanh(x.tanh()) + x.tan(),
        M,
    ),
    "rounding": (lambda x: (x * 9).floor() + (x * 9).ceil() + (x * 9).round() + (x * 9).trunc() + (x * 9).frac(), M),
    "rounding of large": (lambda x: (x * 1e18).floor() * 1e-18 + (x * 1e17).round() * 1e-17, M),
    "rounding at halves": at(
        lambda x: x.round() + x.floor() * 10 + x.ceil() * 100 + x.trunc(), 0.5, 1.5, -0.5, -2.5, 2, -3, 0
    ),
    "divisions": (
        lambda x, y: torch.div(x * 9, y, rounding_mode="floor")
        + torch.div(x * 9, y, rounding_mode="trunc")
        + (x.detach() * 9) // y.detach()
        + (x * 9) % y
        + torch.fmod(x * 9, y),
        M,
        M,
    ),
    "hard activations": (lambda x: F.hardswish(x * 3) + F.hardshrink(x) + F.softshrink(x), M),
    "hardswish at bounds": at(F.hardswish, -3, 3, 0, -1),
    "shrinks at bounds": at(lambda x: F.hardshrink(x) + F.softshrink(x) * 2, -0.5, 0.5, 0),
    "celu glu": (lambda x: [F.celu(x * 3, 0.5), F.glu(x[:, :6]), F.threshold(x, 0.1, 5.0)], M),
    "prelu": (lambda x, w, u: F.prelu(x, w) + F.prelu(x, u), R, (5,), (1,)),
    "nan_to_num": (lambda x: torch.nan_to_num(torch.where(x > 0, x, math.nan), 2.0) + (torch.ones(7) / 0 * x.detach()).nan_to_num(0, 1, -1), M),
    "finite": (lambda x: torch.isfinite(x / (x > 0)) * x + (x / 0).isinf() + (x / 0).isposinf() + x.isneginf(), M),
    "exclusive or": (lambda x, y: ((x > 0) ^ (y > 0)) * x + torch.logical_xor(x, y * 0) + (x > 0).long() ** 2, M, M),
    "fmax fmin": (lambda x, y: torch.fmax(x, torch.where(y > 0, y, math.nan)) + torch.fmin(x, x * 1), M, M),
    "hypot copysign": (lambda x, y: torch.hypot(x, y) + torch.copysign(x, y), M, M),
}

REDUCTIONS = {
    "std of equal elements": (lambda x: (x * 0 + 2).std(-1) + (x * 0).std((0, 1), correction=0), M),
    "std_mean var_mean": (lambda x: [*torch.std_mean(x, 1), *torch.var_mean(x, 0, keepdim=True), x.var(), x.std()], M),
    "norm at 0": (lambda x: [(x * 0).norm(), torch.linalg.vector_norm(x * 0, dim=1), F.normalize(x * 0)], M),
    "norms": (lambda x: [torch.linalg.vector_norm(x, k, dim=1) for k in (0, 1, 2, 3, 0.5, -1, math.inf, -math.inf)], M),
    "norms with zeros": (
        lambda x: [torch.linalg.vector_norm(F.relu(x), k, dim=1) for k in (0.5, 1, 1.5, 2, 3, math.inf)]
        + [torch.linalg.vector_norm(x * 0, k, dim=1) for k in (1, 3, math.inf)],
        M,
    ),
    "linalg norm dist": (lambda x, y: [torch.linalg.norm(x), torch.dist(x, y), torch.dist(x, y, 1)], M, M),
    "cdist": (lambda x, y: [torch.cdist(x, y), torch.cdist(x, x[:2], 1), F.pairwise_distance(x[:4], y)], M, (4, 7)),
    "prod": (lambda x: [x.prod(), x.prod(1), (x * (x > 0)).prod(0, keepdim=True)], M),
    "cumprod": (lambda x: [x.cumprod(1), (x * (x > 0)).cumprod(0)], M),
    "cummax cummin": (lambda x: [*x.cummax(1), *x.cummin(0), *(x * 0).cummax(0), *x.round().cummin(1)], M),
    "aminmax nansum": (lambda x: [*torch.aminmax(x), torch.where(x > 0, x, math.nan).nansum(1)], M),
    "amax of ties": (lambda x: [F.relu(x).amin(1), (x * 0).amax(), F.relu(x).min(1)[0]], M),
}

MOVES = {
    "flip": (lambda x: [x.flip(0), x.flip(1, 2), x.repeat(1, 1, 5).flip(-1)], R),
    "diagonal": (lambda x: [x.diagonal(), x.diagonal(1, 1, 2), x.diagonal(-2, 0, 1), x[0].diag(), x[0, 0].diag()], R),
    "as_strided": (lambda x: x.as_strided((3, 3, 3, 7), (35, 7, 7, 1)) + x.as_strided((7,), (2,), 5), R),
    "unfold": (lambda x: [x.unfold(-1, 3, 1), x.unfold(1, 2, 2), x.unfold(-1, 6, 1), x.unfold(0, 3, 5)], R),
    "reflect": (lambda x: [F.pad(x, (2, 1), mode="reflect"), F.pad(x[0], (3, 0), mode="reflect")], R),
    "replicate": (lambda x: [F.pad(x, (2, 1), mode="replicate"), F.pad(x, (0, 30), mode="replicate")], R),
    "circular": (lambda x: F.pad(x, (2, 1), mode="circular"), R),
    "pads of planes": (
        lambda x: [F.pad(x, (2, 1, 0, 3), mode=mode) for mode in ("reflect", "replicate", "circular")],
        PLANE,
    ),
    "pixel shuffle": (lambda x: [F.pixel_shuffle(x, 2), F.pixel_unshuffle(x[:, :, :6], 2)], PLANE),
    "channel shuffle": (lambda x: F.channel_shuffle(x, 2), PLANE),
    "repeat_interleave with size": (lambda x: torch.repeat_interleave(x, 3, dim=1, output_size=15), R),
}

POOLS = {
    "avg 1d": (lambda x: [F.avg_pool1d(x, 3), F.avg_pool1d(x, 2, 1, 1), F.avg_pool1d(x, 4, 3, 1, True, False)], LINE),
    "avg 2d": (lambda x: [F.avg_pool2d(x, 2), F.avg_pool2d(x, (3, 2), 1, (1, 0)), F.avg_pool2d(x, 3, 2, 1, True)], PLANE),
    "avg 2d without padding": (lambda x: F.avg_pool2d(x, 3, 2, 1, True, False), PLANE),
    "avg 2d divisor": (lambda x: F.avg_pool2d(x, 3, 2, 1, divisor_override=5), PLANE),
    "avg 3d": (lambda x: [F.avg_pool3d(x, 2), F.avg_pool3d(x, 3, 2, 1)], CUBE),
    "adaptive": (
        lambda x: [F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, (7, 4)), F.adaptive_avg_pool2d(x, (3, None))],
        PLANE,
    ),
    "adaptive 1d 3d": (lambda x, y: [F.adaptive_avg_pool1d(x, 4), F.adaptive_avg_pool3d(y, (2, 3, 3))], LINE, CUBE),
    "lp pool": (lambda x: F.lp_pool1d(x.abs() + 0.1, 3, 2), LINE),
    "local response norm": (lambda x: F.local_response_norm(x, 3), PLANE),
}

RESIZES = {
    "nearest": (lambda x: [F.interpolate(x, scale_factor=2), F.interpolate(x, (5, 13)), F.interpolate(x, (3, 4))], PLANE),
    "nearest 1d 3d": (lambda x, y: [F.interpolate(x, 20), F.interpolate(y, scale_factor=(2, 1, 3))], LINE, CUBE),
    "nearest exact": (lambda x: F.interpolate(x, (5, 13), mode="nearest-exact"), PLANE),
    "linear": (lambda x: [F.interpolate(x, 20, mode="linear"), F.interpolate(x, 5, mode="linear")], LINE),
    "bilinear": (
        lambda x: [
            F.interpolate(x, (14, 16), mode="bilinear"),
            F.interpolate(x, (3, 11), mode="bilinear", align_corners=True),
            F.interpolate(x, scale_factor=1.7, mode="bilinear"),
        ],
        PLANE,
    ),
    "trilinear": (lambda x: F.interpolate(x, (7, 3, 6), mode="trilinear"), CUBE),
    "bicubic": (
        lambda x: [
            F.interpolate(x, (14, 5), mode="bicubic"),
            F.interpolate(x, (9, 9), mode="bicubic", align_corners=True),
        ],
        PLANE,
    ),
    "patches": (lambda x: [F.unfold(x, 3), F.unfold(x, (2, 3), dilation=2, padding=1, stride=2)], PLANE),
    "patches folded": (lambda x: F.fold(F.unfold(x, (2, 3), padding=1, stride=2), (7, 8), (2, 3), 1, 1, 2), PLANE),
}

NORMS = {
    "group norm": (lambda x, w, c: [F.group_norm(x, 2, w, c), F.group_norm(x, 4, eps=1e-3)], PLANE, (4,), (4,)),
    "group norm of equal elements": (lambda x: F.group_norm(x * 0 + 1, 2), LINE),
    "instance norm": (lambda x, w, c: [F.instance_norm(x, weight=w, bias=c), F.instance_norm(x)], PLANE, (4,), (4,)),
    "weight norm": (
        lambda v, g: [torch._weight_norm(v, g, 0), torch._weight_norm(v, g.sum(), -1)],
        (5, 3, 2),
        (5, 1, 1),
    ),
}

BINARY = torch.tensor([0.0, 1.0, 1.0, 0.0, 0.3])
LOSSES = {
    "class weights": (
        lambda x, w, t: [
            F.cross_entropy(x, t, w.detach().abs()),
            F.cross_entropy(x, t, w.detach().abs(), reduction="sum", ignore_index=2),
            F.cross_entropy(x, t, w.detach().abs(), label_smoothing=0.1, ignore_index=2),
            F.cross_entropy(x, t, w.detach().abs(), label_smoothing=0.1, reduction="none"),
            F.nll_loss(x, t, w.detach().abs(), ignore_index=0),
        ],
        M,
        V,
    ),
    "probabilities": (
        lambda x, y, t: [
            F.cross_entropy(x, y.softmax(-1)),
            F.cross_entropy(x, y.softmax(-1), label_smoothing=0.2, reduction="sum"),
            F.cross_entropy(x, y.softmax(-1), y[0].detach().abs(), reduction="none"),
        ],
        M,
        M,
    ),
    "margins": (
        lambda x, t: [
            F.multi_margin_loss(x, t),
            F.multi_margin_loss(x, t, p=2, margin=0.5, weight=x[0].detach().abs(), reduction="none"),
        ],
        M,
    ),
    "with logits": (
        lambda x, y, t: [
            F.binary_cross_entropy_with_logits(x[:, 0], BINARY.to(x.dtype)),
            F.binary_cross_entropy_with_logits(x * 50, y.sigmoid(), pos_weight=y[0].detach().abs(), reduction="sum"),
            F.binary_cross_entropy_with_logits(x * 0, y.sigmoid(), weight=y.detach(), reduction="none"),
        ],
        M,
        M,
    ),
    "binary": (
        lambda x, y, t: [
            F.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
            F.binary_cross_entropy(x.sigmoid(), y.sigmoid(), weight=y.detach().abs(), reduction="none"),
            F.binary_cross_entropy((x > 0) * 1.0 + 0 * x, y.sigmoid().detach()) * 1e-10,
        ],
        M,
        M,
    ),
    "divergence": (
        lambda x, y, t: [
            F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction="batchmean"),
            F.kl_div(x.log_softmax(-1), y.log_softmax(-1), log_target=True, reduction="sum"),
            F.kl_div(x.log_softmax(-1), F.one_hot(t, 7).to(x.dtype), reduction="none"),
        ],
        M,
        M,
    ),
    "differences": (
        lambda x, y, t: [
            F.huber_loss(x, y, delta=0.7),
            F.smooth_l1_loss(x, y, beta=0.4, reduction="none"),
            F.smooth_l1_loss(x, y, beta=0),
            F.huber_loss(x + 1, x, reduction="none"),
            F.smooth_l1_loss(x * 1, x, reduction="sum"),
            F.soft_margin_loss(x * 20, y.detach().sign()),
        ],
        M,
        M,
    ),
}

CASES = FUNCTIONS | REDUCTIONS | MOVES | POOLS | RESIZES | NORMS


@pytest.mark.parametrize("name", CASES)
def test_matches_pytorch(name: str, verified) -> None:
    function, *shapes = CASES[name]
    verified(emit(check(Case(no_input(function), *shapes))))


def test_hardsigmoid_matches_pytorch(verified) -> None:
    """PyTorch's own slope of hardsigmoid is 1 / 6 in single precision, also in double."""
    function = lambda x: F.hardsigmoid(x * 3) + F.hardsigmoid(x * 0 + around(-3, 3, 0).to(x.dtype)) * 2
    verified(emit(check(Case(no_input(function), M), tolerance=2**-24)))


@pytest.mark.parametrize("name", LOSSES)
def test_losses_match_pytorch(name: str, verified) -> None:
    function, *shapes = LOSSES[name]
    verified(emit(check(Case(function, *shapes), TARGETS)))
