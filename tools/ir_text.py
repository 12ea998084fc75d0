"""Compares texts of IR and of code up to what is a name only: tools/compare-builds.py."""

from __future__ import annotations

import dataclasses
import itertools
import re

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|->|[{}\[\]()<>,]|[^"{}\[\]()<>,-]+|.')
CLOSING = {"{": "}", "[": "]", "(": ")", "<": ">"}
ATTRIBUTE = re.compile(r"[\w.]+( = |$)")
# A value with what follows it where it is defined: `%0, %1:2 = ` of an op, `%arg0: ` of a block.
VALUE = re.compile(r"(%[\w.$]+)((?::\d+)?(?:, %[\w.$]+(?::\d+)?)* = (?!%)|: )?")
STRING_TYPE = re.compile(r'\[\d+ x i8\] c"')


def with_sorted_attributes(line: str) -> str:
    """`{b = 1, a}` as `{a, b = 1}`, at any depth. Where a brace closes on another line, nothing is sorted."""
    stack: list[tuple[str, list[str]]] = [("", [""])]
    for token in TOKEN.findall(line):
        if token in CLOSING:
            stack.append((token, [""]))
        elif len(stack) > 1 and token == CLOSING[stack[-1][0]]:
            opening, items = stack.pop()
            stripped = [item.strip() for item in items]
            if opening == "{" and all(ATTRIBUTE.match(item) for item in stripped):
                items = [", ".join(sorted(stripped))]
            stack[-1][1][-1] += opening + ",".join(items) + token
        elif token == ",":
            stack[-1][1].append("")
        else:
            stack[-1][1][-1] += token
    return "".join(opening + ",".join(items) for opening, items in stack)


def with_numbered_values(text: str) -> str:
    """Names SSA values by the order of their definitions. Functions may use the same names: the latest counts."""
    names: dict[str, str] = {}
    numbers = itertools.count()

    def define(match: re.Match[str]) -> str:
        names[match[0]] = f"%v{next(numbers)}"
        return names[match[0]]

    def renamed(match: re.Match[str]) -> str:
        if match[2] is None:
            return names.get(match[1], match[1])
        return re.sub(r"%[\w.$]+", define, match[0])

    return VALUE.sub(renamed, text)


@dataclasses.dataclass
class Normalizer:
    renames: list[tuple[str, str]]
    drops: list[str]

    def rename(self, text: str) -> str:
        for old, new in self.renames:
            begin = r"(?<![\w.])" if re.match(r"\w", old) else ""
            end = r"(?!\w)" if re.search(r"\w$", old) else ""
            text = re.sub(begin + re.escape(old) + end, lambda _: new, text)
        return text

    def lines(self, what: str, text: str, is_base: bool) -> list[str]:
        text = self.rename(text) if is_base else text
        for pattern in self.drops:
            text = re.sub(pattern, "", text, flags=re.MULTILINE)
        if what.endswith(("mlir", "plan")):
            return [with_sorted_attributes(line) for line in with_numbered_values(text).splitlines()]
        return STRING_TYPE.sub('[n x i8] c"', text).splitlines()  # a name has a length, too


def first_difference(base: list[str], new: list[str]) -> str:
    """Where two texts differ first, or nothing."""
    for number, (old, now) in enumerate(itertools.zip_longest(base, new, fillvalue="(end)"), 1):
        if old != now:
            column = next((at for at, (a, b) in enumerate(zip(old, now)) if a != b), min(len(old), len(now)))
            window = slice(max(0, column - 60), column + 100)
            return f"line {number}, column {column + 1}\n  base: {old[window]}\n  new:  {now[window]}"
    return ""
