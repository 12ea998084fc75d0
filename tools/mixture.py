"""A mixture of experts for gpu_cases.py: Mixtral of any size, by transformers. It is needed where cases are packed, not
where they run."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
import transformers
from torch import nn

import hone


@dataclass(frozen=True)
class Config:
    layers: int
    heads: int
    key_heads: int
    width: int
    hidden: int
    experts: int
    chosen: int  # of them by each token
    vocab: int = 32000


def loss(model: nn.Module, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    logits = model(input_ids=tokens, use_cache=False).logits
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def training(config: Config, batch: int, sequence: int) -> hone.Training:
    model = transformers.MixtralForCausalLM(transformers.MixtralConfig(
        vocab_size=config.vocab, hidden_size=config.width, intermediate_size=config.hidden,
        num_hidden_layers=config.layers, num_attention_heads=config.heads, num_key_value_heads=config.key_heads,
        num_local_experts=config.experts, num_experts_per_tok=config.chosen, max_position_embeddings=sequence))
    ids = torch.zeros(batch, sequence, dtype=torch.long)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1)
    return hone.Training(model, loss, (ids, ids.clone()), optimizer, clip=1.0)
