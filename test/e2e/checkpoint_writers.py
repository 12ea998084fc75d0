#!/usr/bin/env python3
"""Kills runs that write checkpoints, and lets two runs write to one folder.

    checkpoint_writers.py PROGRAM FOLDER [--kills N] [--rounds N]    PROGRAM takes ids from 0 to 31

Kills: a run with a checkpoint every step, a log and --save is killed N times, at random moments, and goes on each time,
at once. One good run later there is no leftover, and its weights have the bits of one that nobody disturbed.

Rounds: two runs start together in two pid namespaces, where both have the same pid, on one folder. One trains; the
other says in one line who has the folder, or goes on when the first has ended. In some rounds the one that trains is
killed, and the other starts again at once; in some it is stopped while another tries. The newest committed checkpoint
never goes back, none is ever found damaged, and a file that both --save is whole. Where namespaces cannot be made, the
rounds are left out, with a line. Prints a line for each part; exit 1 at the first thing that is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from array import array
from pathlib import Path

NAMESPACE = ["unshare", "--pid", "--fork", "--kill-child=SIGKILL"]
HOLDER = r"(another run|the run of host \S+, pid \d+( of another container)?, since [^;]*)"
REFUSED = re.compile(rf"error: \S+: in use by {HOLDER}; expected .*")


class Wrong(Exception):
    pass


def newest(folder: Path) -> int:
    return max((int(path.name[5:]) for path in folder.glob("step-*")), default=0)


def check_whole(path: Path) -> None:
    """A safetensors file is as long as its header says."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    end = max(entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__")
    if len(data) != 8 + length + end:
        raise Wrong(f"{path}: {len(data)} bytes, expected {8 + length + end}")


class Writers:
    def __init__(self, program: Path, folder: Path, seed: int) -> None:
        self.program, self.folder, self.checkpoints = program, folder, folder / "c"
        self.random = random.Random(seed)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.tokens = folder.parent / f"{folder.name}-tokens.bin"
        self.tokens.write_bytes(array("H", (i * i % 32 for i in range(500))).tobytes())
        self.newest = 0

    def command(self, steps: int, save: Path) -> list[str]:
        words = [self.program, "--data", self.tokens, "--threads", 1, "--steps", steps, "--save", save]
        return [str(word) for word in words]

    def kept(self) -> list[str]:
        return ["--checkpoint-dir", str(self.checkpoints), "--checkpoint-every", "1", "--resume"]

    def start(self, steps: int, before: list[str], sleep_ms: int = 0) -> subprocess.Popen:
        command = [*before, *self.command(steps, self.folder / "w"), *self.kept(), "--log", str(self.folder / "log")]
        environment = os.environ | {"HONE_TINY_SLEEP_MS": str(sleep_ms)}
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)

    def check(self) -> None:
        now = newest(self.checkpoints)
        if now < self.newest:
            raise Wrong(f"the newest checkpoint was of step {self.newest} and is of {now}")
        self.newest = now
        if (self.folder / "w").exists():
            check_whole(self.folder / "w")

    def ended(self, run: subprocess.Popen, mayBeRefused: bool = False) -> bool:
        """Waits for a run that nobody kills; false: it was refused."""
        out, err = run.communicate(timeout=120)
        self.check()
        if run.returncode == 0 and not err:
            return True
        if mayBeRefused and run.returncode == 1 and REFUSED.fullmatch(err.strip()):
            return False
        raise Wrong(f"exit code {run.returncode}: {err}")

    def finish(self, steps: int) -> None:
        """A good run: no leftovers, and the right bits."""
        self.ended(self.start(steps, []))
        whole = self.folder.parent / f"{self.folder.name}-whole"
        subprocess.run(self.command(steps, whole), check=True, stdout=subprocess.DEVNULL)
        if (self.folder / "w").read_bytes() != whole.read_bytes():
            raise Wrong("other bits than a run that nobody disturbed")
        names = sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*"))
        steps_kept = {f"c/step-{step:08d}" for step in (steps - 1, steps)}
        files = {f"{step}/{name}" for step in steps_kept for name in ("state.safetensors", "manifest.json")}
        if set(names) != {"c", "c/flags.json", "c/latest", "log", "w"} | steps_kept | files:
            raise Wrong(f"leaves {names}")


def kill(run: subprocess.Popen) -> None:
    run.kill()
    run.communicate()


def kills(writers: Writers, count: int) -> str:
    steps, done, whole = 3, 0, 1.0  # seconds of a run that nobody kills
    while done < count:
        begin = time.monotonic()
        run = writers.start(steps, [])
        # Half of the kills fall where it writes: from the first step on.
        if writers.random.random() < 0.5:
            run.stdout.readline()
        try:
            out, err = run.communicate(timeout=writers.random.uniform(0, whole))
        except subprocess.TimeoutExpired:
            kill(run)
            done += 1
        else:
            if run.returncode != 0 or err:
                raise Wrong(f"exit code {run.returncode}: {err}")
            whole = 0.8 * whole + 0.2 * (time.monotonic() - begin)
            steps += 3
        writers.check()
    writers.finish(steps + 1)
    return f"{done} kills in {steps + 1} steps: nothing lost, nothing left over"


def can_make_namespaces() -> bool:
    try:
        return subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def send(run: subprocess.Popen, number: signal.Signals) -> None:
    """Sends a signal to the program that `unshare` has forked, unless it has ended."""
    try:
        for word in Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split():
            os.kill(int(word), number)
    except (FileNotFoundError, ProcessLookupError):
        pass


def one_round(writers: Writers, number: int, steps: int) -> int:
    """Returns how many runs were refused."""
    pause = writers.random.uniform(0, 0.03)
    both = [writers.start(steps, NAMESPACE, sleep_ms=2) for _ in range(2)]
    time.sleep(pause)
    refused = 0
    if number % 3 == 0:
        first, second = both
        kill(first)  # whichever of them trains
        if not writers.ended(second, mayBeRefused=True):
            refused += 1
        return refused
    if number % 3 == 1:
        send(both[0], signal.SIGSTOP)
        time.sleep(0.02)
        third = writers.start(steps, NAMESPACE)
        refused += not writers.ended(third, mayBeRefused=True)
        send(both[0], signal.SIGCONT)
    return refused + sum(not writers.ended(run, mayBeRefused=True) for run in both)


def rounds(writers: Writers, count: int) -> str:
    refused, steps = 0, 5
    for number in range(count):
        refused += one_round(writers, number, steps)
        # The step is reached before the next round: a killed run has left some.
        writers.ended(writers.start(steps, []))
        if newest(writers.checkpoints) != steps:
            raise Wrong(f"the newest checkpoint is of step {newest(writers.checkpoints)}, expected {steps}")
        steps += 5
    writers.finish(steps)
    return f"{count} rounds of two writers, {refused} runs refused: nothing lost, nothing torn, nothing left over"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=0, metavar="N")
    parser.add_argument("--rounds", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    program, folder = Path(shutil.which(options.program) or options.program).resolve(), options.folder.resolve()
    try:
        if options.kills:
            print(kills(Writers(program, folder, options.seed), options.kills), flush=True)
        if options.rounds and not can_make_namespaces():
            print("rounds left out: unshare cannot make a pid namespace here")
        elif options.rounds:
            print(rounds(Writers(program, folder, options.seed), options.rounds), flush=True)
    except Wrong as wrong:
        print(f"wrong: {wrong}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
