"""The files of hone tokens, as a run reads them: found by name, compared with the model."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Iterator, Sequence

from ..errors import HoneError
from .cache import cache_folder, key_of, stamp
from .made_from import sha256_of
from .npy import Reader, Writer

FACTS = "tokens.json"
LABELS = "labels-"  # before the name of the tokens' file
_WEIGHT = re.compile(r":[-+0-9.][^:/]*$")


@dataclass(frozen=True)
class TokenData:
    """What --data is given, its files in order, and what tokens.json beside the first says of them (empty: there is
    none)."""

    values: tuple[str, ...]
    files: tuple[str, ...]
    facts: dict[str, Any]

    @property
    def has_labels(self) -> bool:
        return bool(self.facts.get("labels"))

    def labels(self, shape: Sequence[int], type: str) -> str:
        """The labels of the stream in batches of `shape` ([N, shape]) of a type; the token t has the label t."""
        names = [_labels_of(file) for file in self.files]
        readers = [Reader(name) for name in names]
        total = sum(reader.size for reader in readers)
        batches = (total - 1) // (shape[0] * shape[1])
        if batches < 1:
            raise HoneError(f"{names[0]}: has {total} labels, expected more than a batch, {shape[0] * shape[1]}")
        left = batches * shape[0] * shape[1]
        path = cache_folder("streams") / f"{key_of([_stamps(names), list(shape), type])}.npy"
        if not path.exists():
            with _written(path) as file:
                writer = Writer(file, type)
                for reader in readers:
                    for piece in reader.pieces(end=min(left, reader.size)):
                        writer.write(piece.tolist())
                    left -= min(left, reader.size)
                writer.finish((batches, *shape))
        return str(path)


def find_data(given: Any, key: str) -> TokenData:
    """Of the values that a key of [data] has: each what --data of the program takes."""
    values = tuple(map(str, given if isinstance(given, list) else [given]))
    files = [file for value in values for file in _files_of(value, key)]
    folder = Path(files[0]).parent
    facts = read_facts(folder) if (folder / FACTS).is_file() else {}
    return TokenData(values, tuple(files), facts)


def _files_of(value: str, key: str) -> list[str]:
    """As TokenSource.cpp finds them, since there is no program yet (test_data_values.py compares both): a file,
    patterns with commas between them, :WEIGHT behind them. What this says of files that are not there, the program says
    of all other mistakes."""
    listed = value if os.path.isfile(value) else _WEIGHT.sub("", value)
    names = [listed] if os.path.isfile(listed) else listed.split(",")
    files = []
    for name in names:
        found = [name] if os.path.isfile(name) else sorted(glob.glob(name.replace("[^", "[!")))
        if not found:
            raise HoneError(f"{key}: no file {name}; hone tokens TEXT --bytes -o {Path(name).parent} makes some")
        files += found
    return files


def read_facts(folder: str | Path) -> dict[str, Any]:
    path = Path(folder) / FACTS
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        facts["vocab"], facts["tokenizer"]
    except OSError as error:
        raise HoneError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise HoneError(f"{path}: is no file of hone tokens") from None
    return facts


def check_vocabulary(data: TokenData, package: Path, model: str) -> None:
    """The ids of each tokenizer are ids of the model, its file is the one that the tokens were made with, and there is
    one tokenizer."""
    first: tuple[Path, Any] | None = None
    for place in dict.fromkeys(Path(file).parent for file in data.files):
        if not (place / FACTS).is_file():
            continue
        facts = read_facts(place)
        _check_tokenizer(facts, place, package, model)
        first = first or (place, facts.get("sha256"))
        if facts.get("sha256") != first[1]:
            raise HoneError(
                f"{place / FACTS}: was made with another tokenizer than {first[0] / FACTS}: one id means two words; "
                "hone tokens --tokenizer FILE makes both with one"
            )


def _check_tokenizer(facts: dict[str, Any], place: Path, package: Path, model: str) -> None:
    vocab = token_input(package).get("vocab")
    if vocab is not None and facts["vocab"] > vocab:
        raise HoneError(
            f"{place / FACTS}: the tokenizer has {facts['vocab']} ids, {model} has embeddings for {vocab}; expected a "
            f"smaller tokenizer (hone tokens --train-bpe {vocab}) or a model with vocab {facts['vocab']}"
        )
    if facts["tokenizer"] == "bytes":
        return
    path = place / facts["tokenizer"]
    if not path.is_file() or sha256_of(path) != facts["sha256"]:
        raise HoneError(f"{path}: is not the tokenizer that {place / FACTS} names; hone tokens makes both anew")
    own = Path(model) / "tokenizer.json"
    if own.is_file() and sha256_of(own) != facts["sha256"]:
        print(f"warning: {place} was made with another tokenizer than {own}: its ids mean other words", file=sys.stderr)


def arguments_of(package: Path, *kinds: str) -> list[dict[str, Any]]:
    """The arguments of some kinds, by the manifest of a package."""
    path = package / "manifest.json"
    try:
        arguments = json.loads(path.read_text(encoding="utf-8"))["arguments"]
    except OSError as error:
        raise HoneError(f"{path}: {error.strerror}; hone compile with the run's model makes it again") from None
    except (ValueError, KeyError):
        raise HoneError(f"{path}: is no manifest of a package") from None
    return [argument for argument in arguments if argument["kind"] in kinds]


def token_input(package: Path) -> dict[str, Any]:
    """The input that the token stream feeds, or nothing."""
    return next((each for each in arguments_of(package, "input") if each.get("role") == "tokens"), {})


def label_input(package: Path, model: str) -> dict[str, Any]:
    """The input that labels of a file feed."""
    found = [argument for argument in arguments_of(package, "input") if not argument.get("role")]
    for argument in found:
        if argument["fqn"] == "labels" and len(argument["shape"]) == 2 and argument["dtype"] in ("i64", "i32"):
            return argument
    raise HoneError(
        f"{model}: takes no input 'labels' beside its tokens, which masked prompts need; expected "
        'roles={"tokens": "tokens", "labels": ""} in its hone.Training, where labels[i] is what follows tokens[i]'
    )


def _labels_of(file: str) -> str:
    return str(Path(file).with_name(LABELS + Path(file).name))


def _stamps(files: Sequence[str]) -> dict[str, list[int]]:
    try:
        return {os.path.abspath(file): stamp(file) for file in files}
    except OSError as error:
        raise HoneError(f"{error.filename}: {error.strerror}") from None


@contextlib.contextmanager
def _written(path: Path) -> Iterator[BinaryIO]:
    """A file that has its name when it is complete."""
    descriptor, name = tempfile.mkstemp(prefix=".labels-", dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            yield file
        os.replace(name, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
