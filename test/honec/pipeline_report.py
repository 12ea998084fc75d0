#!/usr/bin/env python3
"""Checks the report of a pipeline: pipeline_report.py DIR STEP, what the dry run prints.

Its figures are those of the dry run; each stage has a report by the schema, with reasons of its own kernels only; actions
of a stage lie in the timeline, and what it is idle is what they leave.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import report_data


def main(folder: Path, printed: str) -> None:
    pipeline = json.loads((folder / "pipeline.json").read_text())
    makespan = pipeline["timeline_seconds"]
    bubble = re.search(r"bubble +([\d.]+) % of ([\d.]+) ms", printed)
    assert bubble and f"{100 * pipeline['bubble']:.1f}" == bubble[1] and f"{1e3 * makespan:.3f}" == bubble[2], bubble
    arenas = [int(size) for size in re.findall(r"peak memory .*\((\d+) bytes\)", printed)]
    assert arenas == [stage["arena"] for stage in pipeline["stages"]], arenas
    used, others = [], []  # reasons of kernels of each stage, and what else its report says
    for number, stage in enumerate(pipeline["stages"]):
        report = json.loads((folder / stage["report"]).read_text())
        report_data.check_schema(report)
        assert report["memory"]["arena"] == stage["arena"]
        assert abs(report["step"]["seconds"] - stage["work_seconds"]) < 1e-9 * makespan, number
        groups = [(group["source"], group["text"]) for group in report["groups"]]
        own = {groups[launch["reason"]] for launch in report["launches"] if "reason" in launch}
        used.append(own)
        others.append(set(groups) - own)
        work = [action for action in stage["actions"] if not re.search("SEND|RECV", action["action"])]
        assert len(work) >= 4 and all(0 <= each["begin"] <= each["end"] <= makespan * (1 + 1e-9) for each in work)
        busy = sum(each["end"] - each["begin"] for each in work)
        assert abs(makespan - busy - stage["idle_seconds"]) < 1e-9 * makespan, number
        assert sum(message["count"] for message in stage["messages"]) > 0
        assert all(message["to"] == 1 - number for message in stage["messages"])
    assert all(used) and not others[0] & used[1] and not others[1] & used[0], "reasons of another stage"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]).read_text())
