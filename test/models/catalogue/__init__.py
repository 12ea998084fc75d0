"""The catalogue of models that Hone is tried on, by kind."""

from __future__ import annotations

import importlib

from .base import Entry

__all__ = ["KINDS", "NEEDS", "Entry", "catalogue"]

# Modules in this folder, in the order of docs/models.md, and what a kind is called there.
KINDS = {
    "decoders": "Text decoders",
    "encoders": "Text encoders",
    "encoder_decoders": "Encoder-decoders of text",
    "mixtures_of_experts": "Mixtures of experts",
    "state_space": "State-space models, recurrences and hybrids",
    "vision": "Images and video (transformers)",
    "timm_models": "Images (timm)",
    "speech": "Speech and sound",
    "multimodal": "Text with images or sound",
    "diffusion": "Diffusion",
    "time_series": "Time series",
    "decisions": "Decisions and science",
    "torch_nn": "Models of torch.nn alone",
    "peft_methods": "Methods of PEFT",
    "losses": "Losses",
    "jax_models": "Models of JAX (by hand, flax, equinox)",
}

# Packages that entries of a kind need beyond python_frontend/requirements.txt.
NEEDS = {"timm_models": "timm", "diffusion": "diffusers", "peft_methods": "peft"}


def catalogue() -> dict[str, Entry]:
    """All entries by name."""
    found: dict[str, Entry] = {}
    for module in KINDS:
        for name, entry in importlib.import_module(f".{module}", __name__).entries.items():
            if name in found:
                raise ValueError(f"two entries are called {name}")
            found[name] = entry
    return found
