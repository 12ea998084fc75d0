"""Optimizers of other packages: each is refused with the reason, alone and in a list."""

import pytest
import torch

from hone.errors import HoneError
from hone.optimizer import read_optimizer

REASONS = {
    "AdamWScheduleFree": "it takes gradients at one point and evaluates at another",
    "SGDScheduleFree": "it takes gradients at one point and evaluates at another",
    "SOAP": "its bases come from QR decompositions",
}


def of_another_package(name: str, tensor: torch.nn.Parameter) -> torch.optim.Optimizer:
    def init(self: torch.optim.Optimizer, params: list) -> None:
        torch.optim.Optimizer.__init__(self, params, {"lr": 1.0})

    return type(name, (torch.optim.Optimizer,), {"__init__": init})([tensor])


@pytest.mark.parametrize("name", REASONS)
@pytest.mark.parametrize("in_list", [False, True])
def test_refused_with_the_reason(name: str, in_list: bool) -> None:
    p = {"w": torch.nn.Parameter(torch.zeros(4, 4)), "b": torch.nn.Parameter(torch.zeros(4))}
    one = of_another_package(name, p["w"])
    with pytest.raises(HoneError) as error:
        read_optimizer([torch.optim.AdamW([p["b"]]), one] if in_list else one, p, None)
    line = str(error.value)
    assert line.startswith(f"{'optimizer 1 of the list' if in_list else 'optimizer'}: {name} is not supported: ")
    assert REASONS[name] in line and line.endswith("; expected AdamW, SGD, Adafactor or Muon of torch.optim")
    assert "\n" not in line


def test_others_get_the_list_of_what_is_supported() -> None:
    p = {"w": torch.nn.Parameter(torch.zeros(4, 4))}
    with pytest.raises(HoneError, match="optimizer: Prodigy is not supported, only AdamW, SGD"):
        read_optimizer(of_another_package("Prodigy", p["w"]), p, None)
