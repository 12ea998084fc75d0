#!/usr/bin/env python3
"""Writes the page of core ATen operators: operators_page.py PAGE.md [--check]

--check compares the page with what would be written instead, and fails with the command where they differ.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python_frontend"))

HEAD = """\
# Operators

What export makes of each overload that PyTorch tags as core ATen, the set that all other operators are defined with.
An operator that is not listed is taken if its definition is made of these. `tools/operators_page.py` wrote this page
from the front end's own tables; `test/python/test_core_operators.py` checks it, and runs an example of each composed
and each refused one. Do not edit it.
"""

TITLES = {
    "emitter": ("Imported", "An emitter of `python_frontend/hone/aten` writes them as one op of the dialect or a few."),
    "torch": ("Composed by torch's definition", "They are traced, and the simpler operators imported."),
    "hone": ("Composed by a definition of Hone's", "Torch has none; `python_frontend/hone/definitions.py` has."),
    "in place": ("Writing to a tensor", "They become the operator without the write, and a new value of the tensor."),
    "static": ("Sizes", "Numbers when a program is captured, since shapes are static; no graph holds them."),
}


def page() -> str:
    from hone.coverage import core_operators, name_of, support_of

    found = defaultdict(list)
    for target in core_operators():
        support = support_of(target)
        found[support.kind].append((name_of(target), support.reason))
    lines = [HEAD, "| kind | operators |", "|---|--:|"]
    lines += [f"| {title} | {len(found[kind])} |" for kind, (title, _) in TITLES.items()]
    lines += [f"| Refused | {len(found['refused'])} |", f"| **All** | {sum(map(len, found.values()))} |"]
    for kind, (title, text) in TITLES.items():
        names = ", ".join(f"`{name}`" for name, _ in found[kind])
        wrapped = textwrap.wrap(f"{text} {names}.", 120, break_long_words=False, break_on_hyphens=False)
        lines += ["", f"## {title}", "", *wrapped]
    lines += ["", "## Refused", ""]
    for name, reason in found["refused"]:
        lines += textwrap.wrap(f"- `{name}`: {reason}.", 120, subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(lines) + "\n"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args(argv)
    if not arguments.check:
        arguments.page.write_text(page())
    elif arguments.page.read_text() != page():
        print(f"error: {arguments.page} is not up to date; type: tools/generate-docs.sh", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
