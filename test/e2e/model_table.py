"""Models that no fixture holds, written as users of PyTorch write them: the table of new_models.py.

Sizes are small, and few are multiples of a vector's 16 elements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Callable

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass(frozen=True)
class Case:
    """A model with all that training it needs. `batch` holds examples; integer ones called tokens and targets are a
    stream of ids below `vocab`, the others are fed by name, with the values they have here."""

    model: nn.Module
    loss: Callable
    batch: tuple[torch.Tensor, ...]
    optimizer: torch.optim.Optimizer
    vocab: int = 0
    clip: float | None = None
    is_random: bool = False  # draws numbers, so that only the interpreter can be compared


@dataclass(frozen=True)
class Config:
    vocab: int = 53
    width: int = 36
    depth: int = 2
    heads: int = 3
    kv_heads: int = 3
    hidden: int = 90
    context: int = 64
    norm: str = "layer"  # layer, rms, or written (rms out of its parts)
    pre_norm: bool = True
    mlp: str = "gelu"  # gelu, tanh, relu, silu, swiglu
    positions: str = "learned"  # learned, rotary, none
    attention: str = "sdpa"  # sdpa, masked_fill, added (minus infinity above the diagonal), none
    causal: bool = True
    bias: bool = True
    tied: bool = False
    dropout: float = 0.0


class WrittenNorm(nn.Module):
    """RMS norm as Llama's reference code has it."""

    def __init__(self, width: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x)


def norm(config: Config) -> nn.Module:
    if config.norm == "layer":
        return nn.LayerNorm(config.width, bias=config.bias)
    return WrittenNorm(config.width) if config.norm == "written" else nn.RMSNorm(config.width, eps=1e-5)


def rotated(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-b, a), dim=-1) * sin


class Attention(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config, size = config, config.width // config.heads
        self.size, self.groups = size, config.heads // config.kv_heads
        self.q = nn.Linear(config.width, config.heads * size, bias=config.bias)
        self.k = nn.Linear(config.width, config.kv_heads * size, bias=config.bias)
        self.v = nn.Linear(config.width, config.kv_heads * size, bias=config.bias)
        self.out = nn.Linear(config.heads * size, config.width, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)
        self.register_buffer("mask", torch.tril(torch.ones(config.context, config.context)).bool(), persistent=False)
        if config.positions == "rotary":
            angle = torch.outer(torch.arange(config.context), 1 / 10000 ** (torch.arange(0, size, 2) / size))
            self.register_buffer("cos", torch.cat((angle, angle), -1).cos(), persistent=False)
            self.register_buffer("sin", torch.cat((angle, angle), -1).sin(), persistent=False)

    def forward(self, x: torch.Tensor, keep: torch.Tensor | None = None) -> torch.Tensor:
        """x [B, T, width]; keep [B, T], true where a position may be attended to."""
        batch, length, _ = x.shape
        q, k, v = (y(x).view(batch, length, -1, self.size).transpose(1, 2) for y in (self.q, self.k, self.v))
        if self.config.positions == "rotary":
            cos, sin = self.cos[:length], self.sin[:length]
            q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        if self.groups > 1:
            k, v = (y.repeat_interleave(self.groups, dim=1) for y in (k, v))
        if self.config.attention == "sdpa":
            mask = None if keep is None else keep[:, None, None, :].expand(batch, 1, length, length)
            y = F.scaled_dot_product_attention(q, k, v, mask, self.config.dropout if self.training else 0.0,
                                               is_causal=self.config.causal)
        else:
            scores = q @ k.transpose(-2, -1) / math.sqrt(self.size)
            if self.config.attention == "added":
                scores = scores + torch.full((length, length), float("-inf"), device=x.device).triu(1)
            elif self.config.causal:
                scores = scores.masked_fill(~self.mask[:length, :length], float("-inf"))
            if keep is not None:
                scores = scores.masked_fill(~keep[:, None, None, :], torch.finfo(x.dtype).min)
            y = self.dropout(scores.softmax(dim=-1)) @ v
        return self.out(y.transpose(1, 2).reshape(batch, length, -1))


class Mlp(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.kind = config.mlp
        self.up = nn.Linear(config.width, config.hidden, bias=config.bias)
        self.gate = nn.Linear(config.width, config.hidden, bias=config.bias) if config.mlp == "swiglu" else None
        self.down = nn.Linear(config.hidden, config.width, bias=config.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.gate is not None:
            return self.down(F.silu(self.gate(x)) * self.up(x))
        acts = {"gelu": F.gelu, "tanh": lambda y: F.gelu(y, approximate="tanh"), "relu": F.relu, "silu": F.silu}
        return self.down(acts[self.kind](self.up(x)))


class Block(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.pre_norm = config.pre_norm
        self.attention = Attention(config) if config.attention != "none" else None
        self.mlp, self.dropout = Mlp(config), nn.Dropout(config.dropout)
        self.norms = nn.ModuleList([norm(config), norm(config)])

    def forward(self, x: torch.Tensor, keep: torch.Tensor | None = None) -> torch.Tensor:
        first, second = self.norms
        if self.pre_norm:
            if self.attention is not None:
                x = x + self.dropout(self.attention(first(x), keep))
            return x + self.dropout(self.mlp(second(x)))
        if self.attention is not None:
            x = first(x + self.dropout(self.attention(x, keep)))
        return second(x + self.dropout(self.mlp(x)))


class Net(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocab, config.width)
        self.positions = nn.Embedding(config.context, config.width) if config.positions == "learned" else None
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.depth))
        self.dropout, self.norm = nn.Dropout(config.dropout), norm(config)
        self.head = nn.Linear(config.width, config.vocab, bias=config.bias and not config.tied)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.1)
        if config.tied:
            self.head.weight = self.tokens.weight

    def forward(self, tokens: torch.Tensor, keep: torch.Tensor | None = None) -> torch.Tensor:
        x = self.tokens(tokens)
        if self.positions is not None:
            x = x + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        x = self.dropout(x)
        for block in self.blocks:
            x = block(x, keep)
        return self.head(self.norm(x))


#===---------------------------------------------------------------------------------------------------------------===//
# Losses and optimizers
#===---------------------------------------------------------------------------------------------------------------===//


def plain_loss(model: nn.Module, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    logits = model(tokens)
    return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


def smoothed_loss(model: nn.Module, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), label_smoothing=0.1)


def ignoring_loss(model: nn.Module, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(model(tokens).transpose(1, 2), targets, ignore_index=3)


def masked_loss(model: nn.Module, tokens: torch.Tensor, targets: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
    """The mean over kept positions, with the mask written as a product."""
    losses = F.cross_entropy(model(tokens, keep).flatten(0, 1), targets.flatten(), reduction="none")
    weights = keep.flatten().float()
    return (losses * weights).sum() / weights.sum()


def written_loss(model: nn.Module, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return -F.log_softmax(model(tokens), dim=-1).gather(-1, targets.unsqueeze(-1)).mean()


def adamw(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters(), lr=3e-3)


def grouped_adamw(model: nn.Module) -> torch.optim.Optimizer:
    """nanoGPT's groups: no decay for what has one dimension."""
    parameters = list(model.parameters())
    groups = [{"params": [p for p in parameters if p.dim() >= 2], "weight_decay": 0.1},
              {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0, "lr": 1e-3}]
    return torch.optim.AdamW(groups, lr=2e-3, betas=(0.9, 0.95))


def momentum(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)


def nesterov(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)


#===---------------------------------------------------------------------------------------------------------------===//
# The table
#===---------------------------------------------------------------------------------------------------------------===//


@dataclass(frozen=True)
class Spec:
    """A row of the table: how to make a Case."""

    make: Callable[[], Case]
    is_quick: bool = field(default=False)


def net(batch: int = 3, length: int = 37, loss: Callable = plain_loss, optimizer: Callable = adamw,
        clip: float | None = None, **sizes) -> Callable[[], Case]:
    def make() -> Case:
        config = Config(**sizes)
        model, ids = Net(config), torch.zeros(batch, length, dtype=torch.long)
        return Case(model, loss, (ids, ids.clone()), optimizer(model), config.vocab, clip, config.dropout > 0)
    return make


def padded_encoder(attention: str, length: int = 19) -> Callable[[], Case]:
    """An encoder whose padding mask is an input."""
    def make() -> Case:
        config = Config(causal=False, attention=attention, pre_norm=False)
        model, ids = Net(config), torch.zeros(3, length, dtype=torch.long)
        lengths = torch.tensor([length, length // 2, 1])
        keep = torch.arange(length)[None, :] < lengths[:, None]
        return Case(model, masked_loss, (ids, ids.clone(), keep), adamw(model), config.vocab)
    return make


def regression(rows: int = 29, width: int = 7) -> Callable[[], Case]:
    """A multilayer perceptron on numbers."""
    def make() -> Case:
        model = nn.Sequential(nn.Linear(width, 33), nn.Tanh(), nn.Linear(33, 18), nn.Sigmoid(), nn.Linear(18, 1))

        def loss(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return F.mse_loss(model(x).squeeze(-1), y)

        return Case(model, loss, (torch.randn(rows, width), torch.randn(rows)), momentum(model))
    return make


def classifier(batch: int = 5, length: int = 11) -> Callable[[], Case]:
    """One label per sequence, from the mean over positions; labels are fed by name."""
    def make() -> Case:
        body = Net(Config(vocab=21, causal=False))

        def loss(model: nn.Module, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
            return F.cross_entropy(model(tokens).mean(dim=1), labels)

        ids = torch.zeros(batch, length, dtype=torch.long)
        return Case(body, loss, (ids, torch.randint(21, (batch,))), adamw(body), 21)
    return make


class TorchEncoder(nn.Module):
    """PyTorch's own layers."""

    def __init__(self, vocab: int, width: int, is_causal: bool) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(vocab, width), nn.Linear(width, vocab)
        layer = nn.TransformerEncoderLayer(width, 3, 50, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder, self.is_causal = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), is_causal

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1]) if self.is_causal else None
        return self.head(self.encoder(self.embed(tokens), mask=mask, is_causal=self.is_causal))


def torch_encoder(is_causal: bool) -> Callable[[], Case]:
    def make() -> Case:
        model, ids = TorchEncoder(41, 30, is_causal), torch.zeros(2, 13, dtype=torch.long)
        return Case(model, plain_loss, (ids, ids.clone()), adamw(model), 41)
    return make


class Halves(nn.Module):
    """Joins the halves of one projection, and reads the rows of that as heads or as one."""

    def __init__(self, width: int, heads: int, join: Callable, read: Callable) -> None:
        super().__init__()
        self.heads, self.join, self.read = heads, join, read
        self.both, self.out = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, width)
        self.mix = nn.Parameter(torch.randn(width // heads, width // heads) * 0.3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, second = self.both(x).chunk(2, -1)
        joined = self.join(first, second)
        rows = joined.view(*x.shape[:2], self.heads, -1)
        return x + self.out(self.read(self, rows).reshape(x.shape)) + joined.flatten(1).mean(1)[:, None, None]


def halves(batch: int = 3, length: int = 16, width: int = 24) -> Callable[[], Case]:
    """What reads a value over which another was written reads rows with gaps, or else not there."""
    def make() -> Case:
        reads = (
            lambda block, rows: torch.softmax(rows, -1),
            lambda block, rows: rows * torch.rsqrt((rows * rows).mean(-1, keepdim=True) + 1e-5),
            lambda block, rows: torch.sigmoid(rows * block.mix[0]),
            lambda block, rows: rows @ block.mix,
        )
        joins = (lambda a, b: a + 2 * b, lambda a, b: torch.tanh(a) * b)
        blocks = [Halves(width, 4, joins[number % 2], read) for number, read in enumerate(reads)]
        model = nn.Sequential(nn.Embedding(31, width), *blocks, nn.Linear(width, 31))
        ids = torch.zeros(batch, length, dtype=torch.long)
        return Case(model, plain_loss, (ids, ids.clone()), adamw(model), 31)
    return make


class Shards(nn.Module):
    """An adapter as peft's MiSS: sums of the columns r apart, of which there may be too few, times a small matrix."""

    def __init__(self, width: int, r: int) -> None:
        super().__init__()
        self.base, self.r = nn.Linear(width, width), r
        self.shared = nn.Parameter(torch.randn(r, width) * 0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        padded = F.pad(x, (0, -x.shape[-1] % self.r))
        return self.base(x) + padded.unflatten(-1, (-1, self.r)).sum(dim=-2) @ self.shared


def shards(width: int = 20, r: int = 8) -> Callable[[], Case]:
    """The gradient of padding is a part of rows, added to the gradient of a product."""
    def make() -> Case:
        layers = [Shards(width, r), nn.Tanh(), Shards(width, r)]
        model, ids = nn.Sequential(nn.Embedding(31, width), *layers, nn.Linear(width, 31)), torch.zeros(2, 13).long()
        return Case(model, plain_loss, (ids, ids.clone()), adamw(model), 31)
    return make


class Convolutions(nn.Module):
    """A causal convolution over the positions with a batch norm, and a layer whose weight has spectral norm 1."""

    def __init__(self, vocab: int, width: int) -> None:
        super().__init__()
        # A bias before a batch norm has no gradient but rounding, and AdamW makes full steps of that.
        self.table, self.conv = nn.Embedding(vocab, width), nn.Conv1d(width, 2 * width, 3, bias=False)
        self.norm, self.scales = nn.BatchNorm1d(2 * width, momentum=0.3), nn.InstanceNorm1d(2 * width, affine=True)
        self.head = nn.utils.parametrizations.spectral_norm(nn.Linear(2 * width, vocab))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        hidden = F.relu(self.norm(self.conv(F.pad(self.table(ids).mT, (2, 0)))))
        return self.head(4 * self.scales(hidden).mT)


def running_statistics(vocab: int = 31) -> Callable[[], Case]:
    """Buffers that every micro-batch changes."""
    def make() -> Case:
        model, ids = Convolutions(vocab, 10), torch.zeros(4, 13, dtype=torch.long)
        return Case(model, plain_loss, (ids, ids.clone()), adamw(model), vocab)
    return make


def hugging_face(config: str, model: str, own_loss: bool = False, ids_name: str = "input_ids",
                 **sizes) -> Callable[[], Case]:
    """A model of transformers with random weights; own_loss: labels go in, the loss comes out."""
    def make() -> Case:
        import transformers

        net = getattr(transformers, model)(getattr(transformers, config)(**sizes))

        def loss(model: nn.Module, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
            return F.cross_entropy(model(**{ids_name: tokens}).logits.flatten(0, 1), targets.flatten())

        def loss_of_model(model: nn.Module, tokens: torch.Tensor) -> torch.Tensor:
            return model(**{ids_name: tokens}, labels=tokens).loss

        ids = torch.zeros(2, 19, dtype=torch.long)
        batch = (ids,) if own_loss else (ids, ids.clone())
        return Case(net, loss_of_model if own_loss else loss, batch, grouped_adamw(net), sizes["vocab_size"], 1.0)
    return make


NO_DROPOUT = {"attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0}
LLAMA = {"vocab_size": 61, "hidden_size": 36, "intermediate_size": 70, "num_hidden_layers": 2, "num_attention_heads": 6,
         "num_key_value_heads": 2, "max_position_embeddings": 64}
BERT = {"vocab_size": 61, "hidden_size": 36, "intermediate_size": 70, "num_hidden_layers": 2, "num_attention_heads": 6,
        "max_position_embeddings": 64, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
PERCEIVER = {"vocab_size": 61, "num_latents": 7, "d_latents": 40, "d_model": 40, "num_blocks": 1,
             "num_self_attends_per_block": 2, "num_self_attention_heads": 2, "num_cross_attention_heads": 2,
             "max_position_embeddings": 19, "qk_channels": 40, "v_channels": 40, "attention_probs_dropout_prob": 0.0}
LLAMA_LIKE = {"norm": "rms", "mlp": "swiglu", "positions": "rotary", "bias": False}

MODELS: dict[str, Spec] = {
    "gpt": Spec(net(clip=1.0, optimizer=grouped_adamw), is_quick=True),
    "gpt-tied": Spec(net(tied=True, mlp="tanh", clip=0.5)),
    "gpt-no-bias": Spec(net(bias=False, mlp="relu", optimizer=momentum)),
    "gpt-no-positions": Spec(net(positions="none", mlp="silu", optimizer=nesterov)),
    "gpt-post-norm": Spec(net(pre_norm=False)),
    "gpt-dropout": Spec(net(dropout=0.1)),
    "gpt-one-head": Spec(net(heads=1, kv_heads=1, width=17, hidden=5, vocab=7)),
    "gpt-17-heads": Spec(net(heads=17, kv_heads=17, width=51)),
    "eager": Spec(net(attention="masked_fill", clip=1.0), is_quick=True),
    "eager-dropout": Spec(net(attention="masked_fill", dropout=0.1, tied=True), is_quick=True),
    "eager-added": Spec(net(attention="added", norm="rms")),
    "llama": Spec(net(kv_heads=1, clip=1.0, **LLAMA_LIKE)),
    "llama-written": Spec(net(**{**LLAMA_LIKE, "norm": "written"}, attention="masked_fill", heads=6, kv_heads=2),
                          is_quick=True),
    "llama-dropout": Spec(net(**LLAMA_LIKE, dropout=0.1)),
    "halves": Spec(halves(), is_quick=True),
    "shards": Spec(shards(), is_quick=True),
    "running-statistics": Spec(running_statistics(), is_quick=True),
    "no-attention": Spec(net(attention="none", positions="none")),
    "smoothed": Spec(net(loss=smoothed_loss)),
    "ignored": Spec(net(loss=ignoring_loss)),
    "written-loss": Spec(net(loss=written_loss)),
    "one-token": Spec(net(batch=5, length=1)),
    "one-sequence": Spec(net(batch=1, length=64)),
    "one-by-one": Spec(net(batch=1, length=1)),
    "wide-vocabulary": Spec(net(vocab=50257, width=8, heads=2, kv_heads=2, hidden=32, depth=1, length=9)),
    "wide-vocabulary-tied": Spec(net(vocab=50257, width=8, heads=2, kv_heads=2, hidden=32, depth=1, length=9,
                                     tied=True)),
    "deep": Spec(net(depth=20, width=12, hidden=20, length=11)),
    "encoder-padded": Spec(padded_encoder("sdpa"), is_quick=True),
    "encoder-padded-eager": Spec(padded_encoder("masked_fill")),
    "regression": Spec(regression(), is_quick=True),
    "classifier": Spec(classifier()),
    "torch-encoder": Spec(torch_encoder(False)),
    "torch-encoder-causal": Spec(torch_encoder(True)),
    "hf-gpt2": Spec(hugging_face("GPT2Config", "GPT2LMHeadModel", vocab_size=61, n_positions=64, n_embd=36, n_layer=2,
                                 n_head=6, **NO_DROPOUT)),
    "hf-gpt2-own-loss": Spec(hugging_face("GPT2Config", "GPT2LMHeadModel", own_loss=True, vocab_size=61, n_positions=64,
                                          n_embd=36, n_layer=2, n_head=6, **NO_DROPOUT)),
    "hf-llama": Spec(hugging_face("LlamaConfig", "LlamaForCausalLM", **LLAMA)),
    "hf-mistral": Spec(hugging_face("MistralConfig", "MistralForCausalLM", **LLAMA, sliding_window=None)),
    "hf-mistral-window": Spec(hugging_face("MistralConfig", "MistralForCausalLM", **LLAMA, sliding_window=7)),
    "hf-qwen2": Spec(hugging_face("Qwen2Config", "Qwen2ForCausalLM", **LLAMA, tie_word_embeddings=True)),
    "hf-bert": Spec(hugging_face("BertConfig", "BertForMaskedLM", **BERT)),
    "hf-roformer": Spec(hugging_face("RoFormerConfig", "RoFormerForMaskedLM", embedding_size=36, **BERT)),
    "hf-rembert": Spec(hugging_face("RemBertConfig", "RemBertForMaskedLM", input_embedding_size=20,
                                    output_embedding_size=28, classifier_dropout_prob=0.0, bos_token_id=1,
                                    eos_token_id=2, **BERT)),
    "hf-bigbird": Spec(hugging_face("BigBirdConfig", "BigBirdForMaskedLM", attention_type="original_full", **BERT)),
    "hf-perceiver": Spec(hugging_face("PerceiverConfig", "PerceiverForMaskedLM", ids_name="inputs", **PERCEIVER)),
}
