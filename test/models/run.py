#!/usr/bin/env python3
"""Trains the models of the catalogue with Hone beside PyTorch or JAX, and records a line of JSON for each.

    run.py [--only PATTERN] [--kind KIND]... [--sample] [--jobs N] [--limit SECONDS] [--memory GIB] [--again | --retry]
           [--results FILE] [--expected FILE] [--keep] [--list]

Every model runs in a process of its own that ends at its limits, so that none can hold up the others. Models whose line
is in the results already are left out, so an interrupted run goes on where it was; --retry takes those that were not
equal again, --again all. The exit code is 1 if a model does worse than the expected results say (docs/models.jsonl).
After a run, tools/models-table.py writes docs/models.md. trial.py says what is compared.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Callable

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded: see warm_up
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT / "python_frontend"),
                str(ROOT / "python_frontend" / "examples")]

from catalogue import NEEDS, Entry, catalogue  # noqa: E402
from catalogue.libraries import is_installed, prepare  # noqa: E402
from programs import Row  # noqa: E402
from trial import run_trial  # noqa: E402

# What is done with one model: fills the row; the last argument is told the name of each stage as it begins.
Run = Callable[[Entry, Path, str, Row, Callable[[str], None]], None]

WAIT = 5  # a model may wait for the processor, or for something that never comes, so many times its limit


@dataclass
class Child:
    """A model under way."""

    entry: Entry
    process: multiprocessing.Process
    messages: Connection
    deadline: float
    stage: str = "start"
    row: Row | None = None


def child_main(run: Run, entry: Entry, work: Path, honec: str, memory: int, seconds: int, messages: Connection) -> None:
    """Runs one trial in its own process group, with all that it prints in WORK/log."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    log = os.open(work / "log", os.O_CREAT | os.O_WRONLY, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    row: Row = {}
    try:
        run(entry, work, honec, row, messages.send)
    except BaseException as error:  # of the harness, or MemoryError
        row |= {"result": "harness fails", "reason": f"{type(error).__name__}: {error}"}
    messages.send(row)


def started(entry: Entry, arguments: argparse.Namespace, run: Run = run_trial) -> Child:
    work = arguments.work / entry.name
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    ours, theirs = multiprocessing.Pipe(duplex=False)
    memory = int(arguments.memory * 2**30)
    process = multiprocessing.get_context("fork").Process(
        target=child_main, args=(run, entry, work, arguments.honec, memory, int(arguments.limit), theirs)
    )
    process.start()
    theirs.close()
    return Child(entry, process, ours, time.monotonic() + WAIT * arguments.limit)


def read_messages(child: Child) -> None:
    try:
        while child.messages.poll():
            message = child.messages.recv()
            if isinstance(message, str):
                child.stage = message
            else:
                child.row = message
    except EOFError:
        pass


def finished(child: Child, arguments: argparse.Namespace) -> Row | None:
    """The model's row once it has ended or is past its limit; leaves no process of it behind."""
    read_messages(child)
    late = time.monotonic() > child.deadline
    if child.process.is_alive() and child.row is None and not late:
        return None
    try:
        os.killpg(child.process.pid, signal.SIGKILL) if child.row is None else None
    except ProcessLookupError:
        pass
    child.process.join()
    read_messages(child)
    row: Row = {"name": child.entry.name, "kind": child.entry.kind}
    if child.row is not None:
        row |= child.row
    elif late or child.process.exitcode == -signal.SIGXCPU:
        row |= {"result": "timeout", "reason": f"{child.stage} had not ended after {arguments.limit:g} s"}
    else:
        code = child.process.exitcode or 0
        end = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        row |= {"result": "crash", "reason": f"Python ends with {end} in {child.stage}"}
    if not arguments.keep:
        shutil.rmtree(arguments.work / child.entry.name, ignore_errors=True)
    return row


def warm_up() -> None:
    """Loads once what every model needs, so that the children, which are forks, start with it."""
    prepare()
    import contextlib
    import io
    import tempfile

    import hone
    import torch
    import transformers.masking_utils  # noqa: F401
    import transformers.models.llama.modeling_llama  # noqa: F401

    torch.set_num_threads(1)  # a fork has none of its parent's threads
    loss = lambda model, x: model(x).square().mean()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        hone.export(torch.nn.Linear(2, 2), loss, (torch.zeros(1, 2),), {"name": "sgd", "lr": 0.1}, f"{folder}/m.hone")
    if (threads := len(os.listdir("/proc/self/task"))) != 1:
        raise RuntimeError(f"expected one thread before children are forked, got {threads}")


def in_turn(entries: list[Entry]) -> list[Entry]:
    """One of each kind, then a second of each: a run that is broken off says something about all."""
    place: dict[str, int] = {}
    keys = []
    for entry in entries:
        place[entry.kind] = place.get(entry.kind, -1) + 1
        keys.append(place[entry.kind])
    return [entry for _, entry in sorted(zip(keys, entries), key=lambda pair: pair[0])]


def read_rows(path: Path) -> dict[str, Row]:
    """The last line of each model."""
    if not path.exists():
        return {}
    rows = (json.loads(line) for line in path.read_text().splitlines() if line.endswith("}"))
    return {row["name"]: row for row in rows}


def write_rows(path: Path, rows: dict[str, Row], order: list[str]) -> None:
    """One line per model, in the catalogue's order."""
    text = "".join(json.dumps(rows[name]) + "\n" for name in order if name in rows)
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


def chosen(arguments: argparse.Namespace, rows: dict[str, Row], expected: dict[str, Row]) -> list[Entry]:
    pattern = arguments.only if any(c in arguments.only for c in "*?[") else f"*{arguments.only}*"
    kept = [e for e in catalogue().values() if fnmatch.fnmatchcase(e.name, pattern)]
    kept = [e for e in kept if not arguments.kind or e.kind in arguments.kind]
    if arguments.sample:
        kept = sample(kept, expected)
    for kind, package in NEEDS.items():
        if not is_installed(package) and any(e.kind == kind for e in kept):
            print(f"{kind} left out: {package} is not installed (HONE_MODELS=1 tools/setup.sh)", flush=True)
            kept = [e for e in kept if e.kind != kind]
    if arguments.again:
        return kept
    done = {name for name, row in rows.items() if not arguments.retry or row["result"] == "equal"}
    return [e for e in kept if e.name not in done]


def sample(entries: list[Entry], expected: dict[str, Row]) -> list[Entry]:
    """The first model of each kind that is expected to be equal, or the first of the kind."""
    first: dict[str, Entry] = {}
    for entry in entries:
        is_better = expected.get(entry.name, {}).get("result") == "equal"
        if entry.kind not in first or is_better > (expected.get(first[entry.kind].name, {}).get("result") == "equal"):
            first[entry.kind] = entry
    return list(first.values())


def is_worse(row: Row, expected: Row | None) -> bool:
    """Whether a model that was equal is not, or one that was refused ends in another way."""
    if row["result"] == "equal" or (expected is not None and row["result"] == expected["result"]):
        return False
    return (expected is not None and expected["result"] == "equal") or not row["result"].startswith("refused")


def described(row: Row) -> str:
    if row["result"] == "equal":
        return f"equal, {row['difference']:.1e}; step {row['hone_ms']:g} ms, its framework's {row['eager_ms']:g} ms"
    return f"{row['result']}: {row['reason']}"


def run_all(
    todo: list[Entry], arguments: argparse.Namespace, run: Run = run_trial, describe: Callable[[Row], str] = described
) -> list[Row]:
    """Runs `jobs` models at a time and appends each row to the results as it comes."""
    waiting, running, rows = list(todo), [], []
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    with open(arguments.results, "a") as results:
        while waiting or running:
            while waiting and len(running) < arguments.jobs:
                running.append(started(waiting.pop(0), arguments, run))
            wait([c.messages for c in running] + [c.process.sentinel for c in running], timeout=1)
            for child in list(running):
                row = finished(child, arguments)
                if row is None:
                    continue
                running.remove(child)
                rows.append(row)
                results.write(json.dumps(row) + "\n")
                results.flush()
                print(f"{row['kind']:20s} {row['name']:36s} {describe(row)[:200]}", flush=True)
    return rows


def make_parser(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*", help="names: a pattern with * and ?, or a part of the name")
    parser.add_argument("--kind", action="append", help="may be given several times")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=120, help="seconds of processor time of a process")
    parser.add_argument("--memory", type=float, default=6, help="GiB for one process")
    parser.add_argument("--again", action="store_true", help="also models whose result is known")
    parser.add_argument("--retry", action="store_true", help="also models whose result is known and not equal")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "models" / "results.jsonl")
    parser.add_argument("--expected", type=Path, default=ROOT / "docs" / "models.jsonl")
    parser.add_argument("--sample", action="store_true", help="one model of each kind")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "models" / "work")
    parser.add_argument("--honec", default=str(ROOT / "build" / "bin" / "honec"))
    parser.add_argument("--keep", action="store_true", help="keep packages, programs and logs under --work")
    parser.add_argument("--list", action="store_true", help="print names and kinds, and stop")
    return parser


def parsed(argv: list[str]) -> argparse.Namespace:
    return make_parser(__doc__).parse_args(argv)


def main(argv: list[str]) -> int:
    arguments = parsed(argv)
    expected = read_rows(arguments.expected)
    todo = chosen(arguments, read_rows(arguments.results), expected)
    if arguments.list:
        print("\n".join(f"{entry.kind:20s} {entry.name}" for entry in todo))
        return 0
    warm_up()
    ran = run_all(in_turn(todo), arguments)
    write_rows(arguments.results, read_rows(arguments.results), list(catalogue()))
    equal = sum(row["result"] == "equal" for row in ran)
    print(f"{equal} of {len(ran)} models train as they do in PyTorch or JAX")
    worse = [row for row in ran if is_worse(row, expected.get(row["name"]))]
    for row in worse:
        wanted = expected.get(row["name"], {"result": "equal"})["result"]
        print(f"{row['name']}: expected {wanted}, got {described(row)}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
