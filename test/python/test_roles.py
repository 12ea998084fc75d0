"""Which inputs a token stream feeds: what is inferred, what a loss that shifts its labels is told, what a user gives."""

from __future__ import annotations

import json
import os

import pytest

torch = pytest.importorskip("torch")

import hone  # noqa: E402
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from evaluate import evaluate  # noqa: E402
from hone import api  # noqa: E402
from hone.capture import capture  # noqa: E402
from hone.errors import HoneError  # noqa: E402

IDS = torch.zeros(2, 6, dtype=torch.long)


class Causal(nn.Module):
    """A transformer block by hand: [2, 6] tokens -> [2, 6, 11] logits."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.places = nn.Embedding(11, 8), nn.Parameter(torch.randn(6, 8))
        self.qkv, self.head = nn.Linear(8, 24), nn.Linear(8, 11)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.table(tokens) + self.places
        q, k, v = self.qkv(F.layer_norm(x, (8,))).view(2, 6, 3, 2, 4).permute(2, 0, 3, 1, 4)
        scores = (q @ k.mT).masked_fill(torch.ones(6, 6).triu(1).bool(), float("-inf"))
        return self.head(x + (scores.softmax(-1) @ v).transpose(1, 2).reshape(2, 6, 8))


def cross_entropy(logits, targets, **options):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), **options)


def plain(model, tokens, labels):
    return cross_entropy(model(tokens), labels)


def channels_first(model, tokens, labels):
    return F.cross_entropy(model(tokens).transpose(1, 2), labels)


def prompt_left_out(model, tokens, labels):
    return cross_entropy(model(tokens)[:, 2:], labels[:, 2:])


def chunked(model, tokens, labels):
    rows = zip(model(tokens).flatten(0, 1).split(3), labels.flatten().split(3))
    return sum(F.cross_entropy(x, y, reduction="sum") for x, y in rows) / 12


def next_two_tokens(model, tokens, labels):
    logits = model(tokens)
    return cross_entropy(logits, labels) + cross_entropy(logits[:, :-1], labels[:, 1:])


def gathered(model, tokens, labels):
    return -model(tokens).log_softmax(-1).gather(-1, labels[..., None]).mean()


def left_out_where_zero(model, tokens, labels):
    kept = (labels != 0).float().flatten()
    return (cross_entropy(model(tokens), labels, reduction="none") * kept).sum() / kept.sum()


def sliced(model, tokens, labels):
    return cross_entropy(model(tokens)[:, :-1], labels[:, 1:])


def padded(model, tokens, labels):  # as transformers does
    return cross_entropy(model(tokens), F.pad(labels, (0, 1), value=-100)[:, 1:])


def sliced_and_gathered(model, tokens, labels):
    return -model(tokens)[:, :-1].log_softmax(-1).gather(-1, labels[:, 1:, None]).mean()


def rolled(model, tokens, labels):
    return cross_entropy(model(tokens), labels.roll(-1, 1))


def logits_moved(model, tokens, labels):
    return cross_entropy(F.pad(model(tokens)[:, :-1], (0, 0, 1, 0)), labels)


def tokens_moved(model, tokens, labels):
    return cross_entropy(model(F.pad(tokens[:, :-1], (1, 0))), labels)


def two_later(model, tokens, labels):
    return cross_entropy(model(tokens)[:, :-2], labels[:, 2:])


def masked_where_padded(model, tokens, labels):
    return padded(model, tokens, labels.masked_fill(tokens == 0, -100))


def weighted_where_padded(model, tokens, labels):
    kept = ((labels != -100) & (tokens != 0)).float()
    rows = cross_entropy(model(tokens), F.pad(labels, (0, 1), value=-100)[:, 1:], reduction="none")
    return (rows * kept.flatten()).sum() / kept.sum()


def weighted_and_gathered(model, tokens, labels):
    kept = (labels[:, 1:] != 0) & (tokens[:, 1:] != 0)
    rows = model(tokens)[:, :-1].log_softmax(-1).gather(-1, labels[:, 1:, None])[..., 0]
    return -(rows * kept).sum() / kept.sum()


ALIGNED = (plain, channels_first, prompt_left_out, chunked, next_two_tokens, gathered, left_out_where_zero)
SHIFTED = (sliced, padded, sliced_and_gathered, rolled, logits_moved, tokens_moved, two_later)
SHIFTED += (masked_where_padded, weighted_where_padded, weighted_and_gathered)


def roles_of(tmp_path, model, loss, batch, **options) -> dict[str, str | None]:
    out = hone.export(model, loss, batch, out=str(tmp_path / "m.hone"), **options)
    arguments = json.load(open(os.path.join(out, "manifest.json")))["arguments"]
    return {a["fqn"]: a.get("role") for a in arguments if a["kind"] == "input"}


@pytest.mark.parametrize("loss", ALIGNED, ids=lambda f: f.__name__)
def test_a_loss_at_the_position_of_its_token_has_targets(loss, tmp_path, capsys) -> None:
    assert roles_of(tmp_path, Causal(), loss, (IDS, IDS)) == {"tokens": "tokens", "labels": "targets"}
    assert "roles: tokens -> tokens, labels -> targets (next token)\n" in capsys.readouterr().err


@pytest.mark.parametrize("loss", SHIFTED, ids=lambda f: f.__name__)
def test_a_loss_that_shifts_its_labels_is_told_what_to_do(loss, tmp_path) -> None:
    with pytest.raises(HoneError, match='^labels: the loss shifts them .*roles={"labels": "labels"}') as error:
        hone.export(Causal(), loss, (IDS, IDS), out=str(tmp_path / "m.hone"))
    assert "\n" not in str(error.value) and not os.listdir(tmp_path)


@pytest.mark.parametrize("loss", SHIFTED + ALIGNED, ids=lambda f: f.__name__)
def test_roles_that_are_given_are_taken(loss, tmp_path, capsys) -> None:
    """Labels are the same ids as the tokens; targets stay targets, whatever the loss does with them."""
    model = Causal()
    taken = {"tokens": "tokens", "labels": "tokens"}
    assert roles_of(tmp_path, model, loss, (IDS, IDS), roles={"labels": "labels"}) == taken
    assert roles_of(tmp_path, model, loss, (IDS, IDS), roles={"tokens": "tokens", "labels": "labels"}) == taken
    assert roles_of(tmp_path, model, loss, (IDS, IDS), roles={"labels": "targets"})["labels"] == "targets"
    by_name = {"tokens": None, "labels": None}
    assert roles_of(tmp_path, model, loss, (IDS, IDS), roles={"tokens": "", "labels": ""}) == by_name
    assert "roles:" not in capsys.readouterr().err


def attended(model, tokens, mask):
    x = model.table(tokens)
    x = F.scaled_dot_product_attention(x, x, x, attn_mask=mask[:, None, :].bool())
    return cross_entropy(model.head(x)[:, :-1], tokens[:, 1:])


def weighted(model, tokens, weights):
    rows = cross_entropy(model(tokens)[:, :-1], tokens[:, 1:], reduction="none")
    return (rows * weights[:, 1:].flatten()).mean()


def typed(model, tokens, kinds):
    return cross_entropy(model.head(model.table(tokens) + model.table(kinds))[:, :-1], tokens[:, 1:])


@pytest.mark.parametrize("loss", (attended, weighted, typed), ids=lambda f: f.__name__)
def test_a_second_integer_input_that_picks_no_class_is_given_by_name(loss, tmp_path) -> None:
    assert list(roles_of(tmp_path, Causal(), loss, (IDS, IDS)).values()) == ["tokens", None]


class Tagger(nn.Module):
    """[2, 6] tokens of 30 -> [2, 6, 3] logits, of tags."""

    def __init__(self, classes: int = 3) -> None:
        super().__init__()
        self.table, self.places, self.head = nn.Embedding(30, 8), nn.Embedding(64, 8), nn.Linear(8, classes)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.table(tokens) + self.places(torch.arange(6)))


@pytest.mark.parametrize("loss", (plain, gathered, sliced), ids=lambda f: f.__name__)
def test_labels_of_another_vocabulary_are_given_by_name(loss, tmp_path, capsys) -> None:
    assert roles_of(tmp_path, Tagger(), loss, (IDS, IDS)) == {"tokens": "tokens", "labels": None}
    assert "roles: tokens -> tokens, labels -> by name\n" in capsys.readouterr().err


@pytest.mark.parametrize("loss", (plain, gathered), ids=lambda f: f.__name__)
def test_a_head_wider_than_the_table_has_targets(loss, tmp_path) -> None:
    assert roles_of(tmp_path, Tagger(32), loss, (IDS, IDS)) == {"tokens": "tokens", "labels": "targets"}


FAMILIES = {
    "GPT2LMHeadModel": dict(n_positions=8, n_embd=8, n_layer=1, n_head=2),
    "LlamaForCausalLM": dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2),
    "Qwen2ForCausalLM": dict(
        hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2
    ),
    "BertForMaskedLM": dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2),
    "T5ForConditionalGeneration": dict(
        d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2, decoder_start_token_id=0
    ),
}


def family(name: str) -> nn.Module:
    transformers = pytest.importorskip("transformers")
    model = getattr(transformers, name)
    options = dict(bos_token_id=0, eos_token_id=0, pad_token_id=0)
    return model(model.config_class(vocab_size=11, **FAMILIES[name], **options))


def own_loss(model, input_ids, labels):
    return model(input_ids=input_ids, labels=labels).loss


@pytest.mark.parametrize("name", ("GPT2LMHeadModel", "LlamaForCausalLM", "Qwen2ForCausalLM"))
def test_hugging_face_causal_models_shift_their_labels(name: str, tmp_path) -> None:
    model = family(name)
    with pytest.raises(HoneError, match=r'^labels: .* labels=input_ids with one input, or roles={"labels": "labels"}'):
        hone.export(model, own_loss, (IDS, IDS), out=str(tmp_path / "m.hone"))
    one = roles_of(tmp_path, model, lambda m, input_ids: own_loss(m, input_ids, input_ids), (IDS,))
    assert one == {"input_ids": "tokens"}


def test_hugging_face_masked_and_translating_models_do_not(tmp_path) -> None:
    roles = roles_of(tmp_path, family("BertForMaskedLM"), own_loss, (IDS, IDS))
    assert roles == {"input_ids": "tokens", "labels": "targets"}
    # What the decoder reads is no stream of the encoder's next tokens.
    roles = roles_of(tmp_path, family("T5ForConditionalGeneration"), own_loss, (IDS, IDS))
    assert roles == {"input_ids": "tokens", "labels": None}


def test_labels_give_the_loss_of_the_model(tmp_path) -> None:
    model, ids = family("LlamaForCausalLM"), torch.arange(12).reshape(2, 6) * 7 % 11
    batch = (IDS, IDS.clone())
    captured = capture(model, own_loss, batch)
    graph, constants = api.build_graph(model, captured, batch, None, {}, {"labels": "labels"}, "llama")
    values = {n: p.detach().double() for n, p in model.named_parameters()}
    values |= {n: t.double() for n, t in constants.items()}
    fed = {a.fqn: {"tokens": ids}[a.role] for a in graph.arguments if a.kind == "input"}
    expected = model(input_ids=ids, labels=ids).loss.double()
    torch.testing.assert_close(evaluate(graph, values | fed), expected, rtol=1e-6, atol=0)
