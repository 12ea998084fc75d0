"""Reads TOML. What is wrong is told with its line, and what to type instead."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from ..errors import HoneError

# Messages of tomllib, which end with "(at line L, column C)" or "(at end of document)".
_SECTION_TWICE = re.compile(r"Cannot (?:declare|define) \((.*?),?\) twice|Cannot mutate immutable namespace \((.*?),?\)")


def read_toml(text: str, path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said, _, place = str(error).removesuffix(")").rpartition(" (at ")
        line = re.match(r"line (\d+)", place)
        number = int(line[1]) if line else text.count("\n") + 1
        advice = _advice(said, text.splitlines()[number - 1 :][:1])
        hint = "" if path.endswith(".toml") else "; expected a run file (TOML), as hone new writes one"
        raise HoneError(f"{path}:{number}: {advice or said}{hint}") from None


def _advice(said: str, lines: list[str]) -> str | None:
    """What to type in place of a line; None: tomllib's message says it."""
    key, equals, value = (part.strip() for part in (lines[0] if lines else "").partition("="))
    if match := _SECTION_TWICE.match(said):
        name = ".".join(re.findall(r"'(.*?)'", match[1] or match[2]))
        return f"the section {name} is given twice; write all its keys below one [{name}]"
    if said == "Cannot overwrite a value":
        name = key.strip("[]")
        return f"{name} is given twice; delete one of them"
    if said == "Invalid value" and equals:
        word = value.partition("#")[0].strip()
        return f"{key} is {word or 'empty'}, expected a number, true, false or text in quotes, as {key} = \"{word}\""
    return None
