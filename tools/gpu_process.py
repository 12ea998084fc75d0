"""Processes of the GPU check: with time limits and the places of libraries, alone or as ranks, and the program that is
checked among them."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import gpu_cases

HERE = pathlib.Path(__file__).resolve().parent
WORK = HERE / "work"


class Failure(Exception):
    """Why a task has no answer, in one line, and the end of what the process wrote to stderr."""

    def __init__(self, reason: str, stderr: str = "", stdout: str = "") -> None:
        super().__init__(reason)
        self.stderr = stderr[-6000:]
        self.stdout = stdout


def library_folders() -> list[str]:
    """Where Python's packages keep cuBLAS and cuDNN, for hosts that have them nowhere else."""
    return [str(folder) for place in sys.path if place for folder in sorted(pathlib.Path(place).glob("nvidia/*/lib"))]


def execute(command: list, seconds: float) -> str:
    """Standard output of a process, which is ended with all that it started when its time is over."""
    return execute_with_stderr(command, seconds)[0]


def library_path() -> str:
    """LD_LIBRARY_PATH of what is executed."""
    paths = (os.environ.get("LD_LIBRARY_PATH"), *library_folders(), str(HERE / "lib"))
    return ":".join(path for path in paths if path)


def execute_with_stderr(command: list, seconds: float, variables: dict[str, str] | None = None) -> tuple[str, str]:
    """As execute(), with standard error."""
    environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(WORK / "inductor"), "PYTHONDONTWRITEBYTECODE": "1",
                                "XLA_PYTHON_CLIENT_PREALLOCATE": "false", "LD_LIBRARY_PATH": library_path(),
                                **(variables or {})}
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True, env=environment)
    try:
        out, err = process.communicate(timeout=max(1.0, seconds))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        _, err = process.communicate()
        raise Failure(f"took more than {seconds:.0f} s", err) from None
    if process.returncode != 0:
        lines = err.strip().splitlines() or ["no message"]
        raise Failure(f"exit code {process.returncode}: {lines[-1][-600:]}", err, out)
    return out, err


# ---- Ranks -----------------------------------------------------------------------------------------------------------


def count_gpus() -> int:
    """Those that a program sees."""
    if visible := os.environ.get("CUDA_VISIBLE_DEVICES"):
        return len(visible.split(","))
    try:
        listed = subprocess.run(["nvidia-smi", "--list-gpus"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return 0
    return len(listed.stdout.splitlines())


def shares_gpu(facts: dict) -> bool:
    """Whether the ranks of a case share one GPU, for there are too few. Emulated ones never are."""
    ranks = gpu_cases.from_facts(facts).ranks
    return ranks > 1 and not facts.get("emulated") and 0 < count_gpus() < ranks


@functools.cache
def stand_in_folder() -> pathlib.Path:
    """Where the library lies that passes what ranks on one GPU send (one_gpu_nccl.cu), compiled at the first call."""
    folder = WORK / "one-gpu"
    folder.mkdir(parents=True, exist_ok=True)
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    execute([nvcc, "-O2", "-std=c++17", "-arch=native", "-shared", "-Xcompiler", "-fPIC", HERE / "one_gpu_nccl.cu",
             "-o", folder / "libnccl.so.2"], 120)
    return folder


def launcher(place: pathlib.Path) -> tuple[str, ...]:
    """What starts the program in a folder: nothing, or a command that makes ranks of it."""
    file = place / "case.json"
    facts = json.loads(file.read_text()) if file.exists() else None
    ranks = gpu_cases.from_facts(facts).ranks if facts else 1
    if ranks == 1:
        return ()
    start = (sys.executable, str(HERE / "gpu_ranks.py"), str(ranks))
    if not shares_gpu(facts):
        return start
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    return ("env", f"CUDA_VISIBLE_DEVICES={first}", f"LD_LIBRARY_PATH={stand_in_folder()}:{library_path()}", *start)


def train_with_stderr(place: pathlib.Path, steps: int, seconds: float, *more: str,
                      variables: dict[str, str] | None = None, before: tuple[str, ...] = ()) -> tuple[list[dict], str]:
    """The steps in the log of a run, and its standard error. `before` is a command that runs the program."""
    log = WORK / "log.jsonl"
    log.unlink(missing_ok=True)
    command = [*launcher(place), *before, place / "train", "--data", place / "tokens.bin", "--steps", steps,
               "--seed", 1, "--log", log]
    _, err = execute_with_stderr([*command, "--quiet", *more], seconds, variables)
    return [line for line in map(json.loads, log.read_text().splitlines()) if "loss" in line], err


def train(place: pathlib.Path, steps: int, seconds: float, *more: str) -> list[dict]:
    """The steps in the log of a run."""
    return train_with_stderr(place, steps, seconds, *more)[0]
