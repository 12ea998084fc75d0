"""Checks that a program's --info agrees with the compiler's report: memory_info.py MEMORY_TXT INFO"""

from __future__ import annotations

import re
import sys
from pathlib import Path


def rows(text: str, pattern: str) -> dict[str, int]:
    return {name: int(size) for name, size in re.findall(pattern, text, re.MULTILINE)}


def main() -> None:
    report, info = (Path(path).read_text(encoding="utf-8") for path in sys.argv[1:])
    peak = report.split("At the fullest point\n")[1].split("\n\n")[0]
    said = {name: int(size) for size, name in re.findall(r"^ +(\d+)  (\w+)$", peak, re.MULTILINE)}
    arena = said.pop("arena")
    plan = info.split("memory plan\n")[1].split("\n\n")[0]
    shown = rows(plan, r"^  (\w+) +(\d+) bytes")
    assert shown == said, (shown, said)
    assert rows(plan, r"^  (arena) \(peak\) +(\d+) bytes") == {"arena": arena}, plan

    tensors = report.split("Tensors at the fullest point\n")[1].split("\n\n")[0].splitlines()[1:]
    live = info.split("largest tensors at the peak\n")[1].split("\n\n")[0].splitlines()[1:]
    assert len(live) == min(10, len(tensors)), live
    for line, wanted in zip(live, tensors):
        size, count, category = wanted.split()[:3]
        assert re.match(rf"  {category} +{count} x .* {size}  ", line), (line, wanted)


main()
