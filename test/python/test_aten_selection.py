"""Orders, and elements read and written by index: imported, and compared with PyTorch as in test_aten.py."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from hone.emit import emit  # noqa: E402
from test_aten import IDS, Case, check, no_input  # noqa: E402

M, R = (5, 7), (3, 5, 7)
TIES = torch.tensor([[2.0, 1.0, 2.0, 0.0, 1.0], [0.0, 0.0, 3.0, 3.0, 3.0]])

ORDERS = {
    "topk": (lambda x: x.topk(3)[0], M),
    "topk smallest of a leading dimension": (lambda x: x.topk(2, 0, largest=False), R),
    "topk of one": (lambda x: x.sum().topk(1, 0), M),
    "sort": (lambda x: x.sort(), M),
    "sort descending": (lambda x: x.sort(1, descending=True), R),
    "argsort of an argsort": (lambda x: x.argsort(-1).argsort(-1), M),
    "msort": (lambda x: x.msort(), M),
    "kthvalue": (lambda x: x.kthvalue(2, 0, keepdim=True), M),
    "median": (lambda x: [x.median(), *x.median(1)], M),
}

# Indices [3, 4] below 5.
BY_INDEX = {
    "gather of fewer lines": (lambda x, i: x.gather(0, i[:2, :3]), (5, 7)),
    "gather of integers": (lambda x, i: x.sum() + torch.arange(15).view(3, 5).gather(1, i), (5, 7)),
    "integers by index": (lambda x, i: x.sum() + torch.arange(10).view(5, 2)[i], (5, 7)),
    "masked_scatter": (
        lambda x, y, i: [x.masked_scatter(i > 1, y), x[0].masked_scatter(i > 1, y), (y * 1).masked_scatter_(y > 0, x)],
        (3, 4),
        (4, 4),
    ),
    "take_along_dim": (lambda x, i: x.take_along_dim(i[:, :1], 1), (3, 5)),
    "take_along_dim flat": (lambda x, i: x.take_along_dim(i), (3, 5)),
    "scatter_add": (lambda x, y, i: x.scatter_add(1, i, y), (3, 5), (3, 4)),
    "scatter_add of fewer lines": (lambda x, y, i: x.scatter_add(0, i[:2, :3], y), (5, 7), (2, 3)),
    "scatter a number": (lambda x, i: x.scatter(1, i[:, :1], 2.5), (3, 5)),
    "scatter": (lambda x, y, i: x.scatter(1, i[:, ::3] // 2 * 2, y), (3, 5), (3, 2)),
    "scatter_reduce sum": (lambda x, y, i: x.scatter_reduce(1, i, y, "sum", include_self=False), (3, 5), (3, 4)),
    "scatter_reduce mean": (
        lambda x, y, i: [x.scatter_reduce(1, i, y, "mean"), x.scatter_reduce(1, i, y, "mean", include_self=False)],
        (3, 5),
        (3, 4),
    ),
    "index_add": (lambda x, y, i: x.index_add(1, i[0], y, alpha=0.5), (3, 5), (3, 4)),
    "index_copy": (lambda x, y, i: x.index_copy(0, i[0], y), (5, 2), (4, 2)),
    "index_fill": (lambda x, i: x.index_fill(0, i[0], 1.5), (5, 2)),
    "index_put": (lambda x, y, i: x.index_put((i[0],), y), (5, 2), (4, 2)),
    "index_put of two dimensions": (lambda x, y, i: x.index_put((i[0], i[0] // 2), y), (5, 5), (4,)),
    "index_put accumulated": (lambda x, y, i: x.index_put((i,), y, accumulate=True), (5, 2), (2,)),
    "index_put under a mask": (lambda x, i: x.index_put((x[:, 0] > 0,), torch.zeros(2)), (5, 2)),
    "written through an index": (lambda x, i: _assigned(x * 1, i), (5, 7)),
    "histc": (lambda x, i: x.sum() + torch.histc(i.to(x.dtype), 5, 0, 4), (5, 7)),
}


def _assigned(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    """In-place forms of the overloads above."""
    x[i[0]] = x[0] * 2
    x[x > 1.5] = 0.25
    x.scatter_add_(0, i, x[:3, :4] * 3)
    return x


@pytest.mark.parametrize("name", ORDERS)
def test_orders_match_pytorch(name: str, verified) -> None:
    function, *shapes = ORDERS[name]
    verified(emit(check(Case(no_input(function), *shapes))))


def test_order_of_ties_is_that_of_places(verified) -> None:
    """PyTorch's own topk takes any of equal elements; a stable sort, the first ones."""
    verified(emit(check(Case(lambda x, t: x.sum() + t.sort(dim=-1, stable=True)[1] + t.argsort(stable=True), M), TIES)))


@pytest.mark.parametrize("name", BY_INDEX)
def test_elements_by_index_match_pytorch(name: str, verified) -> None:
    function, *shapes = BY_INDEX[name]
    verified(emit(check(Case(function, *shapes), IDS)))
