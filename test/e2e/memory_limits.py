#!/usr/bin/env python3
"""Runs of a program under limits of memory: memory_limits.py FOLDER PROGRAM DATA [--limits N] [--largest MIB]
[--group MIB ...].

N limits of addresses (ulimit -v) from 8 MiB to the largest (400), and control groups of so many MiB where this process
may make some (below its own). Whatever the limit, the program trains two steps and exits 0, or refuses in one line and
exits 1; the smallest is refused, the largest enough. No run is killed.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

MIB = 1 << 20


class Wrong(Exception):
    """A run that did not end as it must."""


def run(program: str, data: str, threads: int, **more) -> int:
    """Exit code: 0, or 1 after one line."""
    command = [program, "--data", data, "--steps", "2", "--quiet", "--threads", str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **more)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("warning: ")]
    if done.returncode not in (0, 1) or len(lines) != done.returncode:
        raise Wrong(f"exit code {done.returncode}, expected 0, or 1 and one line\n{done.stdout}{done.stderr}")
    if lines and not lines[0].startswith("error: "):
        raise Wrong(f"expected a line that begins with 'error: '\n{done.stderr}")
    return done.returncode


def under_addresses(bytes_: int):
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_))

    return limit


def own_group() -> tuple[Path, str] | None:
    """The folder of this process's memory group, and what its limit is called there."""
    lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    for _, controllers, path in lines:
        if "memory" in controllers.split(","):
            return Path("/sys/fs/cgroup/memory" + path), "memory.limit_in_bytes"
        if not controllers and len(lines) == 1:
            return Path("/sys/fs/cgroup" + path), "memory.max"
    return None


@contextmanager
def group(bytes_: int):
    """A group of this limit below the own one; None where that is not allowed."""
    own = own_group()
    folder = own[0] / f"hone-{os.getpid()}" if own else None
    try:
        folder.mkdir()
    except (AttributeError, OSError):
        yield None
        return
    try:
        (folder / own[1]).write_text(str(bytes_))
    except OSError:
        folder.rmdir()
        yield None
        return
    try:
        yield folder
    finally:
        folder.rmdir()


def expect_ends(name: str, codes: list[int]) -> None:
    if codes[0] != 1 or codes[-1] != 0:
        raise Wrong(f"{name}: exit codes {codes}, expected 1 for the smallest and 0 for the largest")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("program")
    parser.add_argument("data")
    parser.add_argument("--limits", type=int, default=20)
    parser.add_argument("--largest", type=int, default=400, metavar="MIB")
    parser.add_argument("--group", type=int, action="append", default=[], metavar="MIB")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    command = (options.program, options.data, options.threads)
    groups = 0
    try:
        smallest, largest = 8 * MIB, options.largest * MIB
        steps = [int(smallest * (largest / smallest) ** (i / (options.limits - 1))) for i in range(options.limits)]
        expect_ends("ulimit -v", [run(*command, preexec_fn=under_addresses(most)) for most in steps])
        codes = []
        for most in sorted(options.group):
            with group(most * MIB) as folder:
                if folder:
                    join = folder / "cgroup.procs"
                    codes.append(run(*command, preexec_fn=lambda join=join: join.write_text(str(os.getpid()))))
        groups = len(codes)
        if codes:
            expect_ends("control groups", codes)
    except (Wrong, subprocess.TimeoutExpired) as error:
        print(error)
        return 1
    print(f"{options.limits} limits of addresses, none killed")
    print(f"{groups} of {len(options.group)} control groups, none killed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
