"""Inference of initialisations from values."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

import torch.nn as nn  # noqa: E402
from hone.errors import HoneError  # noqa: E402
from hone.fitted_init import given_spec, shortest  # noqa: E402
from hone.init import inferred_spec  # noqa: E402

PLAIN = nn.Module()


def infer(tensor: torch.Tensor, owner: nn.Module = PLAIN) -> dict:
    return inferred_spec(tensor, "w", owner)


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(5)


@pytest.mark.parametrize("value", [0.0, 1.0, -0.125])
def test_constant(value: float) -> None:
    assert infer(torch.full((3, 4), value)) == {"dist": "constant", "value": value}


@pytest.mark.parametrize("std", [0.02, 0.02 / math.sqrt(24), 1.0])
def test_normal_gives_back_its_std(std: float) -> None:
    spec = infer(torch.randn(300, 200) * std)
    assert spec["dist"] == "normal" and spec["mean"] == 0.0 and spec["std"] == pytest.approx(std, rel=0.01)


def test_short_decimals_are_exact() -> None:
    assert infer(torch.randn(64, 64) * 0.02) == {"dist": "normal", "mean": 0.0, "std": 0.02}
    assert infer(torch.randn(64, 64) * 0.02 + 0.5)["mean"] == 0.5


def test_uniform_by_its_kurtosis() -> None:
    spec = infer(torch.rand(64, 64) - 0.5)
    assert spec["dist"] == "uniform"
    assert spec["low"] == pytest.approx(-0.5, abs=1e-2) and spec["high"] == pytest.approx(0.5, abs=1e-2)


def test_linear_default_is_recognised() -> None:
    layer = nn.Linear(48, 32)
    bound = 1 / math.sqrt(48)
    for tensor in (layer.weight, layer.bias):
        assert infer(tensor.detach(), layer) == {"dist": "uniform", "low": -bound, "high": bound}


def test_embedding_default_is_recognised() -> None:
    layer = nn.Embedding(61, 24)
    assert infer(layer.weight.detach(), layer) == {"dist": "normal", "mean": 0.0, "std": 1.0}


def test_a_changed_linear_is_not_taken_for_the_default() -> None:
    layer = nn.Linear(48, 32)
    nn.init.normal_(layer.weight, std=0.02)
    assert infer(layer.weight.detach(), layer) == {"dist": "normal", "mean": 0.0, "std": 0.02}


def test_empty_and_meta() -> None:
    assert infer(torch.zeros(0, 3)) == {"dist": "constant", "value": 0.0}
    with pytest.raises(HoneError, match="parameter 'w' has no values"):
        infer(torch.zeros(3, device="meta"))


def test_given_patterns_come_first() -> None:
    patterns = {"*.bias": {"dist": "constant", "value": 1}, "*": {"dist": "file"}}
    assert given_spec(patterns, "a.bias") == {"dist": "constant", "value": 1.0}
    assert given_spec(patterns, "a.weight") == {"dist": "file"}
    assert given_spec({"b.*": {"dist": "file"}}, "a.weight") is None


@pytest.mark.parametrize(
    "spec, message",
    [
        ({"dist": "xavier"}, "init 'w': dist is 'xavier', expected one of constant, normal, uniform, file"),
        ({"dist": "normal", "std": 1.0}, "init 'w': has std, expected mean, std for dist 'normal'"),
        ("normal", "init 'w': dist is None, expected one of"),
    ],
)
def test_wrong_specs(spec, message: str) -> None:
    with pytest.raises(HoneError, match=message):
        given_spec({"w": spec}, "w")


@pytest.mark.parametrize(
    "value, tolerance, wanted",
    [
        (0.01997, 3e-4, 0.02),
        (0.00408248, 1e-6, 0.004082),
        (123.4, 5, 120.0),
        (0.5, 0.0, 0.5),
        (1 / 3, 0.0, 1 / 3),
    ],
)
def test_shortest_decimal(value: float, tolerance: float, wanted: float) -> None:
    assert shortest(value, tolerance) == wanted
