#!/usr/bin/env python3
"""Checks the built site: check-site.py FOLDER. Each link and image of a page leads to a file of the folder, and to an
id in it. Prints PAGE: what is wrong; exit 1 if there is something."""

from __future__ import annotations

import functools
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self, file: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.ids: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id":
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.targets.append(value)


parsed = functools.lru_cache(None)(Page)


def main(argv: list[str]) -> int:
    folder = Path(argv[1]).resolve()
    pages = sorted(folder.rglob("*.html"))
    found = [] if pages else [f"{folder}: no pages"]
    for page in pages:
        if page.name == "404.html":
            continue # its links are relative to wherever it is shown
        for target in parsed(page).targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            file = file / "index.html" if file.is_dir() else file
            if not file.exists():
                found.append(f"{page.relative_to(folder)}: {target}: no such file")
            elif parts.fragment and file.suffix == ".html" and unquote(parts.fragment) not in parsed(file).ids:
                found.append(f"{page.relative_to(folder)}: {target}: no such id")
    print("\n".join(sorted(set(found))) if found else f"{len(pages)} pages: all links resolve")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
