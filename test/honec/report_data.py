"""Checks report.json: report_data.py REPORT_DIRECTORY [PHASE...]

It has the keys and types that docs/report.md documents and no other; its numbers agree with each other; the page holds the
same data, and the module behind the phases, by default import, step and plan.
"""

from __future__ import annotations

import base64
import json
import math
import re
import sys
import zlib
from pathlib import Path
from typing import Any, Iterator

PAGE = Path(__file__).parents[2] / "docs" / "report.md"
TYPES = {"integer": (int,), "number": (int, float), "string": (str,), "true": (bool,), "object": (dict,), "array": (list,)}
UNGROUPED = ("data_movement", "collective")  # copies of the plan, and what ranks exchange
Rows = dict[str, tuple[str, bool]]


def read_schema() -> Rows:
    """The documented type of each path, and whether it is always there."""
    rows = re.findall(r"^\| `([^`]+)` \| (\w+) \| ([^|]*) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {path: (kind, when.strip() == "always") for path, kind, when in rows}


def walk(value: Any, path: str, schema: Rows) -> Iterator[tuple[str, Any]]:
    """Every value with its path: "launches[].live.*"."""
    yield path, value
    if isinstance(value, list):
        for element in value:
            yield from walk(element, path + "[]", schema)
    if isinstance(value, dict):
        for key, element in value.items():
            inner = f"{path}.{key}" if path else key
            yield from walk(element, inner if inner in schema else f"{path}.*", schema)


def check_schema(report: Any) -> None:
    schema = read_schema()
    for path, value in walk(report, "", schema):
        if path:
            assert path in schema, f"{path}: not in {PAGE.name}"
            assert type(value) in TYPES[schema[path][0]], (path, value)
        if isinstance(value, dict):
            prefix = f"{path}." if path else ""
            required = {p[len(prefix):] for p, (_, always) in schema.items() if always and p.startswith(prefix)}
            missing = {key for key in required if not re.search(r"[.\[*]", key)} - set(value)
            assert not missing, (path, missing)


def check_memory(memory: Any, launches: Any) -> None:
    """Categories add up to the arena, tensors to what lives, and the fullest launch is the arena less its gaps."""
    peak = {row["category"]: row["bytes"] for row in memory["peak"]}
    assert sum(peak.values()) == memory["arena"], (peak, memory["arena"])
    gaps = peak.pop("gaps", 0)
    for category, size in peak.items():
        assert sum(row["bytes"] for row in memory["tensors"] if row["category"] == category) == size, category
    totals = [sum(launch["live"].values()) for launch in launches]
    assert max(totals) == totals[memory["fullest"]] == memory["arena"] - gaps, (max(totals), memory["arena"], gaps)
    assert {"parameters", "activations"} <= set(peak), peak
    assert all(set(launch["live"]) <= set(memory["stack"]) for launch in launches)


def check_launches(report: Any) -> None:
    """Every launch that comes of a group has a reason; passes follow each other; with ranks, spans lie in their step."""
    for launch in report["launches"]:
        assert launch["pass"] in ("forward", "backward", "update"), launch
        assert "reason" in launch or "recomputed" in launch or launch["family"] in UNGROUPED, launch
        assert ("begin" in launch) == ("ranks" in report), launch
        if "begin" in launch:
            assert 0 <= launch["begin"] <= launch["end"], launch
    step = [launch for launch in report["launches"] if launch["times"]]
    assert {launch["pass"] for launch in step} == {"forward", "backward", "update"}
    order = [launch["pass"] for launch in step if launch["pass"] != "update"]
    assert order == sorted(order, reverse=True), "backward before forward"
    work = sum(x["times"] * x["seconds"] for x in step if "axes" not in x and "waits_for" not in x)
    expected = report["ranks"]["work_seconds"] if "ranks" in report else report["step"]["seconds"]
    assert math.isclose(work, expected, rel_tol=1e-9), (work, expected)


def check_costliest(report: Any) -> None:
    """The three modules with most seconds; those that differ in numbers are one, collectives and waits do not count."""
    seconds: dict[str, float] = {}
    for launch in report["launches"]:
        if "axes" not in launch and "waits_for" not in launch:
            module = re.sub(r"(?<![^.])\d+(?![^.])", "*", launch["module"]) or f"({launch['pass']}, no module)"
            seconds[module] = seconds.get(module, 0.0) + launch["times"] * launch["seconds"]
    expected = sorted(seconds.values(), reverse=True)[:3]
    assert len(report["costliest"]) == 3
    for row, most in zip(report["costliest"], expected):
        assert math.isclose(row["seconds"], most), (row, expected)
        assert math.isclose(row["seconds"], seconds[row["module"]]), (row, seconds)
        assert math.isclose(row["share"], most / sum(seconds.values())), row


def check_lines(lines: Any, report: Any) -> None:
    """Each is of a file of this folder, at most two lines from one that a launch names; those lines are all there."""
    named = {tuple(launch["source"].split(":")[:2]) for launch in report["launches"] if launch["source"]}
    for file, kept in lines.items():
        text = Path(file).read_text(encoding="utf-8").splitlines()
        own = {int(line) for name, line in named if name == file}
        assert own <= {int(number) for number in kept}, (file, own)
        for number, line in kept.items():
            assert line == text[int(number) - 1] and min(abs(int(number) - each) for each in own) <= 2, (file, number)


def check_curve(memory: Any, seconds: float) -> None:
    """Points are in order, more memory takes less time, and the chosen one is the program, which fits into the budget."""
    if not memory["curve"]:
        return
    sizes, times = ([point[key] for point in memory["curve"]] for key in ("bytes", "seconds"))
    assert sizes == sorted(set(sizes)), sizes
    assert times == sorted(times, reverse=True), times
    chosen = memory["curve"][memory["chosen"]]
    assert chosen == {"bytes": memory["arena"], "seconds": seconds}, (chosen, memory["arena"], seconds)
    assert chosen["bytes"] <= memory.get("budget", sizes[-1]), memory


def main() -> None:
    directory = Path(sys.argv[1])
    assert sorted(path.name for path in directory.iterdir()) == ["index.html", "report.json"]
    report = json.loads((directory / "report.json").read_text(encoding="utf-8"))
    check_schema(report)
    check_memory(report["memory"], report["launches"])
    check_curve(report["memory"], report["step"]["seconds"])
    check_launches(report)
    check_costliest(report)
    step = report["step"]
    for total, each in (("launches", lambda launch: 1), ("flops", lambda x: x["flops"]), ("bytes", lambda x: x["bytes"])):
        assert step[total] == sum(each(launch) * launch["times"] for launch in report["launches"]), total
    page = (directory / "index.html").read_text(encoding="utf-8")
    packed = page.split('<script type="application/zlib" id="data">')[1].split("</script>")[0]
    data = json.loads(zlib.decompress(base64.b64decode(packed)))
    assert list(data.pop("ir")) == (sys.argv[2:] or ["import", "step", "plan"])
    check_lines(data.pop("lines"), report)
    assert data == report, "the page holds other data"


if __name__ == "__main__":
    main()
