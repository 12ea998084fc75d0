"""Checks which glibc programs need: glibc_needs.py NEWEST FILE...

Prints what asks for a newer one; exit 1 if anything does.
"""

from __future__ import annotations

import re
import subprocess
import sys


def version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


newest, *files = sys.argv[1:]
wrong = False
for file in files:
    symbols = subprocess.run(["llvm-readelf", "--dyn-syms", "-W", file], capture_output=True, text=True, check=True)
    needs = dict(re.findall(r" UND (\w+)@GLIBC_([\d.]+)", symbols.stdout))
    if not needs:
        sys.exit(f"{file}: needs nothing of glibc, expected a program that is linked to it")
    most = max(needs.values(), key=version)
    newer = [f"{name}@GLIBC_{each}" for name, each in sorted(needs.items()) if version(each) > version(newest)]
    if newer:
        print(f"{file}: needs GLIBC_{most}, expected {newest} at most: {', '.join(newer)}")
    wrong |= bool(newer)
sys.exit(wrong)
