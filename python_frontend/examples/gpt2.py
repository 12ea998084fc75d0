"""GPT-2 written by hand, in the style of nanoGPT: pre-norm blocks, fused attention, learned positions.

python -m hone export gpt2.py:gpt2 --batch 4x1024 -o gpt2.hone
python -m hone export gpt2.py:tiny -o tiny.hone
"""

from __future__ import annotations

from dataclasses import dataclass

import hone
import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass(frozen=True)
class Config:
    vocab: int = 50257
    context: int = 1024  # longest sequence
    layers: int = 12
    heads: int = 12
    width: int = 768
    dropout: float = 0.0
    bias: bool = True  # in linear layers and norms
    tied: bool = True  # the head shares the token embedding
    gelu: str = "none"  # "none": erf; "tanh"


class Attention(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads = config.heads
        self.dropout = config.dropout
        self.qkv = nn.Linear(config.width, 3 * config.width, bias=config.bias)
        self.proj = nn.Linear(config.width, config.width, bias=config.bias)
        self.drop = nn.Dropout(config.dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        heads = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(x).split(width, dim=2)
        )
        y = F.scaled_dot_product_attention(*heads, dropout_p=self.dropout if self.training else 0.0, is_causal=True)
        return self.drop(self.proj(y.transpose(1, 2).reshape(batch, length, width)))


class MLP(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.up = nn.Linear(config.width, 4 * config.width, bias=config.bias)
        self.gelu = nn.GELU(approximate=config.gelu)
        self.down = nn.Linear(4 * config.width, config.width, bias=config.bias)
        self.drop = nn.Dropout(config.dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.drop(self.down(self.gelu(self.up(x))))


class Block(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.width, bias=config.bias)
        self.attn = Attention(config)
        self.ln_2 = nn.LayerNorm(config.width, bias=config.bias)
        self.mlp = MLP(config)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.wte = nn.Embedding(config.vocab, config.width)
        self.wpe = nn.Embedding(config.context, config.width)
        self.drop = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.ln_f = nn.LayerNorm(config.width, bias=config.bias)
        self.head = nn.Linear(config.width, config.vocab, bias=False)
        if config.tied:
            self.head.weight = self.wte.weight
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:  # residual branches start smaller, by depth
                branch = name.endswith(("proj.weight", "down.weight"))
                nn.init.normal_(parameter, std=0.02 * ((2 * config.layers) ** -0.5 if branch else 1.0))
            elif name.endswith(".bias"):
                nn.init.zeros_(parameter)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """tokens [B, T] -> logits [B, T, vocab]."""
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.drop(self.wte(tokens) + self.wpe(positions))
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x))


def loss(model: nn.Module, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    logits = model(tokens)
    return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


def adamw(model: nn.Module, lr: float, decay: float = 0.1) -> torch.optim.AdamW:
    """Weight decay on matrices only."""
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95))


def training(config: Config, batch: int, sequence: int, lr: float = 6e-4, clip: float | None = 1.0) -> hone.Training:
    model = GPT(config)
    ids = torch.zeros(batch, sequence, dtype=torch.long)
    return hone.Training(model, loss, (ids, ids.clone()), adamw(model, lr), clip=clip)


def gpt2(batch: int = 4, sequence: int = 64) -> hone.Training:
    """The 124M configuration."""
    return training(Config(), batch, sequence)


TINY = Config(vocab=61, context=16, layers=2, heads=4, width=32)


def tiny(batch: int = 2, sequence: int = 16) -> hone.Training:
    return training(TINY, batch, sequence, lr=1e-3)
