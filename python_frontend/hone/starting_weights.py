"""Which weights a package holds, for its runs to start from."""

from __future__ import annotations

from typing import Sequence

import torch

from .errors import HoneError


def pretrained_name(model: torch.nn.Module) -> str | None:
    """What the model, or a module in it, was read from by Hugging Face's from_pretrained."""
    for module in model.modules():
        name = getattr(getattr(module, "config", None), "_name_or_path", None)
        if isinstance(name, str) and name:
            return name
    return None


def starting_weights(
    model: torch.nn.Module,
    parameters: dict[str, torch.nn.Parameter],
    from_file: Sequence[str],
    wanted: bool | None,
    golden: int,
) -> tuple[dict[str, torch.nn.Parameter], str]:
    """The parameters whose present values the package holds, by canonical name, and the reason in words.

    All of them if they are wanted, if golden steps start from them, or, where nothing was said, if the model is
    pretrained; otherwise those of init {"dist": "file"}, `from_file`. Raises HoneError for what contradicts that.
    """
    if wanted is False and golden:
        raise HoneError("weights: is False, but golden steps start from them; leave one of the two out")
    if wanted is False and from_file:
        raise HoneError(f"weights: is False, but init says dist 'file' for '{from_file[0]}'; leave one of the two out")
    origin = pretrained_name(model) if wanted is None else None
    kept = parameters if wanted or golden or origin else {fqn: parameters[fqn] for fqn in from_file}
    empty = next((fqn for fqn, tensor in kept.items() if tensor.is_meta), None)
    if empty is not None:
        raise HoneError(f"weights: parameter '{empty}' has no values (meta device), expected a model with weights")
    count = f"({len(kept)} tensor{'s' if len(kept) != 1 else ''})"
    if len(kept) < len(parameters):
        return kept, f"kept for init 'file' ({len(kept)} of {len(parameters)} tensors)"
    return kept, f"kept from '{origin}' {count}" if origin else f"kept {count}"
