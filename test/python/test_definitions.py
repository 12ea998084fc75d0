"""Operators that definitions.py composes, and others made of several ops; compared as in test_aten.py."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from hone.emit import emit  # noqa: E402
from hone.errors import HoneError  # noqa: E402
from test_aten import TOLERANCE, Case, check, imported, no_input  # noqa: E402

SQUARE, STACK = (4, 4), (3, 4, 4)
IDS = torch.tensor([3, 1, 3, 0, 3, 1])
BAGS = torch.tensor([0, 2, 2, 5])
PLACES = torch.tensor([[0, 1, 1, 3], [2, 2, 2, 0], [1, 3, 1, 1]])


def symmetric(x: torch.Tensor) -> torch.Tensor:
    return x @ x.mT + torch.eye(4)


def bags(mode: str, **options):
    return lambda w: F.embedding_bag(IDS, w, BAGS, mode=mode, **options)


def scattered(kind: str, include_self: bool = True):
    """Some of the elements that meet are equal, and two are equal to those they meet."""
    ties = lambda x: (x * 2).round() / 2 + x - x.detach()
    return lambda x, y: ties(x).scatter_reduce(1, PLACES, ties(y), kind, include_self=include_self)


CASES = {
    "lgamma": (lambda x: torch.lgamma(x * 3), (5, 7)),
    "digamma": (lambda x: torch.digamma(x.abs() + 0.1) + torch.digamma(-x.detach().abs() - 0.3), (5, 7)),
    "pdist of order 1": (lambda x: F.pdist(x, 1.0), (5, 3)),
    "bags of sums": (bags("sum"), (5, 3)),
    "bags of means": (bags("mean", padding_idx=1), (5, 3)),
    "bags of maxima": (bags("max"), (5, 3)),
    "bags with weights": (
        lambda w, s: F.embedding_bag(IDS, w, BAGS, mode="sum", per_sample_weights=s), (5, 3), (6,)
    ),
    "bags of matrices": (lambda w: F.embedding_bag(IDS.view(2, 3), w), (5, 3)),
    "inverse": (lambda x: torch.linalg.inv(x), SQUARE),
    "inverse with a zero on the diagonal": (lambda x: torch.linalg.inv(x * (1 - torch.eye(4))), STACK),
    "solve": (lambda x, y: torch.linalg.solve(x, y), STACK, (3, 4, 2)),
    "solve for vectors": (lambda x, y: torch.linalg.solve(x, y), STACK, (3, 4)),
    "solve from the right": (lambda x, y: torch.linalg.solve(x, y, left=False), SQUARE, (2, 4)),
    "cholesky": (lambda x: torch.linalg.cholesky(symmetric(x)), STACK),
    "upper cholesky": (lambda x: torch.linalg.cholesky(symmetric(x), upper=True), SQUARE),
    "triangles of indices": (
        lambda x: x[torch.tril_indices(4, 4, -1)[0], torch.triu_indices(3, 4, 1)[1]], SQUARE
    ),
    "scatter amax": (scattered("amax"), (3, 5), (3, 4)),
    "scatter amin of others": (scattered("amin", False), (3, 5), (3, 4)),
    "scatter amax of integers": (
        lambda x: x * torch.zeros(3, 5).int().scatter_reduce(1, PLACES, PLACES.int(), "amax"), (3, 5)
    ),
}

# PyTorch's own derivative of digamma sums a series to about 1e-9.
TOLERANCES = {"digamma": 1e-8}


@pytest.mark.parametrize("name", CASES)
def test_matches_pytorch(name: str, verified) -> None:
    function, *shapes = CASES[name]
    verified(emit(check(Case(no_input(function), *shapes), tolerance=TOLERANCES.get(name, TOLERANCE))))


REFUSED = {
    "inverts a matrix of size 65": (lambda x: torch.linalg.inv(x), (65, 65)),
    "factors a matrix of size 65": (lambda x: torch.linalg.cholesky(x), (65, 65)),
    "embedding_bag with scale_grad_by_freq": (bags("sum", scale_grad_by_freq=True), (5, 3)),
    "combines by 'prod'": (scattered("prod"), (3, 5), (3, 4)),
}


@pytest.mark.parametrize("message", REFUSED)
def test_is_refused(message: str) -> None:
    function, *shapes = REFUSED[message]
    with pytest.raises(HoneError, match=message):
        imported(Case(no_input(function), *shapes))
