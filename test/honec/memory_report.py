"""Checks what honec reports about memory: memory_report.py REPORT_DIRECTORY

Categories add up to the arena, tensors to what lives, the launches' maximum is the arena less its gaps; memory.html is
well-formed XML and draws as many steps as the text has lines.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

SVG = "{http://www.w3.org/2000/svg}"


def section(text: str, title: str) -> list[list[str]]:
    """The lines below `title` as words, up to an empty line."""
    lines = text.split("\n" + title + "\n")[1].split("\n\n")[0]
    return [line.split() for line in lines.splitlines()]


def check_text(text: str) -> int:
    """Returns the number of launches."""
    peak = {words[1]: int(words[0]) for words in section(text, "At the fullest point")[1:]}
    arena = peak.pop("arena")
    peak.pop("budget", None)
    assert sum(peak.values()) == arena, (peak, arena)
    gaps = peak.pop("gaps", 0)

    tensors = section(text, "Tensors at the fullest point")[1:]
    for category, size in peak.items():
        assert sum(int(words[0]) for words in tensors if words[2] == category) == size, category

    header, *launches = section(text, "Bytes alive by launch")
    assert header[:2] == ["function", "launch"] and header[2:4] == ["estimated", "ms"], header
    categories = header[4:-2]
    assert header[-2:] == ["total", "launch"], header
    totals = []
    for words in launches:
        columns = [int(word) for word in words[3 : 4 + len(categories)]]
        assert sum(columns[:-1]) == columns[-1], words
        totals.append(columns[-1])
    assert max(totals) == arena - gaps, (max(totals), arena, gaps)
    fullest = launches[totals.index(max(totals))]
    assert f"Fullest at launch {fullest[1]} of {fullest[0]}: " in text, fullest
    assert {"parameters", "activations"} <= set(categories), categories
    return len([words for words in launches if words[0] != "evaluate"])


def check_curve(text: str, page: Path) -> None:
    """Points are in order, more memory takes less time, and one of them is this program."""
    if "\nTime against memory\n" not in text:
        return
    points = section(text, "Time against memory")[1:]
    sizes, times = ([float(words[column]) for words in points] for column in (0, 1))
    assert sizes == sorted(set(sizes)), sizes
    assert times == sorted(times, reverse=True), times
    assert [words[2:] for words in points].count(["this", "program"]) == 1, points
    budgets = re.findall(r"^ +(\d+)  budget$", text, re.MULTILINE)
    chosen = next(float(words[0]) for words in points if words[2:])
    assert all(chosen <= int(budget) for budget in budgets), (chosen, budgets)
    dots = [circle.get("class") for circle in xml.parse(page).getroot().iter(SVG + "circle")]
    assert dots.count("dot") == len(points) - 1, (dots, points)


def heights(path: str) -> list[float]:
    """The heights that the path of an area has, of those with horizontal and vertical steps."""
    return [float(y) for y in re.findall(r"[V ]([\d.]+)", path)]


def check_page(page: Path, launches: int) -> None:
    root = xml.parse(page).getroot()
    timeline = next(root.iter(SVG + "svg"))
    texts = [text.text for text in timeline.iter(SVG + "text")]
    for wanted in ("activations", "parameters", "arena", "fullest point", "forward", "backward", "bytes alive"):
        assert wanted in texts, (wanted, texts)
    hits = [rect for rect in timeline.iter(SVG + "rect") if rect.get("class") == "hit"]
    assert 0 < len(hits) <= launches, (len(hits), launches)
    # The highest area touches the mark of the fullest point, and neither is above the arena's line.
    areas = [path.get("d") for path in timeline.iter(SVG + "path") if path.get("fill")]
    top = min(height for area in areas for height in heights(area))
    mark = next(path.get("d") for path in timeline.iter(SVG + "path") if path.get("class") == "peak")
    arena = next(float(line.get("y1")) for line in timeline.iter(SVG + "line") if line.get("class") == "arena")
    assert abs(float(re.match(r"M[\d.]+ ([\d.]+)", mark)[1]) - top) < 0.11, (mark, top)
    assert arena <= top + 0.11, (arena, top)


def main() -> None:
    directory = Path(sys.argv[1])
    launches = check_text((directory / "memory.txt").read_text(encoding="utf-8"))
    check_page(directory / "memory.html", launches)
    check_curve((directory / "memory.txt").read_text(encoding="utf-8"), directory / "memory.html")


main()
