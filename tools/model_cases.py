"""The models of benchmark-models.py: one of each kind that people train beside dense language models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
import transformers
from torch import nn


@dataclass
class Prepared:
    """A model with what trains it: loss(model, *inputs) is a scalar, its parameters after the model name the inputs."""

    model: nn.Module
    loss: Callable[..., torch.Tensor]
    batch: tuple[torch.Tensor, ...]
    export: dict[str, Any] = field(default_factory=dict)  # options of hone.export


@dataclass(frozen=True)
class Case:
    title: str
    shape: str  # of the batch, in words
    make: Callable[[], Prepared]
    # For torch.compile and eager, if they train another module: the same numbers, as PyTorch's users write them.
    peer: Callable[[nn.Module], nn.Module] = lambda model: model


def ids_below(vocab: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, vocab, shape)


def image_loss(model, pixel_values, labels):
    return F.cross_entropy(model(pixel_values=pixel_values).logits, labels)


def language_loss(model, input_ids, targets):
    logits = model(input_ids=input_ids, use_cache=False).logits
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def images(model: nn.Module, batch: int) -> Prepared:
    return Prepared(model, image_loss, (torch.randn(batch, 3, 224, 224), ids_below(1000, batch)))


def language(model: nn.Module, vocab: int, batch: int, sequence: int, **export) -> Prepared:
    ids = [ids_below(vocab, batch, sequence) for _ in range(2)]
    return Prepared(model, language_loss, tuple(ids), export)


def vit_small() -> Prepared:
    config = transformers.ViTConfig(hidden_size=384, num_hidden_layers=12, num_attention_heads=6,
                                    intermediate_size=1536, num_labels=1000, hidden_dropout_prob=0.0,
                                    attention_probs_dropout_prob=0.0)
    return images(transformers.ViTForImageClassification(config), 8)


def convnext_tiny() -> Prepared:
    config = transformers.ConvNextConfig(depths=[3, 3, 9, 3], hidden_sizes=[96, 192, 384, 768], num_labels=1000)
    return images(transformers.ConvNextForImageClassification(config), 8)


def mamba2() -> Prepared:
    vocab = 50288
    config = transformers.Mamba2Config(vocab_size=vocab, hidden_size=768, num_hidden_layers=24, state_size=128,
                                       num_heads=24, head_dim=64, n_groups=1, chunk_size=64, use_cache=False)
    return language(transformers.Mamba2ForCausalLM(config), vocab, 1, 256)


def mixtral() -> Prepared:
    vocab = 32000
    config = transformers.MixtralConfig(vocab_size=vocab, hidden_size=768, intermediate_size=2048,
                                        num_hidden_layers=12, num_attention_heads=12, num_key_value_heads=4,
                                        num_local_experts=4, num_experts_per_tok=2, max_position_embeddings=1024)
    return language(transformers.MixtralForCausalLM(config), vocab, 4, 256)


def llama_with_adapters(**export) -> Prepared:
    import peft

    vocab = 32000
    config = transformers.LlamaConfig(vocab_size=vocab, hidden_size=768, intermediate_size=2048, num_hidden_layers=12,
                                      num_attention_heads=12, num_key_value_heads=4, max_position_embeddings=1024)
    adapters = peft.LoraConfig(r=16, lora_alpha=32, lora_dropout=0.0, target_modules="all-linear",
                               task_type="CAUSAL_LM")
    return language(peft.get_peft_model(transformers.LlamaForCausalLM(config), adapters), vocab, 4, 256, **export)


class Nf4Linear(nn.Module):
    """A frozen linear layer whose weight is made of its 4-bit codes in every call, as QLoRA does."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        from hone import frozen

        codes = frozen.encode(linear.weight, "nf4")
        self.register_buffer("codes", codes.bytes.view(torch.uint8))
        self.register_buffer("scales", codes.scales)
        self.register_buffer("values", torch.tensor(frozen.NF4_VALUES))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        codes = self.codes.int()
        pairs = torch.stack((self.values[codes >> 4], self.values[codes & 15]), dim=-1)
        weight = pairs.flatten(1).unflatten(1, (-1, 64)) * self.scales.unsqueeze(-1)
        return F.linear(x, weight.flatten(1).to(x.dtype))


def in_nf4(model: nn.Module) -> nn.Module:
    import peft

    for module in list(model.modules()):
        if isinstance(module, peft.tuners.lora.Linear):
            module.base_layer = Nf4Linear(module.base_layer)
    return model


CASES = {
    "vit": Case("ViT-S/16", "8 images", vit_small),
    "convnext": Case("ConvNeXt-T", "8 images", convnext_tiny),
    "mamba2": Case("Mamba-2 130M", "1 x 256", mamba2),
    "mixtral": Case("Mixtral-style, 4 experts", "4 x 256", mixtral),
    "lora": Case("Llama-style 134M, LoRA", "4 x 256", llama_with_adapters),
    "qlora": Case("Llama-style 134M, QLoRA", "4 x 256", lambda: llama_with_adapters(frozen="nf4"), peer=in_nf4),
}
