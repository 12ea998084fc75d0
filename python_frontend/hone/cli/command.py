"""What all sub-commands share: parsers, usage errors, and data printed as JSON."""

from __future__ import annotations

import argparse
import difflib
import json
import re
import shlex
import sys
from typing import Any, Iterable, Sequence


class Usage(Exception):
    """A wrong command line."""


class Parser(argparse.ArgumentParser):
    """The parser of `hone NAME`. A wrong command line is a Usage, which names the nearest option."""

    def __init__(self, name: str, description: str) -> None:
        super().__init__(prog=f"hone {name}", description=description, allow_abbrev=False)
        self.add_argument("-v", "--verbose", action="store_true", help="print the commands that are run, on stderr")

    def add_json(self) -> None:
        self.add_argument("--json", action="store_true", help="print the result as JSON")

    def add_changes(self) -> None:
        self.add_argument("changes", metavar="KEY=VALUE", nargs="*", help="replaces a key of the run file")

    def read(self, argv: Sequence[str]) -> argparse.Namespace:
        arguments, unknown = self.parse_known_intermixed_args(argv)
        if unknown:
            name = unknown[0].split("=")[0]
            options = [option for action in self._actions for option in action.option_strings]
            takes_keys = any(action.dest == "changes" for action in self._actions)
            if takes_keys and name.startswith("--") and not difflib.get_close_matches(name, options, n=1, cutoff=0.8):
                key = name.removeprefix("--")
                raise Usage(f"'{name}': keys are given without dashes, {key}=VALUE; see {self.prog} --help")
            raise Usage(f"unrecognized argument '{name}'{suggestion(name, options)}; see {self.prog} --help")
        return arguments

    def error(self, message: str):
        raise Usage(f"{message}; see {self.prog} --help")


def suggestion(name: str, names: Iterable[str]) -> str:
    """ " (did you mean X?)" with the nearest of `names`, or nothing."""
    nearest = difflib.get_close_matches(name, list(names), n=1)
    return f" (did you mean {nearest[0]}?)" if nearest else ""


def parse_batch(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"is '{text}', expected BxT such as 8x1024")
    return int(match[1]), int(match[2])


def parse_count(text: str) -> int:
    if not re.fullmatch(r"\d+", text):
        raise argparse.ArgumentTypeError(f"is '{text}', expected a whole number")
    return int(text)


def parse_positive(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d*", text):
        raise argparse.ArgumentTypeError(f"is '{text}', expected a whole number >= 1")
    return int(text)


def show(arguments: argparse.Namespace, data: Any, text: str) -> None:
    """Prints a result: `data` where --json asks for it, else `text`."""
    print(json.dumps(data, ensure_ascii=False, indent=1) if arguments.json else text)


def show_command(arguments: argparse.Namespace, command: Sequence[object]) -> None:
    if arguments.verbose:
        print("+ " + shlex.join(map(str, command)), file=sys.stderr, flush=True)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns of text, the first row their names; numbers stand on the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if column and re.match(r"[\d.-]|inf|nan", rows[-1][column]) else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
