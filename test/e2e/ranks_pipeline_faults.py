"""What a pipeline does when a stage is lost or differs: ranks_pipeline_faults.py PACKAGE FOLDER.

The rank of a middle stage of four is killed, or stopped, in the middle of a long run with checkpoints. The others must
end, each with a line that says for which message of which micro-batch, or in which exchange between steps, it waited
for whom (ranks_stages.py has a rank that surely stops between messages). The run must go on from its newest checkpoint,
as it was and on other meshes, to the bits of one that nobody disturbed: the programs are exact. A rank with another
schedule, or a start with too few ranks, ends all before the first step. Prints a line per case; exit 1 at the first
that fails.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from ranks import ranks_of
from ranks_faults import ENVIRONMENT, LIMIT, Wrong
from ranks_lost import LOST, OTHERS, Run, newest

MESH = "pp=4"
ELSEWHERE = ("", "pp=2,dp=2", "tp=2")
MESSAGE = r"(send|receive) '(boundary|param|grad) [\w.]+' of micro-batch \d+ (to|from) rank \d"
WAITS = rf"rank {{}}: .*({MESSAGE}|of \d+ bytes .*) \(number \d+ of step \d+\) has waited [\d.]+ s for rank"


class Programs:
    """Those of a package, on meshes of four ranks and fewer."""

    mesh, elsewhere = MESH, ELSEWHERE
    waits = WAITS  # what a rank says that waits for another
    other = "--schedule=zb-h1"  # what another program is compiled with

    def __init__(self, package: Path, folder: Path) -> None:
        self.package, self.folder = package, folder
        folder.mkdir(parents=True)

    def options(self, mesh: str) -> list[str]:
        return ["--micro-batches=4", *([f"--mesh={mesh}"] if mesh else [])]

    def binary(self, mesh: str, *options: str) -> Path:
        path = self.folder / "-".join([mesh or "one", *(option.strip("-") for option in options)])
        if not path.exists():
            command = ["honec", self.package, "-o", path, "--exact", *self.options(mesh), *options]
            subprocess.run(command, check=True)
        return path


def run_on(programs: Programs, run: Run, mesh: str, steps: int, *flags: str) -> None:
    launcher = ["mpirun", "-np", str(ranks_of(mesh))] if mesh else []
    data = ["--data", str(run.folder / "tokens.bin"), "--threads", "1", "--quiet"]
    command = [*launcher, programs.binary(mesh), *data, "--steps", str(steps), *flags]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=2 * LIMIT, check=False)
    if done.returncode != 0:
        raise Wrong(f"{mesh or 'one rank'}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def survives(programs: Programs, how: signal.Signals) -> None:
    run = Run(programs.binary(programs.mesh), programs.folder / how.name)
    text = run.loses_a_rank(how)
    for rank in OTHERS:
        if not re.search(programs.waits.format(rank), text):
            raise Wrong(f"rank {rank} did not say for what it waited:\n{text}")
    if how == signal.SIGSTOP and "expected at most 3 s (--comm-timeout)" not in text:
        raise Wrong(f"nothing said that the time was over:\n{text}")
    steps = newest(run.checkpoints) + 2
    whole = run.folder / "whole"
    run_on(programs, run, programs.mesh, steps, "--save", str(whole))
    for mesh in (programs.mesh, *programs.elsewhere):
        kept, again = run.folder / f"kept-{mesh}", run.folder / f"again-{mesh}"
        shutil.copytree(run.checkpoints, kept)
        run_on(programs, run, mesh, steps, "--checkpoint-dir", str(kept), "--resume", "--save", str(again))
        if again.read_bytes() != whole.read_bytes():
            raise Wrong(f"a run that went on as {mesh or 'one rank'} has other weights")


def differs(programs: Programs) -> None:
    mesh, name = programs.mesh, programs.package.stem
    own, other = programs.binary(mesh), programs.binary(mesh, programs.other)
    data = programs.folder / "tokens.bin"
    data.write_bytes(bytes(4000))
    flags = ["--data", str(data), "--steps", "3", "--threads", "1", "--comm-timeout", "5"]
    for command, pattern in [
        (["-np", "2", own, *flags, ":", "-np", "1", other, *flags, ":", "-np", "1", own, *flags],
         rf"rank {{}}: error: .*rank 2 has the program {name} \({mesh}, \w+\), rank 0 has {name}"),
        (["-np", "3", own, *flags], rf"rank {{}}: error: this program is made for 4 ranks \({mesh}\), started as 3"),
    ]:
        line = ["mpirun", *command]
        done = subprocess.run(line, env=ENVIRONMENT, capture_output=True, text=True, timeout=LIMIT, check=False)
        silent = [rank for rank in range(3) if not re.search(pattern.format(rank), done.stderr)]
        if done.returncode == 0 or silent:
            raise Wrong(f"exit code {done.returncode}, ranks {silent} said nothing of {pattern!r}:\n{done.stderr}")


def check(programs: Programs, difference: str) -> int:
    cases = {
        f"rank {LOST} is killed": lambda: survives(programs, signal.SIGKILL),
        f"rank {LOST} stops": lambda: survives(programs, signal.SIGSTOP),
        f"rank {LOST} has another {difference}, or ranks are too few": lambda: differs(programs),
    }
    for name, case in cases.items():
        try:
            case()
        except Wrong as wrong:
            print(f"{name}: {wrong}")
            return 1
        print(f"{name}: all ranks end as they should", flush=True)
    return 0


def main(argv: list[str]) -> int:
    package, folder = Path(argv[1]).resolve(), Path(argv[2]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    return check(Programs(package, folder), "schedule")


if __name__ == "__main__":
    sys.exit(main(sys.argv))
