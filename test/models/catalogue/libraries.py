"""Finds the libraries of the catalogue, and makes torchvision importable where its compiled operators are not.

HONE_MODELS=1 tools/setup.sh installs them in .venv/models, which only this module adds to the path.

timm and transformers import torchvision, which registers shapes for its operators `nms` and `qnms`. Those live in an
extension built for one build of torch; where it does not load (another build of the same torch), the registration
fails, and with it every import of transformers. The catalogue uses none of these operators, so their schemas suffice.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
import warnings
from pathlib import Path

import torch

_FOLDER = Path(__file__).resolve().parents[3] / ".venv" / "models"
if _FOLDER.is_dir() and str(_FOLDER) not in sys.path:
    sys.path.append(str(_FOLDER))

_SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
_kept: list[torch.library.Library] = []  # definitions last as long as their library


def is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


@functools.cache
def prepare() -> None:
    """Call before the first import of transformers, timm, diffusers or peft. No download is tried from then on."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("DIFFUSERS_VERBOSITY", "error")
    warnings.simplefilter("ignore")
    if not is_installed("torchvision"):
        return
    try:
        import torchvision.extension as extension  # runs torchvision/__init__.py first
    except RuntimeError:
        extension = None
    if extension is None:
        _define()


def _define() -> None:
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, name):
            library.define(name + _SCHEMA)
    _kept.append(library)
