"""How far low precision may be from double precision: twice as far as PyTorch's autocast."""

from __future__ import annotations

import torch

RATIO = 2.0
TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
FLOOR = {"bf16": 2.0**-9, "fp16": 2.0**-12}  # half an ulp of 1

def is_as_good(error: float, autocast: float, precision: str) -> bool:
    """Whether an error is at most twice autocast's own, or one rounding of the type where that happens to do better."""
    return error <= max(RATIO * autocast, FLOOR[precision])
