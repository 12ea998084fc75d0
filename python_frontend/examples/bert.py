"""One BERT-style encoder layer: three embeddings, attention under a padding mask, post-norm, a tied decoder with a bias.

python -m hone export bert.py:small --batch 8x128 -o bert.hone
"""

from __future__ import annotations

from dataclasses import dataclass

import hone
import torch
import torch.nn as nn
import torch.nn.functional as F

IGNORED = 1  # target of a position that is not predicted


@dataclass(frozen=True)
class Config:
    vocab: int = 8000
    context: int = 128
    width: int = 256
    heads: int = 8
    pad: int = 0  # token that nothing attends to


class Encoder(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.width
        self.words = nn.Embedding(config.vocab, width, padding_idx=config.pad)
        self.positions = nn.Embedding(config.context, width)
        self.kinds = nn.Embedding(2, width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width, eps=1e-12) for _ in range(3))
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.decoder = nn.Linear(width, config.vocab)
        self.decoder.weight = self.words.weight
        self.heads, self.pad = config.heads, config.pad
        self.register_buffer("position_ids", torch.arange(config.context).unsqueeze(0))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """tokens [B, T] -> logits [B, T, vocab]."""
        batch, length = tokens.shape
        x = self.words(tokens) + self.positions(self.position_ids[:, :length]) + self.kinds(torch.zeros_like(tokens))
        x = self.norms[0](x)
        q, k, v = (y.view(batch, length, self.heads, -1).transpose(1, 2) for y in self.qkv(x).chunk(3, dim=-1))
        keep = (tokens != self.pad)[:, None, None, :].expand(batch, 1, length, length)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=keep).transpose(1, 2).reshape(x.shape)
        x = self.norms[1](x + self.out(y))
        return self.decoder(self.norms[2](x + self.down(F.gelu(self.up(x)))))


def loss(model: nn.Module, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(model(tokens).transpose(1, 2), targets, ignore_index=IGNORED, label_smoothing=0.1)


def training(config: Config, batch: int, sequence: int, lr: float) -> hone.Training:
    model = Encoder(config)
    ids = torch.zeros(batch, sequence, dtype=torch.long)
    return hone.Training(model, loss, (ids, ids.clone()), torch.optim.Adam(model.parameters(), lr=lr))


def small(batch: int = 8, sequence: int = 64) -> hone.Training:
    return training(Config(), batch, sequence, lr=1e-3)
