"""Prints one line per group of a function: family: what it computes: operands -> results.

    hone-opt GRAPH --hone-pipeline="upto=fuse ..." | python launch_list.py FUNCTION

Maps that cost nothing (casts, broadcasts, constants, sums and products of elements) are left out; reductions are
counted as row sums, column sums and totals. Types are those of the group's operands and results, "4*T" for T four
times in a row.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from itertools import groupby
from typing import Iterator

PLAIN = {"constant", "broadcast", "iota", "reshape", "cast", "add", "sub", "mul", "div", "neg", "select", "cmp", "and",
         "or", "not", "yield"}


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
        name = re.search(r"(?:hone|dist)\.(\w+)", line).group(1)
        if name == "reduce":
            words[reduction(line)] += 1
        elif name in ("gelu", "gelu_bwd"):
            words[re.search(r"hone\.\w+\s+(\w+)", line).group(1) + " " + name] += 1
        elif family == "contraction" and name == "add":
            words["add"] += 1
        elif name not in PLAIN:
            words[name.removesuffix("_general")] += 1
    return ", ".join(word if count == 1 else f"{count} {word}" for word, count in words.items())


def types(text: str, is_ordered: bool) -> str:
    found = re.findall(r"tensor<([^>]*)>", text)
    runs = groupby(found if is_ordered else sorted(found))
    counts = [(name, len(list(run))) for name, run in runs]
    return " ".join(name if count == 1 else f"{count}*{name}" for name, count in counts)


def launches(lines: list[str]) -> Iterator[str]:
    for index, line in enumerate(lines):
        opened = re.search(r"hone\.fused (\w+) \((.*?)\)(?: -> (.*))? \{$", line)
        if opened:
            family, operands, results = opened.groups()
            is_ordered = family not in ("map", "row")  # their kernels name operands in no particular order
            end = next(i for i in range(index, len(lines)) if lines[i] == "    }")
            what = describe(family, lines[index + 1 : end])
            start = what if family == "attention" else f"{family}: {what}"
            yield f"{start}: {types(operands, is_ordered)} -> {types(results or '', is_ordered)}"
        elif re.match(r"    %\S+ = hone\.(slice|concat)", line):
            yield "view: " + re.search(r"(?:hone|dist)\.(\w+)", line).group(1) + ": " + types(line.split(" : ", 1)[1], True)


def main() -> None:
    for launch in launches(function_lines(sys.stdin.read(), sys.argv[1])):
        print(launch)


if __name__ == "__main__":
    main()
