"""Operators that are composed: of a few ops, or by torch's own definitions. Compared as in test_aten.py."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from hone.emit import emit  # noqa: E402
from hone.errors import HoneError  # noqa: E402
from test_aten import TOLERANCE, Case, check, no_input  # noqa: E402

M, R, V = (5, 7), (3, 5, 7), (7,)
CLASSES = torch.tensor([4, 0, 6, 2, 2])
SIGNS = torch.tensor([1, -1, 1, -1, 1])

# PyTorch's own gradients of these hold constants of single precision.
SINGLE = {"hardsigmoid", "celu"}


def weights() -> torch.Tensor:
    return torch.arange(7.0) + 1


CASES = {
    "concatenate": (lambda x, y: torch.concatenate([x, y]), M, M),
    "subtract": (lambda x, y: torch.subtract(x, y), M, M),
    "multiply": (lambda x, y: torch.multiply(x, y), M, M),
    "greater": (lambda x, y: torch.greater(x, y) * x, M, M),
    "moveaxis": (lambda x: torch.moveaxis(x, 0, 2), R),
    "negative": (lambda x: torch.negative(x), M),
    "log1p": (lambda x: torch.log1p(x * x), M),
    "expm1": (lambda x: torch.expm1(x), M),
    "addcmul": (lambda x, y, z: torch.addcmul(x, y, z, value=0.3), M, M, M),
    "addcdiv": (lambda x, y, z: torch.addcdiv(x, y, z * z + 1, value=0.3), M, M, M),
    "lerp": (lambda x, y: torch.lerp(x, y, 0.3), M, M),
    "hardswish": (lambda x: F.hardswish(x * 3), M),
    "hardsigmoid": (lambda x: F.hardsigmoid(x * 3), M),
    "hardtanh": (lambda x: F.hardtanh(x * 3), M),
    "relu6": (lambda x: F.relu6(x * 5), M),
    "mish": (lambda x: F.mish(x), M),
    "selu": (lambda x: F.selu(x), M),
    "celu": (lambda x: F.celu(x, 0.7), M),
    "elu": (lambda x: F.elu(x), M),
    "prelu": (lambda x, w: F.prelu(x, w), (3, 7), (7,)),
    "softshrink": (lambda x: F.softshrink(x), M),
    "hardshrink": (lambda x: F.hardshrink(x), M),
    "tanhshrink": (lambda x: F.tanhshrink(x), M),
    "threshold": (lambda x: F.threshold(x, 0.1, 0.2), M),
    "logsigmoid": (lambda x: F.logsigmoid(x), M),
    "softsign": (lambda x: F.softsign(x), M),
    "glu": (lambda x: F.glu(x, 0), (4, 7)),
    "logit": (lambda x: torch.logit(x.sigmoid() * 0.9 + 0.05), M),
    "cosine_similarity": (lambda x, y: F.cosine_similarity(x, y), M, M),
    "kl_div": (lambda x, y: F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction="batchmean"), M, M),
    "kl_div_log": (lambda x, y: F.kl_div(x.log_softmax(-1), y.log_softmax(-1), log_target=True), M, M),
    "smooth_l1": (lambda x, y: F.smooth_l1_loss(x, y, beta=0.5), M, M),
    "huber": (lambda x, y: F.huber_loss(x, y, delta=0.5), M, M),
    "bce_logits": (
        lambda x, y: F.binary_cross_entropy_with_logits(x, y.detach().sigmoid(), pos_weight=torch.ones(7) * 2), M, M,
    ),
    "bce": (lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.detach().sigmoid()), M, M),
    "margin": (lambda x, y: F.margin_ranking_loss(x, y, torch.ones(5, 7), 0.1), M, M),
    "triplet": (lambda x, y, z: F.triplet_margin_loss(x, y, z), M, M, M),
    "cosine_embedding": (lambda x, y: F.cosine_embedding_loss(x, y, SIGNS), M, M),
    "hinge": (lambda x: F.hinge_embedding_loss(x, SIGNS.unsqueeze(1)), M),
    "soft_margin": (lambda x: F.soft_margin_loss(x, torch.ones(5, 7)), M),
    "poisson": (lambda x: F.poisson_nll_loss(x, torch.ones(5, 7)), M),
    "multilabel": (lambda x: F.multilabel_soft_margin_loss(x, torch.ones(5, 7)), M),
    "nan_to_num": (lambda x: torch.nan_to_num(x), M),
    "diff": (lambda x: torch.diff(x), M),
    "prod": (lambda x: torch.prod(x, 1), M),
    "prod_all": (lambda x: torch.prod(x), (3, 2)),
    "round": (lambda x: torch.round(x) * x, M),
    "floor": (lambda x: torch.floor(x) * x, M),
    "ceil": (lambda x: torch.ceil(x) * x, M),
    "trunc": (lambda x: torch.trunc(x) * x, M),
    "frac": (lambda x: torch.frac(x), M),
    "fmod": (lambda x: torch.fmod(x, 0.7), M),
    "remainder": (lambda x: torch.remainder(x, 0.7), M),
    "floor_div": (lambda x: (x.detach()//0.7) * x, M),
    "linalg_norm": (lambda x: torch.linalg.norm(x, dim=1), M),
    "vector_norm1": (lambda x: torch.linalg.vector_norm(x, 1), M),
    "vector_norm3": (lambda x: torch.linalg.vector_norm(x, 3, dim=0), M),
    "norm_inf": (lambda x: torch.linalg.vector_norm(x, float("inf"), dim=0), M),
    "fro": (lambda x: torch.norm(x, "fro"), M),
    "normalize": (lambda x: F.normalize(x, dim=1), M),
    "dist": (lambda x, y: torch.dist(x, y), M, M),
    "cdist": (lambda x, y: torch.cdist(x, y), M, (4, 7)),
    "pdist": (lambda x, y: F.pairwise_distance(x, y), M, M),
    "tril": (lambda x: x.tril(1) + x.triu(-1), M),
    "meshgrid": (lambda x, y: torch.meshgrid(x, y, indexing="ij"), (3,), (4,)),
    "meshgrid_xy": (lambda x, y: torch.meshgrid(x, y, indexing="xy"), (3,), (4,)),
    "logaddexp": (lambda x, y: torch.logaddexp(x, y), M, M),
    "logcumsumexp": (lambda x: torch.logcumsumexp(x, 1), M),
    "std": (lambda x: x.std(1) + x.var(1, correction=0), M),
    "std_mean": (lambda x: torch.std_mean(x, 1), M),
    "var_mean": (lambda x: torch.var_mean(x, 1), M),
    "cumprod": (lambda x: torch.cumprod(x, 1), M),
    "addbmm": (lambda c, x, y: torch.addbmm(c, x, y), (5, 4), R, (3, 7, 4)),
    "bilinear": (lambda x, y, w, c: F.bilinear(x, y, w, c), (4, 3), (4, 2), (5, 3, 2), (5,)),
    "tensordot": (lambda x, y: torch.tensordot(x, y, dims=([1], [0])), R, (5, 2)),
    "outer": (lambda x, y: torch.outer(x, y), (3,), (4,)),
    "inner": (lambda x, y: torch.inner(x, y), M, M),
    "kron": (lambda x, y: torch.kron(x, y), (2, 3), (3, 2)),
    "chain_matmul": (lambda x, y: torch.linalg.multi_dot([x, y, x]), M, (7, 5)),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), (1, 8, 3, 3)),
    "pixel_unshuffle": (lambda x: F.pixel_unshuffle(x, 2), (1, 2, 4, 4)),
    "channel_shuffle": (lambda x: F.channel_shuffle(x, 2), (1, 8, 3, 3)),
    "unfold": (lambda x: F.unfold(x, 2, stride=2), (1, 2, 4, 4)),
    "fold": (lambda x: F.fold(x, (4, 4), 2, stride=2), (1, 8, 4)),
    "tensor.unfold": (lambda x: x.unfold(1, 3, 2), M),
    "reflect": (lambda x: F.pad(x, (1, 2), mode="reflect"), (1, 2, 7)),
    "reflect2d": (lambda x: F.pad(x, (1, 2, 2, 1), mode="reflect"), (1, 2, 5, 7)),
    "replicate": (lambda x: F.pad(x, (1, 2), mode="replicate"), (1, 2, 7)),
    "circular": (lambda x: F.pad(x, (1, 2), mode="circular"), (1, 2, 7)),
    "flip": (lambda x: x.flip(0, 1), M),
    "rot90": (lambda x: torch.rot90(x), M),
    "repeat_interleave": (lambda x: x.repeat_interleave(torch.tensor([1, 2, 1, 1, 2]), 0, output_size=7), M),
    "take": (lambda x: torch.take(x, torch.tensor([1, 5])), M),
    "nearest": (lambda x: F.interpolate(x, scale_factor=2), (1, 2, 3, 4)),
    "nearest_odd": (lambda x: F.interpolate(x, size=(5, 7)), (1, 2, 3, 4)),
    "bilinear_up": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (1, 2, 3, 4)),
    "bilinear_ac": (lambda x: F.interpolate(x, size=(5, 6), mode="bilinear", align_corners=True), (1, 2, 3, 4)),
    "bicubic": (lambda x: F.interpolate(x, size=(5, 6), mode="bicubic"), (1, 2, 3, 4)),
    "linear1d": (lambda x: F.interpolate(x, size=6, mode="linear"), (1, 2, 3)),
    "trilinear": (lambda x: F.interpolate(x, size=(4, 4, 4), mode="trilinear"), (1, 2, 3, 3, 3)),
    "avg_pool1d": (lambda x: F.avg_pool1d(x, 3, 2, 1), (1, 2, 7)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 3, 2, 1), (1, 2, 7, 8)),
    "avg_pool2d_ceil": (lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False), (1, 2, 7, 8)),
    "avg_pool3d": (lambda x: F.avg_pool3d(x, 2), (1, 2, 4, 4, 4)),
    "adaptive_avg1": (lambda x: F.adaptive_avg_pool1d(x, 3), (1, 2, 7)),
    "adaptive_avg2": (lambda x: F.adaptive_avg_pool2d(x, 1), (1, 2, 7, 8)),
    "adaptive_avg2b": (lambda x: F.adaptive_avg_pool2d(x, (3, 4)), (1, 2, 7, 8)),
    "adaptive_max1": (lambda x: F.adaptive_max_pool1d(x, 3), (1, 2, 9)),
    "group_norm": (lambda x, w, c: F.group_norm(x, 2, w, c), (2, 4, 3, 3), (4,), (4,)),
    "instance_norm": (lambda x, w, c: F.instance_norm(x, weight=w, bias=c), (2, 4, 3, 3), (4,), (4,)),
    "lrn": (lambda x: F.local_response_norm(x, 3), (2, 4, 3, 3)),
    "weight_norm": (lambda v, g: torch._weight_norm(v, g, 0), M, (5, 1)),
    "linspace": (lambda x: x * torch.linspace(0, 1, 7), M),
    "logspace": (lambda x: x * torch.logspace(0, 1, 7), M),
    "einsum": (lambda x, y: torch.einsum("bij,bjk,kl->bil", x, x.transpose(1, 2), y), R, (5, 3)),
    "sdpa": (lambda q: F.scaled_dot_product_attention(q, q[:, :1], q[:, :1], enable_gqa=True), (2, 4, 5, 4)),
    "sdpa_bcast": (
        lambda q, k: F.scaled_dot_product_attention(q, k.expand(2, 4, 5, 4), k.expand(2, 4, 5, 4)),
        (2, 4, 5, 4),
        (2, 1, 5, 4),
    ),
    "square_": (lambda x: (x * 1).square_().clamp_(max=1.).unsqueeze_(0), M),
    "count_nonzero": (lambda x: x.sum()+ (x > 0).count_nonzero(), M),
    "isnan": (lambda x: torch.where(x.isnan(), 0, x), M),
    "isfinite": (lambda x: torch.where(x.isfinite(), x, 0), M),
    "clamp_t": (lambda x, y: x.clamp(min=y), M, M),
    "aminmax": (lambda x: torch.aminmax(x), M),
    "searchsorted": (lambda x: x + torch.searchsorted(torch.arange(5.), x.detach()), M),
    "bucketize": (lambda x: x + torch.bucketize(x.detach(), torch.arange(5.)), M),
    "atan": (lambda x: torch.atan(x) + torch.sinh(x) + torch.cosh(x), M),
    "atan2": (lambda x, y: torch.atan2(x, y), M, M),
    "tan": (lambda x: torch.tan(x), M),
    "erfc": (lambda x: torch.erfc(x), M),
    "log2": (lambda x: torch.log2(x * x + 1) + torch.log10(x * x + 1), M),
    "sinc": (lambda x: torch.sinc(x), M),
    "xlogy": (lambda x, y: torch.xlogy(x, y * y + 1), M, M),
    "hypot": (lambda x, y: torch.hypot(x, y), M, M),
    "grid_sample": (lambda x, y: F.grid_sample(x, y.tanh(), align_corners=False), (1, 2, 4, 4), (1, 3, 3, 2)),
    "soft targets": (lambda x, y: F.cross_entropy(x, y.softmax(-1)), M, M),
    "class weights": (lambda x: F.cross_entropy(x, CLASSES, weight=weights()), M),
    "class weights smooth": (
        lambda x: F.cross_entropy(x, CLASSES, weight=weights(), label_smoothing=0.1, ignore_index=2), M,
    ),
    "class weights none": (lambda x: F.cross_entropy(x, CLASSES, weight=weights(), reduction="none"), M),
    "nll weights": (lambda x: F.nll_loss(x, CLASSES, weight=weights(), ignore_index=2), M),
    "soft smooth": (lambda x, y: F.cross_entropy(x, y.softmax(-1), weight=weights(), label_smoothing=0.1), M, M),
    "soft sum": (lambda x, y: F.cross_entropy(x, y.softmax(-1), reduction="sum"), M, M),
    "batch_norm eval": (lambda x: F.batch_norm(x, torch.zeros(7), torch.ones(7)), M),
}


@pytest.mark.parametrize("name", CASES)
def test_matches_pytorch(name: str, verified) -> None:
    function, *shapes = CASES[name]
    verified(emit(check(Case(no_input(function), *shapes), tolerance=1e-7 if name in SINGLE else TOLERANCE)))


class _Recurrent(nn.Module):
    """Two layers in both directions, unrolled over four steps."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.body = getattr(nn, kind)(5, 6, num_layers=2, bidirectional=True, batch_first=True)
        self.x = nn.Parameter(torch.randn(2, 4, 5))

    def forward(self, _: torch.Tensor) -> torch.Tensor:
        states = self.body(self.x)[0]
        return (states * states.sin()).sum()


class _Cell(nn.Module):
    """Two steps of a cell."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.cell = getattr(nn, kind)(5, 6)
        self.x = nn.Parameter(torch.randn(2, 5))

    def forward(self, _: torch.Tensor) -> torch.Tensor:
        state = self.cell(self.x)
        state = self.cell(self.x.sin(), state)
        state = state[0] if isinstance(state, tuple) else state
        return (state * state.cos()).sum()


@pytest.mark.parametrize("kind", ["RNNCell", "LSTMCell", "GRUCell"])
def test_recurrent_cells_match_pytorch(kind: str, verified) -> None:
    verified(emit(check(_Cell(kind))))


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_recurrent_layers_match_pytorch(kind: str, verified) -> None:
    verified(emit(check(_Recurrent(kind))))


def test_error_names_both_operators() -> None:
    with pytest.raises(HoneError, match=r"aten.linalg_svd.default is not supported \(operator aten._linalg_svd"):
        check(Case(no_input(lambda x: torch.linalg.svd(x)[1]), (3, 3)))
