#!/usr/bin/env python3
"""Fails if a training program allocates during its steps.

    allocations.py WORKDIR --package PKG [--limit BYTES] [honec options]    compiles a package
    allocations.py WORKDIR --program FILE [--limit BYTES]                   takes a program with ids from 0 to 31
    allocations.py WORKDIR --package PKG --text [--limit BYTES] ...         the package's --with=generate makes tokens

The arena and the library's workspace are allocated at start; a step allocates small things only (lines of the log, the
library's handles). The program trains STEPS steps, validating after every second, with a library preloaded that stands
in front of malloc and its like and of mmap (Inputs/allocations.c). No allocation of LIMIT bytes or more may come after
the first step, and the address space may not grow from the first step to the last line of the log. (On a CPU without
AVX-512 oneDNN's products allocate blocks of up to 64 KiB themselves, and free them.) The limit is 64 KiB, or what the
caller says: in a tiny model, 4 KiB are a tensor. A text of TOKENS tokens is watched in the same way, from the first.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent / "Inputs" / "allocations.c"
STEPS = 8
LINES = STEPS + STEPS // 2  # of the log
LIMIT = 1 << 16  # bytes
TOKENS = 12
COMPILERS = ("clang-19", "clang", "gcc", "cc")
# Address space that libraries may take for themselves late: a thread's stack, a heap of a thread that allocates little.
GROWTH = 256 * 1024


def build_watcher(work: Path) -> Path:
    """The library to preload."""
    library = work / "allocations.so"
    for compiler in COMPILERS:
        try:
            subprocess.run([compiler, "-O1", "-shared", "-fPIC", SOURCE, "-o", library], check=True)
            return library
        except FileNotFoundError:
            continue
    sys.exit(f"error: no C compiler, expected one of {', '.join(COMPILERS)}")


def watch(program: Path, arguments: list[object], work: Path, steps: int, limit: int = LIMIT,
          text: bool = False) -> Path:
    """Runs a program under the watcher; returns the stem of the files with what it saw. `text`: a step is a token."""
    stem = work / "watch"
    environment = os.environ | {"LD_PRELOAD": str(build_watcher(work)), "WATCH_OUT": str(stem),
                                "WATCH_STEPS": str(steps), "WATCH_BYTES": str(limit)}
    environment |= {"WATCH_STDOUT": "1"} if text else {}
    for old in work.glob("watch.*"):
        old.unlink()
    command = [str(word) for word in (program, *arguments)]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return stem


def status(stem: Path, when: str) -> dict[str, int]:
    """Sizes in /proc/self/status at that time, in bytes."""
    sizes = {}
    for line in stem.with_suffix(f".{when}").read_text().splitlines():
        words = line.split()
        if len(words) == 3 and words[2] == "kB":
            sizes.setdefault(words[0].rstrip(":"), int(words[1]) * 1024)
    return sizes


def vocabulary(package: Path) -> int:
    arguments = json.loads((package / "manifest.json").read_text())["arguments"]
    return min(entry["vocab"] for entry in arguments if "vocab" in entry)


def write_tokens(path: Path, vocab: int, count: int) -> None:
    path.write_bytes(b"".join((i * 7919 % vocab).to_bytes(2, "little") for i in range(count)))


def packs_for_itself(event: str) -> bool:
    """Whether it is a buffer of oneDNN's own: without AVX-512 its products pack blocks into memory that they allocate in
    each call. Such a block does not grow with the model."""
    _, function, count, caller, *_ = event.split() + [""]
    has_avx512 = " avx512f " in Path("/proc/cpuinfo").read_text()
    return not has_avx512 and function == "posix_memalign" and caller.startswith("libdnnl") and int(count) <= LIMIT


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--package", type=Path)
    parser.add_argument("--program", type=Path)
    parser.add_argument("--text", action="store_true")
    parser.add_argument("--limit", type=int, default=LIMIT)
    options, compiler_options = parser.parse_known_args()
    work = options.work
    work.mkdir(parents=True, exist_ok=True)
    program, vocab = options.program, 32
    if options.package:
        program, vocab = work / "train", vocabulary(options.package)
        compiler_options += ["--with=generate"] if options.text else []
        subprocess.run(["honec", options.package, "-o", program, *compiler_options], check=True)
    if options.text:
        return report(watch_text(program, work, options.limit), options.limit)
    write_tokens(work / "tokens.bin", vocab, 20000)
    log = work / "log.jsonl"
    tokens = work / "tokens.bin"
    arguments = ["--data", tokens, "--val-data", tokens, "--val-every", 2, "--val-batches", 2, "--steps", STEPS,
                 "--threads", 2, "--log", log, "--quiet"]
    stem = watch(program, arguments, work, LINES, options.limit)

    entries = [*map(json.loads, log.read_text().splitlines())]
    if (lines := sum("loss" in entry or "val_loss" in entry for entry in entries)) != LINES:
        sys.exit(f"error: {lines} lines in the log, expected {LINES}")
    return report(stem, options.limit)


def watch_text(program: Path, work: Path, limit: int) -> Path:
    # The prompt's line is step 0, the tokens follow.
    arguments = ["--prompt-ids", "3,1", "--temperature", "0", "--tokens-out", TOKENS, "--threads", 2, "--fresh", "--quiet"]
    return watch(program, arguments, work, TOKENS, limit, text=True)


def report(stem: Path, limit: int) -> int:
    """Prints what was seen; 1 if something was allocated."""
    *events, last = stem.with_suffix(".events").read_text().splitlines()
    events = [event for event in events if not packs_for_itself(event)]
    grown = status(stem, "last")["VmSize"] - status(stem, "1")["VmSize"]
    print(f"{last} bytes between steps, address space +{grown} bytes")
    for event in events[:20]:
        line, function, count, *callers = event.split()
        print(f"before line {line} of the log: {function} of {count} bytes by {' < '.join(callers)}")
    if grown > GROWTH:
        print(f"the address space grew by {grown} bytes from the first step to the last, expected at most {GROWTH}")
    if events or grown > GROWTH:
        return 1
    print(f"no allocation of {limit} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
