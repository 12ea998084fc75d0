#!/usr/bin/env python3
"""Ranks on emulated GPUs that are killed, stand still or cannot meet: ranks_gpus_faults.py PROGRAM WORKDIR, a program of 4 ranks.

Started as torchrun starts them, without its help when one fails: every other rank ends by itself, with exit
code 1 and a line that says which rank is missing or which collective it waits in.
"""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from array import array
from pathlib import Path

RANKS = 4
LIMIT = 60  # seconds: tells a run that hangs from one that ends, on a loaded machine too
COLLECTIVE = (r"(all_reduce [\w, ]+ of .* \(\d+ of \d+ in '(step|update)'\)|"
              r"(send|receive) '.*' of micro-batch \d+ (to|from) rank \d)")


def start(program: Path, work: Path, port: int, *flags: str) -> list[subprocess.Popen]:
    launch = {"WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port - 1)}
    command = [program, "--data", work / "tokens.bin", "--steps", "1000000", "--quiet", "--comm-timeout", "3",
               "--log", work / "log.jsonl", *flags]
    return [subprocess.Popen(command, env=os.environ | launch | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for rank in range(RANKS)]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for_steps(work: Path) -> None:
    """Until graphs are replayed."""
    log, ends = work / "log.jsonl", time.monotonic() + LIMIT
    while time.monotonic() < ends and (not log.exists() or log.read_text().count("\n") < 4):
        time.sleep(0.05)


def report(name: str, processes: list[subprocess.Popen], lines: dict[int, str]) -> bool:
    """Whether the ranks of `lines` end in time, each with a line that matches."""
    ends, good = time.monotonic() + LIMIT, True
    for rank, pattern in lines.items():
        try:
            _, errors = processes[rank].communicate(timeout=max(0.1, ends - time.monotonic()))
        except subprocess.TimeoutExpired:
            errors = "still runs"
        if processes[rank].poll() != 1 or not re.search(pattern, errors):
            good = False
            print(f"rank {rank} (exit code {processes[rank].poll()}): {errors}\nexpected: {pattern}")
    for process in processes:
        process.kill()
        process.wait()
    print(f"{name}: {'all ranks end as they should' if good else 'WRONG'}", flush=True)
    return good


def hit(program: Path, work: Path, name: str, target: int, number: signal.Signals, pattern: str) -> bool:
    (work / "log.jsonl").unlink(missing_ok=True)
    processes = start(program, work, free_port())
    wait_for_steps(work)
    processes[target].send_signal(number)
    return report(name, processes, {rank: pattern for rank in range(RANKS) if rank != target})


def main(argv: list[str]) -> int:
    program, work = Path(argv[1]), Path(argv[2])
    draw = random.Random(3)  # ids below 61, the vocabulary
    (work / "tokens.bin").write_bytes(array("H", (draw.randrange(61) for _ in range(4000))).tobytes())
    waited = r".* has waited ([3-9]|\d\d+)\.\d s"
    left = rf"error: (rank {{}} has left the run(; this one is in {COLLECTIVE})?|{waited})"
    good = [hit(program, work, "a rank is killed", 2, signal.SIGKILL, left.format(2)),
            hit(program, work, "the first rank is killed", 0, signal.SIGKILL, left.format(0)),
            hit(program, work, "a rank stops", 2, signal.SIGSTOP, left.format(r"\d"))]
    with socket.socket() as busy:
        busy.bind(("", 0))
        busy.listen()
        port = busy.getsockname()[1]
        lines = {rank: "error: the ranks do not meet at .*: what listens there has not answered in time" for rank in (1, 2, 3)}
        lines[0] = f"error: the ranks do not meet at .*: port {port} of this machine: Address already in use"
        good.append(report("a port is taken", start(program, work, port), lines))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
