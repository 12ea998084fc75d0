"""Every numbered constraint of every op has a negative test, and every example of an op is a positive one.

    check-constraints.py LLVM_TBLGEN INCLUDE_DIRECTORY... -- FILE.td... -- TEST.mlir...

The description of an op numbers its constraints (C1), (C2)...; those that a trait checks are numbered too. Constraint k of
op x is broken by a function (or symbol) @x_ck, or @x_ck_<variant>, of a file invalid-*.mlir. An op without constraints
needs no such test. The example of an op must stand in another of the files, up to white space. Exits with 1 and one line
per gap.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Iterator

CONSTRAINT = re.compile(r"\(C(\d+)\)")
EXAMPLE = re.compile(r"```mlir\n(.*?)```", re.DOTALL)


def split(words: list[str]) -> list[list[str]]:
    """The words between the separators `--`."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word == "--":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def ops(tblgen: str, include: list[str], path: str) -> Iterator[tuple[str, str]]:
    """Name and description of every op that a .td file defines."""
    flags = [flag for directory in include for flag in ("-I", directory)]
    text = subprocess.run([tblgen, *flags, "--dump-json", path], check=True, capture_output=True, text=True).stdout
    records = json.loads(text)
    for name in records["!instanceof"]["Op"]:
        record = records[name]
        yield record["opName"], record.get("description", "")


def squeeze(text: str) -> str:
    """Text without the differences that do not matter: white space."""
    return re.sub(r"\s+", "", text)


def gaps(name: str, description: str, broken: set[str], positive: list[str]) -> Iterator[str]:
    """What the tests lack for one op."""
    for number in sorted(set(CONSTRAINT.findall(description)), key=int):
        wanted = f"{name}_c{number}"
        if not any(symbol == wanted or symbol.startswith(wanted + "_") for symbol in broken):
            yield f"{name}: (C{number}) is broken by no test, expected @{wanted} in an invalid-*.mlir"
    for example in EXAMPLE.findall(description):
        if not any(squeeze(example) in text for text in positive):
            yield f"{name}: its example stands in no test"


def main() -> int:
    tools, tables, tests = split(sys.argv[1:])
    tblgen, *include = tools
    broken: set[str] = set()
    positive: list[str] = []
    for path in tests:
        with open(path) as file:
            text = file.read()
        if os.path.basename(path).startswith("invalid-"):
            broken.update(re.findall(r"@(\w+)", text))
        else:
            # Checks between the lines are comments.
            positive.append(squeeze(re.sub(r"(?m)^\s*//.*$", "", text)))
    count = 0
    missing: list[str] = []
    for path in tables:
        for name, description in ops(tblgen, include, path):
            count += 1
            missing.extend(gaps(name, description, broken, positive))
    for line in missing:
        print(line)
    if count == 0:
        print("no op found, expected some")
    print(f"{count} ops, {len(missing)} gaps")
    return 1 if missing or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
