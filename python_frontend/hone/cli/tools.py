"""honec and the flags of what it makes."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Mapping, Sequence

from ..errors import HoneError
from .command import show_command

# What a wheel brings (tools/build-wheel.sh), laid out as build/ is.
_TOOLCHAIN = Path(__file__).resolve().parents[1] / "toolchain" / "bin"
# A tree that was not installed: python_frontend/hone/cli beside build/bin.
_TREE = Path(__file__).resolve().parents[3] / "build" / "bin"


@dataclass(frozen=True)
class Option:
    """A row of --help-json."""

    name: str
    value: str | None  # what stands for its value in the help; None: a flag
    help: str
    repeats: bool = False
    alone: str | None = None  # its value where it is given without one; None: it needs one


@lru_cache
def find_tool(name: str) -> Path:
    """A tool of the compiler: of this package, on the path, or in the tree's build folder."""
    found = shutil.which(name, path=str(_TOOLCHAIN)) or shutil.which(name) or shutil.which(name, path=str(_TREE))
    if not found:
        raise HoneError(f"{name}: not found; put the folder that holds it on PATH, or build it with tools/build.sh")
    return Path(found).resolve()


def become_tool() -> int:
    """The commands honec, hone-opt, ... of an installed package: its own tool of that name takes this process."""
    tool = _TOOLCHAIN / Path(sys.argv[0]).name
    if not tool.is_file():
        print(
            f"error: {tool}: not found, this package was installed without the compiler; install a wheel of "
            "tools/build-wheel.sh, or put build/bin first on PATH",
            file=sys.stderr,
        )
        return 1
    os.execv(tool, [str(tool), *sys.argv[1:]])


@lru_cache
def honec_options() -> dict[str, Option]:
    """Options of honec by name; -o is "o"."""
    done = subprocess.run([find_tool("honec"), "--help-json"], capture_output=True, text=True)
    return _options(done.stdout, "honec")


def program_flags(program: Path | None = None) -> dict[str, Option]:
    """The flags of a training program; without one, of those that honec makes."""
    if program:
        try:
            done = subprocess.run([program, "--help-json"], capture_output=True, text=True)
        except OSError as error:
            raise HoneError(f"{program}: cannot be run: {error.strerror}") from None
        return _options(done.stdout, str(program))
    path = resources() / "train-flags.json"
    try:
        return _options(path.read_text(), str(path))
    except OSError as error:
        raise HoneError(f"{path}: {error.strerror}; ninja -C build honec writes it") from None


def resources() -> Path:
    """What honec links executables from, beside it."""
    return find_tool("honec").parent.parent / "lib" / "honec"


def run(
    arguments: argparse.Namespace,
    command: Sequence[object],
    quiet: bool = False,
    environment: Mapping[str, str] = {},
) -> None:
    """Runs a tool. Its error is ours. quiet: what it prints is dropped."""
    words = [os.fspath(word) if isinstance(word, Path) else str(word) for word in command]
    show_command(arguments, words)
    out = subprocess.DEVNULL if quiet else None
    try:
        done = subprocess.run(words, stdout=out, stderr=subprocess.PIPE, text=True, env=os.environ | environment)
    except OSError as error:
        raise HoneError(f"{words[0]}: cannot be run: {error.strerror}") from None
    *said, last = done.stderr.splitlines() or [""]
    for line in said if done.returncode else [*said, last]:  # warnings
        print(line, file=sys.stderr, end="\n" if line else "")
    if done.returncode:
        raise HoneError(last.removeprefix("error: ") or f"{words[0]}: ended with {done.returncode}")


def _options(text: str, origin: str) -> dict[str, Option]:
    try:
        return {row["name"]: Option(**row) for row in json.loads(text)["options"]}
    except (ValueError, KeyError, TypeError):
        raise HoneError(f"{origin}: prints no list of its options (--help-json); it is of another version") from None
