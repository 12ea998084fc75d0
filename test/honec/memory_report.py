"""Checks what the page of a report draws, as render-page.js prints it: memory_report.py REPORT_DIRECTORY PAGE.xml [DRY_RUN]"""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import Any


def by_class(element: xml.Element, name: str) -> list[xml.Element]:
    return [one for one in element.iter() if one.get("class") == name]


def heights(path: str) -> list[float]:
    """The heights that the path of an area has, of those with horizontal and vertical steps."""
    return [float(y) for y in re.findall(r"[V ]([\d.]+)", path)]


def check_timeline(chart: xml.Element, report: Any) -> None:
    texts = [text.text for text in chart.iter("text")]
    for expected in ("forward", "backward", "bytes alive"):
        assert expected in texts, (expected, texts)
    launches = [launch for launch in report["launches"] if launch["times"]]
    hits = by_class(chart, "hit")
    assert 0 < len(hits) <= len(launches), (len(hits), len(launches))
    assert all(hit.find("title") is not None for hit in hits)
    used = {category for launch in report["launches"] for category in launch["live"]}
    areas = by_class(chart, "area")
    assert len(areas) == len(used), (len(areas), used)
    # The highest area touches the mark of the fullest point, and neither is above the arena's line.
    top = min(height for area in areas for height in heights(area.get("d", "")))
    mark, arena = by_class(chart, "peak")[0].get("d", ""), float(by_class(chart, "arena")[0].get("y1", ""))
    match = re.match(r"M[\d.]+ ([\d.]+)", mark)
    assert match and abs(float(match[1]) - top) < 0.11, (mark, top)
    assert arena <= top + 0.11, (arena, top)


def check_tables(page: xml.Element, report: Any) -> None:
    """One row for each element of the data."""
    memory, ranks = report["memory"], report.get("ranks", {"traffic": []})
    lists = {"launch-list": report["launches"], "tensors": memory["tensors"], "curve-points": memory["curve"],
             "traffic": ranks["traffic"]}
    lists.update({f"{name}-list": report[name] for name in ("sizes", "groups", "stages", "bounds")})
    for name, rows in lists.items():
        table = page.find(f".//table[@id='{name}']")
        assert (table is None) == (not rows), name
        assert table is None or len(table.findall("tbody/tr")) == len(rows), name
    for link in page.findall("nav//a"):
        target = link.get("href", "")[1:]
        tab = page.find(f"div[@id='{target}']")
        assert tab is not None and tab.get("class") == "tab", target


def check_modules(page: xml.Element, report: Any) -> None:
    """The first row, of the whole model, has the work of a step."""
    cells = [cell.text or "" for cell in page.find(".//table[@id='module-list']/tbody/tr").findall("td")]
    expected = report["ranks"]["work_seconds"] if "ranks" in report else report["step"]["seconds"]
    assert cells[3] == f"{1e3 * expected:.3f}" and cells[4] == "100.0 %", (cells, expected)
    forward, backward, update = map(float, cells[:3])
    assert abs(forward + backward + update - float(cells[3])) < 0.002 and min(forward, backward, update) > 0, cells


def check_ir(page: xml.Element, report: Any) -> None:
    """Each launch of the plan leads to its row and has a place of its own; the graph leads to launches."""
    plan = page.find("ir[@id='plan']")
    places = [span.get("id") for span in plan.iter("span")]
    assert places == [f"plan-{index}" for index in range(len(report["launches"]))], places
    rows = {row.get("id") for row in page.findall(".//table[@id='launch-list']/tbody/tr")}
    for phase in (ir.get("id") for ir in page.findall("ir")):
        links = {link.get("href", "")[1:] for link in page.find(f"ir[@id='{phase}']").iter("a")}
        assert links and links <= rows, (phase, links - rows)
    text = "".join(page.find("ir[@id='step']").itertext())
    assert "hone.dot_general" in text and "#loc" not in text, text[:1000]


def check_overlap(chart: xml.Element, report: Any) -> None:
    """A span for each launch that takes time, in the lane of its axes."""
    spans = [launch for launch in report["launches"] if launch["times"] and launch["end"] > launch["begin"]]
    kinds = {"collective": "axes", "waiting": "waits_for"}
    for kind, key in kinds.items():
        assert len(by_class(chart, f"span {kind}")) == sum(key in launch for launch in spans), kind
    assert len([one for one in chart.iter("rect") if (one.get("class") or "").startswith("span")]) == len(spans)


def check_facts(page: xml.Element, report: Any) -> None:
    """Every place that tells a fact tells the same: those of class fact, the legend, the curve and the comparison."""
    facts: dict[str, set[str]] = {}
    for one in by_class(page, "fact"):
        facts.setdefault(one.get("value", ""), set()).add(one.text or "")
    assert all(len(texts) == 1 for texts in facts.values()), facts
    [arena], [step] = facts["memory.arena"], facts["step.seconds"]
    samples = ["".join(item.itertext()) for item in page.iter("li")]
    assert f"arena {arena}" in samples, (arena, samples)
    if (curve := page.find(".//table[@id='curve-points']")) is not None:
        [row] = [[cell.text for cell in row] for row in curve.iter("tr") if row.get("class") == "chosen-row"]
        assert row == [arena, str(report["memory"]["arena"]), step.removesuffix(" ms")], (row, arena, step)
        assert f"this program {arena}" in samples, samples
    if (compared := page.find(".//table[@id='compare-step']")) is not None:
        told = {row[0].text: row[1].text for row in compared.find("tbody")}
        expected = {"ms per step": step.removesuffix(" ms"), "arena": arena}
        expected |= {name: next(iter(facts[f"step.{name.lower()}"])) for name in ("launches", "FLOPs", "bytes")}
        assert told == expected, (told, expected)


def check_dry_run(page: xml.Element, printed: str) -> None:
    """What a terminal showed of the same program."""
    facts = {one.get("value"): one.text for one in by_class(page, "fact")}
    for fact, pattern in (("memory.arena", r"peak memory +(.*) \("), ("step.seconds", r"estimated step +(.*)"),
                          ("step.launches", r"launches +(\d+) per step"), ("step.bytes", r"bytes per step +(.*)")):
        [said] = re.findall(pattern, printed)
        assert said == facts[fact], (fact, said, facts[fact])
    [flops] = re.findall(r"FLOPs per step +(\S+)", printed)
    assert float(flops) == float(facts["step.flops"]), (flops, facts["step.flops"])


def main() -> None:
    report = json.loads(Path(sys.argv[1], "report.json").read_text(encoding="utf-8"))
    page = xml.parse(sys.argv[2]).getroot()
    assert page.findtext("h1") == report["model"], page.findtext("h1")
    charts = {chart.get("id"): chart for chart in page.findall("chart")}
    check_timeline(charts["timeline"], report)
    check_tables(page, report)
    check_modules(page, report)
    check_ir(page, report)
    check_facts(page, report)
    if len(sys.argv) > 3:
        check_dry_run(page, Path(sys.argv[3]).read_text(encoding="utf-8"))
    if "ranks" in report:
        check_overlap(charts["overlap"], report)
    if curve := report["memory"]["curve"]:
        assert len(by_class(charts["curve"], "dot")) == len(curve) - 1
        assert len(by_class(charts["curve"], "chosen")) == 1
    assert page.find(".//div[@id='timeline']") is not None


main()
