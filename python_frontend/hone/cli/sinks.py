"""Where hone watch sends a log. A library is imported when it is asked for."""

from __future__ import annotations

import json
import secrets
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Mapping, Protocol

from ..errors import HoneError


class Sink(Protocol):
    name: str
    keeps: bool
    """Whether it keeps what it got, so that nothing may be sent twice."""

    def start(self, name: str, id: str | None, config: Mapping[str, Any]) -> str | None:
        """Begins a run, or goes on with run `id`. Returns the id."""

    def log(self, step: int, numbers: Mapping[str, float]) -> None: ...

    def finish(self, end: str | None) -> None:
        """`end`: why the run ended, as its log has it; None: it has not."""


class Jsonl:
    """Standard output."""

    name = "standard output"
    keeps = False

    def __init__(self, folder: Path, project: str) -> None:
        pass

    def start(self, name: str, id: str | None, config: Mapping[str, Any]) -> None:
        self._print({"run": name, "config": config})

    def log(self, step: int, numbers: Mapping[str, float]) -> None:
        self._print({"step": step, **numbers})

    def finish(self, end: str | None) -> None:
        if end is not None:
            self._print({"end": end})

    def _print(self, row: Mapping[str, Any]) -> None:
        print(json.dumps(row, ensure_ascii=False), flush=True)


class Wandb:
    """Weights & Biases. Its files are in the folder of the run."""

    name = "wandb"
    keeps = True

    def __init__(self, folder: Path, project: str) -> None:
        self._wandb = _library("wandb")
        self._folder, self._project = folder, project

    def start(self, name: str, id: str | None, config: Mapping[str, Any]) -> str:
        id = id or secrets.token_hex(4)
        self._wandb.init(
            project=self._project, name=name, id=id, resume="allow", config=dict(config), dir=str(self._folder)
        )
        return id

    def log(self, step: int, numbers: Mapping[str, float]) -> None:
        self._wandb.log(dict(numbers), step=step)

    def finish(self, end: str | None) -> None:
        self._wandb.finish(exit_code=0 if end == "done" else 1)


class Mlflow:
    """MLflow, where MLFLOW_TRACKING_URI says."""

    name = "mlflow"
    keeps = True

    def __init__(self, folder: Path, project: str) -> None:
        self._mlflow = _library("mlflow")
        self._project = project

    def start(self, name: str, id: str | None, config: Mapping[str, Any]) -> str:
        self._mlflow.set_experiment(self._project)
        if id is not None:
            self._mlflow.start_run(run_id=id)
            return id
        run = self._mlflow.start_run(run_name=name)
        self._mlflow.log_params(dict(config))
        return run.info.run_id

    def log(self, step: int, numbers: Mapping[str, float]) -> None:
        self._mlflow.log_metrics(dict(numbers), step=step)

    def finish(self, end: str | None) -> None:
        failed = end is not None and end.startswith("error")
        self._mlflow.end_run(status="FINISHED" if end == "done" else "FAILED" if failed else "KILLED")


SINKS: dict[str, Callable[[Path, str], Sink]] = {"jsonl": Jsonl, "wandb": Wandb, "mlflow": Mlflow}


def _library(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise HoneError(f"--to {name}: {name} is not installed; pip install {name}") from None
