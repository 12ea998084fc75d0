"""hone report: what the compiler's report of a run says in short, with a profile of its program or another report
beside it."""

from __future__ import annotations

import argparse
import json
import webbrowser
from pathlib import Path
from typing import Any, Sequence

from ..errors import HoneError
from .command import Parser, show, table
from .report_page import measured, read_page, read_report, seconds_of, worst_ratios, write_page
from .runs import open_run
from .tools import run as run_tool
from .train import data_words, launcher


def main(argv: Sequence[str]) -> int:
    arguments = _parser().read(argv)
    folder = _folder(Path(arguments.run))
    page = folder / "index.html"
    if not page.is_file():
        raise HoneError(f"{page}: no such file; hone train writes the report when it starts a run")
    if (folder / "pipeline.json").is_file():
        return _show_stages(arguments, folder)
    report = read_report(folder)
    # New keys come without a new schema: an older honec wrote no `costliest`.
    found: dict[str, Any] = {"report": str(page), "data": str(folder / "report.json"),
                             "seconds": report["step"]["seconds"], "costliest": report.get("costliest", []),
                             "advice": report["advice"]}
    profile = folder / "profile.json"
    if arguments.profile == "":
        _time(arguments, profile)
    elif arguments.profile is not None:
        profile = Path(arguments.profile)
    if arguments.profile is not None or arguments.compare is not None:
        data = read_page(page)
        if arguments.profile is not None:
            data["measured"] = measured(profile, data)
            found["worst"] = worst_ratios(data, data["measured"], 5)
            found["measured"] = seconds_of(data, range(len(data["launches"])))
            for row in found["costliest"]:
                row["measured"] = seconds_of(data, row["launches"])
        if arguments.compare is not None:
            data["other"] = read_report(Path(arguments.compare))
            found["other"] = {"run": arguments.compare, "seconds": data["other"]["step"]["seconds"]}
        write_page(page, data)
    if profile.is_file():
        found["profile"] = str(profile)
    show(arguments, found, _described(found))
    if arguments.open:
        webbrowser.open(page.resolve().as_uri())
    return 0


def _folder(path: Path) -> Path:
    """That of the report: of honec --report=DIR, or of a run."""
    is_report = any((path / name).is_file() for name in ("report.json", "pipeline.json"))
    return path if is_report else open_run(path).report


def _show_stages(arguments: argparse.Namespace, folder: Path) -> int:
    """What a pipeline's stages do together; each has a report of its own."""
    if arguments.profile is not None or arguments.compare is not None:
        raise HoneError(
            f"{folder}: is of a pipeline, --profile and --compare are for a program of one stage; hone report "
            f"{folder / 'stage0'} describes a stage"
        )
    data = json.loads((folder / "pipeline.json").read_text(encoding="utf-8"))
    stages = [
        {"stage": index, "report": str(folder / stage["report"]), "work": stage["work_seconds"],
         "idle": stage["idle_seconds"], "arena": stage["arena"]}
        for index, stage in enumerate(data["stages"])
    ]
    found = {"report": str(folder / "index.html"), "data": str(folder / "pipeline.json"), "schedule": data["schedule"],
             "seconds": data["seconds"], "bubble": data["bubble"], "stages": stages}
    rows = [["stage", "work ms", "idle ms", "arena MiB"]]
    rows += [[str(row["stage"]), f"{1e3 * row['work']:.3f}", f"{1e3 * row['idle']:.3f}", f"{row['arena'] / 2**20:.2f}"]
             for row in stages]
    lines = [
        f"report   {found['report']}", f"data     {found['data']}",
        f"step     {_milliseconds(found)} ms (estimated), schedule {data['schedule']}, bubble {100 * data['bubble']:.1f} %",
        "", table(rows), "", f"hone report {folder / 'stage0'} says which modules take most of a stage, and what would help",
    ]
    show(arguments, found, "\n".join(lines))
    if arguments.open:
        webbrowser.open((folder / "index.html").resolve().as_uri())
    return 0


def _time(arguments: argparse.Namespace, profile: Path) -> None:
    """Three steps of the run's program, timed."""
    run = open_run(Path(arguments.run))
    file = run.file()
    # Labels and tokens of training; weights do not change how long a step takes.
    words = [word for word in data_words(file, Path(run.facts()["package"])) if not word.startswith("--val")]
    inputs = [f"--input={each}" for each in _list(file.get("data", "input"))]
    threads = file.get("train", "threads")
    words += [f"--threads={threads}"] if threads else []
    words += [*inputs, "--steps=3", f"--profile={profile}", "--quiet"]
    run_tool(arguments, [*launcher(file), run.program.resolve(), *words])


def _described(found: dict[str, Any]) -> str:
    step = f"step     {_milliseconds(found)} ms (estimated)"
    if "measured" in found:
        step += f", {1e3 * found['measured']:.3f} ms in launches (measured)"
    if other := found.get("other"):
        ratio = found["seconds"] / other["seconds"] if other["seconds"] else float("nan")
        step += f", {other['run']} {_milliseconds(other)} ms: ratio {ratio:.3f}"
    lines = [*(f"{name:<8} {found[name]}" for name in ("report", "data", "profile") if name in found), step]
    if found["costliest"]:
        times = ["measured ms"] if "measured" in found else []
        rows = [["module", *times, "estimated ms", "share"]]
        for row in found["costliest"]:
            times = [f"{1e3 * row['measured']:.3f}"] if "measured" in found else []
            share = row["measured"] / found["measured"] if found.get("measured") else row["share"]
            rows.append([row["module"], *times, _milliseconds(row), f"{100 * share:.1f} %"])
        lines += ["", table(rows)]
    if found["advice"]:
        lines += ["", "What would help (a flag of honec is a key of [compile]):"]
        lines += [f"  {row['flag']}: {row['text']}" for row in found["advice"]]
    if "worst" in found:
        rows = [["launch", "measured ms", "estimated ms", "ratio"]]
        rows += [
            [row["name"], *(f"{1e3 * row[key]:.3f}" for key in ("measured", "estimated")),
             f"{row['measured'] / row['estimated']:.1f}"]
            for row in found["worst"]
        ]
        lines += ["", "Launches that take longer than estimated, by the ratio:", table(rows)]
    return "\n".join(lines)


def _milliseconds(row: dict[str, Any]) -> str:
    return f"{1e3 * row['seconds']:.3f}"


def _parser() -> Parser:
    parser = Parser(
        "report",
        "Prints where the compiler's report of a run is (docs/report.md), which modules take most of a step, and what "
        "would help.",
    )
    parser.add_argument("run", metavar="RUN", help="the folder of a run, or of honec --report=DIR")
    parser.add_argument("--open", action="store_true", help="open it in a browser")
    parser.add_argument(
        "--profile", metavar="TRACE", nargs="?", const="",
        help="put measured times beside the estimates: of the program's --profile=TRACE, or of three steps timed now",
    )
    parser.add_argument("--compare", metavar="OTHER", help="put another run's or folder's report beside it, by module")
    parser.add_json()
    return parser


def _list(value: object) -> list:
    return [] if value is None else value if isinstance(value, list) else [value]
