"""Makes Hugging Face models call one attention operator while they are captured.

Under tracing, transformers materialises a boolean mask where eager execution would pass `is_causal`, and takes every
position tensor for packed sequences, since it cannot look at values. Here its attention and mask functions are
replaced, through its own registries, by ones that decide from shapes alone.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Iterator

import torch

_NAME = "hone"


def _attention(module, query, key, value, attention_mask, dropout=0.0, scaling=None, is_causal=None, **options):
    """query [B, H, T, D], key and value [B, G, S, D] -> ([B, T, H, D], None)."""
    for name in ("softcap", "position_bias"):
        if options.get(name) is not None:
            raise NotImplementedError(f"attention with {name} is not supported")
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    result = torch.nn.functional.scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=attention_mask,
        dropout_p=dropout,
        scale=scaling,
        is_causal=bool(causal) and attention_mask is None and query.shape[2] > 1,
        enable_gqa=query.shape[1] != key.shape[1],
    )
    return result.transpose(1, 2).contiguous(), None


def _mask(
    batch_size,
    q_length,
    kv_length,
    q_offset=0,
    kv_offset=0,
    attention_mask=None,
    local_size=None,
    allow_is_causal_skip=True,
    allow_is_bidirectional_skip=False,
    **options,
):
    """None where the mask is plainly causal or plainly full, else the boolean mask [B, 1, T, S]."""
    from transformers.masking_utils import sdpa_mask

    everywhere = local_size is None or kv_length <= local_size
    causal = everywhere and allow_is_causal_skip and q_length == kv_length and q_offset == kv_offset
    full = everywhere and allow_is_bidirectional_skip
    if attention_mask is None and (causal or full):
        return None
    if attention_mask is not None and attention_mask.shape == (batch_size, kv_length) and (causal or full):
        present = attention_mask.bool()[:, None, None, :].expand(batch_size, 1, q_length, kv_length)
        return (
            present & torch.ones(q_length, kv_length, dtype=torch.bool, device=present.device).tril()
            if causal
            else present
        )
    return sdpa_mask(
        batch_size=batch_size,
        q_length=q_length,
        kv_length=kv_length,
        q_offset=q_offset,
        kv_offset=kv_offset,
        attention_mask=attention_mask,
        local_size=local_size,
        allow_is_causal_skip=False,
        allow_is_bidirectional_skip=False,
        **options,
    )


def _attends_through_interface(model: torch.nn.Module) -> bool:
    """Whether every attention module in `model` looks its function up. Older ones compute attention themselves, and
    would take the absent mask for full attention."""
    files = {type(m).__module__ for m in model.modules() if type(m).__name__.endswith("Attention")}
    return bool(files) and all(hasattr(sys.modules[file], "ALL_ATTENTION_FUNCTIONS") for file in files)


@contextlib.contextmanager
def single_attention(model: torch.nn.Module) -> Iterator[None]:
    """While open, the Hugging Face modules in `model` attend through `_attention`; afterwards they are as before."""
    if "transformers" not in sys.modules:
        yield
        return
    from transformers import AttentionInterface, PreTrainedModel, masking_utils

    outermost: list[PreTrainedModel] = []
    for module in model.modules():
        if isinstance(module, PreTrainedModel) and not any(module in set(outer.modules()) for outer in outermost):
            outermost.append(module)
    if not outermost:
        yield
        return

    AttentionInterface.register(_NAME, _attention)
    masking_utils.AttentionMaskInterface.register(_NAME, _mask)
    positions_given = False

    def note_positions(module, args, kwargs):
        nonlocal positions_given
        positions_given |= kwargs.get("position_ids") is not None

    packed = masking_utils.find_packed_sequence_indices

    def packed_if_positions_given(position_ids):
        return packed(position_ids) if positions_given else None

    with contextlib.ExitStack() as stack:
        for module in outermost:
            config = module.config
            if _attends_through_interface(module):
                stack.callback(setattr, config, "_attn_implementation", config._attn_implementation)
                config._attn_implementation = _NAME
            stack.callback(setattr, config, "use_cache", getattr(config, "use_cache", None))
            config.use_cache = False
            stack.callback(module.register_forward_pre_hook(note_positions, with_kwargs=True).remove)
        stack.callback(setattr, masking_utils, "find_packed_sequence_indices", packed)
        masking_utils.find_packed_sequence_indices = packed_if_positions_given
        yield
