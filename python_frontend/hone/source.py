"""Source lines: which frame of a stack is the user's, and how its path is written."""

from __future__ import annotations

import os
import re
from typing import Sequence

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_FRAME = re.compile(r'File "(.+?)", line (\d+), in ')


def frames_of(stack_trace: str | None) -> list[tuple[str, int]]:
    """(file, line) of each frame of a printed traceback, outermost first."""
    return [(file, int(line)) for file, line in _FRAME.findall(stack_trace or "")]


def user_frame(frames: Sequence[tuple[str, int]]) -> tuple[str, int] | None:
    """The innermost frame outside torch and this package, with its path as `relative_path` writes it."""
    for file, line in reversed(frames):
        path = os.path.abspath(file)
        if not file.startswith("<") and not path.startswith(_PACKAGE) and f"{os.sep}torch{os.sep}" not in path:
            return relative_path(path), line
    return None


def relative_path(path: str) -> str:
    """Relative to the installed package's home or to the working directory; the bare name for anything else."""
    marker = f"{os.sep}site-packages{os.sep}"
    if marker in path:
        return path.split(marker, 1)[1]
    below = os.path.relpath(path, os.getcwd())
    return os.path.basename(path) if below.startswith("..") else below
