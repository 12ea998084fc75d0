"""Mixtures of experts of transformers: a router picks some of four experts for each token."""

from __future__ import annotations

from .base import Entries
from .hugging_face import causal, translation

entries = Entries(__name__)

for model_type in """
    afmoe aria_text cohere2_moe deepseek_v4 ernie4_5_moe exaone_moe flex_olmo glm4_moe gpt_oss granitemoe
    granitemoe_swa granitemoeshared hunyuan_v1_moe hy_v3 jetmoe laguna llama4_text mimo_v2_flash minimax minimax_m2
    mixtral olmoe qwen2_moe qwen3_moe solar_open
""".split():
    entries.add(model_type, causal(model_type))
entries.add("qwen3_moe-eager-experts", causal("qwen3_moe", experts="eager"))
entries.add("mixtral-batched-experts", causal("mixtral", experts="batched_mm"))
entries.add("mixtral-router-loss", causal("mixtral", output_router_logits=True))
entries.add("switch_transformers", translation("switch_transformers", num_sparse_encoder_layers=1,
                                               num_sparse_decoder_layers=1, router_jitter_noise=0.0))
entries.add("nllb-moe", translation("nllb-moe", encoder_sparse_step=2, decoder_sparse_step=2))
for model_type in "deepseek_v2 deepseek_v3 deepseek_v32 glm4_moe_lite glm_moe_dsa longcat_flash".split():
    entries.add(model_type, causal(model_type, num_key_value_heads=4))  # multi-head latent attention
entries.add("axk1", causal("axk1", num_key_value_heads=4, n_group=2, topk_group=1))
entries.add("dbrx", causal("dbrx", attn_config={"rope_theta": 1e4, "kv_n_heads": 2, "clip_qkv": 8.0}))
entries.add("dots1", causal("dots1", n_shared_experts=1))
entries.add("zaya", causal("zaya", num_experts_per_tok=1))
entries.add("phimoe", causal("phimoe", router_jitter_noise=0.0, input_jitter_noise=0.0))
