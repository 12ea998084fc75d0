"""The documents of text files: each a list of parts, of which a loss learns some and others are its prompts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Iterator, NamedTuple, Sequence

from ..errors import HoneError

KINDS = (".txt", ".jsonl", ".parquet")
ROLES = ("system", "user", "assistant", "tool")

# Where a tokenizer has no template.
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CHATML_TOKENS = ("<|im_start|>", "<|im_end|>")


class Part(NamedTuple):
    text: str
    is_learned: bool


Document = list[Part]
Template = Callable[[list[dict[str, Any]], bool], str]  # messages, whether an answer is asked for


def read_documents(paths: Sequence[str], field: str, template: Template | None) -> Iterator[Document]:
    """Of .txt (a file is a document), .jsonl and .parquet (a row is one)."""
    for path in paths:
        suffix = Path(path).suffix
        if suffix == ".jsonl":
            rows = _json_rows(path)
        elif suffix == ".parquet":
            rows = _parquet_rows(path)
        else:
            yield [Part(_text(path), True)]
            continue
        for place, row in rows:
            yield _document(row, place, field, template)


def chat_template(text: str, tokens: dict[str, Any], origin: str) -> Template:
    """A Jinja template, as tokenizers bring it."""
    try:
        from jinja2 import TemplateError
        from jinja2.sandbox import ImmutableSandboxedEnvironment
    except ImportError:
        raise HoneError("jinja2: not installed, --chat needs it; pip install jinja2") from None

    def refuse(message: str) -> None:
        raise TemplateError(message)

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = refuse
    environment.filters["tojson"] = lambda value, **options: json.dumps(value, ensure_ascii=False, **options)
    try:
        compiled = environment.from_string(text)
    except TemplateError as error:
        raise HoneError(f"{origin}: its chat template cannot be read: {error}") from None

    def render(messages: list[dict[str, Any]], asks: bool) -> str:
        try:
            return compiled.render(messages=messages, add_generation_prompt=asks, **tokens)
        except TemplateError as error:
            raise HoneError(f"{origin}: its chat template refuses the messages: {error}") from None

    return render


def _document(row: Any, place: str, field: str, template: Template | None) -> Document:
    if not isinstance(row, dict):
        raise HoneError(f"{place}: is a {type(row).__name__}, expected an object with '{field}'")
    if template is not None:
        return _chat(row.get("messages"), place, template)
    if "prompt" in row and "completion" in row:
        parts = [Part(row["prompt"], False), Part(row["completion"], True)]
    elif field in row:
        parts = [Part(row[field], True)]
    else:
        hint = "; --chat reads its messages" if "messages" in row else f", has {', '.join(map(repr, row)) or 'no keys'}"
        raise HoneError(f"{place}: expected '{field}', or 'prompt' and 'completion'{hint}")
    for part in parts:
        if not isinstance(part.text, str):
            raise HoneError(f"{place}: holds a {type(part.text).__name__}, expected text")
    return parts


def _chat(messages: Any, place: str, template: Template) -> Document:
    """Answers of the assistant are learned, with what the template puts behind them."""
    if not isinstance(messages, list) or not messages:
        raise HoneError(f"{place}: expected 'messages', a list of {{\"role\": ..., \"content\": ...}}")
    for message in messages:
        role, content = (message.get(key) for key in ("role", "content")) if isinstance(message, dict) else (None, None)
        if role not in ROLES or not isinstance(content, str):
            raise HoneError(
                f"{place}: a message is {json.dumps(message)}, expected a role of {', '.join(ROLES)}, and its content"
            )
    parts, done = [], ""
    for index, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        asked, answered = template(messages[:index], True), template(messages[: index + 1], False)
        if not asked.startswith(done) or not answered.startswith(asked):
            raise HoneError(f"{place}: the chat template changes earlier messages, so no answer can be told from them")
        parts += [Part(asked[len(done) :], False), Part(answered[len(asked) :], True)]
        done = answered
    whole = template(messages, False)
    if not whole.startswith(done):
        raise HoneError(f"{place}: the chat template changes earlier messages, so no answer can be told from them")
    return [part for part in [*parts, Part(whole[len(done) :], False)] if part.text]


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise HoneError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise HoneError(f"{path}: byte {error.start} is not UTF-8, expected text (.txt), .jsonl or .parquet") from None


def _json_rows(path: str) -> Iterator[tuple[str, Any]]:
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    yield f"{path}:{number}", json.loads(line)
                except ValueError as error:
                    raise HoneError(f"{path}:{number}: is not JSON: {error}") from None
    except OSError as error:
        raise HoneError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise HoneError(f"{path}: is not UTF-8, expected lines of JSON") from None


def _parquet_rows(path: str) -> Iterator[tuple[str, Any]]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise HoneError(f"{path}: needs pyarrow; pip install pyarrow, or give .jsonl") from None
    try:
        number = 0
        for batch in parquet.ParquetFile(path).iter_batches():
            for row in batch.to_pylist():
                number += 1
                yield f"{path}:{number}", row
    except (OSError, ValueError) as error:
        raise HoneError(f"{path}: cannot be read as parquet: {str(error).splitlines()[0]}") from None
