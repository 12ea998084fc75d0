"""Compares two reports of one job, without and with overlap: ranks_overlap.py OFF/report.json ON/report.json."""

from __future__ import annotations

import json
import math
import sys


def read(path: str) -> tuple[float, float, int]:
    """Exposed seconds, seconds of the exchanges alone, bytes."""
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    job = report["ranks"]
    rows = job["traffic"]
    exposed = sum(row["seconds"] for row in job["exposed"])
    assert math.isclose(job["work_seconds"] + exposed, report["step"]["seconds"], rel_tol=1e-9)
    return exposed, sum(row["seconds"] for row in rows), sum(row["bytes"] for row in rows)


def main(argv: list[str]) -> int:
    exposed, alone, sent = read(argv[1])
    hidden, _, same = read(argv[2])
    print("without:", "all of the exchanges is exposed" if math.isclose(exposed, alone) else (exposed, alone))
    print("with:", "less is, and as many bytes are sent" if hidden < exposed and same == sent else (hidden, same, sent))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
