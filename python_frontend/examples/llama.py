"""A Llama-style model: RMSNorm, rotary positions, grouped-query attention, SwiGLU, no biases, untied head.

python -m hone export llama.py:small --batch 4x512 -o llama.hone
"""

from __future__ import annotations

from dataclasses import dataclass

import hone
import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass(frozen=True)
class Config:
    vocab: int = 32000
    context: int = 512
    layers: int = 8
    heads: int = 8
    key_heads: int = 4  # each serves heads / key_heads query heads
    width: int = 512
    hidden: int = 1408
    theta: float = 10000.0
    eps: float = 1e-5
    dropout: float = 0.0


class RMSNorm(nn.Module):
    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def rotary_table(context: int, width: int, theta: float) -> tuple[torch.Tensor, torch.Tensor]:
    """cos and sin [context, width], the angles of each half of a head repeated."""
    frequencies = theta ** (-torch.arange(0, width, 2).float() / width)
    angles = torch.outer(torch.arange(context).float(), frequencies)
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos(), angles.sin()


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """x [B, H, T, D], cos and sin [T, D]."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class Attention(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads, self.key_heads, self.head_width = config.heads, config.key_heads, config.width // config.heads
        self.dropout = config.dropout
        self.q = nn.Linear(config.width, config.heads * self.head_width, bias=False)
        self.k = nn.Linear(config.width, config.key_heads * self.head_width, bias=False)
        self.v = nn.Linear(config.width, config.key_heads * self.head_width, bias=False)
        self.o = nn.Linear(config.heads * self.head_width, config.width, bias=False)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        split = lambda y, heads: y.view(batch, length, heads, self.head_width).transpose(1, 2)
        q, k, v = split(self.q(x), self.heads), split(self.k(x), self.key_heads), split(self.v(x), self.key_heads)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        dropout = self.dropout if self.training else 0.0
        grouped = self.heads != self.key_heads
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True, enable_gqa=grouped)
        return self.o(y.transpose(1, 2).reshape(batch, length, width))


class SwiGLU(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.gate = nn.Linear(config.width, config.hidden, bias=False)
        self.up = nn.Linear(config.width, config.hidden, bias=False)
        self.down = nn.Linear(config.hidden, config.width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attn_norm = RMSNorm(config.width, config.eps)
        self.attn = Attention(config)
        self.mlp_norm = RMSNorm(config.width, config.eps)
        self.mlp = SwiGLU(config)
        self.drop = nn.Dropout(config.dropout)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        x = x + self.drop(self.attn(self.attn_norm(x), cos, sin))
        return x + self.drop(self.mlp(self.mlp_norm(x)))


class Llama(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.embed = nn.Embedding(config.vocab, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = RMSNorm(config.width, config.eps)
        self.head = nn.Linear(config.width, config.vocab, bias=False)
        cos, sin = rotary_table(config.context, config.width // config.heads, config.theta)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """tokens [B, T] -> logits [B, T, vocab]."""
        x = self.embed(tokens)
        cos, sin = self.cos[: tokens.shape[1]], self.sin[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x, cos, sin)
        return self.head(self.norm(x))


def loss(model: nn.Module, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    logits = model(tokens)
    return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


def training(config: Config, batch: int, sequence: int, lr: float = 1e-3) -> hone.Training:
    model = Llama(config)
    ids = torch.zeros(batch, sequence, dtype=torch.long)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.95), weight_decay=0.1)
    return hone.Training(model, loss, (ids, ids.clone()), optimizer, clip=1.0)


def small(batch: int = 4, sequence: int = 64) -> hone.Training:
    """About 50M parameters."""
    return training(Config(), batch, sequence)


def hundred_million(batch: int = 4, sequence: int = 64) -> hone.Training:
    """100M parameters: half of them in the embedding and the head."""
    return training(Config(context=1024, heads=12, width=768, hidden=2048), batch, sequence)


TINY = Config(vocab=61, context=16, layers=2, heads=4, key_heads=2, width=32, hidden=88)


def tiny(batch: int = 2, sequence: int = 16) -> hone.Training:
    return training(TINY, batch, sequence)
