#!/usr/bin/env python3
"""How a training program ends when its surroundings end it: process_ends.py FOLDER [--trials N] [--program PROGRAM].

PROGRAM (default honert-tiny) trains with its data, then at a random moment one thing happens, N times each:
  a signal that asks for an end   the step is finished, weights and checkpoint of it are saved, exit code 128 + signal
  a fatal signal                  one line, ended by that signal, the checkpoint before stands
  the reader of its output goes   exit code 141 and one line, or, where files were asked for, 0 and a warning
  a file beyond the limit         one line, no temporary file
  data that are cut or written to one line, the checkpoint of the step before is saved, exit code 1
  a signal that the parent ignores nothing, the run goes on
  a pipe that does not wait       all lines arrive, however late they are read
"""

from __future__ import annotations

import argparse
import fcntl
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
FATAL = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT)
LONG = ["--steps", "100000", "--log-every", "1", "--threads", "1"]


class Wrong(Exception):
    """A run that did not end as it must."""


class Trial:
    """One run in a folder of its own."""

    def __init__(self, program: str, folder: Path, draw: random.Random) -> None:
        self.program, self.folder, self.draw = program, folder, draw
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "data").write_bytes(bytes(i * i % 31 if i % 2 == 0 else 0 for i in range(40000)))

    def start(self, *flags: str, sleep_ms: int = 4, **more) -> subprocess.Popen:
        environment = {**os.environ, "HONE_TINY_SLEEP_MS": str(sleep_ms)}
        command = [self.program, "--data", "data", *flags]
        return subprocess.Popen(command, cwd=self.folder, env=environment, stderr=subprocess.PIPE, text=True,
                                **{"stdout": subprocess.PIPE, **more})

    def start_training(self, *flags: str) -> subprocess.Popen:
        """The same, some steps later."""
        process = self.start(*LONG, *flags)
        while line := process.stdout.readline():
            if line.startswith("step 6/"):
                break
        time.sleep(self.draw.uniform(0, 0.05))
        return process

    def finish(self, process: subprocess.Popen, code: int, line: str) -> str:
        """Standard output, if it is a pipe; standard error is one line that begins like `line`, or nothing."""
        out, err = process.communicate(timeout=60)
        lines = err.splitlines()
        if process.returncode != code or len(lines) != (line != "") or not err.startswith(line):
            raise Wrong(f"exit code {process.returncode}, expected {code} and '{line}'\n{(out or '')[-400:]}\n{err}")
        return out

    def newest(self) -> int:
        return int((self.folder / "c" / "latest").read_text().split("-")[1])

    def leftovers(self) -> None:
        found = [str(path) for path in self.folder.rglob("*") if ".tmp" in path.name]
        if found:
            raise Wrong(f"left: {found}")


def stop(trial: Trial, number: signal.Signals) -> None:
    process = trial.start_training("--checkpoint-dir", "c", "--save", "w")
    process.send_signal(number)
    out = trial.finish(process, 128 + number, "")
    text = f"stopped by {number.name} after step "
    if text not in out:
        raise Wrong(out[-400:])
    step = int(out.split(text)[1].split(":")[0])
    if trial.newest() != step:
        raise Wrong(f"the checkpoint is after step {trial.newest()}, expected {step}")
    same = trial.start("--steps", str(step), "--threads", "1", "--save", "same", sleep_ms=0)
    trial.finish(same, 0, "")
    if (trial.folder / "w").read_bytes() != (trial.folder / "same").read_bytes():
        raise Wrong(f"other weights than those of {step} steps")
    trial.leftovers()


def fatal(trial: Trial, number: signal.Signals) -> None:
    process = trial.start_training("--checkpoint-dir", "c", "--checkpoint-every", "5")
    process.send_signal(number)
    trial.finish(process, -number, f"error: {number.name}: sent by process {os.getpid()}")
    if trial.newest() < 5:
        raise Wrong("no checkpoint is left")
    resumed = trial.start("--steps", str(trial.newest() + 1), "--threads", "1", "--checkpoint-dir", "c", "--resume")
    trial.finish(resumed, 0, "")


def reader(trial: Trial, flags: list[str], code: int, line: str) -> None:
    """As `PROGRAM | head -N`."""
    process = trial.start("--steps", "60", "--threads", "1", *flags, sleep_ms=1)
    for _ in range(trial.draw.randrange(1, 20)):
        process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    if process.wait() != code or len(err.splitlines()) != 1 or not err.startswith(line):
        raise Wrong(f"exit code {process.returncode}, expected {code} and '{line}'\n{err}")


def file_limit(trial: Trial) -> None:
    most = trial.draw.randrange(1, 3000)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    process = trial.start("--steps", "3", "--threads", "1", "--save", "w", sleep_ms=0, preexec_fn=limit)
    trial.finish(process, 1, "error: w: cannot be written: File too large")
    trial.leftovers()


def data(trial: Trial, change: str) -> None:
    process = trial.start_training("--checkpoint-dir", "c")
    file = trial.folder / "data"
    if change == "cut":
        os.truncate(file, trial.draw.randrange(0, 30000))
    else:
        with file.open("r+b") as stream:
            stream.seek(trial.draw.randrange(0, 30000))
            stream.write(b"\0\0")
    out = trial.finish(process, 1, "error: data: ")
    step = int(out.split("stopped by an error after step ")[1].split(":")[0])
    if trial.newest() != step:
        raise Wrong(f"the checkpoint is after step {trial.newest()}, expected {step}")


def ignored(trial: Trial) -> None:
    def ignore() -> None:
        for number in STOPS:
            signal.signal(number, signal.SIG_IGN)

    process = trial.start("--steps", "40", "--threads", "1", preexec_fn=ignore)
    while line := process.stdout.readline():
        if line.startswith("step 2/"):
            break
    for number in STOPS:
        process.send_signal(number)
    trial.finish(process, 0, "")


def full_pipe(trial: Trial) -> None:
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writer, False)
    process = trial.start("--steps", "200", "--threads", "1", sleep_ms=0, stdout=writer)
    os.close(writer)
    time.sleep(trial.draw.uniform(0, 0.5))
    with open(reader, encoding="utf-8") as stream:
        out = stream.read()
    trial.finish(process, 0, "")
    missing = [step for step in range(1, 201) if f"\nstep {step}/200 " not in out]
    if missing or "\n200 steps in " not in out:
        raise Wrong(f"of 200 steps {len(missing)} are missing\n{out[-400:]}")


def find_kinds() -> dict:
    """What may happen to a trial, by name."""
    kinds = {number.name: lambda trial, number=number: stop(trial, number) for number in STOPS}
    kinds |= {number.name: lambda trial, number=number: fatal(trial, number) for number in FATAL}
    return kinds | {
        "SIGPIPE": lambda trial: reader(trial, [], 128 + signal.SIGPIPE, "stopped after step "),
        "SIGPIPE with files": lambda trial: reader(trial, ["--save", "w"], 0, "warning: nobody reads standard output"),
        "SIGXFSZ": file_limit,
        "data cut": lambda trial: data(trial, "cut"),
        "data written": lambda trial: data(trial, "written"),
        "ignored signals": ignored,
        "full pipe": full_pipe,
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trials", type=int, default=1)
    parser.add_argument("--program", default="honert-tiny")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    for number in STOPS:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)  # else the program ignores it too
    program = shutil.which(options.program)
    if not program:
        parser.error(f"{options.program}: not found")
    draw = random.Random(options.seed)
    wrong = 0
    kinds = find_kinds()
    for name, kind in kinds.items():
        print(f"{name}: {options.trials} trials", flush=True)
        for number in range(options.trials):
            try:
                kind(Trial(program, options.folder / "trial", draw))
            except (Wrong, subprocess.TimeoutExpired) as error:
                wrong += 1
                print(f"{name}, trial {number}, seed {options.seed}: {error}")
    shutil.rmtree(options.folder, ignore_errors=True)
    print(f"{len(kinds)} kinds of ends, {options.trials} trials each, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
