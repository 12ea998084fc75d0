"""Text decoders of transformers: one small model of each family, trained to predict the next token."""

from __future__ import annotations

from .base import Entries
from .hugging_face import causal

entries = Entries(__name__)

for model_type in """
    apertus arcee biogpt bitnet bloom codegen cohere cohere2 ctrl cwm diffllama doge ernie4_5 exaone4 falcon
    gemma gemma2 gemma3_text glm glm4 gpt2 gpt_bigcode gpt_neox gpt_neox_japanese gptj
    granite granite_swa helium hrm_text hunyuan_v1_dense hyperclovax internlm3 jais2 llama ministral ministral3
    mistral modernbert-decoder mpt nanochat nemotron olmo olmo2 olmo3 openai-gpt opt persimmon phi phi3 qwen2 qwen3
    seed_oss smollm3 stablelm starcoder2 vaultgemma xglm xlnet flint mellum bart bert trocr
""".split():
    entries.add(model_type, causal(model_type))
LATENT = {"num_key_value_heads": 4}  # multi-head latent attention has as many key heads as query heads
entries.add("cpmant", causal("cpmant", prompt_types=8, prompt_length=4, segment_types=4, init_std=0.02))
entries.add("gemma3n_text", causal("gemma3n_text", num_kv_shared_layers=0, hidden_size_per_layer_input=8))
entries.add("gemma4_text", causal("gemma4_text", rate=3e-4, initializer_range=0.2, hidden_size_per_layer_input=8))
entries.add("gpt_neo", causal("gpt_neo", attention_types=[[["global", "local"], 1]], window_size=8))
entries.add("gpt2-untied", causal("gpt2", tie_word_embeddings=False))
entries.add("gpt2-eager", causal("gpt2", attention="eager"))
entries.add("llama-eager", causal("llama", attention="eager"))
entries.add("llama-yarn", causal("llama", rope_parameters={
    "rope_type": "yarn", "rope_theta": 10000.0, "factor": 2.0, "original_max_position_embeddings": 32}))
entries.add("minicpm3", causal("minicpm3", **LATENT))
entries.add("youtu", causal("youtu", **LATENT))
