"""A byte-level GPT of about 10M parameters: text needs no tokenizer, every byte is a token.

python -m hone export bytes_gpt.py:bytes_gpt --batch 8x256 -o bytes_gpt.hone
"""

from __future__ import annotations

import gpt2
import hone


def bytes_gpt(batch: int = 8, sequence: int = 256) -> hone.Training:
    config = gpt2.Config(vocab=256, context=sequence, layers=6, heads=6, width=384, bias=False, gelu="tanh")
    return gpt2.training(config, batch, sequence, lr=1e-3)
