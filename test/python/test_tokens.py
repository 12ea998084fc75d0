"""hone tokens: what it writes, and its errors."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections import Counter
from pathlib import Path

import pytest
from hone.cli import main, tokens

np = pytest.importorskip("numpy")
tokenizers = pytest.importorskip("tokenizers")

TEXT = "Ein kleiner Text, and öfter a longer one.\n\nIt has lines.\n" * 40


@pytest.fixture
def work(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text(TEXT)
    return tmp_path


def made(capsys, *words: str) -> dict:
    """tokens.json after a good call."""
    assert main(["tokens", *words, "-o", "d"]) == 0, capsys.readouterr().err
    return json.loads(Path("d/tokens.json").read_text())


def refused(capsys, *words: str) -> str:
    assert main(["tokens", *words, "-o", "d"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1
    return error.removeprefix("error: ").rstrip("\n")


def write_rows(*rows: object, name: str = "rows.jsonl") -> str:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return name


def test_bytes(work, capsys) -> None:
    facts = made(capsys, "text.txt", "--bytes")
    train, val = np.load("d/train.npy"), np.load("d/val.npy")
    ids = np.concatenate([train, val])
    assert train.dtype == np.uint16 and bytes(ids[:-1].astype(np.uint8)).decode() == TEXT and ids[-1] == 0
    assert len(val) == len(ids) // 10
    counts = Counter(ids.tolist())
    entropy = -sum(n / len(ids) * math.log(n / len(ids)) for n in counts.values())
    assert facts["entropy"] == pytest.approx(entropy) and facts["used_ids"] == len(counts)
    assert (facts["tokenizer"], facts["vocab"], facts["documents"]) == ("bytes", 256, 1)
    assert facts["bytes"] == len(TEXT.encode()) and facts["tokens"] == {"train": len(train), "val": len(val)}
    assert f"unigram entropy {entropy:.4f} nats per token" in capsys.readouterr().out


def test_train_bpe(work, capsys) -> None:
    facts = made(capsys, "text.txt", "--train-bpe", "300", "--val", "0")
    content = Path("d/tokenizer.json").read_bytes()
    assert facts["sha256"] == hashlib.sha256(content).hexdigest() and facts["vocab"] <= 300
    ids = np.load("d/train.npy")
    tokenizer = tokenizers.Tokenizer.from_file("d/tokenizer.json")
    assert tokenizer.decode(ids[:-1].tolist()) == TEXT and ids[-1] == tokenizer.token_to_id("<|endoftext|>")
    assert not os.path.exists("d/val.npy") and len(ids) < len(TEXT.encode()) / 2


def test_shards_and_the_next_call_without(work, capsys) -> None:
    made(capsys, "text.txt", "--bytes")
    whole = np.concatenate([np.load("d/train.npy"), np.load("d/val.npy")])
    facts = made(capsys, "text.txt", "--bytes", "--shard", "1000")
    assert facts["files"]["train"] == ["train-00000.npy", "train-00001.npy", "train-00002.npy"]
    assert not os.path.exists("d/train.npy")
    shards = [np.load(f"d/{name}") for names in facts["files"].values() for name in names]
    assert max(map(len, shards)) == 1000 and (np.concatenate(shards) == whole).all()
    made(capsys, "text.txt", "--bytes")
    assert sorted(os.listdir("d")) == ["tokens.json", "train.npy", "val.npy"]


def test_documents_are_separated_and_split_at_a_border(work, capsys) -> None:
    rows = write_rows(*({"body": "x" * 9} for _ in range(20)))
    facts = made(capsys, rows, "text.txt", "--bytes", "--field", "body")
    assert facts["documents"] == 21
    train = np.load("d/train.npy")
    assert (train[9:200:10] == 0).all() and train[-1] != 0  # the last document is too long to be left whole
    facts = made(capsys, rows, "--bytes", "--field", "body", "--val", "0.13")
    assert facts["tokens"] == {"train": 180, "val": 20} and np.load("d/train.npy")[-1] == 0


def test_a_long_text_is_encoded_by_pieces(work, capsys, monkeypatch) -> None:
    made(capsys, "text.txt", "--train-bpe", "300", "--mask-prompts")
    names = ("train", "val", "labels-train", "labels-val")
    before = [np.load(f"d/{name}.npy").tolist() for name in names]
    monkeypatch.setattr(tokens, "_PIECE", 50)
    pieces = list(tokens._pieces(TEXT))
    assert len(pieces) > 20 and "".join(pieces) == TEXT
    made(capsys, "text.txt", "--tokenizer", "d", "--mask-prompts")
    assert [np.load(f"d/{name}.npy").tolist() for name in names] == before


def test_prompts_are_masked(work, capsys) -> None:
    rows = write_rows({"prompt": "ab", "completion": "cd"}, {"prompt": "e", "completion": "fg"}, {"text": "h"})
    facts = made(capsys, rows, "--bytes", "--mask-prompts", "--val", "0")
    ids, labels = np.load("d/train.npy"), np.load("d/labels-train.npy")
    assert bytes(ids.astype(np.uint8)) == b"abcd\0efg\0h\0" and labels.dtype == np.int32
    ignored = -100
    assert labels.tolist() == [ignored, *b"cd\0", ignored, *b"fg\0", ignored, 0, ignored]
    assert facts["labels"] and facts["learned"] == 7


CHAT = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4."}, {"role": "user", "content": "ok"}]


def test_chat(work, capsys) -> None:
    pytest.importorskip("jinja2")
    made(capsys, write_rows({"messages": CHAT}), "--train-bpe", "300", "--chat", "--mask-prompts", "--val", "0")
    tokenizer = tokenizers.Tokenizer.from_file("d/tokenizer.json")
    ids, labels = np.load("d/train.npy"), np.load("d/labels-train.npy")
    decode = lambda some: tokenizer.decode(some, skip_special_tokens=False)
    assert decode(ids.tolist()) == (
        "<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n4.<|im_end|>\n<|im_start|>user\nok<|im_end|>\n"
        "<|endoftext|>"
    )
    assert decode(labels[labels != -100].tolist()) == "4.<|im_end|>\n"
    assert all(label in (-100, following) for label, following in zip(labels, ids[1:]))


def test_the_template_and_the_end_of_the_tokenizer(work, capsys) -> None:
    pytest.importorskip("jinja2")
    made(capsys, "text.txt", "--train-bpe", "300")
    template = "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    template += "{% if add_generation_prompt %}[assistant]{% endif %}"
    Path("own").mkdir()
    text = Path("d/tokenizer.json").read_text().replace("<|endoftext|>", "<end>")
    Path("own/tokenizer.json").write_text(text)
    assert refused(capsys, "text.txt", "--tokenizer", "own").startswith(
        "own/tokenizer.json: does not say which token ends a text; expected --end TOKEN"
    )
    assert made(capsys, "text.txt", "--tokenizer", "own", "--end", "<end>")["end"] == "<end>"
    config = {"chat_template": template, "bos_token": {"content": "^"}, "eos_token": "<end>"}
    Path("own/tokenizer_config.json").write_text(json.dumps(config))
    facts = made(capsys, write_rows({"messages": CHAT[:2]}), "--tokenizer", "own", "--chat", "--val", "0")
    ids = np.load("d/train.npy").tolist()
    tokenizer = tokenizers.Tokenizer.from_file("d/tokenizer.json")
    assert facts["end"] == "<end>" and tokenizer.decode(ids[:-1]) == "^[user]2+2?[assistant]4."
    config["chat_template"] = "{% for m in messages | reverse %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    Path("own/tokenizer_config.json").write_text(json.dumps(config))
    assert refused(capsys, "rows.jsonl", "--tokenizer", "own", "--chat") == (
        "rows.jsonl:1: the chat template changes earlier messages, so no answer can be told from them"
    )
    config["chat_template"] = "{{ raise_exception('no users') }}"
    Path("own/tokenizer_config.json").write_text(json.dumps(config))
    assert refused(capsys, "rows.jsonl", "--tokenizer", "own", "--chat") == (
        "own: its chat template refuses the messages: no users"
    )


ROWS = {
    "[1]": "rows.jsonl:1: is a list, expected an object with 'text'",
    '{"body": "x"}': "rows.jsonl:1: expected 'text', or 'prompt' and 'completion', has 'body'",
    '{"messages": []}': "rows.jsonl:1: expected 'text', or 'prompt' and 'completion'; --chat reads its messages",
    '{"text": 3}': "rows.jsonl:1: holds a int, expected text",
    '{"text": "a"}\n{"text"': "rows.jsonl:2: is not JSON: ",
    "": "rows.jsonl: holds no text",
}


@pytest.mark.parametrize("text", ROWS)
def test_wrong_rows(text: str, work, capsys) -> None:
    Path("rows.jsonl").write_text(text)
    assert refused(capsys, "rows.jsonl", "--bytes").startswith(ROWS[text])
    assert not os.path.exists("d/tokens.json")


MESSAGES = {
    "3": "expected 'messages', a list of {\"role\": ..., \"content\": ...}",
    '[{"role": "bot", "content": "x"}]': 'a message is {"role": "bot", "content": "x"}, expected a role of system, us',
    '[{"role": "user", "content": 3}]': 'a message is {"role": "user", "content": 3}, expected a role of system, user',
}


@pytest.mark.parametrize("messages", MESSAGES)
def test_wrong_messages(messages: str, work, capsys) -> None:
    Path("rows.jsonl").write_text(f'{{"messages": {messages}}}')
    assert refused(capsys, "rows.jsonl", "--bytes", "--chat").startswith(f"rows.jsonl:1: {MESSAGES[messages]}")


def test_wrong_files(work, capsys) -> None:
    assert refused(capsys, "no.txt", "--bytes") == "no.txt: No such file or directory"
    Path("latin.txt").write_bytes(b"abc\xfc")
    assert refused(capsys, "latin.txt", "--bytes").startswith("latin.txt: byte 3 is not UTF-8, expected text (.txt), ")
    error = refused(capsys, "text.txt", "--tokenizer", "no.json")
    assert error == "no.json: No such file or directory; expected a tokenizer.json or a folder with one"
    Path("t.json").write_text("{}")
    assert refused(capsys, "text.txt", "--tokenizer", "t.json").startswith("t.json: is no tokenizer.json: ")
    rows = write_rows({"messages": [{"role": "user", "content": "x"}]})
    error = refused(capsys, rows, "--bytes", "--chat", "--mask-prompts")
    assert error == "rows.jsonl: has no completions or answers, expected some with --mask-prompts"


def test_parquet(work, capsys) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        Path("rows.parquet").touch()
        error = refused(capsys, "rows.parquet", "--bytes")
        assert error == "rows.parquet: needs pyarrow; pip install pyarrow, or give .jsonl"
        return
    parquet.write_table(pyarrow.table({"text": ["ab", "c"]}), "rows.parquet")
    made(capsys, "rows.parquet", "--bytes", "--val", "0")
    assert np.load("d/train.npy").tolist() == [*b"ab\0c\0"]


def test_without_the_library(work, capsys, monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    error = refused(capsys, "text.txt", "--train-bpe", "300")
    assert error == "tokenizers: not installed; pip install tokenizers, or --bytes for one token per byte"
