"""hone compare: a table of runs, what their run files have different, and their loss curves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Sequence

from ..errors import HoneError
from .command import Parser, show, table
from .curves import curve_of, draw
from .runs import Run, open_run


def main(argv: Sequence[str]) -> int:
    arguments = _parser().read(argv)
    # hone sweep keeps its curves beside its runs, so SWEEP/* names them too.
    named = [path for path in arguments.runs if not (path.endswith(".svg") and Path(path).is_file())]
    runs = [open_run(path) for path in named or arguments.runs]
    result = compared(runs)
    result["curves"] = write_curves(runs, Path(arguments.o))
    show(arguments, result, described(result))
    return 0


def compared(runs: Sequence[Run]) -> dict[str, Any]:
    """The summary of each run with the keys in which they differ, and the best run."""
    files = [run.file().values() for run in runs]
    # The name of a run, and the folder of its curves, say nothing about it.
    keys = [key for key in sorted(set().union(*files)) if key.rpartition(".")[2] not in ("name", "tensorboard")]
    different = [key for key in keys if any(file.get(key) != files[0].get(key) for file in files)]
    rows = [
        run.summary() | {"keys": {key: file.get(key) for key in different}} for run, file in zip(runs, files)
    ]
    losses = [(row["best_val_loss"] if row["best_val_loss"] is not None else row["loss"]) for row in rows]
    if any(row["best_val_loss"] is None for row in rows):  # one measure for all
        losses = [row["loss"] for row in rows]
    finished = [loss for loss in losses if loss is not None]
    best = losses.index(min(finished)) if finished else None
    return {"runs": rows, "best": str(runs[best].folder) if best is not None else None}


def described(result: dict[str, Any]) -> str:
    """As a table; the best run has a star."""
    rows = result["runs"]
    keys = list(rows[0]["keys"])
    lines = [["", "run", *keys, "steps", "loss", "val loss", "best val", "ms/step", "tok/s"]]
    for row in rows:
        mark = "*" if row["run"] == result["best"] and len(rows) > 1 else ""
        values = [_key(row["keys"][key]) for key in keys]
        numbers = [_number(row[name], 4) for name in ("loss", "val_loss", "best_val_loss")]
        speeds = [_number(row["ms"], 1), _number(row["tokens_per_s"], 0)]
        lines.append([mark, row["run"], *values, str(row["steps"]), *numbers, *speeds])
    text = table(lines)
    return text + (f"\n{result['curves']}" if result.get("curves") else "")


def _groups(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs that differ in their seed alone."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        values = {key: value for key, value in run.file().values().items()
                  if key.rpartition(".")[2] not in ("name", "tensorboard", "seed")}
        groups.setdefault(json.dumps(values, sort_keys=True), []).append(run)
    return list(groups.values())


def write_curves(runs: Sequence[Run], path: Path) -> str | None:
    """Nothing is written where no log has a loss."""
    curves = [
        curve_of(same[0].folder.name, [{key: run.curve(key) for key in ("loss", "val_loss")} for run in same])
        for same in _groups(runs)
    ]
    curves = [curve for curve in curves if any(curve.lines.values())]
    if not curves:
        return None
    try:
        path.write_text(draw("Loss of " + ", ".join(curve.name for curve in curves[:4]), curves), encoding="utf-8")
    except OSError as error:
        raise HoneError(f"{path}: cannot be written: {error.strerror}") from None
    return str(path)


def _parser() -> Parser:
    parser = Parser("compare", "Prints a table of runs and draws their loss curves. The best run has a star.")
    parser.add_argument("runs", metavar="RUN", nargs="+", help="folders of runs")
    parser.add_argument("-o", metavar="FILE.svg", default="compare.svg", help="the curves (default compare.svg)")
    parser.add_json()
    return parser


def _key(value: Any) -> str:
    return "-" if value is None else value if isinstance(value, str) else json.dumps(value)


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
