"""hone report: the compiler's report of a run, and a profile of its program beside it."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Sequence

from ..errors import HoneError
from .command import Parser, show
from .runs import open_run
from .tools import run as run_tool
from .train import data_words, launcher


def main(argv: Sequence[str]) -> int:
    arguments = _parser().read(argv)
    run = open_run(arguments.run)
    page, profile = run.report / "index.html", run.report / "profile.json"
    if not page.is_file():
        raise HoneError(f"{page}: no such file; hone train writes the report when it starts a run")
    if arguments.profile:
        file = run.file()
        # Labels and tokens of training; weights do not change how long a step takes.
        words = [word for word in data_words(file, Path(run.facts()["package"])) if not word.startswith("--val")]
        inputs = [f"--input={each}" for each in _list(file.get("data", "input"))]
        words += [*inputs, "--steps=3", f"--profile={profile}", "--quiet"]
        run_tool(arguments, [*launcher(file), run.program.resolve(), *words])
    found = {"report": str(page), "data": str(run.report / "report.json")}
    if profile.is_file():
        found["profile"] = str(profile)
    show(arguments, found, "\n".join(f"{name:<8} {path}" for name, path in found.items()))
    if arguments.open:
        webbrowser.open(page.resolve().as_uri())
    return 0


def _parser() -> Parser:
    parser = Parser("report", "Prints where the compiler's report of a run is (docs/report.md).")
    parser.add_argument("run", metavar="RUN", help="the folder of a run")
    parser.add_argument("--open", action="store_true", help="open it in a browser")
    parser.add_argument("--profile", action="store_true", help="time three steps: a Chrome trace beside the report")
    parser.add_json()
    return parser


def _list(value: object) -> list:
    return [] if value is None else value if isinstance(value, list) else [value]
