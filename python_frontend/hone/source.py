"""Source lines: which frame of a stack is the user's, and how its path is written."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
import traceback
from typing import Sequence

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_PYTHON = sysconfig.get_path("stdlib") + os.sep
_INSTALLED = f"{os.sep}site-packages{os.sep}"
# Programs that depend on tensors' values: what to do about each.
BRANCH = "the branch depends on tensor values; use torch.where, or take it out of forward"
NUMBER = "a number is read from a tensor (item(), int(), float(), ...); keep it a tensor, or take it out of forward"
SHAPE = "the shape depends on tensor values; use torch.where or multiply by a mask, so that shapes are fixed"

_FRAME = re.compile(r'File "(.+?)", line (\d+), in ')


def frames_of(stack_trace: str | None) -> list[tuple[str, int]]:
    """(file, line) of each frame of a printed traceback, outermost first."""
    return [(file, int(line)) for file, line in _FRAME.findall(stack_trace or "")]


def user_frame(frames: Sequence[tuple[str, int]]) -> tuple[str, int] | None:
    """The innermost frame outside torch, Python's library and this package, its path as `relative_path` writes it."""
    for file, line in reversed(frames):
        if _is_of_model(file):
            return relative_path(os.path.abspath(file)), line
    return None


def is_of_torch(file: str) -> bool:
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    home = os.path.dirname(os.path.abspath(torch.__file__))  # a user's own folder may be called torch too
    return os.path.abspath(file).startswith(home + os.sep)


def _is_of_model(file: str) -> bool:
    path = os.path.abspath(file)
    if file.startswith("<") or path.startswith(_PACKAGE) or is_of_torch(file):
        return False
    return not path.startswith(_PYTHON) or _INSTALLED in path


def placed(message: str, frames: Sequence[tuple[str, int]]) -> str:
    """`message` with the innermost line of the user's own files, and that of an installed library below it."""
    inner = user_frame(frames)
    own = user_frame([(file, line) for file, line in frames if _INSTALLED not in os.path.abspath(file)])
    if inner is None:
        return message
    below = f" (in {inner[0]}:{inner[1]})" if own and own != inner else ""
    return "{}:{}: ".format(*(own or inner)) + message + below


def placed_here(message: str) -> str:
    """`message` with the line of the user's that is running."""
    return placed(message, [(frame.filename, frame.lineno or 0) for frame in traceback.extract_stack()])


def relative_path(path: str) -> str:
    """Relative to the installed package's home or to the working directory; the bare name for anything else."""
    if _INSTALLED in path:
        return path.split(_INSTALLED, 1)[1]
    below = os.path.relpath(path, os.getcwd())
    return os.path.basename(path) if below.startswith("..") else below
