"""Makes Hugging Face models call one attention operator while they are captured.

Under tracing, transformers materialises a boolean mask where eager execution would pass `is_causal`, and takes every
position tensor for packed sequences, since it cannot look at values. Here its attention and mask functions are
replaced, through its own registries, by ones that decide from shapes alone.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import types
from typing import Any, Callable, Iterator

import torch

from .errors import HoneError

_NAME = "hone"


# Options of attention functions that change nothing here: the mask holds the window, shapes hold the positions.
_WITHOUT_EFFECT = {"sliding_window", "position_ids", "cache_position", "position_embeddings", "output_attentions"}


def _check_options(options: dict[str, Any]) -> None:
    """Refuses what would change the result and is not computed."""
    for name, option in options.items():
        changes = isinstance(option, torch.Tensor) or name in ("indices", "block_indices")
        if option is not None and changes and name not in _WITHOUT_EFFECT:
            raise NotImplementedError(f"attention with {name} is not supported")


def _attention(
    module,
    query,
    key,
    value,
    attention_mask,
    dropout=0.0,
    scaling=None,
    is_causal=None,
    softcap=None,
    position_bias=None,
    s_aux=None,
    sinks=None,
    **options,
):
    """query [B, H, T, D], key and value [B, G, S, D] -> ([B, T, H, D], None)."""
    _check_options(options)
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    causal = bool(causal) and attention_mask is None and query.shape[2] > 1
    sinks = s_aux if sinks is None else sinks
    if softcap is not None or position_bias is not None or sinks is not None:
        scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
        scores = _scores(query, key, attention_mask, scaling, causal, softcap, position_bias)
        weights = _with_sinks(scores, sinks).to(query.dtype)
        weights = torch.nn.functional.dropout(weights, p=dropout, training=module.training)
        result = weights @ _heads_as_in(value, query)
        return result.transpose(1, 2).contiguous(), None
    result = torch.nn.functional.scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=attention_mask,
        dropout_p=dropout,
        scale=scaling,
        is_causal=causal,
        enable_gqa=query.shape[1] != key.shape[1],
    )
    return result.transpose(1, 2).contiguous(), None


def _heads_as_in(x: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
    """[B, G, S, D] -> [B, H, S, D]: each head as often as queries share it."""
    return x.repeat_interleave(query.shape[1] // x.shape[1], dim=1)


def _scores(query, key, mask, scaling, causal, softcap, position_bias) -> torch.Tensor:
    """Scores [B, H, T, S] as the eager functions of transformers have them: capped, biased, then masked."""
    scores = query @ _heads_as_in(key, query).transpose(2, 3) * scaling
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    if position_bias is not None:
        scores = scores + position_bias
    least = torch.finfo(scores.dtype).min
    if causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if mask is None:
        return scores
    return scores.masked_fill(~mask, least) if mask.dtype == torch.bool else scores + mask


def _with_sinks(scores: torch.Tensor, sinks: torch.Tensor | None) -> torch.Tensor:
    """Softmax of each row; with a sink per head, which takes its share and is dropped."""
    if sinks is None:
        narrow = scores.dtype in (torch.float16, torch.bfloat16)
        return scores.softmax(-1, dtype=torch.float32 if narrow else scores.dtype)
    column = sinks.reshape(1, -1, 1, 1).expand(*scores.shape[:-1], 1)
    return torch.cat([scores, column], dim=-1).softmax(-1)[..., :-1]


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
    packed = getattr(options.get("mask_function"), "packed", None)
    if packed is not None and everywhere and not options.get("use_vmap") and attention_mask is None:
        return _packed_causal(packed)
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


def _packed_causal(documents: torch.Tensor) -> torch.Tensor:
    """Documents [B, T] -> [B, 1, T, T]: earlier positions of the same document. Transformers compares positions within
    documents; those of one document ascend by one, so that places in the row compare alike."""
    length = documents.shape[1]
    earlier = torch.ones(length, length, dtype=torch.bool, device=documents.device).tril()
    return (documents[:, None, :, None] == documents[:, None, None, :]) & earlier


def _attends_through_interface(model: torch.nn.Module) -> bool:
    """Whether attention modules in `model` look their function up, and all that are given a mask do. Others compute
    attention themselves (of GIT the text half does): they would take the absent mask for full attention, and add a
    boolean one to the scores."""
    attends = [m for m in model.modules() if _is_attention(m) and not any(map(_is_attention, _inner(m)))]
    masked = [m for m in attends if any("mask" in name for name in inspect.signature(m.forward).parameters)]
    return any(map(_looks_up, attends)) and all(map(_looks_up, masked))


def _is_attention(module: torch.nn.Module) -> bool:
    return "attention" in type(module).__name__.lower()


def _inner(module: torch.nn.Module) -> Iterator[torch.nn.Module]:
    return (inner for inner in module.modules() if inner is not module)


def _looks_up(module: torch.nn.Module) -> bool:
    """Whether a method of the module reads transformers' registry of attention functions."""
    return any("ALL_ATTENTION_FUNCTIONS" in _names(inspect.unwrap(method).__code__)
               for _, method in inspect.getmembers(type(module), inspect.isfunction)
               if not method.__module__.startswith("torch."))


def _names(code: types.CodeType) -> set[str]:
    """Global names and attributes that the code and the functions in it read."""
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*inner)


def _of_masking_utils(name: str) -> Callable:
    import transformers

    if function := getattr(transformers.masking_utils, name, None):
        return function
    raise HoneError(
        f"transformers {transformers.__version__}: has no masking_utils.{name}, expected a version that Hone knows; "
        "pip install 'transformers>=5.23,<5.25' gets one"
    )


def _marking_documents() -> dict[str, Callable]:
    """Functions of transformers that make masks, with a mark `packed` on the mask "causal, and of the same document":
    the documents. Versions compose it in different places, of the same parts."""
    documents_of = _of_masking_utils("packed_sequence_mask_function")
    remap = _of_masking_utils("remap_positions_for_packed_sequence")
    all_of = _of_masking_utils("and_masks")

    def same_document(documents):
        mask = documents_of(documents)
        mask.documents = documents
        return mask

    def remapped(mask_function, position_ids):
        mask = remap(mask_function, position_ids)
        mask.is_remapped = True
        return mask

    def and_masks(*masks):
        mask = all_of(*masks)
        documents = [each.documents for each in masks if hasattr(each, "documents")]
        if len(masks) == 2 and documents and any(hasattr(each, "is_remapped") for each in masks):
            mask.packed = documents[0]
        return mask

    return {
        "packed_sequence_mask_function": same_document,
        "remap_positions_for_packed_sequence": remapped,
        "and_masks": and_masks,
    }


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

    packed = _of_masking_utils("find_packed_sequence_indices")

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
        replaced = {"find_packed_sequence_indices": packed_if_positions_given, **_marking_documents()}
        for name, function in replaced.items():
            stack.callback(setattr, masking_utils, name, getattr(masking_utils, name))
            setattr(masking_utils, name, function)
        yield
