"""The folder of a run, as hone train keeps it."""

from __future__ import annotations

import json
import math
import shlex
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import HoneError
from .run_file import RunFile, read_run_file

Point = tuple[int, float]


@dataclass(frozen=True)
class Run:
    folder: Path

    @property
    def program(self) -> Path:
        return self.folder / "train"

    @property
    def report(self) -> Path:
        return self.folder / "report"

    @property
    def log(self) -> Path:
        return self.folder / "log.jsonl"

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def saved(self) -> Path:
        """The weights at the end."""
        return self.folder / "weights.safetensors"

    @property
    def data(self) -> Path:
        """The folder of tokens.json and the package, as JSON: what generating needs besides run.toml."""
        return self.folder / "data.json"

    @property
    def environment(self) -> dict[str, str]:
        """Of its program, whose last line says how to go on."""
        return {"HONE_RESUME": shlex.join(["hone", "train", "--resume", str(self.folder)])}

    def facts(self) -> dict[str, Any]:
        try:
            return json.loads(self.data.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise HoneError(f"{self.folder}: is not a run, expected a folder that hone train made") from None

    def file(self) -> RunFile:
        return read_run_file(self.folder / "run.toml")

    def newest_checkpoint(self) -> Path | None:
        """Its folder, step-N."""
        try:
            path = self.checkpoints / (self.checkpoints / "latest").read_text().strip()
        except OSError:
            return None
        return path if (path / "state.safetensors").is_file() else None

    def steps_done(self) -> int | None:
        """Up to the newest checkpoint."""
        newest = self.newest_checkpoint()
        return int(newest.name.removeprefix("step-")) if newest else None

    def weights(self) -> Path:
        """The newest that there are."""
        newest = self.newest_checkpoint()
        found = [path for path in (newest and newest / "state.safetensors", self.saved) if path and path.is_file()]
        if not found:
            raise HoneError(f"{self.folder}: has no weights yet, expected a run that has ended or saved a checkpoint")
        return max(found, key=lambda path: path.stat().st_mtime_ns)

    def has_begun(self) -> bool:
        return self.checkpoints.is_dir() and any(self.checkpoints.glob("step-*")) or self.saved.exists()

    def curve(self, key: str) -> list[Point]:
        """The points of a key of the log, without what is not finite."""
        return [
            (row["step"], row[key])
            for row in self.rows()
            if isinstance(row.get(key), (int, float)) and math.isfinite(row[key])
        ]

    def rows(self) -> list[dict[str, Any]]:
        """The lines of the log that belong to a step."""
        found = []
        try:
            with open(self.log, encoding="utf-8", errors="replace") as file:
                for line in file:
                    try:
                        row = json.loads(line)
                    except ValueError:
                        continue  # the end of a log that is being written
                    if isinstance(row, dict) and isinstance(row.get("step"), int):
                        found.append(row)
        except OSError:
            pass
        return found

    def summary(self) -> dict[str, Any]:
        """What a table shows of the run; None: the log does not say."""
        losses, validations = self.curve("loss"), self.curve("val_loss")
        best = min(validations, key=lambda point: point[1], default=None)
        # At its end a run logs the medians of its steps; before, there are those steps that are logged.
        times, speeds = (
            [value for _, value in self.curve(f"median_{key}")][-1:] or [value for _, value in self.curve(key)]
            for key in ("ms", "tokens_per_s")
        )
        return {
            "run": str(self.folder),
            "steps": max((step for step, _ in losses), default=0),
            "loss": losses[-1][1] if losses else None,
            "val_loss": validations[-1][1] if validations else None,
            "best_val_loss": best[1] if best else None,
            "best_step": best[0] if best else None,
            "ms": statistics.median(times) if times else None,
            "tokens_per_s": statistics.median(speeds) if speeds else None,
        }


def open_run(path: str | Path) -> Run:
    run = Run(Path(path))
    if not (run.folder / "run.toml").is_file():
        hint = ", such as runs/NAME"
        if any(run.folder.glob("*/run.toml")):
            hint = f"; it holds some: {path}/*"
        raise HoneError(f"{path}: is not a run, expected a folder that hone train made{hint}")
    return run
