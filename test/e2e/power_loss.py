#!/usr/bin/env python3
"""Rebuilds what a power failure may leave of a run's checkpoints, at every moment, and goes on from it.

    power_loss.py PROGRAM FOLDER [--every N]    PROGRAM takes ids from 0 to 31; N: only each N-th moment

Every call of the run that changes files is recorded (Inputs/file_calls.c). After each of them three states of the disk
are built: all calls have reached it; names have, but of contents only what was synced; nothing has but what was synced,
names included (a new folder then exists only if its parent was synced). In each a run with --resume must end with the
bits of one that nobody disturbed, start no earlier than the last checkpoint that was committed before the failure, and
leave nothing but two checkpoints. Besides, a checkpoint that was found damaged can be replaced where the file system
refuses RENAME_EXCHANGE, and a folder that cannot be listed ends a run, which must not start afresh then. Prints a line; exit 1 at the first state that is wrong.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from array import array
from pathlib import Path

SOURCE = Path(__file__).resolve().parent / "Inputs" / "file_calls.c"
COMPILERS = ("clang-19", "clang", "gcc", "cc")
STEPS = 8


class Wrong(Exception):
    pass


def build_recorder(work: Path) -> Path:
    library = work / "file_calls.so"
    for compiler in COMPILERS:
        try:
            subprocess.run([compiler, "-O1", "-shared", "-fPIC", SOURCE, "-o", library], check=True)
            return library
        except FileNotFoundError:
            continue
    sys.exit(f"error: no C compiler, expected one of {', '.join(COMPILERS)}")


class File:
    def __init__(self) -> None:
        self.data, self.synced = bytearray(), b""


class Folder:
    def __init__(self) -> None:
        self.entries: dict[str, File | Folder] = {}
        self.synced: dict[str, File | Folder] = {}


class Disk:
    """A folder tree with what has been synced of it. The root itself is durable."""

    def __init__(self, root: Path) -> None:
        self.root, self.top = root, Folder()

    def place(self, path: str) -> tuple[Folder, str]:
        *folders, name = Path(path).relative_to(self.root).parts
        folder = self.top
        for each in folders:
            folder = folder.entries[each]
        return folder, name

    def at(self, path: str) -> File | Folder:
        if Path(path) == self.root:
            return self.top
        folder, name = self.place(path)
        return folder.entries[name]

    def apply(self, line: str) -> None:
        what, path, *more = line.split(" ")
        if what == "sync":
            node = self.at(path)
            node.synced = dict(node.entries) if isinstance(node, Folder) else bytes(node.data)
            return
        if what == "write":
            data, offset = self.at(path).data, int(more[0])
            written = bytes.fromhex(more[1])
            data.extend(bytes(max(0, offset + len(written) - len(data))))
            data[offset : offset + len(written)] = written
            return
        if what == "truncate":
            data, size = self.at(path).data, int(more[0])
            data[size:] = bytes(max(0, size - len(data)))
            return
        folder, name = self.place(path)
        if what == "create":
            folder.entries[name] = File()
        elif what == "mkdir":
            folder.entries[name] = Folder()
        elif what == "unlink":
            del folder.entries[name]
        elif what == "rename":
            to, new = self.place(more[0])
            to.entries[new] = folder.entries.pop(name)
        else:
            raise Wrong(f"unknown call {what}")

    def write(self, target: Path, names: bool, contents: bool, node: Folder | None = None) -> None:
        """Builds the tree; what was not synced is left out of names, or of contents, unless told otherwise."""
        node = node or self.top
        target.mkdir()
        for name, entry in (node.entries if names else node.synced).items():
            if isinstance(entry, Folder):
                self.write(target / name, names, contents, entry)
            else:
                (target / name).write_bytes(entry.data if contents else entry.synced)


class Run:
    def __init__(self, program: Path, work: Path) -> None:
        self.program, self.work = program, work
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        self.tokens = work / "tokens.bin"
        self.tokens.write_bytes(array("H", (i * i % 32 for i in range(500))).tobytes())
        self.recorder = build_recorder(work)
        self.train("--steps", STEPS, "--save", work / "whole")
        self.whole = (work / "whole").read_bytes()

    def train(self, *arguments: object, **environment: str) -> subprocess.CompletedProcess:
        command = [self.program, "--data", self.tokens, "--threads", "1", *arguments]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              env=os.environ | environment, timeout=60)
        if done.returncode != 0:
            raise Wrong(f"exit code {done.returncode}: {done.stderr}")
        return done

    def record(self, root: Path, *arguments: object) -> list[str]:
        calls = self.work / "calls"
        calls.unlink(missing_ok=True)
        self.train("--checkpoint-dir", root / "c", *arguments, LD_PRELOAD=str(self.recorder), CALLS_OUT=str(calls),
                   CALLS_ROOT=str(root))
        return calls.read_text().splitlines()

    def goes_on(self, state: Path, committed: int, what: str) -> None:
        """A run goes on in `state` and ends as it should."""
        done = self.train("--steps", STEPS, "--checkpoint-dir", state / "c", "--resume", "--save", self.work / "w")
        after = re.search(r"resume: after step (\d+)", done.stdout)
        if (int(after[1]) if after else 0) < committed:
            seen = after[0] if after else "afresh"
            raise Wrong(f"{what}: step {committed} was committed, and the run goes on {seen}")
        if (self.work / "w").read_bytes() != self.whole:
            raise Wrong(f"{what}: other bits")
        names = sorted(path.name for path in (state / "c").iterdir())
        if [name for name in names if not re.fullmatch(r"flags\.json|latest|step-\d{8}", name)] or len(names) > 4:
            raise Wrong(f"{what}: leaves {names}")


def failures(run: Run, every: int) -> tuple[int, int]:
    """Calls, and states built from them."""
    root = run.work / "root"
    root.mkdir()
    calls = run.record(root, "--steps", STEPS, "--checkpoint-every", 2)
    disk, committed, renamed, states = Disk(root), 0, 0, 0
    for number, call in enumerate(calls):
        disk.apply(call)
        if found := re.fullmatch(r"rename \S+ \S+/step-(\d+)", call):
            renamed = int(found[1])
        if call == f"sync {root}/c":
            committed = renamed
        if number % every:
            continue
        for names, contents in ((True, True), (True, False), (False, False)):
            state = run.work / "state"
            disk.write(state, names, contents)
            run.goes_on(state, committed, f"call {number + 1} ({call[:200]}), names {names}, contents {contents}")
            shutil.rmtree(state)
            states += 1
    if committed != STEPS:
        raise Wrong(f"step {committed} was committed last, expected {STEPS}")
    return len(calls), states


def without_exchange(run: Run) -> None:
    """The newest checkpoint is damaged, and the run saves at its step again."""
    folder = run.work / "damaged"
    folder.mkdir()
    run.train("--steps", 4, "--checkpoint-every", 2, "--checkpoint-dir", folder / "c")
    state = folder / "c" / "step-00000004" / "state.safetensors"
    state.write_bytes(state.read_bytes()[:-1])
    done = run.train("--steps", 4, "--checkpoint-dir", folder / "c", "--resume", LD_PRELOAD=str(run.recorder),
                     CALLS_NO_EXCHANGE="1")
    if "the one before it is tried" not in done.stderr:
        raise Wrong(f"the damage was not noticed: {done.stderr}")
    run.goes_on(folder, 4, "after a damaged checkpoint")


def without_listing(run: Run) -> None:
    """The names of checkpoints cannot be read."""
    folder = run.work / "unlisted"
    folder.mkdir()
    run.train("--steps", 4, "--checkpoint-dir", folder / "c")
    for more in ["--resume"], []:
        try:
            done = run.train("--steps", STEPS, "--checkpoint-dir", folder / "c", *more, LD_PRELOAD=str(run.recorder),
                             CALLS_ROOT=str(folder), CALLS_LIST_FAILS="1")
        except Wrong as wrong:
            if f"error: {folder}/c: cannot be read: Input/output error" not in str(wrong):
                raise
        else:
            raise Wrong(f"an I/O error was not noticed: {done.stdout}")
    run.goes_on(folder, 4, "after an I/O error")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=1, metavar="N")
    options = parser.parse_args()
    try:
        run = Run(Path(shutil.which(options.program) or options.program).resolve(), options.folder.resolve())
        calls, states = failures(run, options.every)
        without_exchange(run)
        without_listing(run)
    except Wrong as wrong:
        print(f"wrong: {wrong}")
        return 1
    print(f"{calls} calls, {states} states: each goes on to the same bits; no RENAME_EXCHANGE needed")
    shutil.rmtree(options.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
