#!/usr/bin/env python3
"""Runs the quick tour of README.md: readme.py SOURCE_DIR WORKDIR.

Writes every code block that names a file and runs every shell block, in order and in one shell, in a folder that holds
what the repository's root does.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

SHARED = ("build", ".venv", "python_frontend", "tools", "docs")


def main(argv: list[str]) -> int:
    source, work = Path(argv[1]), Path(argv[2])
    work.mkdir(parents=True)
    for name in SHARED:
        (work / name).symlink_to(source / name)
    script, files = ["set -euo pipefail"], 0
    for language, name, body in re.findall(
        r"^```(\w*) ?(\S*)\n(.*?)^```$", (source / "README.md").read_text(), re.M | re.S
    ):
        if name:
            (work / name).write_text(body)
            files += 1
        elif language == "sh":
            script.append(body)
    environment = os.environ | {"XDG_CACHE_HOME": str(work / "cache")}
    done = subprocess.run(["bash", "-c", "\n".join(script)], cwd=work, env=environment)
    print(f"{files} files, {len(script) - 1} blocks of commands, exit code {done.returncode}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv))
