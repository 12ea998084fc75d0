"""Checks that every row of Options.def appears in the helps of those that take it, and in no other.

  options.py OPTIONS.def HONEC HONE_RUN HONE_OPT

The last three are files with the output of --help.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

# The reaches of the rows that each takes.
TAKERS = {
    "honec": {"HonecToo", "All"},
    "hone-run": {"All"},
    "--hone-pipeline": {"Passes", "HonecToo", "All"},
}
# Kind, field, initial value, name, reach; first and last phase.
ROW = re.compile(r'^HONE_(?:FORWARD_)?OPTION\(\w+, \w+, [^,]+, "([a-z0-9-]+)", (\w+), \w+, \w+, "', re.MULTILINE)


def pipeline_help(text: str) -> str:
    """The options of --hone-pipeline in the help of hone-opt, up to the next pass or pipeline."""
    after = re.split(r"^ {6}--hone-pipeline\b", text, flags=re.MULTILINE)[1]
    return re.split(r"^ {0,6}\S", after, flags=re.MULTILINE)[0]


def main() -> None:
    table, honec, hone_run, hone_opt = (Path(path).read_text(encoding="utf-8") for path in sys.argv[1:])
    rows = ROW.findall(table)
    assert len(rows) == len(re.findall(r"^HONE_(?:FORWARD_)?OPTION\(", table, re.MULTILINE)) > 20, rows
    training = hone_run.split("hone-run --eval")[0]
    helps = {"honec": honec, "hone-run": training, "--hone-pipeline": pipeline_help(hone_opt)}
    wrong = 0
    for name, reach in rows:
        for taker, reaches in TAKERS.items():
            is_there = re.search(rf"^ +--{name}(?=[= \n])", helps[taker], re.MULTILINE) is not None
            # honec has a --target, --arch, --emulate and --report of its own.
            if is_there != (reach in reaches) and (taker, reach) != ("honec", "Passes"):
                print(f"{taker} {'has' if is_there else 'lacks'} {name}, whose reach is {reach}")
                wrong += 1
    print(f"{len(rows)} options, {wrong} wrong")


main()
