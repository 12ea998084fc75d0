#!/usr/bin/env python3
"""Compares when graphs with copies end: offload_timeline.py WORKDIR PACKAGE [honec options].

The compiler predicts when a function with copies between the arenas ends. The emulated GPU says when the captured graph of
that function does (HONE_FAKE_TIMES), by the edges that the runtime gave it: launches take what the compiler says, copies
the bytes over the link's rate. Both agree within a percent, and with a wait left out they would not. The two arenas that
the program allocates are those of the plan.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

# An H200's link (base/DataSheet.h) and what a copy takes besides (HostLink.cpp).
RATE, LATENCY = 45e9, 8e-6


def launches_in(profile: Path, report: dict) -> dict[str, list[float]]:
    """Seconds of what the graph of each function launches: a launch of the plan may be several, the first has its time."""
    functions: dict[str, list[float]] = {}
    current, latest, is_first = "", -1, True
    for event in json.loads(profile.read_text())["traceEvents"]:
        if event["ph"] != "X" or event["tid"] != 1 or event["name"].startswith("copy "):
            continue
        number = event["args"].get("launch", latest)
        launch = report["launches"][max(number, 0)]
        if number < latest or launch["function"] != current:
            current, latest = launch["function"], -1
            is_first = current not in functions
            functions.setdefault(current, [])
        if is_first:
            functions[current].append(launch["seconds"] if number != latest else 0.0)
        latest = number
    return functions


def main(argv: list[str]) -> int:
    work, package, options = Path(argv[1]), argv[2], argv[3:]
    work.mkdir(parents=True, exist_ok=True)
    binary, times, tokens = work / "program", work / "times", work / "tokens.bin"
    compiler = ["honec", package, "-o", binary, f"--report={work}", "--arch=sm_90", "--emulate", *options]
    subprocess.run(compiler, check=True, stdout=subprocess.DEVNULL)
    report = json.loads((work / "report.json").read_text())
    tokens.write_bytes(bytes(b for i in range(900) for b in (i * 7 % 53, 0)))

    def train(*flags: object, **variables: str) -> None:
        command = [binary, "--data", tokens, "--steps", "3", "--quiet", *flags]
        subprocess.run(command, check=True, env=os.environ | variables, stdout=subprocess.DEVNULL)

    train(f"--profile={work / 'profile.json'}")
    functions = launches_in(work / "profile.json", report)
    lines = [f"link {RATE} {RATE} {LATENCY}"]
    lines += ["launches " + " ".join(map(repr, seconds)) for seconds in functions.values()]
    times.write_text("\n".join(lines) + "\n")
    train(HONE_FAKE_TIMES=str(times))
    found = [line.split() for line in times.read_text().splitlines() if line.startswith(("ends", "unknown"))]
    away = report["memory"]["second_arena"]
    waits = {entry["name"]: entry["exposed_seconds"] for entry in away["functions"]}
    for name, seconds in functions.items():
        ran = [entry for entry in found if entry[0] == "ends" and int(entry[1]) == len(seconds) and int(entry[2]) > 0]
        if not ran:
            continue
        predicted, actual = sum(seconds) + waits[name], float(ran[0][3])
        off = abs(actual / predicted - 1)
        print(f"{name}: {ran[0][2]} copies, {predicted * 1e6:.3f} us predicted, {actual * 1e6:.3f} us by the graph")
        print("agrees: yes" if off <= 0.01 else f"agrees: no, {off:.1%} off")
    info = subprocess.run([binary, "--info"], check=True, capture_output=True, text=True).stdout
    arenas = [int(size) for size in re.findall(r"arena \((?:peak|pinned)\) +(\d+) bytes", info)]
    planned = [report["memory"]["arena"], away["bytes"]]
    print("arenas: as planned" if arenas == planned else f"arenas: {arenas}, expected {planned}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
