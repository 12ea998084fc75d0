"""Small random models of transformers, from the name of a model type and the sizes that differ from the usual."""

from __future__ import annotations

from typing import Any, Callable

import torch

from .base import BATCH, CLASSES, LENGTH, VOCABULARY, Trial, classes, ids
from .libraries import prepare

# What a configuration gets under each of these names, where it has one of that name.
NAMES: dict[Any, str] = {
    VOCABULARY: "vocab_size src_vocab_size tgt_vocab_size decoder_vocab_size vocab_size_per_layer_input",
    32: """hidden_size d_model n_embd dim emb_dim embedding_size d_embed projection_dim word_embed_proj_dim
           encoder_hidden_size lru_width image_size""",
    48: """intermediate_size ffn_dim encoder_ffn_dim decoder_ffn_dim d_ff ffn_hidden_size n_inner dff d_inner
           feed_forward_size ffn_size shared_expert_intermediate_size""",
    24: "moe_intermediate_size shared_intermediate_size expert_ffn_hidden_size expert_dim",
    4: """num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads
          num_encoder_attention_heads num_local_experts num_experts n_routed_experts moe_num_experts rotary_dim
          time_step_rank mamba_dt_rank linear_num_value_heads linear_num_heads""",
    2: """num_hidden_layers n_layer n_layers num_layers num_decoder_layers encoder_layers decoder_layers
          num_encoder_layers num_key_value_heads num_global_key_value_heads num_experts_per_tok moe_k moe_topk
          num_experts_per_token top_k_experts linear_num_key_heads eos_token_id""",
    8: """head_dim d_kv global_head_dim attention_head_dim kv_lora_rank v_head_dim qk_nope_head_dim qk_rope_head_dim
          sliding_window state_size ssm_state_size d_state mamba_d_state linear_key_head_dim linear_value_head_dim
          linear_head_dim patch_size""",
    64: """max_position_embeddings n_positions max_sequence_length n_ctx max_seq_len max_source_positions
           max_target_positions context_length""",
    16: "q_lora_rank",
    0: "pad_token_id",
    1: "bos_token_id decoder_start_token_id",
}
SMALL: dict[str, Any] = {name: value for value, names in NAMES.items() for name in names.split()} | {"use_cache": False}


def sizes_of(config_class: type, overrides: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a small configuration: SMALL where it has the name, no dropout, `overrides` on top; its parts (text,
    vision) likewise, each of its usual type unless the override names a model_type."""
    from transformers import CONFIG_MAPPING

    default = config_class()
    sizes = {name: value for name, value in SMALL.items() if name in vars(default)}
    for name, value in vars(default).items():
        if "drop" in name and isinstance(value, (int, float)) and not isinstance(value, bool):
            sizes[name] = type(value)(0)
        if name == "classifier_dropout":  # None stands for another default
            sizes[name] = 0.0
    for name in getattr(config_class, "sub_configs", {}):
        given, part = overrides.get(name, {}), type(getattr(default, name, None))
        if "model_type" in given:
            part = CONFIG_MAPPING[given["model_type"]]
        if hasattr(part, "attribute_map"):
            kind = {"model_type": part.model_type} if getattr(part, "model_type", "") else {}
            sizes[name] = kind | sizes_of(part, given)
    return sizes | {name: value for name, value in overrides.items() if not isinstance(sizes.get(name), dict)}


def small_config(model_type: str, **overrides: Any):
    prepare()
    from transformers import CONFIG_MAPPING

    config_class = CONFIG_MAPPING[model_type]
    return config_class(**{"num_labels": CLASSES} | sizes_of(config_class, overrides))


def build(
    auto: str, model_type: str, attention: str | None = None, experts: str | None = None, **overrides: Any
) -> torch.nn.Module:
    """A model of the class that `auto` (AutoModelForCausalLM, or a class of transformers) gives for a small
    configuration; attention, experts: which of the library's implementations, instead of its default."""
    prepare()
    import transformers

    config = small_config(model_type, **overrides)
    if attention is not None:
        config._attn_implementation = attention
    if experts is not None:
        config._experts_implementation = experts
    model_class = getattr(transformers, auto)
    model = model_class.from_config(config) if auto.startswith("AutoModel") else model_class(config)
    return with_distinct_scores(model)


def with_distinct_scores(model: torch.nn.Module) -> torch.nn.Module:
    """Routers that start from zeros score all experts alike, and which of equal ones topk takes PyTorch leaves open."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 2 and ("router" in name or "gate" in name) and not parameter.any():
                parameter.normal_(std=0.5)
    return model


def causal(
    model_type: str, auto: str = "AutoModelForCausalLM", rate: float = 3e-3, **overrides: Any
) -> Callable[[], Trial]:
    """Next-token prediction with the model's own loss, which shifts the labels."""

    def make() -> Trial:
        loss = lambda model, input_ids: model(input_ids=input_ids, labels=input_ids).loss
        return Trial(build(auto, model_type, **overrides), loss, (ids(),), rate)

    return make


def labelled(
    auto: str, model_type: str, labels=ids, shape: tuple[int, ...] = (BATCH, LENGTH), **overrides: Any
) -> Callable[[], Trial]:
    """A head of transformers on token ids, with labels of its own."""

    def make() -> Trial:
        loss = lambda model, input_ids, labels: model(input_ids=input_ids, labels=labels).loss
        return Trial(build(auto, model_type, **overrides), loss, (ids(*shape), labels()))

    return make


def masked(model_type: str, auto: str = "AutoModelForMaskedLM", **overrides: Any) -> Callable[[], Trial]:
    return labelled(auto, model_type, **overrides)


def sequence_classes(model_type: str, auto: str = "AutoModelForSequenceClassification", **overrides: Any):
    return labelled(auto, model_type, labels=classes, **overrides)


def token_classes(model_type: str, auto: str = "AutoModelForTokenClassification", **overrides: Any):
    return labelled(auto, model_type, labels=lambda: classes(BATCH, LENGTH), **{"classifier_dropout": 0.0} | overrides)


def multiple_choice(model_type: str, auto: str = "AutoModelForMultipleChoice", **overrides: Any):
    return labelled(auto, model_type, labels=lambda: classes(count=3), shape=(BATCH, 3, LENGTH), **overrides)


def questions(model_type: str, auto: str = "AutoModelForQuestionAnswering", **overrides: Any) -> Callable[[], Trial]:
    """The first and the last token of an answer."""

    def make() -> Trial:
        def loss(model, input_ids, start, end):
            return model(input_ids=input_ids, start_positions=start, end_positions=end).loss

        places = lambda: classes(count=LENGTH)
        return Trial(build(auto, model_type, num_labels=2, **overrides), loss, (ids(), places(), places()))

    return make


def translation(model_type: str, auto: str = "AutoModelForSeq2SeqLM", length: int = LENGTH, **overrides: Any):
    """An encoder-decoder whose decoder reads the labels shifted right."""

    def make() -> Trial:
        loss = lambda model, input_ids, labels: model(input_ids=input_ids, labels=labels).loss
        model = build(auto, model_type, **{"decoder_start_token_id": 1} | overrides)
        return Trial(model, loss, (ids(BATCH, length), ids()))

    return make
