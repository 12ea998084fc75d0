"""Packages to programs to logs: what the trials of trial.py and settings.py share."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any, Iterable, Sequence

import numpy as np
import torch

Row = dict[str, Any]


class Ended(Exception):
    """The trial's result and the line that says why."""

    def __init__(self, result: str, reason: str) -> None:
        super().__init__(reason)
        self.result, self.reason = result, reason


def compile_program(honec: str, package: Path, program: Path, options: Sequence[str] = ()) -> None:
    done = subprocess.run([honec, package, "-o", program, *options], capture_output=True, text=True, errors="replace")
    if done.returncode == 0:
        return
    message = first_error(done.stderr)
    if done.returncode == -signal.SIGXCPU:
        raise Ended("timeout", "honec had not ended when its processor time was over")
    if done.returncode < 0:
        raise Ended("honec crashes", f"{signal.Signals(-done.returncode).name}: {message}")
    # A message about an op is one of the compiler's own checks: the module it made is wrong.
    raise Ended("compile error" if "' op " in message else "refused by honec", message)


def written_inputs(names: Iterable[str], batches: Sequence[tuple[torch.Tensor, ...]], work: Path) -> list[str]:
    """The flags by which a program reads the batches in turn, from files in WORK."""
    flags = []
    for index, name in enumerate(names):
        np.save(work / f"{name}.npy", np.stack([batch[index].numpy() for batch in batches]))
        flags += ["--input", f"{name}={work / name}.npy"]
    return flags


def train_program(command: Sequence[object], log: Path, environment: dict[str, str] | None = None) -> list[dict]:
    """Runs a program, alone or behind a launcher; the lines of its log that are steps."""
    words = [*map(str, command), "--log", str(log), "--quiet"]
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", env=environment)
    if done.returncode < 0:
        raise Ended("training crashes", f"{signal.Signals(-done.returncode).name}: {first_error(done.stderr)}")
    if done.returncode:
        raise Ended("training fails", first_error(done.stderr))
    return [entry for entry in map(json.loads, log.read_text().splitlines()) if "loss" in entry]


def compared(values: list[float], expected: list[float]) -> float:
    """The largest difference, relative to the number expected or to the first of them, whichever is larger: a loss that
    training brings near zero is a difference of larger numbers."""
    first = abs(expected[0])
    return max(abs(a - b) / max(abs(b), first, 1e-30) for a, b in zip(values, expected, strict=True))


def shown(values: Iterable[float]) -> str:
    return " ".join(f"{value:.7g}" for value in values)


def first_error(text: str) -> str:
    """The first line that says error, or the last one."""
    lines = [line for line in text.splitlines() if line.strip()]
    return one_line(next((line for line in lines if "error:" in line), lines[-1] if lines else "no message"))


def one_line(text: str) -> str:
    return " ".join(text.split())[:600]
