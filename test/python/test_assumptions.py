"""Branches and numbers that depend on tensors' values: taken as the example batch decides them, and checked."""

from __future__ import annotations

import json
import math
import os

import pytest

torch = pytest.importorskip("torch")

import hone  # noqa: E402
import torch.nn as nn  # noqa: E402
from evaluate import evaluate  # noqa: E402
from hone.emit import emit  # noqa: E402
from hone.errors import HoneError  # noqa: E402
from test_aten import imported  # noqa: E402

MASK = torch.tensor([[True, True, True], [True, True, False]])


class Net(nn.Module):
    """The loss of x [2, 3] after `function(model, x, mask)`."""

    def __init__(self, function) -> None:
        super().__init__()
        self.function = function
        self.weight = nn.Parameter(torch.arange(3.0) + 1)
        self.register_buffer("scale", torch.tensor(2.0))
        self.drop = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return (self.function(self, x * self.weight, mask) ** 2).mean()


def branch(model, x, mask):
    return x if mask.all() else x.masked_fill(~mask, 0.0)


def count(model, x, mask):
    return x[:, : int(mask.sum(-1).min())] / mask.sum().item()


def in_no_grad(model, x, mask):
    with torch.no_grad():
        if not mask.any() or torch.equal(mask[0], mask[1]):
            return x * 0
    return x * (2 if mask[0, 0] else 3)


def of_parameters(model, x, mask):
    return x if model.weight.sum() > 0 else -x


def within_torch(model, x, mask):
    """PyTorch asks whether a variance is negative, and whether targets and variances fit."""
    return nn.functional.gaussian_nll_loss(x, x.detach(), mask + 1.0).sqrt()


def quotient_of_sizes(model, x, mask):
    """Of numbers: no question to the batch, and here beside one."""
    half = torch.div(x.shape[0], 2, rounding_mode="trunc")
    return x.view(half, 6) if mask[0].all() else x


def check_of_the_users(model, x, mask):
    torch._assert_async(mask[0].all(), "the first row must be whole")
    return x


EXAMPLE = (torch.ones(2, 3) * 0.5, MASK)
# A batch that answers otherwise.
OTHERS = {branch: torch.ones_like(MASK), quotient_of_sizes: ~MASK, within_torch: MASK.int() - 3, count: torch.ones_like(MASK), in_no_grad: ~MASK}
ANSWERS = {branch: [False], count: [2, 5], in_no_grad: [True, False, True], of_parameters: [True], quotient_of_sizes: [True], within_torch: [False]}


@pytest.mark.parametrize("function", ANSWERS)
def test_the_example_batch_decides(function, verified) -> None:
    model = Net(function)
    graph, constants = imported(model, *EXAMPLE)
    assert len(graph.assumptions) == len(ANSWERS[function])
    for text, answer in zip(graph.assumptions, ANSWERS[function]):
        assert text.startswith("test/python/test_assumptions.py:") and text.endswith(f"the answer is {answer}")
    verified(emit(graph))

    def loss(mask, **given):
        state = {"weight": model.weight.detach().double()} | constants
        return evaluate(graph, state | {"x": EXAMPLE[0].double(), "mask": mask} | given)

    torch.testing.assert_close(loss(MASK), model(*EXAMPLE).double())
    if function in OTHERS:
        assert math.isnan(loss(OTHERS[function]))
    else:
        assert math.isnan(loss(MASK, weight=-model.weight.detach().double()))


def test_state_is_left_alone() -> None:
    model, before = Net(lambda m, x, mask: branch(m, m.drop(x), mask)), torch.get_rng_state()
    model.eval()
    imported(model, *EXAMPLE)
    assert not model.training and torch.equal(before, torch.get_rng_state())


def test_conditions_of_constants_are_not_assumed() -> None:
    graph, _ = imported(Net(lambda m, x, mask: x * m.scale.item() if m.scale > 1 else x), *EXAMPLE)
    assert not graph.assumptions and not any(op.name == "select" for op in graph.ops)


def test_a_layer_that_is_never_dropped_is_no_assumption() -> None:
    graph, _ = imported(Net(lambda m, x, mask: x if torch.rand(()) >= 0.0 and torch.rand(1) < 1 else -x), *EXAMPLE)
    assert not graph.assumptions and not any(op.name == "random" for op in graph.ops)


def test_conditions_of_the_users_are_checked() -> None:
    model = Net(check_of_the_users)
    graph, _ = imported(model, *EXAMPLE)
    given = {"weight": model.weight.detach().double(), "x": EXAMPLE[0].double()}
    assert not graph.assumptions
    assert not math.isnan(evaluate(graph, given | {"mask": MASK}))
    assert math.isnan(evaluate(graph, given | {"mask": ~MASK}))


def test_dropout_before_a_condition_is_checked_as_drawn() -> None:
    graph, _ = imported(Net(lambda m, x, mask: x if m.drop(x).isfinite().all() else -x), *EXAMPLE)
    assert len(graph.assumptions) == 1


REFUSED = {
    r"a number is read from a tensor": lambda m, x, mask: x * x.sum().item(),
    r"the branch depends on tensor values": lambda m, x, mask: x if torch.rand(()) < 0.5 else -x,
    r"the shape depends on tensor values": lambda m, x, mask: x[mask],
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message: str) -> None:
    with pytest.raises(HoneError, match=r"test_assumptions.py:\d+: " + message):
        imported(Net(REFUSED[message]), *EXAMPLE)


def test_assumptions_are_said_and_kept(tmp_path, capfd) -> None:
    path = hone.export(Net(branch), None, EXAMPLE, out=str(tmp_path / "m.hone"))
    line = branch.__code__.co_firstlineno + 1
    text = f"assumed: test/python/test_assumptions.py:{line}: `return x if mask.all() else x.masked_fill(~mask, 0.0)` asks, "
    assert text + "and the answer is False; a batch that answers otherwise has the loss NaN\n" in capfd.readouterr().err
    with open(os.path.join(path, "manifest.json")) as file:
        assert len(json.load(file)["assumptions"]) == 1
