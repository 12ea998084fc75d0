"""Which weights a package holds, for its runs to start from."""

from __future__ import annotations

from typing import Sequence

import torch

from .errors import HoneError
from .package import FRESH, LEFT_OUT


def pretrained_name(model: torch.nn.Module) -> str | None:
    """What the configuration of the model, or of a module in it, was read from by Hugging Face: by from_pretrained, but
    also where a model with random weights was made from_config of such a configuration."""
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

    All of them if they are wanted, if golden steps start from them, or, where nothing was said, if the model may
    be pretrained; otherwise those of init {"dist": "file"}, `from_file`. Raises HoneError for what contradicts that.
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
    return kept, _described(len(kept), len(parameters), wanted, origin, bool(from_file))


def _described(kept: int, parameters: int, wanted: bool | None, origin: str | None, from_file: bool) -> str:
    if not kept:
        return LEFT_OUT + ("; --weights keeps them" if wanted is None else "")
    if kept < parameters:
        return f"kept for init 'file' ({kept} of {parameters} tensors)"
    count = f"{kept} tensor{'s' if kept != 1 else ''}"
    named = f"kept (the configuration names '{origin}'; {count})" if origin else f"kept ({count})"
    if from_file:  # ./train refuses --fresh
        return named
    unless = ", if the model was only configured from it" if origin else ""
    return f"{named}; {FRESH}{unless}"
