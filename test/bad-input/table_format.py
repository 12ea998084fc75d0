"""A lit test format: every row of the tables in cases.py is one test.

A row says how to make a folder of files, which command to run there, and what must happen: the exit code, the one line
on stderr, nothing on stdout, and no file in the folder made, changed or removed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import cases
import lit.Test
import lit.formats
import lit.TestRunner

TIMEOUT_S = 60


class TableFormat(lit.formats.TestFormat):
    def getTestsInDirectory(self, testSuite, path_in_suite, litConfig, localConfig):
        for name in cases.CASES:
            yield lit.Test.Test(testSuite, path_in_suite + (name,), localConfig)

    def execute(self, test, litConfig):
        case = cases.CASES[test.path_in_suite[-1]]
        missing = [tool for tool in case.tools() if tool not in test.config.available_features]
        if missing:
            return lit.Test.Result(lit.Test.UNSUPPORTED, "missing: " + ", ".join(missing))
        home = Path(test.getExecPath())
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        environment = {**os.environ, "PATH": test.config.environment["PATH"]}
        problems = check(case, cases.Workshop(home, Path(test.config.test_source_root), environment))
        return lit.Test.Result(lit.Test.FAIL if problems else lit.Test.PASS, "\n".join(problems))


def check(case: cases.Case, shop: cases.Workshop) -> list[str]:
    """What went wrong, one entry each."""
    case.prepare(shop)
    before = snapshot(shop.home)
    done = subprocess.run(
        case.command,
        cwd=shop.home,
        env=shop.environment,
        capture_output=True,
        timeout=TIMEOUT_S,
        stdin=subprocess.DEVNULL,
    )
    seen = done.stderr.decode(errors="replace")
    problems = []
    if done.returncode != case.code:
        problems.append(f"exit code {done.returncode}, expected {case.code}")
    if seen != f"error: {case.message}\n":
        problems.append(f"stderr:\n{seen[:2000]}\nexpected:\nerror: {case.message}")
    if done.stdout:
        problems.append(f"stdout holds {done.stdout[:200]!r}, expected nothing")
    if (after := snapshot(shop.home)) != before:
        problems.append(f"files changed: {sorted(set(before.items()) ^ set(after.items()))}")
    return problems


def snapshot(home: Path) -> dict[str, str]:
    """Every file below `home` with the hash of its contents."""
    return {
        path.relative_to(home).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in sorted(home.rglob("*"))
    }
