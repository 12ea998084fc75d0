"""Prints the reasons in a report, a line each: report_lines.py REPORT_DIRECTORY sizes|groups|stages|bounds"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main() -> None:
    report = json.loads(Path(sys.argv[1], "report.json").read_text(encoding="utf-8"))
    for reason in report[sys.argv[2]]:
        print(f"{reason['source'] or '?'}: {reason['text']} ({reason['phase']})")


main()
