"""Hugging Face's GPT2LMHeadModel from a configuration; nothing is downloaded.

python -m hone export hf_gpt2.py:gpt2 --batch 4x1024 -o hf_gpt2.hone
"""

from __future__ import annotations

import hone
import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel


def loss(model: nn.Module, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    logits = model(input_ids=tokens).logits
    return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


def training(config: GPT2Config, batch: int, sequence: int, lr: float) -> hone.Training:
    model = GPT2LMHeadModel(config)
    model.train()
    ids = torch.zeros(batch, sequence, dtype=torch.long)
    return hone.Training(model, loss, (ids, ids.clone()), torch.optim.AdamW(model.parameters(), lr=lr))


def _config(dropout: float = 0.0, **sizes: int) -> GPT2Config:
    return GPT2Config(attn_pdrop=dropout, embd_pdrop=dropout, resid_pdrop=dropout, **sizes)


def gpt2(batch: int = 4, sequence: int = 64) -> hone.Training:
    """The 124M configuration, without dropout."""
    return training(_config(), batch, sequence, lr=6e-4)


def tiny(batch: int = 2, sequence: int = 16) -> hone.Training:
    return training(_config(vocab_size=61, n_positions=16, n_layer=2, n_head=4, n_embd=32), batch, sequence, lr=1e-3)
