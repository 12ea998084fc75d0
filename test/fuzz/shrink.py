"""Makes a failing random graph small: prints a module on which the same pass still fails.

    shrink.py WORKDIR PASS GRAPH [--option TEXT]      GRAPH as passes.py names it, such as rough17 or modelstep4

Three ways are tried until none helps: return fewer values, turn an op's result into an argument (what made it is
dropped with it), and use smaller sizes everywhere. A change is kept when the pass still fails; whether the result is
valid is left to hone-opt, which refuses it otherwise.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Callable, Iterator

import rules
from modules import Modules, call, functions_of, module, optimize
from passes import SOURCES, TABLE

Fails = Callable[[str], bool]
DEFINED = re.compile(r"^    (%[\w.$#:, %-]+) = ")
# Ops whose first type in the list, not the last, is the result's.
FIRST_TYPE = ("hone.dropout", "hone.rope")


def names_in(text: str) -> list[str]:
    return re.findall(r"%[\w.$-]+", text)


def drop_unused(lines: list[str]) -> list[str]:
    """Without ops and arguments that nothing reads; the first line is the signature, the last but one the return."""
    used: set[str] = set()
    kept = []
    for line in reversed(lines[1:]):
        match = DEFINED.match(line)
        if match and not any(name in used for name in names_in(match[1])):
            continue
        used.update(names_in(line.split(" = ", 1)[-1]))
        kept.append(line)
    head = re.sub(r"%[\w.$-]+: tensor<[^>]*>(?: \{(?:[^{}]|\{[^{}]*\})*\})?(?:, )?",
                  lambda match: match[0] if names_in(match[0])[0] in used else "", lines[0].split(") -> ")[0])
    return [head.rstrip(", ") + ") -> " + lines[0].split(") -> ")[1], *reversed(kept)]


def result_types(line: str) -> list[str]:
    """Types of the results of a printed op."""
    types = line.split(" : ", 1)[-1]
    tail = types.split(" -> ")[-1] if " -> " in types else types
    found = re.findall(r"tensor<[^>]*>", tail)
    if "->" in types:
        return found
    return found[:1] if any(op in line for op in FIRST_TYPE) else found[-1:]


def fewer_results(lines: list[str]) -> Iterator[list[str]]:
    """Returns one value of several."""
    values, types = lines[-2].strip().removeprefix("return ").split(" : ")
    pairs = list(zip(values.split(", "), types.split(", ")))
    if len(pairs) < 2:
        return
    head = lines[0].split(") -> ")[0]
    for value, type in pairs:
        yield [f"{head}) -> {type} {{", *lines[1:-2], f"    return {value} : {type}", lines[-1]]


def cut_values(lines: list[str]) -> Iterator[list[str]]:
    """An op's results become arguments, the last op first."""
    for number in range(len(lines) - 3, 0, -1):
        match = DEFINED.match(lines[number])
        if not match:
            continue
        results = names_in(match[1])
        fresh = [f"%c{number}_{index}" for index in range(len(results))]
        arguments = [f'{name}: {type} {{hone.fqn = "{name[1:]}", hone.kind = "buffer", hone.init = '
                     f'{{dist = "normal", mean = 0.0 : f64, std = 0.7 : f64}}}}'
                     for name, type in zip(fresh, result_types(lines[number]))]
        head, results_text = lines[0].split(") -> ")
        joiner = "" if head.endswith("(") else ", "
        new = [head + joiner + ", ".join(arguments) + ") -> " + results_text, *lines[1:number], *lines[number + 1:]]
        text = "\n".join(new)
        for old, name in zip(results, fresh):
            text = re.sub(rf"{old}\b(?!:)", name, text)
        yield text.split("\n")


def smaller_sizes(lines: list[str]) -> Iterator[list[str]]:
    text = "\n".join(lines)
    sizes = {int(size) for size in re.findall(r"(?<=[<x])\d+(?=x)", text)}
    for size in sorted(sizes, reverse=True):
        for smaller in (1, 2, 3, size // 2):
            if smaller < size:
                yield re.sub(rf"(?<![\w.%#]){size}(?![\w.])|(?<=[<x]){size}(?=x)", str(smaller), text).split("\n")


def shrink(lines: list[str], fails: Fails) -> list[str]:
    """`lines` of one function, smaller as long as `fails`."""
    progress = True
    while progress:
        progress = False
        for way in (fewer_results, cut_values, smaller_sizes):
            for candidate in way(lines):
                candidate = drop_unused(candidate)
                if len("\n".join(candidate)) < len("\n".join(lines)) + 200 * (way is cut_values) \
                        and fails("\n".join(candidate) + "\n"):
                    lines, progress = candidate, True
                    break
            if progress:
                break
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("name", metavar="PASS")
    parser.add_argument("graph")
    parser.add_argument("--option", default="")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    kind, seed = re.match(r"([a-z]+)(\d+)$", options.graph).groups()
    source = next(source for name, source in SOURCES.items() if name.replace(" ", "") == kind)
    raw = source.module(options.graph, int(seed))
    text = optimize(options.work, {options.graph: raw}, source.prepare).modules[options.graph]
    head = text.splitlines()[0]
    row, flags = TABLE[options.name], [f"--{options.name}{options.option}"]

    def fails(function: str) -> bool:
        case: Modules = {options.graph: f"{head}\n{function}}}\n"}
        before = optimize(options.work, case, ())
        if not before.modules:
            return False
        after = optimize(options.work, before.modules, flags)
        if not after.modules:
            return True
        sides = (before.modules, after.modules)
        if row.then:
            sides = tuple(optimize(options.work, side, row.then).modules for side in sides)
        if not all(sides):
            return False
        found = row.rule(rules.Case(options.work, *sides, source.smooth))
        return any("different" in line or "WRONG" in line for line in found)

    functions = {name: body for name, body in functions_of(text).items() if fails(body)}
    if not functions:
        print(f"{options.graph}: no single function of it fails")
        return 1
    for body in functions.values():
        small = shrink(body.rstrip("\n").split("\n"), fails)
        print(head, *small, "}", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
