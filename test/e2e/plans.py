"""What honec says of a package's memory and time: for the tests and tools that vary the budget."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


@dataclass(frozen=True)
class Plan:
    peak: int  # bytes of the arena
    seconds: float  # estimated, per step


class DoesNotFit(Exception):
    """`smallest`: the least budget that the compiler says works, in bytes."""

    def __init__(self, smallest: int) -> None:
        super().__init__(f"the smallest budget is {smallest} bytes")
        self.smallest = smallest


def read_size(text: str) -> int:
    """The bytes of the last size in a text: in plain bytes if it says so, else rounded up from its unit."""
    if exact := re.findall(r"(\d+) bytes", text):
        return int(exact[-1])
    number, unit = re.findall(r"([\d.]+) ?(B|KiB|MiB|GiB|TiB)\b", text)[-1]
    digits = len(number.partition(".")[2])
    return int((float(number) + 0.5 * 10.0**-digits) * UNITS[unit]) + 1


def dry_run(package: Path, *options: str, honec: str | Path = "honec") -> Plan:
    """The plan of a package. Raises DoesNotFit where a budget is too small."""
    command = [str(honec), str(package), "--dry-run", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 1 and "budget" in done.stderr:
        raise DoesNotFit(read_size(done.stderr[done.stderr.index("budget"):]))
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    peak = re.search(r"^peak memory .*\((\d+) bytes\)", done.stdout, re.MULTILINE)
    step = re.search(r"^estimated step +([\d.]+) ms", done.stdout, re.MULTILINE)
    return Plan(int(peak[1]), float(step[1]) * 1e-3)


def smallest_budget(package: Path, *options: str, honec: str | Path = "honec") -> int:
    """The least budget that works, as the compiler names it when asked for less."""
    try:
        dry_run(package, *options, "--memory-budget=1KiB", honec=honec)
    except DoesNotFit as refusal:
        return refusal.smallest
    raise RuntimeError(f"{package}: fits into 1 KiB?")


def spread_budgets(package: Path, count: int, *options: str, honec: str | Path = "honec") -> list[int]:
    """`count` budgets at equal distances from the plan without one (first) to the smallest that works (last)."""
    most, least = dry_run(package, *options, honec=honec).peak, smallest_budget(package, *options, honec=honec)
    return [most - (most - least) * i // max(1, count - 1) for i in range(count - 1)] + [least]
