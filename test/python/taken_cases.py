"""Cases of what export takes or refuses by name, and the two checks of a case.

A taken case is compared with eager PyTorch in training mode: the loss, the gradient of each parameter and the buffers
afterwards, from the exported graph evaluated by `evaluate_all`. A refused one ends in one line that matches a message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Callable

import hone
import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from evaluate import evaluate_all
from hone import api
from hone.capture import capture
from hone.errors import HoneError
from hone.guards import plain_name, unwrapped


class Net(nn.Module):
    """[2, 5] tokens -> [2, 5, 11] logits; `hidden` is applied to the activations [2, 5, 6] between."""

    def __init__(self, hidden=lambda net, x: x, **embedding) -> None:
        super().__init__()
        self.table, self.mix = nn.Embedding(11, 6, **embedding), nn.Linear(6, 6)
        self.head = nn.Linear(6, 11, bias=False)
        self.function = hidden

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.function(self, self.mix(self.table(tokens))))


def loss(model, tokens, targets, **options):
    return F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), **options)


def calling(function: Callable) -> Callable:
    """A loss that calls `function(model, loss)` and returns the loss."""

    def compute(model, tokens, targets):
        result = loss(model, tokens, targets)
        function(model, result)
        return result

    return compute


def ids() -> tuple[torch.Tensor, torch.Tensor]:
    tokens = torch.tensor([[1, 3, 2, 0, 10], [3, 3, 5, 7, 2]])
    return tokens, (tokens * 3 + 1) % 11


@dataclass
class Case:
    model: nn.Module
    loss: Callable = loss
    batch: tuple = None

    def __post_init__(self) -> None:
        self.batch = ids() if self.batch is None else self.batch


@dataclass
class Cases:
    """Named cases; those with a message are refused."""

    taken: dict[str, Callable[[], Case]] = field(default_factory=dict)
    refused: dict[str, tuple[Callable[[], Case], str]] = field(default_factory=dict)

    def add(self, name: str, make: Callable[[], Case], message: str | None = None) -> None:
        assert name not in self.taken and name not in self.refused, name
        if message is None:
            self.taken[name] = make
        else:
            self.refused[name] = (make, message)

    def function(self, message: str | None = None) -> Callable:
        """A decorator of a function that makes a case."""

        def register(make: Callable[[], Case]) -> Callable[[], Case]:
            self.add(make.__name__, make, message)
            return make

        return register

    def with_loss(self, name: str, function: Callable, message: str | None = None) -> None:
        self.add(name, lambda: Case(Net(), function), message)

    def with_hidden(self, name: str, function: Callable, message: str | None = None) -> None:
        self.add(name, lambda: Case(Net(function)), message)

    def changed(self, name: str, change: Callable[[Net], object], message: str | None = None, **options) -> None:
        """A Net after `change`, which may return another module."""

        def make() -> Case:
            model = Net(**options)
            result = change(model)
            return Case(result if isinstance(result, nn.Module) else model)

        self.add(name, make, message)


def made(make: Callable[[], Case]) -> Case:
    torch.manual_seed(0)
    return make()


def check_taken(make: Callable[[], Case]) -> None:
    case, twin = made(make), made(make)
    model = unwrapped(case.model)
    captured = capture(model, case.loss, api._checked_batch(case.batch))
    graph, constants = api.build_graph(model, captured, case.batch, None, {}, {}, "case")

    result = twin.loss(twin.model.train() if not twin.model.training else twin.model, *twin.batch)
    result.backward()
    wide = lambda x: x.detach().double() if x.is_floating_point() else x
    parameters = {fqn: wide(p).requires_grad_(p.is_floating_point()) for fqn, p in captured.parameters.items()}
    inputs = [a.fqn for a in graph.arguments if a.kind == "input"]
    batch = dict(zip(inputs, map(wide, case.batch), strict=True))
    held = {n: wide(x) for n, x in (captured.buffers | constants).items()}
    seen, buffers = evaluate_all(graph, parameters | held | batch)

    coarse = {torch.float16: 2e-3, torch.bfloat16: 2e-2}
    least = max([coarse.get(p.dtype, 1e-5) for p in captured.parameters.values()] + [coarse.get(result.dtype, 1e-5)])
    torch.testing.assert_close(seen, result.detach().double(), rtol=least, atol=least)
    left = {plain_name(n): x for n, x in unwrapped(twin.model).named_buffers()}
    assert buffers.keys() == {n for n, x in left.items() if not torch.equal(x, captured.buffers[n])}
    for fqn, buffer in buffers.items():
        torch.testing.assert_close(
            buffer, wide(left[fqn]).to(buffer.dtype), rtol=least, atol=least, msg=lambda m: f"{fqn}: {m}"
        )
    trained = {a.fqn for a in graph.arguments if a.requires_grad}
    gradients = torch.autograd.grad(seen, [parameters[fqn] for fqn in trained])
    expected = {plain_name(n): p.grad for n, p in unwrapped(twin.model).named_parameters() if p.grad is not None}
    assert trained == set(expected)
    for fqn, gradient in zip(trained, gradients):
        torch.testing.assert_close(
            gradient, expected[fqn].double(), rtol=least, atol=least, msg=lambda m: f"{fqn}: {m}"
        )


def check_refused(make: Callable[[], Case], message: str, tmp_path) -> None:
    case = made(make)
    with pytest.raises(HoneError) as error:
        hone.export(case.model, case.loss, case.batch, out=str(tmp_path / "m.hone"))
    text = str(error.value)
    assert re.search(message, text), text
    assert "\n" not in text and not list(tmp_path.iterdir())
