#!/usr/bin/env python3
"""Writes the pages of the site, as mkdocs.yml expects them: site_pages.py FOLDER

These are docs/ and the pages below, whose links are changed for where they come to lie. Names of files that code blocks
have become their titles. A link to something that is no page of the site is an error.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Pages that lie outside of docs/, and their places in the site.
ELSEWHERE = {"README.md": "index.md", "runtime/README.md": "runtime.md", "python_frontend/README.md": "front-end.md",
             "CHANGELOG.md": "changelog.md"}


def place_of(file: Path) -> str | None:
    """Where a file of the tree lies in the site."""
    name = os.path.relpath(file, ROOT)
    if name.startswith("docs/"):
        return name.removeprefix("docs/")
    return ELSEWHERE.get(name)


def moved_links(text: str, page: Path) -> str:
    """The text with links that hold in the site."""
    here = place_of(page)

    def moved(match: re.Match) -> str:
        name, mark, anchor = match[2].partition("#")
        if not name or re.match(r"[a-z]+:", name):
            return match[0]
        place = place_of(page.parent / name)
        if place is None:
            raise ValueError(f"{page.relative_to(ROOT)}: links to {name}, expected a page of docs/ or README.md")
        return f"{match[1]}({os.path.relpath(place, os.path.dirname(here) or '.')}{mark}{anchor})"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    # ```python my_model.py, which the generator takes for a language of two words
    parts[1::2] = [re.sub(r"^```(\w+) (\S+)\n", r'```\1 title="\2"\n', part) for part in parts[1::2]]
    parts[::2] = [re.sub(r"(!?\[[^\[\]]*\])\(([^()\s]+)\)", moved, part) for part in parts[::2]]
    return "".join(parts)


def main(argv: list[str]) -> int:
    if len(argv) != 2:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    folder = Path(argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder)
    try:
        for page in [*(ROOT / "docs").rglob("*.md"), *(ROOT / name for name in ELSEWHERE)]:
            (folder / place_of(page)).write_text(moved_links(page.read_text(), page))
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
