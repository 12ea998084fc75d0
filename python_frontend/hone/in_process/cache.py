"""Programs that honec has compiled, by content: a folder each of `$XDG_CACHE_HOME/hone/programs`.

A key holds the package's graph and tensors, the options, honec with the runtime that it links, and this machine's CPU,
for which honec compiles by default.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from typing import Sequence

from ..cli.tools import find_tool
from ..errors import HoneError

PROGRAM, PACKAGE = "program.so", "model.hone"


def folder_of_cache() -> str:
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "hone", "programs")


def find_honec() -> str:
    """The compiler of this package, or of PATH."""
    return str(find_tool("honec"))


def compiled(package: str, flags: Sequence[str], cache: str) -> tuple[str, bool]:
    """A folder with the package and its program, and whether it was there. Takes the package away from its place."""
    honec = find_honec()
    folder = os.path.join(cache, _key(package, flags, honec))
    if os.path.exists(os.path.join(folder, PROGRAM)):
        return folder, True
    # At its place from the start: the program knows where its package is. honec writes the program last, at once.
    os.makedirs(folder, exist_ok=True)
    kept = os.path.join(folder, PACKAGE)
    if not os.path.isdir(kept):
        os.rename(package, kept)
    command = [honec, kept, "--emit=so", "-o", os.path.join(folder, PROGRAM)]
    command += [f"--report={os.path.join(folder, 'report')}", *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        shutil.rmtree(folder, ignore_errors=True)
        raise HoneError(_complaint(done.stderr, kept))
    sys.stderr.write(done.stderr)
    return folder, False


def _complaint(text: str, package: str) -> str:
    """The line of honec's error, without the place of a package that the user has not written."""
    lines = text.splitlines() or ["honec: failed without a word, expected a program"]
    line = next((line.split("error: ", 1)[1] for line in lines if "error: " in line), lines[-1])
    return re.sub(rf"^{re.escape(package)}(/graph\.mlir(:\d+:\d+)?)?: ", "", line)


def _key(package: str, flags: Sequence[str], honec: str) -> str:
    key = hashlib.sha256()

    def add(name: str, content: bytes) -> None:
        key.update(f"{name} {len(content)}\n".encode())
        key.update(content)

    # In a wheel, libraries that programs load lie in a folder of their own below it.
    runtime = os.path.join(os.path.dirname(honec), "..", "lib", "honec")
    libraries = sorted(os.path.join(folder, name) for folder, _, names in os.walk(runtime) for name in names)
    # Not the manifest, whose facts are the graph's.
    tensors = [os.path.join(package, name) for name in sorted(os.listdir(package)) if name != "manifest.json"]
    for path in [honec, *libraries, *tensors]:
        with open(path, "rb") as file:
            add(os.path.basename(path), file.read())
    add("flags", "\n".join(flags).encode())
    add("machine", _machine().encode())
    return key.hexdigest()[:32]


def _machine() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            first = file.read().split("\n\n")[0].splitlines()
    except OSError:
        return platform.machine()
    return "\n".join(line for line in first if line.startswith(("model name", "flags", "Features")))
