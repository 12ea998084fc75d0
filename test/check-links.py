#!/usr/bin/env python3
"""Checks the links of the documentation: check-links.py SOURCE_DIR [PAGE...]

A link names a file of the tree, and an anchor a heading of that page. Without PAGE: all Markdown pages of the tree,
and that mkdocs.yml lists each page of docs/ once. Prints PAGE:LINE: what is wrong; exit 1 if there is something.
"""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import yaml

LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(([^()\s]*)(?: \"[^\"]*\")?\)")
# Pages of mkdocs.yml that tools/site_pages.py takes from elsewhere than docs/.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from site_pages import ELSEWHERE  # noqa: E402


def lines_of_text(page: Path) -> list[tuple[int, str]]:
    """Lines outside of code, with their numbers; code inside of a line is blank."""
    lines, fence = [], ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence:
            lines.append((number, line))
    return lines


def slug(title: str) -> str:
    """The anchor of a heading, as GitHub and the site make it."""
    title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


@functools.lru_cache(None)
def anchors(page: Path) -> set[str]:
    seen: Counter[str] = Counter()
    found = set()
    for _, line in lines_of_text(page):
        if heading := re.match(r"#{1,6}\s+(.*?)\s*#*$", line):
            name = slug(heading[1])
            found.add(f"{name}-{seen[name]}" if seen[name] else name)
            seen[name] += 1
        found |= set(re.findall(r'<a (?:id|name)="([^"]+)"', line))
    return found


def wrong_link(page: Path, target: str) -> str | None:
    if re.match(r"[a-z]+:", target):
        return None
    name, _, anchor = target.partition("#")
    file = (page.parent / unquote(name)).resolve() if name else page
    if not file.exists():
        return f"{target}: no file {name}"
    if file.is_dir():
        return f"{target}: is a folder, expected a page"
    if anchor and (file.suffix != ".md" or anchor not in anchors(file)):
        return f"{target}: no heading '{anchor}'"
    return None


def check(page: Path) -> list[tuple[int, str]]:
    return [(number, wrong) for number, line in lines_of_text(page)
            for target in LINK.findall(re.sub(r"`[^`]*`", "", line)) if (wrong := wrong_link(page, target))]


def listed(entry) -> list[str]:
    """Pages of the navigation, or of a part of it."""
    if isinstance(entry, str):
        return [entry]
    return [page for part in (entry.values() if isinstance(entry, dict) else entry) for page in listed(part)]


def check_navigation(source: Path, pages: list[Path]) -> list[str]:
    text = re.sub(r"!!python\S+", "", (source / "mkdocs.yml").read_text(encoding="utf-8"))
    counts = Counter(listed(yaml.safe_load(text)["nav"]))
    here = {str(page.relative_to(source / "docs")) for page in pages if page.is_relative_to(source / "docs")}
    here |= set(ELSEWHERE.values())
    return ([f"mkdocs.yml: does not list {page}" for page in sorted(here - counts.keys())]
            + [f"mkdocs.yml: lists {page}, which is not there" for page in sorted(counts.keys() - here)]
            + [f"mkdocs.yml: lists {page} {count} times" for page, count in sorted(counts.items()) if count > 1])


def main(argv: list[str]) -> int:
    source = Path(argv[1]).resolve()
    pages = [Path(name).resolve() for name in argv[2:]]
    found = []
    if not pages:
        listing = subprocess.run(("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"),
                                 capture_output=True, text=True, cwd=source, check=True)
        pages = [source / name for name in listing.stdout.splitlines() if (source / name).exists()]
        found += check_navigation(source, pages)
    for page in pages:
        place = page.relative_to(source) if page.is_relative_to(source) else page.name
        found += [f"{place}:{number}: {wrong}" for number, wrong in check(page)]
    print("\n".join(found) if found else f"{len(pages)} pages: all links resolve")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
