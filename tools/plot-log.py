#!/usr/bin/env python3
"""Draws the losses of a run: plot-log.py RUN.jsonl OUT.html [LEVEL=NAME]...

RUN.jsonl is what a training binary writes with --log. Each LEVEL=NAME is a labelled horizontal line, such as
3.04="unigram entropy". The page is that of honec --report (docs/report.md), with other data. Standard library only.
"""

from __future__ import annotations

import base64
import html
import json
import math
import sys
import zlib
from pathlib import Path
from typing import Any, Sequence

REPORT = Path(__file__).resolve().parents[1] / "lib" / "Report"
CURVES = (("loss", "training loss"), ("val_loss", "validation loss"))


def read_log(path: str) -> list[dict[str, Any]]:
    """The curves that the log has points of; ValueError names the line that is not a JSON object."""
    points: dict[str, list[tuple[float, float]]] = {key: [] for key, _ in CURVES}
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            try:
                entry = json.loads(line)
                step = entry.get("step")
            except (json.JSONDecodeError, AttributeError):
                raise ValueError(f"{path}:{number}: not a JSON object") from None
            for key, _ in CURVES:
                if step is not None and isinstance(entry.get(key), (int, float)) and math.isfinite(entry[key]):
                    points[key].append((step, entry[key]))
    return [{"name": name, "points": points[key]} for key, name in CURVES if points[key]]


def read_level(text: str) -> dict[str, Any]:
    """LEVEL=NAME."""
    level, _, name = text.partition("=")
    try:
        value = float(level)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"'{text}': no level, expected a number and a name such as 3.2=entropy")
    return {"value": value, "name": name}


def make_page(title: str, curves: Sequence[dict[str, Any]], levels: Sequence[dict[str, Any]]) -> str:
    """The template with its three marks filled; the data are zlib's format as base64, which holds no markup."""
    data = json.dumps({"run": {"title": title, "curves": curves, "levels": levels}})
    head, rest = (REPORT / "index.html.in").read_text(encoding="utf-8").split("@TITLE@")
    body, rest = rest.split("@DATA@")
    script, tail = rest.split("@PROGRAM@")
    packed = base64.b64encode(zlib.compress(data.encode())).decode()
    program = (REPORT / "page.js").read_text(encoding="utf-8")
    return head + html.escape(title) + body + packed + script + program + tail


def main(argv: list[str]) -> int:
    if len(argv) < 3:
        print("error: wrong number of arguments, expected RUN.jsonl OUT.html [LEVEL=NAME]...", file=sys.stderr)
        return 2
    try:
        levels = [read_level(text) for text in argv[3:]]
        curves = read_log(argv[1])
        if not curves:
            raise ValueError(f"{argv[1]}: holds no losses")
        page = make_page(f"Losses of {Path(argv[1]).name}", curves, levels)
        Path(argv[2]).write_text(page, encoding="utf-8")
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
