"""Hone's front end for JAX: exports a loss, its parameters and an optax optimizer as a package for `honec`.

    hone.jax.export(loss, params, (tokens, targets), optax.adamw(1e-3), out="gpt.hone")
    params = hone.jax.load("trained.safetensors", params)

Needs jax, and no torch.
"""

from .export import export
from .load import load
from .step import export_step

__all__ = ["export", "export_step", "load"]
