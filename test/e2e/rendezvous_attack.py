#!/usr/bin/env python3
"""Ranks meet while strangers knock: rendezvous_attack.py PROGRAM WORKDIR [--strangers N] [--ranks N] [--rounds N], where PROGRAM is
honert-meet.

Each round starts ranks as torchrun starts them, by MASTER_ADDR with and without a secret, and by a file. Rank 0 comes
first. N strangers connect to it, on the loopback interface, and are idle, slow, send requests of HTTP, noise, a claim to
be rank 1 without its proof, huge sizes, or reset the connection. Then the other ranks come, and N strangers more. All must
meet, at most 2 s later than without strangers, and only rank 0 may listen. Prints a line per case; exit 1 if one is wrong.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

BOUND = 2.0  # seconds that strangers may cost
TIMEOUT = 60  # of a rank
MAGIC = 0x33656E6F486F6E65
SECRET = "a secret for this script alone"


def hello(rank: int, size: int) -> bytes:
    """As a rank says it, but for the proof."""
    return struct.pack("<Q32sQqq32s", MAGIC, os.urandom(32), 0, rank, size, os.urandom(32))


def words(draw: random.Random, kind: int, ranks: int) -> bytes | None:
    """What a stranger of this kind says at once; None: nothing, and it resets the connection."""
    return [
        b"",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        draw.randbytes(draw.randrange(1, 3000)),
        hello(1, ranks),
        hello(1, ranks)[: draw.randrange(1, 96)],
        struct.pack("<qq", 1, 40_000_000_000),
        struct.pack("<Q", MAGIC) + b"\xff" * 96,
        None,
        b"",  # one byte after the other
    ][kind]


KINDS, SLOW = 9, 8


class Strangers(threading.Thread):
    """Connections to ports of this machine, all at once, until stop()."""

    def __init__(self, count: int, ranks: int, seed: int) -> None:
        super().__init__(daemon=True)
        self.count, self.ranks, self.draw = count, ranks, random.Random(seed)
        self.ports: list[int] = []
        self.ended = threading.Event()
        self.open: list[tuple[socket.socket, int]] = []
        self.made = self.rejected = 0
        self.wake = threading.Event()

    def visit(self, port: int) -> None:
        self.ports.append(port)
        self.wake.set()

    def connect(self, port: int) -> None:
        for number in range(self.count):
            if self.ended.is_set():
                return
            try:
                one = socket.create_connection(("127.0.0.1", port), timeout=2)
            except OSError:  # all have met, and nobody listens
                self.rejected += 1
                if self.rejected > 5:
                    return
                continue
            self.made += 1
            kind = number % KINDS
            try:
                said = words(self.draw, kind, self.ranks)
                if said is None:
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    one.close()
                    continue
                if said:
                    one.sendall(said)
            except OSError:  # sent away
                pass
            self.open.append((one, kind))

    def drip(self) -> None:
        """A byte of each slow one; those that were sent away stay so."""
        for one, kind in self.open:
            if kind == SLOW:
                try:
                    one.send(struct.pack("<Q", MAGIC)[:1])
                except OSError:
                    pass

    def run(self) -> None:
        while not self.ended.is_set():
            self.wake.wait(0.2)
            self.wake.clear()
            while self.ports:
                self.connect(self.ports.pop())
            self.drip()

    def stop(self) -> None:
        self.ended.set()
        self.wake.set()
        self.join()
        for one, _ in self.open:
            one.close()


def listening_ports(process: int) -> set[int]:
    """Where a process listens, by /proc."""
    inodes, ports = set(), set()
    try:
        for entry in Path(f"/proc/{process}/fd").iterdir():
            name = os.readlink(entry)
            if name.startswith("socket:["):
                inodes.add(name[8:-1])
        for table in ("tcp", "tcp6"):
            for line in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and fields[9] in inodes:
                    ports.add(int(fields[1].rsplit(":", 1)[1], 16))
    except OSError:  # it has ended
        pass
    return ports


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start(program: Path, rank: int, ranks: int, port: int, how: str, path: Path) -> subprocess.Popen:
    launch = {"RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(ranks),
              "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port - 1)}
    if how == "secret":
        launch["HONE_SECRET"] = SECRET
    command = [str(program), str(TIMEOUT)] + ([f"file:{path}"] if how == "file" else [])
    return subprocess.Popen(command, env=os.environ | launch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def wait_for_listener(process: subprocess.Popen) -> int:
    ends = time.monotonic() + 20
    while time.monotonic() < ends:
        if ports := listening_ports(process.pid):
            return ports.pop()
        time.sleep(0.01)
    raise RuntimeError("rank 0 does not listen")


def meet(program: Path, path: Path, how: str, ranks: int, strangers: Strangers | None) -> tuple[float, str]:
    """Seconds from the start of the last rank until all have met, and what is wrong."""
    path.unlink(missing_ok=True)
    processes = [start(program, 0, ranks, free_port() if how == "file" else (port := free_port()), how, path)]
    found = wait_for_listener(processes[0])
    if how != "file" and found != port:
        return 0, f"rank 0 listens at {found}, expected {port}"
    if strangers:
        strangers.visit(found)
        strangers.start()
        while strangers.made < strangers.count and strangers.is_alive():
            time.sleep(0.001)
        strangers.visit(found)  # as many again, beside the ranks
    begin = time.monotonic()
    processes += [start(program, rank, ranks, found, how, path) for rank in range(1, ranks)]
    wrong = ""
    ends = begin + TIMEOUT
    while any(process.poll() is None for process in processes) and time.monotonic() < ends:
        if strangers and any(listening_ports(process.pid) for process in processes[1:]):
            wrong = "a rank other than 0 listens; "
        time.sleep(0.01)
    took = time.monotonic() - begin
    for rank, process in enumerate(processes):
        if process.poll() is None:
            process.kill()
        text = process.communicate()[0]
        if process.returncode != 0 or f"rank {rank} of {ranks} met all" not in text:
            wrong += f"rank {rank}: exit code {process.returncode}: {text}"
    return took, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--strangers", type=int, default=100)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    arguments.program = Path(shutil.which(arguments.program) or arguments.program).resolve()
    arguments.work.mkdir(parents=True, exist_ok=True)
    good = True
    for how in ("secret", "none", "file"):
        path, worst, made = arguments.work / "place", 0.0, 0
        wrong = ""
        for number in range(arguments.rounds):
            alone, failure = meet(arguments.program, path, how, arguments.ranks, None)
            wrong += failure
            strangers = Strangers(arguments.strangers, arguments.ranks, number)
            crowded, failure = meet(arguments.program, path, how, arguments.ranks, strangers)
            strangers.stop()
            wrong += failure
            made += strangers.made
            worst = max(worst, crowded - alone)
        if worst > BOUND:
            wrong += f"strangers cost {worst:.2f} s, expected at most {BOUND} s"
        good &= not wrong
        print(f"{how}: {'all ranks meet' if not wrong else wrong}", flush=True)
        print(f"{how}: {made} strangers in {arguments.rounds} rounds cost at most {worst:.2f} s", file=sys.stderr, flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
