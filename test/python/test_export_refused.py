"""What hone.export refuses: programs with the user's line, wrong calls, golden steps and weights that cannot be had."""

from __future__ import annotations

import os
import re

import pytest

torch = pytest.importorskip("torch")

import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from bigram import IDS, Net, export, loss  # noqa: E402
from hone.errors import HoneError  # noqa: E402


def in_model(function):
    """A Net whose hidden activations [2, 5, 6] pass through `function(model, x)`."""

    class Changed(Net):
        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return self.head(function(self, self.mix(self.table(tokens))))

    return Changed


def autocast(model, x):
    with torch.autocast("cpu", torch.bfloat16):
        return x @ x.mT @ x


def change_parameter(model, x):
    with torch.no_grad():
        model.mix.bias.add_(1)
    return x


def drawn(model, x):
    return x if torch.rand(()) > 0.5 else -x


def change_under_no_grad(model, x):
    x = x * 2
    with torch.no_grad():
        x.mul_(2)
    return x


def change_part_under_no_grad(model, x):
    x = x * 2
    with torch.no_grad():
        x[:, 0].add_(2)
    return x


def change_expanded(model, x):
    positions = torch.arange(3).expand(2, 3)
    positions[:, 1].add_(1)
    return x * positions.sum()


def change_detached(model, x):
    x = x * 2
    x.detach().mul_(3)
    return x


REFUSED = {
    r"aten.mul_.Tensor changes a tensor that has a gradient under no_grad": change_under_no_grad,
    r"aten.add_.Tensor changes a tensor that has a gradient through detach.. or no_grad": change_part_under_no_grad,
    r"aten.mul_.Tensor changes a tensor that has a gradient through detach": change_detached,
    r"aten.add_.Tensor writes in place through a view that repeats or computes elements": change_expanded,
    r"test_export_refused.py:\d+: operator aten.erfinv.default is not supported": lambda model, x: x.erfinv(),
    r"a torch.autocast region is not supported": autocast,
    r"aten.add_.Tensor changes .* in place": change_parameter,
    r"adaptive maximum pooling of \[5\] to \[2\] is not supported": lambda m, x: x
    + F.adaptive_max_pool1d(x.reshape(1, 1, -1)[..., :5], 2).sum(),
    r"test_export_refused.py:\d+: the branch depends on tensor values; use torch.where": drawn,
    r"aten.exp.default of complex tensors is not supported": lambda m, x: torch.view_as_real(
        torch.view_as_complex(x.reshape(2, 5, 3, 2)).exp()
    ).flatten(2),
    r"attention with 1 query and 2 key heads needs enable_gqa=True": lambda model, x: F.scaled_dot_product_attention(
        x.view(2, 1, 5, 6), x.view(2, 1, 5, 6).expand(2, 2, 5, 6), x.view(2, 1, 5, 6).expand(2, 2, 5, 6)
    ).sum(1),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused_programs(message: str, tmp_path, capfd) -> None:
    with pytest.raises(HoneError, match=message) as error:
        export(tmp_path, in_model(REFUSED[message])())
    assert "\n" not in str(error.value) and not os.listdir(tmp_path)
    assert capfd.readouterr() == ("", "")


CALLS = {
    "loss_fn: returns tensor<2x5x11xf32>, expected a floating-point scalar": dict(loss_fn=lambda m, t, _: m(t)),
    "loss_fn: returns 2 values": dict(loss_fn=lambda m, a, b: (loss(m, a, b), loss(m, a, b))),
    "no parameter gets a gradient": dict(loss_fn=lambda m, a, b: loss(m, a, b).detach()),
    "example_batch: is a Tensor, expected a tuple of tensors": dict(batch=IDS),
    "example_batch: item 1 is a int, expected a tensor": dict(batch=(IDS, 3)),
    "roles: no input is called 'labels'": dict(roles={"labels": "targets"}),
    "roles: 'tokens' has role 'mask'": dict(roles={"tokens": "mask"}),
    "init 'table.*': dist is 'xavier'": dict(init={"table.*": {"dist": "xavier"}}),
    "clip: needs an optimizer": dict(clip=1.0),
    "capture: TypeError": dict(loss_fn=lambda m: m(3)),
    "element type torch.uint8 is not supported": dict(batch=(IDS.byte(), IDS)),
}


@pytest.mark.parametrize("message", CALLS)
def test_refused_calls(message: str, tmp_path) -> None:
    with pytest.raises(HoneError, match=re.escape(message)) as error:
        export(tmp_path, Net(), **CALLS[message])
    assert "\n" not in str(error.value) and not os.listdir(tmp_path)


def test_golden_refuses_dropout(tmp_path) -> None:
    model = in_model(lambda model, x: F.dropout(x, 0.1))()
    with pytest.raises(HoneError, match="golden: the model draws random numbers"):
        export(tmp_path, model, golden=1)


def test_golden_reports_a_program_that_is_single_precision_only(tmp_path) -> None:
    model = in_model(lambda model, x: x @ torch.ones(6, 6))()
    with pytest.raises(HoneError, match=r"golden: RuntimeError: .* \(at .*test_export_refused.py:\d+\)") as error:
        export(tmp_path, model, golden=1)
    assert "\n" not in str(error.value) and not os.listdir(tmp_path)


def test_model_without_values_needs_given_inits(tmp_path, verified) -> None:
    with torch.device("meta"):
        model, ids = Net(), torch.zeros(2, 5, dtype=torch.long)
    with pytest.raises(HoneError, match="parameter 'table.weight' has no values"):
        export(tmp_path, model, batch=(ids, ids))
    _, text = export(tmp_path, model, batch=(ids, ids), init={"*": {"dist": "normal", "mean": 0.0, "std": 0.02}})
    assert text.count("std = 0.02 : f64") == 3
    verified(text)


def test_export_under_autocast_is_refused(tmp_path) -> None:
    with torch.autocast("cpu"), pytest.raises(HoneError, match="called under torch.autocast"):
        export(tmp_path, Net())


def test_loss_module_outside_the_model_is_refused(tmp_path) -> None:
    outside = nn.Linear(11, 11)
    with pytest.raises(HoneError, match="is not part of the model"):
        export(tmp_path, Net(), lambda m, a, b: F.cross_entropy(outside(m(a)).flatten(0, 1), b.flatten()))
