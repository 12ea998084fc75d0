#!/usr/bin/env python3
"""Starts a program as the ranks of one machine, with the variables of torchrun: gpu_ranks.py RANKS COMMAND...

When a rank fails the others are ended, and its exit code is that of this process.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time


def free_port() -> int:
    """A port whose successor is free too: the ranks connect there."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port


def main() -> int:
    count, command = int(sys.argv[1]), sys.argv[2:]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(count),
              "LOCAL_WORLD_SIZE": str(count)}
    ranks = [subprocess.Popen(command, env=os.environ | shared | {"RANK": str(rank), "LOCAL_RANK": str(rank)})
             for rank in range(count)]
    while any(rank.poll() is None for rank in ranks) and not any(rank.poll() for rank in ranks):
        time.sleep(0.01)
    failed = next((rank.returncode for rank in ranks if rank.returncode), 0)
    for rank in ranks:
        if rank.poll() is None:
            rank.kill()
            rank.wait()
    return abs(failed)


if __name__ == "__main__":
    sys.exit(main())
