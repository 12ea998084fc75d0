"""hone tokens: makes token files of text, with what a run needs to know of them."""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Iterator, Sequence

from ..errors import HoneError
from .cache import write_whole
from .command import Parser, Usage, parse_positive, show
from .documents import CHATML, CHATML_TOKENS, Document, Template, chat_template, read_documents
from .npy import Reader, Writer, narrowest
from .token_data import FACTS, LABELS
from .tokenizer import END, Bytes, Tokenizer, configured, read_tokenizer, train_bpe

IGNORED = -100  # the label of a token that no loss counts
_LABEL_TYPE = "<i4"
_PIECE = 1 << 20  # characters
_LINE_END = re.compile(r"\n(?=\S)")


def main(argv: Sequence[str]) -> int:
    arguments = _parser().read(argv)
    if sum(map(bool, (arguments.tokenizer, arguments.bytes, arguments.train_bpe))) != 1:
        raise Usage("expected one of --tokenizer FILE, --bytes and --train-bpe N; see hone tokens --help")
    if not 0 <= arguments.val < 1:
        raise Usage(f"--val is {arguments.val:g}, expected a share from 0 to below 1")
    folder = Path(arguments.o)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HoneError(f"{folder}: cannot be made: {error.strerror}") from None
    tokenizer, template = _tokenizer(arguments)
    with tempfile.TemporaryDirectory(prefix=".tokens-", dir=folder) as work:
        facts = _write(arguments, folder, Path(work), tokenizer, template)
    if tokenizer.name != "bytes":
        write_whole(folder / tokenizer.name, tokenizer.content())
    write_whole(folder / FACTS, (json.dumps(facts, indent=1) + "\n").encode())
    show(arguments, facts, _described(facts, folder))
    return 0


def _parser() -> Parser:
    parser = Parser(
        "tokens",
        "Makes token files (.npy) of text. A .txt file is a document; of .jsonl and .parquet each row is one: its "
        "'text', or 'prompt' and 'completion', or with --chat its 'messages'. The id of the end of a text stands after "
        "each. The last part of all tokens is for validation. tokens.json says what was made, and of which tokenizer.",
    )
    parser.add_argument("text", metavar="TEXT", nargs="+", help=".txt, .jsonl or .parquet (with pyarrow)")
    parser.add_argument("--tokenizer", metavar="FILE", help="a tokenizer.json, or a folder with one")
    parser.add_argument("--bytes", action="store_true", help="a token is a byte; 0 stands between documents")
    parser.add_argument("--train-bpe", metavar="N", type=parse_positive, help="make a tokenizer of N ids of this text")
    parser.add_argument("-o", metavar="DIR", required=True, help="where the files are written")
    parser.add_argument("--val", metavar="SHARE", type=float, default=0.1, help="for validation (default 0.1)")
    parser.add_argument("--shard", metavar="N", type=parse_positive, help="tokens of a file (default: all in one)")
    parser.add_argument("--field", metavar="NAME", default="text", help="of a row's text (default text)")
    parser.add_argument("--end", metavar="TOKEN", help="between documents (default: the tokenizer's end of text)")
    parser.add_argument("--chat", action="store_true", help="rows hold messages; the tokenizer's template, or ChatML")
    parser.add_argument(
        "--mask-prompts",
        action="store_true",
        help="also write labels: the next token in completions and answers, -100 elsewhere",
    )
    parser.add_json()
    return parser


def _tokenizer(arguments: argparse.Namespace) -> tuple[Tokenizer, Template | None]:
    """With the template of chats, where they are read."""
    if arguments.tokenizer:
        path = Path(arguments.tokenizer)
        tokenizer: Tokenizer = read_tokenizer(path, arguments.end)
        return tokenizer, _own_template(path if path.is_dir() else path.parent, tokenizer) if arguments.chat else None
    if arguments.end and arguments.bytes:
        raise Usage("--end: given with --bytes, where 0 stands between documents")
    template = chat_template(CHATML, {}, "ChatML") if arguments.chat else None
    if arguments.bytes:
        return Bytes(), template
    special = [arguments.end or END, *(CHATML_TOKENS if arguments.chat else ())]
    least = 256 + len(special)
    if arguments.train_bpe < least:
        raise Usage(f"--train-bpe is {arguments.train_bpe}, expected at least {least}: all bytes and special tokens")
    texts = (part.text for document in _documents(arguments, template) for part in document)
    return train_bpe(texts, arguments.train_bpe, special), template


def _own_template(folder: Path, tokenizer: Tokenizer) -> Template:
    file = folder / "chat_template.jinja"
    text = file.read_text(encoding="utf-8") if file.is_file() else configured(folder, "chat_template")
    tokens = {name: configured(folder, name) or "" for name in ("bos_token", "eos_token", "pad_token", "unk_token")}
    return chat_template(text if isinstance(text, str) else CHATML, tokens, str(folder))


def _documents(arguments: argparse.Namespace, template: Template | None) -> Iterator[Document]:
    return read_documents(arguments.text, arguments.field, template)


def _encode(document: Document, tokenizer: Tokenizer) -> Iterator[tuple[Sequence[int], list[bool]]]:
    """The ids of a document and its end, by pieces, and which of them a loss learns to predict. An id that begins in a
    prompt is the prompt's."""
    text = "".join(part.text for part in document)
    borders, position = [], 0
    for part in document:
        position += len(part.text)
        borders.append((position, part.is_learned))
    at = begin = 0
    for piece in _pieces(text):
        encoded, learned = tokenizer.encode(piece), []
        for start in encoded.starts:
            while at + 1 < len(borders) and begin + start >= borders[at][0]:
                at += 1
            learned.append(borders[at][1])
        yield encoded.ids, learned
        begin += len(piece)
    yield [tokenizer.end], [borders[-1][1] if borders else True]


def _pieces(text: str) -> Iterator[str]:
    """A long text in lines of about a MiB, so that its ids need not be in memory at a time. White space stays whole:
    tokenizers join it."""
    begin = 0
    while match := _LINE_END.search(text, begin + _PIECE):
        yield text[begin : match.end()]
        begin = match.end()
    if begin < len(text):
        yield text[begin:]


def _write(
    arguments: argparse.Namespace, folder: Path, work: Path, tokenizer: Tokenizer, template: Template | None
) -> dict:
    """Writes the shards and returns what tokens.json says."""
    kind = narrowest(tokenizer.vocab)
    counts: Counter[int] = Counter()
    documents = learned = size = 0
    with open(work / "ids.npy", "wb") as ids_file, open(work / "labels.npy", "wb") as labels_file:
        ids_writer, labels_writer = Writer(ids_file, kind), Writer(labels_file, _LABEL_TYPE)
        for document in _documents(arguments, template):
            size += sum(len(part.text.encode()) for part in document)
            documents += 1
            first = 1  # no token's label
            for ids, is_learned in _encode(document, tokenizer):
                ids_writer.write(ids)
                counts.update(ids)
                if arguments.mask_prompts:
                    labels = [i if is_so else IGNORED for i, is_so in zip(ids, is_learned)][first:]
                    labels_writer.write(labels)
                    learned += sum(label != IGNORED for label in labels)
                    first = 0
            if arguments.mask_prompts:
                labels_writer.write([IGNORED])  # the end of a text says nothing of the next one
        ids_writer.finish()
        labels_writer.finish()
        total = ids_writer.size
    if total < 2:
        raise HoneError(f"{arguments.text[0]}: holds no text")
    if arguments.mask_prompts and not learned:
        raise HoneError(f"{arguments.text[0]}: has no completions or answers, expected some with --mask-prompts")
    cut = total - int(total * arguments.val)
    if documents > 1 and cut < total:
        cut = _document_border(work / "ids.npy", cut, tokenizer.end) or cut
    splits = {"train": (0, cut)} | ({"val": (cut, total)} if cut < total else {})
    _remove_old(folder)
    files = {}
    for name, (begin, end) in splits.items():
        files[name] = _shards(work / "ids.npy", folder, name, begin, end, arguments.shard)
        if arguments.mask_prompts:
            _shards(work / "labels.npy", folder, LABELS + name, begin, end, arguments.shard)
    return {
        "tokenizer": tokenizer.name,
        "sha256": hashlib.sha256(tokenizer.content()).hexdigest() if tokenizer.name != "bytes" else None,
        "vocab": tokenizer.vocab,
        "end": getattr(tokenizer, "end_text", None),
        "end_id": tokenizer.end,
        "documents": documents,
        "bytes": size,
        "tokens": {name: end - begin for name, (begin, end) in splits.items()},
        "used_ids": len(counts),
        "entropy": -sum(n / total * math.log(n / total) for n in counts.values()),
        "labels": arguments.mask_prompts,
        "learned": learned if arguments.mask_prompts else None,
        "files": files,
    }


def _document_border(path: Path, position: int, end: int) -> int | None:
    """The first position from `position` on at which a document begins; None: the rest is one document."""
    reader = Reader(path)
    for piece in reader.pieces(position):
        try:
            found = position + piece.index(end) + 1
            return found if found < reader.size else None
        except ValueError:
            position += len(piece)
    return None


def _shards(path: Path, folder: Path, name: str, begin: int, end: int, shard: int | None) -> list[str]:
    """Writes a part of a file as shards, and returns their names."""
    reader = Reader(path)
    names = []
    size = shard or end - begin
    for index, first in enumerate(range(begin, end, size)):
        names.append(f"{name}-{index:05}.npy" if shard else f"{name}.npy")
        temporary = path.parent / names[-1]
        with open(temporary, "wb") as file:
            writer = Writer(file, reader.type)
            for piece in reader.pieces(first, min(first + size, end)):
                writer.write(piece)
            writer.finish()
        os.replace(temporary, folder / names[-1])
    return names


def _remove_old(folder: Path) -> None:
    """What an earlier call made here, so that no shard of it stays among the new ones."""
    try:
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        names = [name for names in facts["files"].values() for name in names]
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return
    for name in names:
        for file in (folder / os.path.basename(name), folder / (LABELS + os.path.basename(name))):
            file.unlink(missing_ok=True)


def _described(facts: dict, folder: Path) -> str:
    total = sum(facts["tokens"].values())
    parts = ", ".join(f"{count} {name}" for name, count in facts["tokens"].items())
    lines = [
        f"{facts['documents']} document{'s' if facts['documents'] != 1 else ''}, {facts['bytes']} bytes",
        f"{total} tokens ({parts}), {facts['bytes'] / total:.2f} bytes each",
        f"{facts['used_ids']} of {facts['vocab']} ids occur; unigram entropy {facts['entropy']:.4f} nats per token",
    ]
    if facts["learned"] is not None:
        lines.append(f"{facts['learned']} tokens are learned, {total - facts['learned']} are prompts or first ones")
    return "\n".join([*lines, f"{folder}: {', '.join(name for names in facts['files'].values() for name in names)}"])
