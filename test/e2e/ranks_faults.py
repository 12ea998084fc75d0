"""What happens when ranks fail, and when they do not: ranks_faults.py PROGRAM FOLDER, where PROGRAM is honert-ranks.

Each case starts four ranks under mpirun and lets one of them be killed, exit, stop, or differ from the others. The run
must end, with an exit code that is not 0, with a line of every other rank that says for which rank it waited
in which collective, or what differs; and no process may be left. Prints a line per case; exit 1 at the first that fails.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

LIMIT = 60  # seconds: tells a run that hangs from one that ends, on a loaded machine too
ENVIRONMENT = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_odls_base_sigkill_timeout": "3",  # of a rank that mpirun ends: to reach a collective and say so
}
WAITS = r"rank {}: .*'sum of terms' along dp,tp of 256 bytes at model.py:2 \(number \d+ of step 2\) has waited .* for rank 2"


class Wrong(Exception):
    """A case that did not go as it must."""


def processes_with(marker: str) -> list[int]:
    """Processes that have `marker` among their arguments, this one aside."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            arguments = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        if marker.encode() in arguments and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found


class Case:
    """Ranks under mpirun; their arguments hold a path of the case, by which they are found."""

    def __init__(self, program: Path, folder: Path, name: str) -> None:
        self.program, self.name = str(program), name
        self.folder = folder / name
        self.folder.mkdir(parents=True)

    def command(self, *flags: str, steps: int = 3) -> list[str]:
        log = ["--log", str(self.folder / "log")]
        return [self.program, "--steps", str(steps), "--quiet", "--threads", "1", *log, *flags]

    def run(self, groups: list[list[str]], variables: dict[str, str] | None = None) -> tuple[int, str]:
        """Groups of ranks, each `["-np", N, command...]`: exit code and stderr. Too slow, or something left: wrong."""
        line = ["mpirun"]
        for group in groups:
            line += [*(":" if len(line) > 1 else ""), *group]
        begin = time.monotonic()
        done = subprocess.run(
            line, env=ENVIRONMENT | (variables or {}), capture_output=True, text=True, timeout=2 * LIMIT, check=False
        )
        while processes_with(str(self.folder)) and time.monotonic() - begin < LIMIT:
            time.sleep(0.1)
        if left := processes_with(str(self.folder)):
            raise Wrong(f"processes {left} are left after {LIMIT} s\n{done.stderr}")
        if time.monotonic() - begin > LIMIT:
            raise Wrong(f"it took more than {LIMIT} s\n{done.stderr}")
        return done.returncode, done.stderr

    def fails(self, patterns: list[str], groups: list[list[str]], variables: dict[str, str] | None = None) -> str:
        code, text = self.run(groups, variables)
        if code == 0:
            raise Wrong("it ended with exit code 0")
        for pattern in patterns:
            if not re.search(pattern, text):
                raise Wrong(f"nothing said {pattern!r}:\n{text}")
        return text


def dies(case: Case, how: str) -> None:
    """Rank 2 leaves in step 2, with an error or without: the launcher tells the others, who say what they were waiting for."""
    case.fails([WAITS.format(rank) for rank in (0, 1, 3)], [["-np", "4", *case.command()]],
               {"HONE_RANKS_FAULT": f"2:2:{how}"})


def stops(case: Case) -> None:
    """Rank 2 stands still: the timeout ends the others, and the launcher the one that stands."""
    text = case.fails(
        [r"rank [013]: error: .*'sum of terms'.* \(number \d+ of step 2\) has waited ([2-9]|\d\d+)\.\d s for rank 2, "
         r"expected at most 2 s \(--comm-timeout\)", r"rank [013]: its latest collectives:\n",
         r"  shift 'shifted' along dp,tp of 256 bytes at model.py:2 \(number \d+ of step 1\): begun .* took"],
        [["-np", "4", *case.command("--comm-timeout", "2")]], {"HONE_RANKS_FAULT": "2:2:stop"})
    if "Segmentation" in text:
        raise Wrong(text)


def differs(case: Case, pattern: str, own: list[str], variables: dict[str, str] | None = None) -> None:
    """Rank 2 alone is started as `own`."""
    case.fails([f"rank {rank}: error: .*{pattern}" for rank in range(4)],
               [["-np", "2", *case.command()], ["-np", "1", *own], ["-np", "1", *case.command()]], variables)


def reads_other_data(case: Case) -> None:
    same, other = case.folder / "same.bin", case.folder / "other.bin"
    same.write_bytes(bytes(1000))
    other.write_bytes(bytes(999) + b"\1")
    flags = ["--data", str(same)]
    case.fails([f"rank {rank}: error: .*--data" for rank in range(4)],
               [["-np", "2", *case.command(*flags)], ["-np", "1", *case.command("--data", str(other))],
                ["-np", "1", *case.command(*flags)]], {"HONE_RANKS_DATA": "1"})


def is_of_another_size(case: Case) -> None:
    line = r"error: this program is made for 4 ranks \(dp=2,tp=2\), started as {}: mpirun -np 4 ./train \.\.\."
    case.fails([f"rank {rank}: " + line.format(3) for rank in range(3)], [["-np", "3", *case.command()]])
    alone = subprocess.run(case.command(), capture_output=True, text=True, check=False)
    if alone.returncode != 1 or not re.fullmatch(line.format(1) + "\n", alone.stderr):
        raise Wrong(f"alone: {alone.returncode}\n{alone.stderr}")
    torchrun = ENVIRONMENT | {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1"}
    alone = subprocess.run(case.command(), env=torchrun, capture_output=True, text=True, check=False)
    if alone.returncode != 1 or "rank 1: error: started by torchrun" not in alone.stderr:
        raise Wrong(f"torchrun: {alone.returncode}\n{alone.stderr}")


def keeps_its_state(case: Case) -> None:
    """Killed in step 3 with a checkpoint after each: it goes on to the bits of a run that nobody disturbed."""
    saved = ["--checkpoint-dir", str(case.folder / "c"), "--checkpoint-every", "1"]
    case.fails([r"rank 0: .* of step 3\) has waited"], [["-np", "4", *case.command(*saved)]],
               {"HONE_RANKS_FAULT": "2:3:kill"})
    for flags in (["--save", str(case.folder / "whole")], [*saved, "--resume", "--save", str(case.folder / "again")]):
        code, text = case.run([["-np", "4", *case.command(*flags)]])
        if code != 0:
            raise Wrong(text)
    if (case.folder / "whole").read_bytes() != (case.folder / "again").read_bytes():
        raise Wrong("a run that went on has other weights")


def is_right(case: Case) -> None:
    """Every element of every collective, through each way that its size can take, on two meshes; and equal weights."""
    for elements in ("12", "4080", "1200000"):
        saved = []
        for mesh in ("dp=2,tp=2", "tp=4"):
            saved.append(case.folder / f"{mesh}-{elements}")
            code, text = case.run([["-np", "4", *case.command("--save", str(saved[-1]))]],
                                  {"HONE_RANKS_ELEMENTS": elements, "HONE_RANKS_MESH": mesh})
            if code != 0:
                raise Wrong(f"{mesh}, {elements} elements: exit code {code}\n{text}")
        if saved[0].read_bytes() != saved[1].read_bytes():
            raise Wrong(f"{elements} elements: other weights on another mesh")


def stands_still(case: Case) -> None:
    """All ranks are stopped for longer than the timeout, as by Ctrl-Z, and go on: nobody has waited."""
    log, command = case.folder / "log", case.command("--comm-timeout", "5", steps=30)
    slow = ["env", "HONE_RANKS_SLEEP_MS=100", *command]  # the others wait for it
    with subprocess.Popen(["mpirun", "-np", "3", *command, ":", "-np", "1", *slow], env=ENVIRONMENT, text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as launcher:
        while not log.exists() or not log.read_bytes():
            time.sleep(0.1)
        ranks = [process for process in processes_with(str(case.folder)) if process != launcher.pid]
        for process in ranks:
            os.kill(process, signal.SIGSTOP)
        time.sleep(7)
        for process in ranks:
            os.kill(process, signal.SIGCONT)
        if launcher.wait(LIMIT) != 0:
            raise Wrong(f"exit code {launcher.returncode}\n{launcher.stderr.read()}")


def loses_its_launcher(case: Case) -> None:
    """mpirun is killed: its ranks end by themselves."""
    with subprocess.Popen(["mpirun", "-np", "4", *case.command()], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=ENVIRONMENT | {"HONE_RANKS_SLEEP_MS": "100000"}) as launcher:
        while len(processes_with(str(case.folder))) < 5:
            time.sleep(0.1)
        time.sleep(1)
        launcher.send_signal(signal.SIGKILL)
        begin = time.monotonic()
        while processes_with(str(case.folder)):
            if time.monotonic() - begin > LIMIT:
                raise Wrong(f"ranks are left after {LIMIT} s")
            time.sleep(0.1)


def main(argv: list[str]) -> int:
    if len(argv) != 3:
        print("error: wrong arguments, expected PROGRAM FOLDER", file=sys.stderr)
        return 2
    program, folder = Path(shutil.which(argv[1]) or argv[1]).resolve(), Path(argv[2]).resolve()

    cases = {
        "nothing fails": is_right,
        "a rank is killed": lambda case: dies(case, "kill"),
        "a rank exits": lambda case: dies(case, "exit"),
        "a rank has an error": lambda case: dies(case, "fail"),
        "a rank stops": stops,
        "all ranks stop for a while": stands_still,
        "another program": lambda case: differs(
            case, r"rank 2 has the program ranks \(dp=2,tp=2, \w+\), rank 0 has ranks",
            ["env", "HONE_RANKS_PROGRAM=other", *case.command()]),
        "another flag": lambda case: differs(
            case, "rank 2 has --seed 7, rank 0 has 0; expected the same on all ranks", case.command("--seed", "7")),
        "another data list": reads_other_data,
        "another number of ranks": is_of_another_size,
        "state survives": keeps_its_state,
        "the launcher is killed": loses_its_launcher,
    }
    for name, test in cases.items():
        try:
            test(Case(program, folder, name.replace(" ", "-")))
        except Wrong as wrong:
            print(f"{name}: {wrong}")
            return 1
        print(f"{name}: all ranks end as they should")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
