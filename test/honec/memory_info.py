"""Checks that a program's --info agrees with the compiler's report: memory_info.py REPORT.json INFO"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path


def rows(text: str, pattern: str) -> dict[str, int]:
    return {name: int(size) for name, size in re.findall(pattern, text, re.MULTILINE)}


def main() -> None:
    report, info = (Path(path).read_text(encoding="utf-8") for path in sys.argv[1:])
    memory = json.loads(report)["memory"]
    said = {row["category"]: row["bytes"] for row in memory["peak"]}
    plan = info.split("memory plan\n")[1].split("\n\n")[0]
    shown = rows(plan, r"^  (\w+) +(\d+) bytes")
    assert shown == said, (shown, said)
    assert rows(plan, r"^  (arena) \(peak\) +(\d+) bytes") == {"arena": memory["arena"]}, plan

    tensors = memory["tensors"]
    live = info.split("largest tensors at the peak\n")[1].split("\n\n")[0].splitlines()[1:]
    assert len(live) == min(10, len(tensors)), live
    for line, expected in zip(live, tensors):
        pattern = r"  {category} +{count} x .* {bytes}  ".format(**expected)
        assert re.match(pattern, line), (line, expected)


main()
