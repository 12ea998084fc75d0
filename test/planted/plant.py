"""Plants the defects of bugs.py one by one in a copy of the source and reports which test notices each.

    plant.py SOURCE BUILD [NAME...] [--results FILE]

SOURCE is a checkout that may be changed, BUILD its configured build folder. For each defect its file is changed, what
depends on it is built, and tests run until one fails: first those that the row names, then all others. A compiler error
is no catch. Each result is a line of FILE as soon as it is known; names that FILE has are passed over.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from bugs import BUGS, Bug

LIT = "/usr/lib/llvm-19/build/utils/lit/lit.py"
UNIT_TESTS = ("hone-unit-tests", "hone-analysis-tests", "hone-kernel-tests", "hone-attention-tests", "honert-tests")
TOOLS = ["hone-opt", "hone-run"]
# Cheap folders first; the rest of test/ comes after.
FOLDERS = ("IR", "Interpreter", "Transforms", "Plan", "Pipelines", "Target", "Codegen", "fuzz", "hone-run", "honec",
           "e2e")


class NotBuilt(Exception):
    pass


def run(command: list[str], build: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "2", "HONE_OPT": str(build / "bin" / "hone-opt")}
    return subprocess.run(command, cwd=build, capture_output=True, text=True, env=environment)


def targets_of(test: str) -> list[str]:
    if test in UNIT_TESTS:
        return [test]
    if test.startswith(("IR", "Interpreter", "Transforms", "Plan", "fuzz", "python/")):
        return TOOLS
    return [*TOOLS, "honec", "honert-tiny"]


def make(build: Path, targets: list[str]) -> None:
    done = run(["ninja", "-j1", *targets], build)
    if done.returncode != 0:
        lines = [line for line in done.stdout.splitlines() if "error" in line] or done.stdout.splitlines()[-1:]
        raise NotBuilt(lines[0][:200])


def failing_test(source: Path, build: Path, test: str) -> str:
    """The name of a test that fails, or nothing; what it runs is built first."""
    make(build, targets_of(test))
    if test in UNIT_TESTS:
        done = run([str(build / "bin" / test), "--gtest_brief=1", "--gtest_fail_fast"], build)
        names = re.findall(r"\[  FAILED  \] ([\w./]+)", done.stdout)
        return f"{test}: {names[0]}" if names else f"{test}: exits with {done.returncode}" if done.returncode else ""
    if test.startswith("python/"):
        done = run([sys.executable, "-m", "pytest", "-q", "-x", str(source / "test" / test)], build)
        names = re.findall(r"^FAILED \S+::(\S+)", done.stdout, re.MULTILINE)
        return f"{test}: {names[0]}" if names else f"{test}: exits with {done.returncode}" if done.returncode else ""
    done = run([sys.executable, LIT, "-q", "-j1", "--max-failures", "1", str(build / "test" / test)], build)
    names = re.findall(r"^ +hone :: (\S+)", done.stdout, re.MULTILINE)
    return names[0] if names else f"{test}: lit exits with {done.returncode}" if done.returncode else ""


def first_failure(source: Path, build: Path, bug: Bug) -> str:
    rest = [test for test in (*UNIT_TESTS, *FOLDERS) if test not in bug.tests]
    for test in (*bug.tests, *rest):
        if name := failing_test(source, build, test):
            return name
    return ""


def plant(source: Path, build: Path, bug: Bug) -> str:
    path = source / bug.file
    text = path.read_text()
    path.write_text(text.replace(bug.old, bug.new))
    try:
        name = first_failure(source, build, bug)
        return f"caught by {name}" if name else "SURVIVED"
    except NotBuilt as error:
        return f"NOT BUILT: {error}"
    finally:
        path.write_text(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("build", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--results", type=Path, required=True)
    options = parser.parse_args()
    known = options.results.read_text() if options.results.exists() else ""
    wanted = [bug for bug in BUGS if not options.names or bug.name in options.names]
    wanted = [bug for bug in wanted if not re.search(rf"^{bug.name}: (caught|SURVIVED)", known, re.MULTILINE)]
    try:
        make(options.build, TOOLS)
    except NotBuilt as error:
        print(f"the copy does not build without a defect: {error}")
        return 1
    for bug in wanted:
        start = time.monotonic()
        line = f"{bug.name}: {plant(options.source, options.build, bug)} ({time.monotonic() - start:.0f} s)"
        print(line, flush=True)
        with options.results.open("a") as results:
            results.write(line + "\n")
    lines = options.results.read_text().splitlines()
    caught = sum(": caught" in line for line in lines)
    print(f"{caught} of {len(lines)} defects caught")
    return 0 if caught >= 0.95 * len(lines) else 1


if __name__ == "__main__":
    sys.exit(main())
