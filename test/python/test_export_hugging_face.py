"""hone.export of models of Hugging Face: attention is one op, with the mask and heads that the model has."""

from __future__ import annotations

import os
import re

import pytest
from conftest import FIXTURES

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from bigram import IDS, export  # noqa: E402
from evaluate import evaluate  # noqa: E402
from hone import api  # noqa: E402
from hone.capture import capture  # noqa: E402
from hone.emit import emit  # noqa: E402
from hone.errors import HoneError  # noqa: E402
from test_aten import check  # noqa: E402


def test_hugging_face_attention_is_one_causal_op() -> None:
    text = open(os.path.join(FIXTURES, "hf_gpt2_tiny.hone", "graph.mlir")).read()
    assert len(re.findall(r'"hone.attention"\([^)]*\) <\{causal', text)) == 2 and "hone.softmax" not in text


def hugging_face_llama(**options):
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=23,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=12,
        **options,
    )
    return transformers.LlamaForCausalLM(config)


def test_hugging_face_llama(tmp_path, verified) -> None:
    def labelled(model, ids):
        return model(input_ids=ids, labels=ids).loss

    model = hugging_face_llama()
    before = model.config._attn_implementation
    manifest, text = export(tmp_path, model, labelled, (IDS,))
    assert 'hone.attention"' in text and "causal" in text
    # Grouped heads reach the op as they are.
    assert "(tensor<2x5x4x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>)" in text
    assert model.config._attn_implementation == before and model.config.use_cache
    verified(text)
    captured = capture(model, labelled, (IDS,))
    graph, constants = api.build_graph(model, captured, (IDS,), None, {}, None, "llama")
    ids = torch.arange(10).reshape(2, 5) * 7 % 23
    values = {n: p.detach().double() for n, p in model.named_parameters()} | {
        n: t.double() for n, t in constants.items()
    }
    expected = model(input_ids=ids, labels=ids).loss.double()
    torch.testing.assert_close(evaluate(graph, values | {"ids": ids}), expected, rtol=1e-6, atol=0)


def test_hugging_face_frequencies_mixed_in_place_without_gradient(verified) -> None:
    """Qwen 3.5 replaces every third frequency through a view, under no_grad, from others of the same tensor."""
    transformers = pytest.importorskip("transformers")
    sizes = dict(hidden_size=32, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2, head_dim=48)
    config = transformers.Qwen3_5TextConfig(
        vocab_size=23, num_key_value_heads=1, layer_types=["full_attention"], max_position_embeddings=12, **sizes
    )
    model = transformers.Qwen3_5ForCausalLM(config)
    labelled = lambda model, ids: model(input_ids=ids, labels=ids).loss
    captured = capture(model, labelled, (IDS,))
    graph, constants = api.build_graph(model, captured, (IDS,), None, {}, None, "qwen")
    verified(emit(graph))
    ids = torch.arange(10).reshape(2, 5) * 7 % 23
    values = {n: p.detach().double() for n, p in model.named_parameters()}
    values |= {n: t.double() for n, t in constants.items()}
    expected = labelled(model, ids).double()
    torch.testing.assert_close(evaluate(graph, values | {"ids": ids}), expected, rtol=1e-6, atol=0)


def test_hugging_face_attention_of_its_own_stays_causal() -> None:
    """GPT-J computes attention itself: it must get its mask."""
    transformers = pytest.importorskip("transformers")
    config = transformers.GPTJConfig(vocab_size=23, n_embd=16, n_layer=1, n_head=4, n_positions=12, rotary_dim=4)
    config.resid_pdrop = config.embd_pdrop = config.attn_pdrop = 0.0
    model = transformers.GPTJForCausalLM(config)
    labelled = lambda model, ids: model(input_ids=ids, labels=ids).loss
    captured = capture(model, labelled, (IDS,))
    graph, constants = api.build_graph(model, captured, (IDS,), None, {}, None, "gptj")
    ids = torch.arange(10).reshape(2, 5) * 7 % 23
    values = {n: p.detach().double() for n, p in model.named_parameters()}
    values |= {n: t.double() for n, t in constants.items()}
    expected = labelled(model, ids).double()
    torch.testing.assert_close(evaluate(graph, values | {"ids": ids}), expected, rtol=1e-6, atol=0)


def test_hugging_face_attention_partly_of_its_own(verified) -> None:
    """GIT's text half computes attention itself and adds its mask to the scores; the vision half looks a function up."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    half = dict(hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2)
    config = transformers.GitConfig(vocab_size=23, max_position_embeddings=16, hidden_dropout_prob=0.0,
                                    attention_probs_dropout_prob=0.0, bos_token_id=1, eos_token_id=2,
                                    vision_config=half | dict(image_size=8, patch_size=4), **half)
    model = transformers.GitForCausalLM(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    labelled = lambda model, ids, image: model(input_ids=ids, pixel_values=image, labels=ids).loss
    image = torch.randn(2, 3, 8, 8)
    captured = capture(model, labelled, (IDS, image))
    graph, constants = api.build_graph(model, captured, (IDS, image), None, {}, None, "git")
    verified(emit(graph))
    ids = torch.arange(10).reshape(2, 5) * 7 % 23
    values = {n: p.detach().double() for n, p in model.named_parameters()}
    values |= {n: t.double() for n, t in constants.items()}
    expected = labelled(model, ids, image).double()
    found = evaluate(graph, values | {"ids": ids, "image": image.double()})
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=0)


def test_hugging_face_positions_that_restart_are_documents(tmp_path, verified) -> None:
    """The mask compares ids of documents, [B, 1, T, 1] with [B, 1, 1, T], and positions of the row."""

    def packed(model, ids, positions):  # with a cache, transformers finds no documents
        logits = model(input_ids=ids, position_ids=positions, use_cache=False).logits
        return F.cross_entropy(logits.flatten(0, 1), ids.flatten())

    model = hugging_face_llama()
    positions = torch.tensor([[0, 1, 0, 1, 2], [0, 1, 2, 0, 0]])
    _, text = export(tmp_path, model, packed, (IDS, positions), roles={"ids": "tokens"})
    assert len(re.findall('"hone.cumsum"', text)) == 1 and len(re.findall(r"cmp eq>\}>.*2x1x5x5xi1", text)) == 1
    # Positions are not looked up in a mask of positions.
    assert '"hone.take_along"' not in text and text.count('"hone.embedding"') == 1
    verified(text)
    captured = capture(model, packed, (IDS, positions))
    graph, constants = api.build_graph(model, captured, (IDS, positions), None, {}, {}, "llama")
    ids = torch.arange(10).reshape(2, 5) * 7 % 23
    values = {n: p.detach().double() for n, p in model.named_parameters()}
    values |= {n: t.double() for n, t in constants.items()}
    expected = packed(model, ids, positions).double()
    found = evaluate(graph, values | {"ids": ids, "positions": positions})
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=0)
    assert abs(found - packed(model, ids, torch.arange(5).expand(2, 5))) > 1e-4


def test_a_transformers_that_makes_masks_otherwise_is_named(tmp_path, monkeypatch) -> None:
    import transformers

    monkeypatch.delattr(transformers.masking_utils, "and_masks")
    said = rf"transformers {transformers.__version__}: has no masking_utils.and_masks, expected .*; pip install 'tran"
    with pytest.raises(HoneError, match=said):
        capture(hugging_face_llama(), lambda model, ids: model(input_ids=ids).logits.sum(), (IDS,))


def test_hugging_face_padding_mask_reaches_attention(tmp_path, verified) -> None:
    def padded(model, ids, mask):
        return F.cross_entropy(model(input_ids=ids, attention_mask=mask).logits.flatten(0, 1), ids.flatten())

    model, mask = hugging_face_llama(), torch.ones(2, 5, dtype=torch.long)
    _, text = export(tmp_path, model, padded, (IDS, mask), roles={"ids": "tokens"})
    assert re.search(r'"hone.attention"\([^)]*\) <\{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>', text)
    verified(text)
    captured = capture(model, padded, (IDS, mask))
    graph, constants = api.build_graph(model, captured, (IDS, mask), None, {}, {}, "llama")
    ids = torch.arange(10).reshape(2, 5) * 7 % 23
    mask[1, 3:] = 0
    values = {n: p.detach().double() for n, p in model.named_parameters()} | {
        n: t.double() for n, t in constants.items()
    }
    torch.testing.assert_close(
        evaluate(graph, values | {"ids": ids, "mask": mask}), padded(model, ids, mask).double(), rtol=1e-6, atol=0
    )


class _Labelled(torch.nn.Module):
    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=ids, labels=ids).loss


SIZES = dict(
    vocab_size=23,
    hidden_size=16,
    intermediate_size=24,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=16,
    head_dim=4,
    pad_token_id=0,
)
# Attention that is more than a masked softmax: capped scores, a sink per head.
OTHER_ATTENTION = {
    "Gemma2": dict(sliding_window=4, attn_logit_softcapping=2.0, final_logit_softcapping=3.0, query_pre_attn_scalar=4),
    "GptOss": dict(sliding_window=4, num_local_experts=4, num_experts_per_tok=2),
}


@pytest.mark.parametrize("name", OTHER_ATTENTION)
def test_other_attention(name: str, verified) -> None:
    """Against the eager attention of transformers, gradients too: of the sinks as well."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(**SIZES, **OTHER_ATTENTION[name])
    config._attn_implementation, config._experts_implementation = "eager", "batched_mm"
    model = _Labelled(getattr(transformers, f"{name}ForCausalLM")(config))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    # Rotary tables are buffers of single precision, and stay so in both.
    verified(emit(check(model, torch.arange(16).reshape(2, 8) * 7 % 23, tolerance=1e-5)))


def test_attention_with_other_options_is_refused() -> None:
    from hone.huggingface import _attention

    x = torch.zeros(1, 1, 2, 4)
    with pytest.raises(NotImplementedError, match="attention with block_indices is not supported"):
        _attention(None, x, x, x, None, block_indices=[0])
