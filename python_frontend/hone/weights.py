"""hone.load: a trained result back into the PyTorch module it came from."""

from __future__ import annotations

import torch

from .errors import HoneError
from .expert_bias import COUNTS
from .frozen import SCALES
from .guards import plain_name, unwrapped


def load(model: torch.nn.Module, path: str) -> torch.nn.Module:
    """Copies the parameters in the safetensors file `path` into `model`, in place, and returns it.

    Strict: every parameter of the model must be in the file under one of its names, with its shape, and nothing else
    may be there but buffers of the model. Tied parameters are one tensor before and after. Values are converted to the
    parameter's element type and device. A frozen weight that the file holds in codes (`frozen=` of export) stays as it
    is in the model. Raises HoneError, before anything is changed, where the two do not fit.

    The same without this package: `model.load_state_dict(safetensors.torch.load_file(path), strict=False)`; tied names
    and buffers that the file leaves out are what `strict=False` allows.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as error:
        raise HoneError(f"{path}: cannot be read as safetensors: {str(error).splitlines()[0]}") from None
    inner = unwrapped(model)
    parameters = {plain_name(name): parameter for name, parameter in inner.named_parameters()}
    buffers = {plain_name(name): buffer for name, buffer in inner.named_buffers()}
    names: dict[int, list[str]] = {}
    for name, parameter in inner.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(plain_name(name))
    found: dict[str, str] = {}
    scales: set[str] = set()
    for name, parameter in parameters.items():
        held = [alias for alias in names[id(parameter)] if alias in tensors]
        if not held:
            raise HoneError(f"{path}: has no tensor '{name}', a parameter of the model")
        if held[0] + SCALES in tensors:  # frozen, in codes
            scales.add(held[0] + SCALES)
            continue
        shape = tuple(tensors[held[0]].shape)
        if shape != tuple(parameter.shape):
            raise HoneError(
                f"{path}: tensor '{held[0]}' has shape {list(shape)}, the model's has {list(parameter.shape)}"
            )
        found[name] = held[0]
    known = {name for group in names.values() for name in group} | set(buffers) | scales
    known |= {name + COUNTS for name in buffers}  # of a router's bias
    extra = sorted(set(tensors) - known)
    if extra:
        raise HoneError(f"{path}: tensor '{extra[0]}' is no parameter of the model")
    with torch.no_grad():
        for name, held_as in found.items():
            parameters[name].copy_(tensors[held_as])
        for name, buffer in buffers.items():
            if name in tensors:
                buffer.copy_(tensors[name])
    return model
