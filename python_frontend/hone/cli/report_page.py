"""The page of a report (docs/report.md): its data, to which a profile and another report can be added."""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections import defaultdict
from pathlib import Path
from typing import Any, Iterable

from ..errors import HoneError

_DATA = re.compile(r'(<script type="application/zlib" id="data">)([^<]*)(</script>)')


def read_page(path: Path) -> dict[str, Any]:
    """The data of the page index.html: report.json, and what the page alone has."""
    try:
        found = _DATA.search(path.read_text(encoding="utf-8"))
        if found is None:
            raise ValueError
        return json.loads(zlib.decompress(base64.b64decode(found[2])))
    except OSError as error:
        raise HoneError(f"{path}: {error.strerror.lower()}; expected the page that honec --report=DIR writes") from None
    except (ValueError, binascii.Error, zlib.error):
        raise HoneError(f"{path}: holds no report, expected the page that honec --report=DIR writes") from None


def write_page(path: Path, data: dict[str, Any]) -> None:
    """Puts `data` in place of those of the page, which must be one that read_page reads."""
    text = base64.b64encode(zlib.compress(json.dumps(data).encode(), 9)).decode()
    page = _DATA.sub(lambda found: found[1] + text + found[3], path.read_text(encoding="utf-8"))
    part = path.with_name(path.name + ".part")
    part.write_text(page, encoding="utf-8")
    part.replace(path)


def read_report(path: Path) -> dict[str, Any]:
    """report.json, or that of a folder which has one, itself or in `report` as a run has."""
    for name in (path, path / "report.json", path / "report" / "report.json"):
        if name.is_file():
            try:
                report = json.loads(name.read_text(encoding="utf-8"))
                if isinstance(report, dict) and report.get("schema") == 2:
                    return report
            except ValueError:
                pass
            raise HoneError(f"{name}: is no report of schema 2; honec --report=DIR writes one")
    raise HoneError(f"{path}: no report.json there, expected a run, or a folder of honec --report=DIR")


def measured(trace_path: Path, report: dict[str, Any]) -> dict[str, Any]:
    """What a profile (--profile of the program) says of one run of each launch: seconds, or None where it ran none."""
    try:
        trace = json.loads(trace_path.read_text(encoding="utf-8"))
        facts, events = trace["otherData"], trace["traceEvents"]
    except OSError as error:
        reason = error.strerror.lower()
        raise HoneError(f"{trace_path}: {reason}; the program's --profile={trace_path} writes it") from None
    except (ValueError, KeyError, TypeError):
        raise HoneError(f"{trace_path}: is no profile, expected a file of the program's --profile") from None
    launches, total = report["launches"], defaultdict(float)
    for event in events:
        index = event.get("args", {}).get("launch")
        if index is None:
            continue
        here = launches[index]["family"] if index < len(launches) else "none"
        if event["cat"] != here:
            raise HoneError(
                f"{trace_path}: is of another program: launch {index} is {event['cat']} there, {here} in the report; "
                f"compile with --report, then run that program with --profile"
            )
        total[index] += event["args"]["median_us"] * 1e-6
    if not total:
        raise HoneError(f"{trace_path}: no event names a launch of a report; compile again, then run with --profile")
    seconds = [total[i] / max(launch["times"], 1) if i in total else None for i, launch in enumerate(launches)]
    return {"file": trace_path.name, "machine": facts["machine"], "seconds": seconds}


def seconds_of(report: dict[str, Any], launches: Iterable[int]) -> float:
    """What these launches of a step with measured times take together, as often as a step runs each."""
    times = report["measured"]["seconds"]
    return sum((times[index] or 0.0) * report["launches"][index]["times"] for index in launches)


def worst_ratios(report: dict[str, Any], times: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """The launches of a step that take most beside their estimate, of those with half a percent of the step's time."""
    rows = [
        {"launch": index, "name": launch["name"], "measured": took, "estimated": launch["seconds"]}
        for index, (launch, took) in enumerate(zip(report["launches"], times["seconds"]))
        if took is not None and launch["times"] and launch["seconds"] > 0
    ]
    whole = sum(row["measured"] * report["launches"][row["launch"]]["times"] for row in rows)
    large = [row for row in rows if row["measured"] * report["launches"][row["launch"]]["times"] > 0.005 * whole]
    return sorted(large, key=lambda row: -row["measured"] / row["estimated"])[:count]
