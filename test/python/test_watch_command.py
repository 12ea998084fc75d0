"""hone watch, with stand-ins for the libraries, of the documented signatures, that note how they are called."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, Iterable

import pytest
from hone.cli.runs import Run
from hone.cli.watch import Log
from test_train_command import RUN, losses, write_tokens

NOTE = """
import json, os
def _note(call, /, **arguments):
    with open(os.environ["CALLS"], "a") as file:
        file.write(json.dumps([call, arguments]) + chr(10))
"""
LIBRARIES = {
    "wandb": """
def init(entity=None, project=None, dir=None, id=None, name=None, notes=None, tags=None, config=None, resume=None):
    assert os.path.isdir(dir) and resume == "allow"
    _note("init", project=project, id=id, name=name, config=config)
def log(data, step=None, commit=None):
    if step == int(os.environ.get("FAIL_AT", -1)):
        raise RuntimeError("no network")
    _note("log", step=step, **data)
def finish(exit_code=None, quiet=None):
    _note("finish", exit_code=exit_code)
""",
    "mlflow": """
class _Info: run_id = "f00d"
class _Run: info = _Info()
def set_experiment(experiment_name=None, experiment_id=None): _note("set_experiment", name=experiment_name)
def start_run(run_id=None, experiment_id=None, run_name=None, nested=False):
    _note("start_run", run_id=run_id, run_name=run_name)
    return _Run()
def log_params(params, synchronous=None): _note("log_params", **params)
def log_metrics(metrics, step=None, synchronous=None): _note("log_metrics", step=step, **metrics)
def end_run(status="FINISHED"): _note("end_run", status=status)
""",
}
HEAD = {"run": "log", "config": {"lr": 0.001}, "model": "m", "params": 3, "ranks": 1, "host": "h", "started": "one"}


@pytest.fixture
def watched(hone):
    """A run without a program, and the libraries."""
    for name, text in LIBRARIES.items():
        hone.write(f"libraries/{name}.py", NOTE + text)
    hone.environment["PYTHONPATH"] += f":{hone.folder / 'libraries'}"
    hone.environment["CALLS"] = str(hone.folder / "calls")
    hone.write("runs/a/run.toml", 'model = "m.hone"\n[compile]\nprecision = "bf16"\n')
    return hone


def step(number: int, loss: float = 2.5) -> dict[str, Any]:
    return {"step": number, "loss": loss, "lr": 1e-3, "time": 0.5}


def write_log(hone, rows: Iterable[dict[str, Any]], tail: str = "") -> Path:
    return hone.write("runs/a/log.jsonl", "".join(json.dumps(row) + "\n" for row in rows) + tail)


def calls(hone) -> list[tuple[str, dict[str, Any]]]:
    """Those since the last time."""
    path = hone.folder / "calls"
    text = path.read_text() if path.exists() else ""
    path.unlink(missing_ok=True)
    return [(name, arguments) for name, arguments in map(json.loads, text.splitlines())]


def steps_of(noted: Iterable[tuple[str, dict[str, Any]]]) -> list[int]:
    return [arguments["step"] for name, arguments in noted if name in ("log", "log_metrics")]


def test_wandb_gets_each_point_once(watched) -> None:
    rows = [HEAD, step(1), step(2), {"step": 2, "val_loss": 2.25, "time": 1}, {"step": 2, "checkpoint": "c", "time": 1}]
    write_log(watched, rows, tail='{"step":3,"lo')
    done = watched("watch", "runs/a", "--to", "wandb", "--once", "--project", "p")
    (_, begun), *noted = calls(watched)
    config = {"compile.precision": "bf16", "lr": 0.001, "model": "m", "params": 3, "ranks": 1, "host": "h"}
    assert begun == {"project": "p", "id": begun["id"], "name": "a", "config": config} and begun["id"]
    assert noted == [
        ("log", {"step": 1, "loss": 2.5, "lr": 1e-3}),
        ("log", {"step": 2, "loss": 2.5, "lr": 1e-3}),
        ("log", {"step": 2, "val_loss": 2.25}),
        ("finish", {"exit_code": 1}),
    ]
    assert done.stdout == f"runs/a: 2 steps and 1 validation sent to wandb, run {begun['id']}\n"
    # Nothing new: the library is not called.
    watched("watch", "runs/a", "--to", "wandb", "--once")
    assert calls(watched) == []
    # The run was resumed from step 1: step 2 and its validation are done again.
    resumed = HEAD | {"started": "two", "resumed": 1}
    write_log(watched, [*rows[:2], resumed, *rows[2:4], step(3), {"step": 3, "end": "done", "time": 1}])
    watched("watch", "runs/a", "--to", "wandb")
    (name, again), *noted = calls(watched)
    assert (name, again["id"]) == ("init", begun["id"])
    assert steps_of(noted) == [3] and noted[-1] == ("finish", {"exit_code": 0})
    watched("watch", "runs/a", "--to", "wandb")
    assert calls(watched) == []
    # Another run in the same folder.
    write_log(watched, [HEAD | {"started": "three"}, step(1), {"step": 1, "end": "SIGTERM", "time": 1}])
    watched("watch", "runs/a", "--to", "wandb")
    (_, other), *noted = calls(watched)
    assert other["id"] != begun["id"] and steps_of(noted) == [1] and noted[-1] == ("finish", {"exit_code": 1})


def test_mlflow_gets_each_point_once(watched) -> None:
    write_log(watched, [HEAD, step(1), {"step": 1, "end": "error: no", "time": 1}])
    watched("watch", "runs/a", "--to", "mlflow")
    (_, experiment), (_, begun), (_, parameters), *noted = calls(watched)
    assert experiment == {"name": "hone"} and begun == {"run_id": None, "run_name": "a"}
    assert parameters["compile.precision"] == "bf16" and parameters["lr"] == 0.001
    assert noted == [("log_metrics", {"step": 1, "loss": 2.5, "lr": 1e-3}), ("end_run", {"status": "FAILED"})]
    # A process that begins again at step 1, without a checkpoint.
    write_log(watched, [HEAD, HEAD | {"started": "two"}, step(1), step(2), {"step": 2, "end": "done", "time": 1}])
    watched("watch", "runs/a", "--to", "mlflow")
    assert calls(watched) == [
        ("set_experiment", {"name": "hone"}),
        ("start_run", {"run_id": "f00d", "run_name": None}),
        ("log_metrics", {"step": 2, "loss": 2.5, "lr": 1e-3}),
        ("end_run", {"status": "FINISHED"}),
    ]


def test_an_error_of_the_library_loses_nothing(watched) -> None:
    write_log(watched, [HEAD, step(1), step(2), step(3), {"step": 3, "end": "done", "time": 1}])
    watched.environment["FAIL_AT"] = "2"
    error = watched.refusal("watch", "runs/a", "--to", "wandb")
    assert error == "wandb: no network; hone watch runs/a goes on from here"
    assert steps_of(calls(watched)) == [1]
    del watched.environment["FAIL_AT"]
    watched("watch", "runs/a", "--to", "wandb")
    assert steps_of(calls(watched)) == [2, 3]


def test_a_library_is_imported_when_it_is_asked_for(watched) -> None:
    write_log(watched, [HEAD, step(1), {"step": 1, "end": "done", "time": 1}])
    for name in LIBRARIES:
        (watched.folder / "libraries" / f"{name}.py").write_text(f"raise ModuleNotFoundError(name='{name}')")
        error = watched.refusal("watch", "runs/a", "--to", name)
        assert error == f"--to {name}: {name} is not installed; pip install {name}"
    lines = [json.loads(line) for line in watched("watch", "runs/a").stdout.splitlines()]
    assert lines[0]["run"] == "a" and lines[0]["config"]["lr"] == 0.001
    assert lines[1:] == [{"step": 1, "loss": 2.5, "lr": 1e-3}, {"end": "done"}]


def test_wrong_runs_are_refused(watched) -> None:
    assert watched.refusal("watch", "runs/b").startswith("runs/b: is not a run, expected a folder that")
    assert watched.refusal("watch", "runs/a", "--once").startswith("runs/a/log.jsonl: no such file; without --once,")
    write_log(watched, [step(1)])
    assert "its first line names no run" in watched.refusal("watch", "runs/a", "--once")
    write_log(watched, [HEAD], tail="step 1\n")
    assert "expected lines of JSON, found b'step 1" in watched.refusal("watch", "runs/a", "--once")
    with open(watched.folder / "runs/a/watch-wandb.json", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "another hone watch sends this run" in watched.refusal("watch", "runs/a", "--to", "wandb")
    watched.write("runs/a/watch-wandb.json", "{}\n")
    assert "is damaged; remove it" in watched.refusal("watch", "runs/a", "--to", "wandb")


def test_a_log_that_was_shortened_is_read_again(tmp_path) -> None:
    def write(*rows: dict[str, Any], tail: str = "") -> None:
        (tmp_path / "log").write_text("".join(json.dumps(row) + "\n" for row in rows) + tail)

    log = Log(tmp_path / "log")
    assert list(log.rows()) == []
    write(HEAD, step(1), tail='{"step":2,')
    assert list(log.rows()) == [(True, HEAD), (False, step(1))]
    write(HEAD, step(1), step(2), step(3))
    assert list(log.rows()) == [(False, step(2)), (False, step(3))]
    assert list(log.rows()) == []
    resumed = HEAD | {"resumed": 1}
    write(HEAD, step(1), resumed)
    assert list(log.rows()) == [(True, HEAD), (False, step(1)), (False, resumed)]
    # It has grown beyond where it was read to.
    write(HEAD, step(2), step(3), step(4), step(5), step(6), step(7), step(8))
    assert [row.get("step") for _, row in log.rows()] == [None, 2, 3, 4, 5, 6, 7, 8]


def test_a_run_that_is_killed_and_resumed_is_one_curve(watched) -> None:
    """While it runs: the log grows, is shortened and goes on."""
    write_tokens(watched.folder / "data")
    watched.write("run.toml", RUN)
    words = [sys.executable, "-m", "hone"]
    train = [*words, "train", "run.toml", "steps=100000000", "val-every=3", "checkpoint-every=50"]
    trainer = subprocess.Popen(train, cwd=watched.folder, env=watched.environment, stdout=subprocess.DEVNULL)
    log = watched.folder / "runs/run/log.jsonl"

    def steps() -> int:
        return Run(log.parent).summary()["steps"]

    try:
        wait_for(lambda: log.exists())
        watch = [*words, "watch", "runs/run", "--to", "wandb"]
        watcher = subprocess.Popen(
            watch, cwd=watched.folder, env=watched.environment, stdout=subprocess.PIPE, text=True
        )
        # Some steps behind a checkpoint, which are done again.
        wait_for(lambda: (watched.folder / "calls").exists() and steps() > 50 and 10 < steps() % 50 < 40)
    finally:
        trainer.kill()
        trainer.wait()
    last = max(losses(log)) + 2
    watched("train", "--resume", "runs/run", f"steps={last}")
    try:
        printed, _ = watcher.communicate(timeout=60)
    finally:
        watcher.kill()
    noted = calls(watched)
    assert [name for name, _ in noted if name != "log"] == ["init", "finish"]
    for key in ("loss", "val_loss"):
        points = [(each["step"], each[key]) for name, each in noted if name == "log" and key in each]
        assert points == list(losses(log, key).items())
    assert f"runs/run: {last} steps and {len(losses(log, 'val_loss'))} validations sent to wandb" in printed


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
