"""Hone's front end: exports a PyTorch model, its loss and its optimizer as a package for `honec`.

    hone.export(model, loss_fn, (tokens, targets), optimizer, out="gpt2.hone")
    hone.load(model, "trained.safetensors")
    step = hone.compile(model, loss_fn, (tokens, targets), optimizer)    # to be called in this process

Importing the package needs no torch; these do.
"""

from .errors import HoneError

__all__ = ["HoneError", "Training", "compile", "export", "load"]


_HOMES = {"Training": ".api", "compile": ".in_process.compile", "export": ".api", "load": ".weights"}


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module 'hone' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name], __name__), name)
