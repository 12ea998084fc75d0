"""Packages and programs that were made before, in $XDG_CACHE_HOME/hone (~/.cache/hone), which may be deleted.

    requests/KEY.json   of one command: the files that its package was made from, with size, time and SHA-256
    packages/KEY/       NAME.hone; the key is that of the request and of the contents of these files
    programs/KEY/       an executable and its report; the key is that of the package, the options and the compiler
    streams/KEY.npy     shards joined, and labels in the shape of a batch
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Iterator

from ..errors import HoneError
from .made_from import sha256_of


def cache_folder(kind: str) -> Path:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hone" / kind
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HoneError(f"{folder}: cannot be made: {error.strerror}; XDG_CACHE_HOME=DIR names another place") from None
    return folder


def key_of(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:32]


def stamp(path: str | Path) -> list[int]:
    """Size and time: changed where the content may have."""
    facts = os.stat(path)
    return [facts.st_size, facts.st_mtime_ns]


class Request:
    """What was asked for before, and from which files it was made."""

    def __init__(self, asked: Any) -> None:
        self.key = key_of(asked)
        self.path = cache_folder("requests") / f"{self.key}.json"
        try:
            self.files: dict[str, list] = json.loads(self.path.read_text())
        except (OSError, ValueError):
            self.files = {}

    def content_key(self) -> str | None:
        """Of the request and the files as they are now; None: never made, or a file is gone."""
        if not self.files:
            return None
        try:
            self.files = {
                name: row if row[:2] == stamp(name) else [*stamp(name), sha256_of(name)]
                for name, row in self.files.items()
            }
        except OSError:
            return None
        return key_of([self.key, {name: row[2] for name, row in self.files.items()}])

    def remember(self, files: list[str], since: int) -> None:
        """`files` are what was read since the time `since`, in nanoseconds."""
        self.files = {name: [*stamp(name), sha256_of(name)] for name in files}
        if changed := [name for name, row in self.files.items() if row[1] > since]:
            raise HoneError(f"{changed[0]}: changed while it was read; run the command again")
        write_whole(self.path, json.dumps(self.files).encode())


@contextlib.contextmanager
def making(folder: Path) -> Iterator[Path]:
    """An empty folder that becomes `folder` at the end of the block; if another process was first, its one stays."""
    made = Path(tempfile.mkdtemp(prefix=".making-", dir=folder.parent))
    try:
        yield made
        os.chmod(made, 0o755)
        try:
            os.rename(made, folder)
        except OSError:
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(made, ignore_errors=True)


def write_whole(path: Path, data: bytes) -> None:
    """Replaces a file at once."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    with open(descriptor, "wb") as file:
        file.write(data)
    os.chmod(name, 0o644)
    os.replace(name, path)
