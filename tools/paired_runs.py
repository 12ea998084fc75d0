"""Programs that take turns, so that what else the machine does weighs on all of them alike."""

from __future__ import annotations

import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence


def answer_rounds(step: Callable[[], None], steps: int) -> None:
    """The other side of a Worker: answers each line of standard input with the milliseconds of `steps` steps, after
    one that is not timed; at its end, with the peak memory in KiB. What was printed before is the worker's `start`."""
    for _ in sys.stdin:
        times = []
        for _ in range(steps + 1):
            start = time.perf_counter()
            step()
            times.append(1e3 * (time.perf_counter() - start))
        print(json.dumps(times[1:]), flush=True)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, flush=True)


class Worker:
    """A process that waits between its turns. It prints one line of JSON, `start`, when it is ready."""

    def __init__(self, name: str, command: Sequence[str | pathlib.Path]):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.start = json.loads(self._answer())

    def _answer(self) -> str:
        return self.process.stdout.readline() or sys.exit(f"error: the worker of {self.name} ended")

    def round(self) -> float:
        """The median of a turn's steps, in milliseconds."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return statistics.median(json.loads(self._answer()))

    def close(self) -> float:
        """Ends the worker; returns its peak memory in MiB."""
        self.process.stdin.close()
        return int(self._answer()) / 1024


class Program:
    """A binary of Hone, started anew for each turn, by `launcher` if there is one: then no peak is known."""

    def __init__(self, binary: pathlib.Path, inputs: Sequence[str | pathlib.Path], steps: int,
                 launcher: Sequence[str] = ()):
        self.binary, self.inputs, self.steps, self.launcher = binary, list(inputs), steps, list(launcher)
        self.peak = 0.0  # MiB, of all runs
        self.teraflops: list[float] = []  # per second, the median of each round

    def run(self, steps: int) -> list[dict]:
        """The log's lines of so many steps."""
        log = self.binary.with_suffix(".jsonl")
        command = [*self.launcher, self.binary, *self.inputs, "--steps", str(steps), "--log", log, "--quiet"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit(f"error: {self.binary.name} failed")
        self.peak = max(self.peak, usage.ru_maxrss / 1024)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        log.unlink()
        return [line for line in lines if "ms" in line and "loss" in line]

    def round(self) -> float:
        lines = self.run(self.steps + 1)[1:]
        self.teraflops.append(statistics.median(line["tflops"] for line in lines))
        return statistics.median(line["ms"] for line in lines)

    def close(self) -> float:
        return self.peak


def run_rounds(label: str, systems: Sequence, rounds: int) -> list[list[float]]:
    """The milliseconds of each system in each round."""
    results = []
    for number in range(rounds):
        results.append([system.round() for system in systems])
        print(f"{label} round {number + 1}: " + ", ".join(f"{value:.0f}" for value in results[-1]), flush=True)
    return results
