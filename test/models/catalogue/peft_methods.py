"""Methods of peft on a small Llama whose own weights are frozen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable

import torch

from .base import LENGTH, Entries, Trial, ids
from .hugging_face import build

entries = Entries(__name__)

TARGETS = ["q_proj", "v_proj"]


def adapted(config: str, model_type: str = "llama", **options: Any) -> Callable[[], Trial]:
    """Llama with an adapter. Adapters that start at zero are moved off it, so that all of them get a gradient."""

    def make() -> Trial:
        base = build("AutoModelForCausalLM", model_type, initializer_range=0.3)
        import peft

        model = peft.get_peft_model(base, getattr(peft, config)(task_type="CAUSAL_LM", **options))
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.requires_grad:
                    parameter.add_(0.05 * torch.randn_like(parameter))
        loss = lambda model, input_ids: model(input_ids=input_ids, labels=input_ids).loss
        return Trial(model, loss, (ids(2, LENGTH, below=40),), rate=1e-2)

    return make


def quantized(make: Callable[[], Trial], format: str) -> Callable[[], Trial]:
    """The trial with frozen matrices stored in codes; PyTorch computes with the values of the same codes."""

    def remade() -> Trial:
        from hone.frozen import encode

        trial = make()
        with torch.no_grad():
            for parameter in trial.model.parameters():
                if parameter.dim() == 2 and not parameter.requires_grad:
                    parameter.copy_(encode(parameter, format).values())
        return replace(trial, frozen=format)

    return remade


LORA = {"r": 4, "lora_alpha": 8, "lora_dropout": 0.0, "target_modules": TARGETS}
entries.add("lora", adapted("LoraConfig", **LORA))
entries.add("qlora", quantized(adapted("LoraConfig", **LORA), "nf4"))
entries.add("lora-int8", quantized(adapted("LoraConfig", **LORA), "int8"))
entries.add("lora-all-linear", adapted("LoraConfig", **LORA | {"target_modules": "all-linear"}))
entries.add("lora-with-biases", adapted("LoraConfig", **LORA, bias="all"))
entries.add("lora-with-head", adapted("LoraConfig", **LORA, modules_to_save=["lm_head"]))
entries.add("lora-embeddings", adapted("LoraConfig", **LORA | {"target_modules": ["embed_tokens", "q_proj"]}))
entries.add("lora-gpt2", adapted("LoraConfig", model_type="gpt2", **LORA | {"target_modules": ["c_attn"]}))
entries.add("lora-trainable-tokens", adapted("LoraConfig", **LORA, trainable_token_indices=[5, 6]))
entries.add("rslora", adapted("LoraConfig", **LORA, use_rslora=True))
entries.add("dora", adapted("LoraConfig", **LORA, use_dora=True))
entries.add("pissa", adapted("LoraConfig", **LORA, init_lora_weights="pissa"))
entries.add("adalora", adapted("AdaLoraConfig", init_r=4, target_r=2, lora_alpha=8, lora_dropout=0.0, total_step=100,
                               target_modules=TARGETS))
entries.add("boft", adapted("BOFTConfig", boft_block_size=4, boft_dropout=0.0, target_modules=TARGETS))
entries.add("bone", adapted("MissConfig", r=4, init_weights="bat", target_modules=["q_proj"]))
entries.add("c3a", adapted("C3AConfig", block_size=8, target_modules=TARGETS))
entries.add("fourierft", adapted("FourierFTConfig", n_frequency=20, target_modules=TARGETS))
entries.add("gralora", adapted("GraloraConfig", r=4, gralora_k=2, gralora_dropout=0.0, target_modules=TARGETS))
entries.add("hra", adapted("HRAConfig", r=4, target_modules=TARGETS))
entries.add("ia3", adapted("IA3Config", target_modules=["k_proj", "v_proj", "down_proj"],
                           feedforward_modules=["down_proj"]))
entries.add("ln-tuning", adapted("LNTuningConfig", target_modules=["input_layernorm", "norm"]))
entries.add("loha", adapted("LoHaConfig", r=4, alpha=8, module_dropout=0.0, target_modules=TARGETS))
entries.add("lokr", adapted("LoKrConfig", r=4, alpha=8, module_dropout=0.0, target_modules=TARGETS))
entries.add("miss", adapted("MissConfig", r=4, target_modules=TARGETS))
entries.add("oft", adapted("OFTConfig", r=0, oft_block_size=4, module_dropout=0.0, target_modules=TARGETS))
entries.add("p-tuning", adapted("PromptEncoderConfig", num_virtual_tokens=4, encoder_hidden_size=32))
entries.add("prefix-tuning", adapted("PrefixTuningConfig", num_virtual_tokens=4))
entries.add("prompt-tuning", adapted("PromptTuningConfig", num_virtual_tokens=4))
entries.add("randlora", adapted("RandLoraConfig", r=4, randlora_dropout=0.0, target_modules=TARGETS))
entries.add("road", adapted("RoadConfig", group_size=8, target_modules=TARGETS))
entries.add("shira", adapted("ShiraConfig", r=2, target_modules=TARGETS))
entries.add("trainable-tokens", adapted("TrainableTokensConfig", token_indices=[5, 6], target_modules=["embed_tokens"]))
entries.add("vblora", adapted("VBLoRAConfig", r=2, num_vectors=8, vector_length=8, topk=2, vblora_dropout=0.0,
                              target_modules=TARGETS))
entries.add("vera", adapted("VeraConfig", r=4, vera_dropout=0.0, target_modules=TARGETS))
entries.add("waveft", adapted("WaveFTConfig", n_frequency=20, target_modules=TARGETS))
