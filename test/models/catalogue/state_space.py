"""State-space models, linear attention and other recurrences, and hybrids of these with attention."""

from __future__ import annotations

from .base import Entries
from .hugging_face import causal

entries = Entries(__name__)

for model_type in """
    bailing_hybrid falcon_mamba kimi_linear lfm2 mamba olmo_hybrid qwen3_5_text qwen3_5_moe_text qwen3_next
    recurrent_gemma rwkv xlstm
""".split():
    entries.add(model_type, causal(model_type))
MAMBA_2 = {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_n_groups": 2, "mamba_d_state": 8, "mamba_chunk_size": 8}
entries.add("mamba2", causal("mamba2", num_heads=8, head_dim=8, n_groups=2, chunk_size=8, time_step_rank=4))
entries.add("bamba", causal("bamba", attn_layer_indices=[1], **MAMBA_2))
entries.add("falcon_h1", causal("falcon_h1", mamba_d_ssm=64, **MAMBA_2))
entries.add("granitemoehybrid", causal("granitemoehybrid", layer_types=["mamba", "attention"], **MAMBA_2))
entries.add("jamba", causal("jamba", attn_layer_period=2, attn_layer_offset=1, expert_layer_period=2,
                            use_mamba_kernels=False))
entries.add("nemotron_h", causal("nemotron_h", layers_block_type=["mamba", "attention", "mlp"], mamba_num_heads=8,
                                 mamba_head_dim=8, n_groups=2, chunk_size=8))
entries.add("lfm2_moe", causal("lfm2_moe", layer_types=["conv", "full_attention"]))
entries.add("zamba", causal("zamba", num_hidden_layers=3, layers_block_type=["hybrid", "mamba", "hybrid"],
                            use_mamba_kernels=False, n_mamba_heads=2))
entries.add("zamba2", causal("zamba2", layers_block_type=["mamba", "hybrid"], num_mem_blocks=1, mamba_headdim=8,
                             n_mamba_heads=8, mamba_ngroups=1, chunk_size=8, hybrid_layer_ids=[1]))
