"""How a fresh run fills each parameter: given by the user, or inferred from the values the parameter has.

Inference is honest about what it sees. A constant tensor is that constant. Where the parameter belongs to a module
whose own initialisation is known (nn.Linear, nn.Embedding), that law is taken if the sample agrees with it: mean and
standard deviation within 4 standard errors, and for a uniform law no value outside its bounds. Anything else is fitted:
the shape by the sample's kurtosis, the numbers as the shortest decimals within 3 standard errors, so that weights drawn
with std=0.02 give 0.02. Rows set apart, such as an embedding's zeroed padding row, are not seen.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from .errors import HoneError
from .fitted_init import spec_of_values


def inferred_spec(tensor: torch.Tensor, name: str, owner: torch.nn.Module) -> dict:
    """A spec that draws values like those of `tensor`, the parameter `name` of module `owner`."""
    if tensor.is_meta and tensor.numel():
        raise HoneError(f"init: parameter '{name}' has no values (meta device): give init= for it")
    values = np.zeros(0) if tensor.is_meta else tensor.detach().double().cpu().numpy()
    return spec_of_values(values, name, _law_of_owner(name, owner))


def _law_of_owner(name: str, owner: torch.nn.Module) -> dict | None:
    """PyTorch's default initialisation of the parameter."""
    if isinstance(owner, torch.nn.Linear) and owner.in_features:
        bound = 1 / math.sqrt(owner.in_features)
        return {"dist": "uniform", "low": -bound, "high": bound}
    if isinstance(owner, torch.nn.Embedding):
        return {"dist": "normal", "mean": 0.0, "std": 1.0}
    return None
