"""Which files a package was made from: modules of the user's, and what they read while the model was made.

A child process exports and writes the list; later calls compare the files with it and need no torch to see that the
package is still right. Environment variables, and files that only C++ or Rust code opens, are not seen; weights that
Hugging Face reads are known by the folder that their configuration lies in.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import site
import sys
import sysconfig
from pathlib import Path
from typing import Iterator

from .export import is_function

_WEIGHTS = (".safetensors", ".bin", ".json")


@contextlib.contextmanager
def recorded(path: str, source: str) -> Iterator[None]:
    """Writes to `path`, as a JSON list, the files that are read in the block; of the source too."""
    opened: set[str] = set()

    def notice(event: str, arguments: tuple) -> None:
        if event != "open" or not isinstance(arguments[0], (str, bytes, os.PathLike)):
            return
        mode, flags = arguments[1], arguments[2]
        reads = "r" in mode and "+" not in mode if isinstance(mode, str) else not flags & (os.O_WRONLY | os.O_RDWR)
        if reads:
            opened.add(os.path.realpath(os.fsdecode(arguments[0])))

    sys.addaudithook(notice)
    yield
    modules = {os.path.realpath(file) for m in list(sys.modules.values()) if (file := getattr(m, "__file__", None))}
    files = {name for name in opened | modules if _is_of_user(name)}
    if is_function(source):
        files.add(os.path.realpath(source.rpartition(":")[0]))
    folders = {os.path.dirname(name) for name in files if os.path.basename(name) == "config.json"}
    if os.path.isdir(source):
        folders.add(os.path.realpath(source))
    for folder in folders:
        files |= {os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(_WEIGHTS)}
    Path(path).write_text(json.dumps(sorted(name for name in files if os.path.isfile(name))))


def _is_of_user(name: str) -> bool:
    """No file of Python, of an installed package, of this one, or of the system."""
    ours = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    libraries = [sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")]
    prefixes = [ours, *libraries, *site.getsitepackages(), site.getusersitepackages(), "/proc", "/sys", "/dev", "/etc"]
    return "__pycache__" not in name and not any(name.startswith(os.path.realpath(p) + os.sep) for p in prefixes)


def sha256_of(path: str | Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
