#!/usr/bin/env python3
"""Ends honec by SIGINT and SIGTERM at moments all over a compilation: interrupted.py PACKAGE WORKDIR.

Whenever that is, the output is there whole or not at all, and no temporary file is left beside it or in TMPDIR.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

MOMENTS = 8


def compile_package(package: str, work: Path, seconds: float | None, number: int = 0) -> list[str]:
    """Files that are left; `number` is sent after so many seconds."""
    shutil.rmtree(work, ignore_errors=True)
    for folder in ("out", "temporary"):
        (work / folder).mkdir(parents=True)
    environment = {**os.environ, "TMPDIR": str(work / "temporary")}
    command = ["honec", package, "-o", work / "out" / "train"]
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    if seconds is not None:
        time.sleep(seconds)
        if process.poll() is None:
            os.killpg(process.pid, number)
    process.wait()
    return sorted(str(path.relative_to(work)) for path in work.rglob("*") if path.is_file())


def main(argv: list[str]) -> int:
    package, work = argv[1], Path(argv[2])
    start = time.monotonic()
    whole = compile_package(package, work, None)
    whole_time = time.monotonic() - start
    problems = [] if whole == ["out/train"] else [f"uninterrupted: {whole}"]
    for moment in range(MOMENTS):
        for number in (signal.SIGINT, signal.SIGTERM):
            seconds = whole_time * (moment + 0.5) / MOMENTS
            left = compile_package(package, work, seconds, number)
            if left not in ([], ["out/train"]):
                problems.append(f"{number.name} after {seconds:.3f} s: {left}")
    print("\n".join(problems) or f"nothing left in {2 * MOMENTS} runs")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
