"""Operators that write in place, through views, in no_grad regions and to inputs, and operators that PyTorch composes
of others, compared with PyTorch as in test_aten.py."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from hone.emit import emit  # noqa: E402
from test_aten import IDS, M, R, V, Case, check, no_input  # noqa: E402


def overlapping_slices(x):
    y = x * 2
    first, column = y[0], y[:, 3]
    y[1:3] = x[2:4] * x.detach().abs().mean()
    first.mul_(x[1])
    y[:, 2] += column
    return y, first * 3, column


def strided_slices(x):
    y = x * 1
    even = y[:, ::2, 1:6:2]
    even.copy_(x[:, 1:4, 2:5])
    y[..., 1::3].neg_()
    return y, even


def views_of_views(x):
    y = x.clone()
    y.transpose(0, 2)[1].t().mul_(2)
    y.flatten(0, 1)[4:6, 1:3].add_(x[0, 0, :2])
    y.view(3, -1).unflatten(1, (5, 7)).permute(1, 2, 0)[0, 0].fill_(0.5)
    y.movedim(0, 1).unsqueeze(0).squeeze(0)[2, 1].zero_()
    return y


def parts(x):
    y = torch.ones_like(x)  # PyTorch has no gradient of a write through one of several views
    left, right = y.split([3, 4], dim=-1)
    rows = y.unbind(0)
    upper, lower = torch.chunk(y, 2, 0)
    left.mul_(right[..., :3])
    rows[2].add_(1)
    lower.sub_(upper[:1])
    return y * x, left, right, *rows


def in_no_grad(x):
    y = torch.zeros(5, 7)
    row = y[1]
    with torch.no_grad():
        y[2:] = 3.0
        row.copy_(x[0])
        inner = y[0]
        inner.fill_(2.0)
        scale = x.abs().mean()
    y[4, :2].mul_(0.5)
    return y * x * scale, row, inner


def in_no_grad_beside_views(x):
    with torch.no_grad():
        scale = x.abs().mean()
    x = x * scale
    x[:, 0].mul_(2)
    return x


def shape_in_place(x):
    y = x * 2
    row = y[0]
    y.unsqueeze_(0)
    y.transpose_(1, 2)
    y.squeeze_(0)
    y.t_()
    row.add_(1)
    return y, row


def same_tensor(x):
    y = x * 2
    same = y.contiguous().to(torch.float32 if y.dtype == torch.float32 else torch.float64)
    other = y.reshape(-1)
    y.add_(1)
    other[3:5] = 0
    return y, same, other


def results_given(x):
    y = torch.empty(5, 7, dtype=x.dtype)
    torch.exp(x.detach(), out=y)
    torch.add(y, x.detach(), alpha=2, out=y)
    return y * x


def completely_written(x):
    y, z, w = torch.empty_like(x), x.new_empty(7, 5), torch.empty(5, 14, dtype=x.dtype)
    y[:, :4], y[:, 4:] = x[:, 3:], x[:, :3]
    z.copy_(x.t())
    torch.cat([x, x], 1, out=w) if not x.requires_grad else w.copy_(torch.cat([x, x], 1))
    return y, z, w


def accumulated(x):
    total = torch.zeros(7, dtype=x.dtype)
    for row in x:
        total += row.exp()
        total[2:4] *= row[:2]
    return total


WRITES = {
    "overlapping slices": (overlapping_slices, M),
    "strided slices": (strided_slices, R),
    "views of views": (views_of_views, R),
    "parts": (parts, R),
    "no_grad": (in_no_grad, M),
    "no_grad beside views": (in_no_grad_beside_views, M),
    "shape in place": (shape_in_place, M),
    "same tensor": (same_tensor, M),
    "results given": (results_given, M),
    "completely written": (completely_written, M),
    "accumulated": (accumulated, M),
}

COMPOSED = {
    "other names": (
        lambda x, y: torch.multiply(x, y)
        + torch.subtract(x, y, alpha=2)
        + torch.divide(x, y * y + 1)
        + torch.true_divide(x, 2)
        + torch.negative(x)
        + torch.absolute(y)
        + torch.clip(x, -1, 0.5)
        + torch.greater(x, y)
        + torch.less_equal(x, y)
        + torch.not_equal(x, 0),
        M,
        M,
    ),
    "concatenate moveaxis": (lambda x, y: [torch.concatenate([x, y], 1), torch.moveaxis(x, 0, 1)], M, M),
    "in place": (lambda x: (x * 1).multiply_(2).subtract_(1).clip_(-1, 1).negative_(), M),
    "a view in place": (lambda x: torch.moveaxis(x * 1, 0, 1).multiply_(2), M),
    "tensor_split": (lambda x: [y * (i + 1) for i, y in enumerate(torch.tensor_split(x, 3, 1))], M),
    "einsum batch dots": (lambda x, y: torch.einsum("...rk,...kc->...rc", x, y), (2, 3, 4), (2, 4, 5)),
    "einsum diagonal": (lambda x: torch.einsum("ii->i", x), (4, 4)),
    "einsum three operands": (lambda x, y, z: torch.einsum("ab,bc,cd->ad", x, y, z), M, (7, 4), (4, 2)),
    "einsum without result": (lambda x, y: torch.einsum("ab,bc", x, y), M, (7, 4)),
    "outer tensordot kron": (
        lambda x, y: [torch.outer(x, x), torch.tensordot(y, x, 1), torch.kron(y[:2], y[:, :2])],
        V,
        M,
    ),
    "meshgrid": (lambda x, y: [a * 2 + b for a, b in [torch.meshgrid(x, y, indexing="ij")]], V, (5,)),
    "tile diff": (lambda x: [x.tile(2, 1), x.diff(dim=1)], M),
    "stacks": (lambda x, y: [torch.hstack([x, y]), torch.vstack([x, y]), torch.dstack([x, y])], M, M),
    "rot90 trace": (lambda x: [torch.rot90(x, 1, (0, 1)), torch.trace(x[:, :5])], M),
    "block_diag diag_embed": (lambda x: [torch.block_diag(x, x[:1]), torch.diag_embed(x)], M),
    "linspace": (lambda x: x * torch.linspace(0, 1, 7) + torch.linspace(-2, 3, 7), M),
    "losses with margins": (
        lambda x, y: [
            F.triplet_margin_loss(x, y, x * y),
            F.cosine_embedding_loss(x, y, torch.tensor([1, -1, 1, -1, 1])),
            F.margin_ranking_loss(x, y, torch.ones_like(x), margin=0.3),
            F.hinge_embedding_loss(x, y.detach().sign(), margin=0.5),
            F.poisson_nll_loss(x, y.detach().abs()),
        ],
        M,
        M,
    ),
    "cosine_similarity": (lambda x, y: F.cosine_similarity(x, y, dim=0), M, M),
    "recurrent": (
        lambda x, h, w, u, v: torch.gru(x, h, [w, u, v, v * 2], True, 1, 0.0, True, False, False),
        (4, 2, 3),
        (1, 2, 5),
        (15, 3),
        (15, 5),
        (15,),
    ),
    "long short-term": (
        lambda x, h, w, u, v: torch.lstm(x, [h, h * 2], [w, u, v, v * 2], True, 1, 0.0, True, False, True),
        (2, 4, 3),
        (1, 2, 5),
        (20, 3),
        (20, 5),
        (20,),
    ),
}


@pytest.mark.parametrize("name", [*WRITES, *COMPOSED])
def test_matches_pytorch(name: str, verified) -> None:
    function, *shapes = (WRITES | COMPOSED)[name]
    verified(emit(check(Case(no_input(function), *shapes))))


def test_written_input(verified) -> None:
    def function(x, ids):
        ids.clamp_(1, 3)
        return F.embedding(ids, x) * ids.unsqueeze(-1)

    verified(emit(check(Case(function, (5, 7)), IDS.clone())))
