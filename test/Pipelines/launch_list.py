"""Prints one line per group of a function: family, what it computes, operands -> results.

    hone-opt GRAPH --hone-pipeline="upto=fuse ..." | python launch_list.py FUNCTION

Maps that cost nothing (casts, broadcasts, constants, sums and products of elements) are left out; reductions are counted
as row sums, column sums and totals. Types are those of the group's operands and results.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from typing import Iterator

PLAIN = {"constant", "broadcast", "iota", "reshape", "cast", "add", "sub", "mul", "div", "neg", "select", "cmp", "yield",
         "and", "or", "not"}


def function_lines(text: str, name: str) -> list[str]:
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if f"func.func @{name}(" in line)
    end = next(i for i in range(start, len(lines)) if lines[i] == "  }")
    return lines[start + 1 : end]


def reduction(line: str) -> str:
    kind, dims, shape = re.search(r"hone\.reduce\s+(\w+) .*dims \[([\d, ]*)\] : tensor<([\dx]*)", line).groups()
    rank, dims = shape.count("x"), [int(dim) for dim in dims.split(", ")] if dims else []
    where = "row" if dims == [rank - 1] and rank > 1 else "total" if len(dims) == rank else "column"
    return f"{where} {kind}"


def describe(family: str, body: list[str]) -> str:
    words: Counter[str] = Counter()
    for line in body:
        name = re.search(r"hone\.(\w+)", line).group(1)
        if name == "reduce":
            words[reduction(line)] += 1
        elif name in ("gelu", "gelu_bwd"):
            words[re.search(r"hone\.\w+\s+(\w+)", line).group(1) + " " + name] += 1
        elif family == "contraction" and name == "add":
            words["add"] += 1
        elif name not in PLAIN:
            words[name] += 1
    return ", ".join(word if count == 1 else f"{count} {word}" for word, count in words.items())


def launches(lines: list[str]) -> Iterator[str]:
    types = lambda text: " ".join(re.findall(r"tensor<([^>]*)>", text))  # noqa: E731
    for index, line in enumerate(lines):
        opened = re.search(r"hone\.group (\w+) \((.*?)\)(?: -> (.*))? \{$", line)
        if opened:
            family, operands, results = opened.groups()
            end = next(i for i in range(index, len(lines)) if lines[i] == "    }")
            yield f"{family}: {describe(family, lines[index + 1 : end])}: {types(operands)} -> {types(results or '')}"
        elif re.match(r"    %\S+ = hone\.(slice|concat)", line):
            yield "view: " + re.search(r"hone\.(\w+)", line).group(1) + ": " + types(line.split(" : ", 1)[1])


def main() -> None:
    for launch in launches(function_lines(sys.stdin.read(), sys.argv[1])):
        print(launch)


if __name__ == "__main__":
    main()
