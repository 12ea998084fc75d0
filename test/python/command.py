"""The command `hone` in a process of its own, as a shell runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from conftest import ROOT

HONEC = os.path.join(ROOT, "build", "bin", "honec")


class Command:
    """Runs `hone` in a folder, with a cache of its own."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder = folder
        self.environment = os.environ | {
            "PYTHONPATH": os.path.join(ROOT, "python_frontend"),
            "XDG_CACHE_HOME": str(cache),
            "OMP_NUM_THREADS": "1",
        }

    def __call__(self, *words: object, code: int = 0, **environment: str) -> subprocess.CompletedProcess:
        done = subprocess.run(
            [sys.executable, "-m", "hone", *map(str, words)],
            cwd=self.folder,
            env=self.environment | environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def json(self, *words: object) -> Any:
        return json.loads(self(*words, "--json").stdout)

    def refusal(self, *words: object, code: int = 1) -> str:
        """The one line of an error."""
        done = self(*words, code=code)
        lines = done.stderr.splitlines()
        assert lines and lines[-1].startswith("error: "), done.stderr
        assert sum(line.startswith("error: ") for line in lines) == 1 and "Traceback" not in done.stderr
        return lines[-1].removeprefix("error: ")

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path
