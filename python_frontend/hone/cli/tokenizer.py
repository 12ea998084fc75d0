"""Text to ids and back: bytes, or a tokenizer.json of the `tokenizers` library."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterable, Protocol, Sequence

from ..errors import HoneError

END = "<|endoftext|>"
# What tokenizers call the end of a text, where no configuration beside them says.
_ENDS = (END, "</s>", "<|end_of_text|>", "<|eot_id|>", "<eos>", "<|im_end|>", "[SEP]")


@dataclass(frozen=True)
class Encoded:
    ids: Sequence[int]
    starts: Sequence[int]  # the character of the text at which each id begins


class Tokenizer(Protocol):
    vocab: int
    end: int  # the id between documents
    name: str  # of its file beside the tokens, or "bytes"

    def encode(self, text: str) -> Encoded: ...

    def decode(self, ids: Sequence[int]) -> str: ...

    def content(self) -> bytes: ...


class Bytes:
    """An id is a byte; 0, which text does not contain, stands between documents."""

    vocab, end, name = 256, 0, "bytes"

    def encode(self, text: str) -> Encoded:
        data = text.encode()
        if text.isascii():
            return Encoded(data, range(len(data)))
        starts = [index for index, character in enumerate(text) for _ in character.encode()]
        return Encoded(data, starts)

    def decode(self, ids: Sequence[int]) -> str:
        return bytes(ids).decode(errors="replace")

    def content(self) -> bytes:
        return b""


class Library:
    """A tokenizer of the `tokenizers` library."""

    name = "tokenizer.json"

    def __init__(self, text: str, end: str | None, origin: str) -> None:
        try:
            self._tokenizer = _library().Tokenizer.from_str(text)
        except HoneError:
            raise
        except Exception as error:  # the library raises no narrower one
            raise HoneError(f"{origin}: is no tokenizer.json: {str(error).splitlines()[0]}") from None
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._text = text
        ids = self._tokenizer.get_vocab(with_added_tokens=True)
        self.vocab = max(ids.values()) + 1
        known = [end] if end else _ENDS
        self.end_text = next((name for name in known if name in ids), None)
        if self.end_text is None:
            what = f"has no token '{end}'" if end else "does not say which token ends a text"
            raise HoneError(f"{origin}: {what}; expected --end TOKEN with one of its tokens")
        self.end = ids[self.end_text]

    def encode(self, text: str) -> Encoded:
        encoded = self._tokenizer.encode(text, add_special_tokens=False)
        return Encoded(encoded.ids, [begin for begin, _ in encoded.offsets])

    def decode(self, ids: Sequence[int]) -> str:
        return self._tokenizer.decode(list(ids), skip_special_tokens=False)

    def content(self) -> bytes:
        return self._text.encode()


def read_tokenizer(path: str | Path, end: str | None = None) -> Library:
    """Of a tokenizer.json, or of a folder with one. end: of a text; else what configurations beside it say."""
    file = Path(path)
    if file.is_dir():
        file = file / "tokenizer.json"
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise HoneError(f"{file}: {error.strerror}; expected a tokenizer.json or a folder with one") from None
    except UnicodeDecodeError:
        raise HoneError(f"{file}: is no text, expected a tokenizer.json") from None
    return Library(text, end or configured(file.parent, "eos_token"), str(file))


def configured(folder: Path, name: str) -> Any:
    """A setting of tokenizer_config.json; of a token its text."""
    try:
        value = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8")).get(name)
    except (OSError, ValueError):
        return None
    return value.get("content") if isinstance(value, dict) else value


def train_bpe(texts: Iterable[str], vocab: int, special: Sequence[str]) -> Library:
    """A byte-level BPE, as GPT-2's, of `vocab` ids at most."""
    tokenizers = _library()
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocab,
        special_tokens=list(special),
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return Library(tokenizer.to_str(), END, "the tokenizer")


def tokenizer_of(folder: Path, facts: dict[str, Any]) -> Tokenizer:
    """That of a tokens.json in a folder."""
    if facts["tokenizer"] == "bytes":
        return Bytes()
    tokenizer = read_tokenizer(folder / facts["tokenizer"], facts["end"])
    if hashlib.sha256(tokenizer.content()).hexdigest() != facts["sha256"]:
        changed = folder / facts["tokenizer"]
        raise HoneError(f"{changed}: changed since the tokens were made; hone tokens makes both anew")
    return tokenizer


def _library():
    try:
        import tokenizers
        import tokenizers.decoders
        import tokenizers.models
        import tokenizers.pre_tokenizers
        import tokenizers.trainers
    except ImportError:
        message = "tokenizers: not installed; pip install tokenizers, or --bytes for one token per byte"
        raise HoneError(message) from None
    return tokenizers
