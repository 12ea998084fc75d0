"""Checks the Dockerfile against the tree: dockerfile.py SOURCE. Prints what is wrong; exit 1 if anything is."""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from pathlib import Path

source = Path(sys.argv[1])
IMAGES = {"debian:12", "python:3.12-slim"}
OF_IMAGES = {"apt-get", "pip", "rm"}
scripts = tomllib.loads((source / "python_frontend/pyproject.toml").read_text())["project"]["scripts"]


def wrong_in(keyword: str, rest: str) -> list[str]:
    words = rest.split()
    if keyword == "FROM":
        return [] if words[0] in IMAGES else [f"{words[0]}: expected one of {sorted(IMAGES)}"]
    if keyword == "RUN":
        commands = [part.split()[0] for part in rest.split("&&")]
        return [
            f"{each}: not a script of this tree"
            for each in commands
            if each not in OF_IMAGES and not os.access(source / each, os.X_OK)
        ]
    if keyword == "COPY" and words[0] == "--from=build":
        script = source / "tools/build-wheel.sh"
        out = re.search(r"^out=(.*)$", script.read_text(), re.M)[1] if script.exists() else "nothing"
        expected = f"/hone/{out}/hone-*.whl"
        return [] if words[1] == expected else [f"{words[1]}: expected what tools/build-wheel.sh writes"]
    if keyword == "ENTRYPOINT":
        return [f"{each}: no command of the package" for each in json.loads(rest)[:1] if each not in scripts]
    return [] if keyword in {"COPY", "WORKDIR", "CMD"} else [f"{keyword}: not known to this test"]


wrong, stages = [], 0
for number, line in enumerate((source / "Dockerfile").read_text().splitlines(), 1):
    if line and not line.startswith("#"):
        keyword, _, rest = line.partition(" ")
        stages += keyword == "FROM"
        wrong += [f"Dockerfile:{number}: {each}" for each in wrong_in(keyword, rest)]
print("\n".join(wrong) or f"{stages} stages: every file and command is there")
sys.exit(bool(wrong))
