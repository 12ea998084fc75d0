"""A Hugging Face causal model from this disk as a Training: AdamW and clipping as its own Trainer has them."""

from __future__ import annotations

import contextlib
import os
from typing import Iterator

import torch
import torch.nn.functional as F

from .api import Training
from .errors import HoneError


def token_loss(model: torch.nn.Module, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Of tokens and their targets, one later: what a token stream feeds."""
    logits = model(input_ids=tokens).logits
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def label_loss(model: torch.nn.Module, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Of tokens and the labels of the same rows, which are one later already; -100: no loss."""
    return token_loss(model, tokens, labels)


def read_model(source: str) -> torch.nn.Module:
    """The model of a folder that save_pretrained wrote, or of a name whose files are on this disk; in fp32."""
    try:
        import transformers
    except ImportError as error:
        raise HoneError(f"{source}: needs transformers: {error}; pip install transformers") from None
    transformers.utils.logging.disable_progress_bar()
    if os.path.isdir(source) and not os.path.isfile(os.path.join(source, "config.json")):
        raise HoneError(f"{source}: has no config.json, expected a folder that save_pretrained wrote")
    try:
        with _offline():
            return transformers.AutoModelForCausalLM.from_pretrained(source, local_files_only=True, dtype=torch.float32)
    except (OSError, ValueError) as error:
        text = str(error).splitlines()[0]
        raise HoneError(
            f"{source}: {text}" if os.path.isdir(source) else f"{source}: no such folder, and no model of this name on "
            f"this disk; hf download {source} brings it"
        ) from None


@contextlib.contextmanager
def _offline() -> Iterator[None]:
    """Whether a model has adapters, transformers asks the network in spite of local_files_only."""
    from huggingface_hub import constants

    before, constants.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE, True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def pretrained_training(source: str, batch: tuple[int, int] | None, labels: bool) -> Training:
    """labels: the targets come from a file, by the input `labels`."""
    if batch is None:
        raise HoneError(f"{source}: --batch is missing, expected BxT such as 8x512")
    model = read_model(source).train()
    longest = getattr(model.config, "max_position_embeddings", None)
    if longest and batch[1] > longest:
        raise HoneError(f"{source}: --batch is {batch[0]}x{batch[1]}, expected at most {longest} tokens, the model's")
    model.config.use_cache = False
    ids = torch.zeros(*batch, dtype=torch.long)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5, weight_decay=0.0)
    roles = {"tokens": "tokens", "labels": ""} if labels else {"tokens": "tokens", "targets": "targets"}
    return Training(model, label_loss if labels else token_loss, (ids, ids.clone()), optimizer, clip=1.0, roles=roles)
