"""Compares installed packages with requirements files: pinned.py FILE... Prints what differs; exit 1 if something does."""

import importlib.metadata
import re
import sys

wrong = []
for path in sys.argv[1:]:
    for line in open(path, encoding="utf-8"):
        line = line.split("#")[0].strip()
        if not line:
            continue
        match = re.fullmatch(r"([\w.-]+)==([\w.]+)", line)
        if not match:
            wrong.append(f"{path}: expected NAME==VERSION, got '{line}'")
            continue
        name, version = match.groups()
        try:
            installed = importlib.metadata.version(name).split("+")[0]
        except importlib.metadata.PackageNotFoundError:
            installed = "none"
        if installed != version:
            wrong.append(f"{path}: expected {name} {version}, got {installed}")
print(*wrong, sep="\n")
sys.exit(bool(wrong))
