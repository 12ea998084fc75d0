"""hone sweep: a run for each combination of values, by hone train, and a table of them."""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Sequence

from ..errors import HoneError
from .command import Parser, Usage, show, show_command
from .compare import compared, described, write_curves
from .run_file import RunFile, read_run_file
from .runs import Run
from .train import prepare, resume


def main(argv: Sequence[str]) -> int:
    arguments = _parser().read(argv)
    file = read_run_file(arguments.file)
    if not arguments.changes:
        raise Usage("no values, expected KEY=VALUE,VALUE,...; see hone sweep --help")
    folder = Path(arguments.runs) / ((file.get("", "name") or Path(arguments.file).stem) + "-sweep")
    values = [_values(change) for change in arguments.changes]
    points = []
    for combination in itertools.product(*values):
        point = file.copy()
        for change in combination:
            point.change(change)
        varied = [change for change, all_values in zip(combination, values) if len(all_values) > 1] or combination
        run = Run(folder / ",".join(varied).replace("/", "_"))
        point.put_curves_below(run.folder.name)
        points.append((point, run))
    # All are compiled before one trains, so that a mistake in the last does not wait for the others.
    commands = [_command(arguments, point, run) for point, run in points]
    for (_, run), command in zip(points, commands):
        if command is None:
            continue
        print(f"== {run.folder}", file=sys.stderr, flush=True)
        code = _train(arguments, run, command)
        if code:
            raise HoneError(
                f"{run.folder}: ended with code {code} (see above); when that is repaired, the same command goes on"
            )
    runs = [run for _, run in points]
    result = compared(runs)
    result["curves"] = write_curves(runs, folder / "compare.svg")
    show(arguments, result, described(result))
    return 0


def _values(change: str) -> list[str]:
    """KEY=A,B as KEY=A and KEY=B."""
    key, equals, values = change.partition("=")
    found = [value.strip() for value in values.split(",")]
    if not equals or not all(found):
        raise HoneError(f"'{change}': expected KEY=VALUE,VALUE,...")
    return [f"{key}={value}" for value in dict.fromkeys(found)]


def _command(arguments: argparse.Namespace, point: RunFile, run: Run) -> list[str] | None:
    """What starts a run, or goes on with it; None: it is done."""
    if not run.has_begun():
        return prepare(arguments, point, run)
    held, given = run.file().values(), point.values()
    for key in sorted(held.keys() | given.keys()):
        if held.get(key) != given.get(key):
            raise HoneError(
                f"{run.folder}: was made with {key} {held.get(key)}, {arguments.file} says {given.get(key)}; expected "
                "equal ones, or another name (name = \"OTHER\")"
            )
    return None if run.steps_done() == point.get("train", "steps") else resume(arguments, run, [])


def _train(arguments: argparse.Namespace, run: Run, command: Sequence[str]) -> int:
    """Ctrl-C is for the program, which saves and ends."""
    show_command(arguments, command)
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.run(command, stdout=sys.stderr, env=os.environ | run.environment).returncode
    except OSError as error:
        raise HoneError(f"{command[0]}: cannot be run: {error.strerror}") from None
    finally:
        signal.signal(signal.SIGINT, before)


def _parser() -> Parser:
    parser = Parser(
        "sweep",
        "Trains once for each combination of values, in runs/NAME-sweep/KEY=VALUE, with one program where no key of "
        "[compile] differs. Given again, the command goes on with what is left. The best run of the table has a star.",
    )
    parser.add_argument("file", metavar="RUN.toml", help="the run file")
    parser.add_argument("changes", metavar="KEY=VALUE,...", nargs="*", help="values of a key, such as lr=3e-4,1e-3")
    parser.add_argument("--runs", metavar="DIR", default="runs", help="where the folders of runs are (default runs)")
    parser.add_json()
    return parser
