#!/usr/bin/env python3
"""Checks the numbers of README.md: front_page_numbers.py SOURCE_DIR

Every number of its first table is one of the page that its row links to (as it is there, or rounded to hundreds), and
its counts of models are those of docs/models.md. Prints what is wrong; exit 1 if there is something.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path


def numbers_of(text: str) -> list[float]:
    # No part of a name, of a precision or of a batch.
    text = re.sub(r"GPT-2 124M|\bbf16\b|H200|\d+ x \d+(?: tokens)?|\]\([^)]*\)", " ", text)
    return [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]


def main(argv: list[str]) -> int:
    source = Path(argv[1])
    readme = (source / "README.md").read_text(encoding="utf-8")
    table = re.search(r"^\| GPT-2.*?\n\n", readme, re.M | re.S)
    rows = table[0].strip().splitlines()[2:] if table else []
    wrong = [] if len(rows) == 4 else [f"the first table has {len(rows)} rows, expected 4"]
    for row in rows:
        page = re.search(r"\]\(([^)]*)\)", row)[1]
        known = {value for found in re.findall(r"\d[\d,]*(?:\.\d+)?", (source / page).read_text(encoding="utf-8"))
                 for exact in [float(found.replace(",", ""))] for value in (exact, round(exact, -2), round(exact, 1))}
        numbers = numbers_of(row)
        wrong += [f"{number:g} is not in {page}: {row}" for number in numbers if number not in known]
        wrong += [] if numbers else [f"has no number: {row}"]
    models = (source / "docs/models.md").read_text(encoding="utf-8")
    total, equal = re.search(r"^\| \*\*All\*\* \| (\d+) \| (\d+) \|", models, re.M).groups()
    if f"{total} models of sixteen kinds" not in readme or f"{equal} train with the losses" not in readme:
        wrong.append(f"expected '{total} models of sixteen kinds' and '{equal} train with the losses' (docs/models.md)")
    print("\n".join(f"README.md: {text}" for text in wrong) or "the numbers are those of the pages")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
