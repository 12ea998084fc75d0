"""What a compiled trainer leaves when it loses a rank: ranks_lost.py PROGRAM FOLDER, where PROGRAM is of dp=2,tp=2.

Rank 2 of four is killed, or stopped, from outside in the middle of a long run with data and checkpoints. Every rank must
end, each of the others with a line that says in which collective it waited for whom; and the run must go on
from its newest checkpoint to the bits of one that nobody disturbed. Prints a line per case; exit 1 at the first that fails.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from array import array
from pathlib import Path

from ranks_faults import ENVIRONMENT, LIMIT, Wrong, processes_with

LOST, OTHERS = 2, (0, 1, 3)
VOCABULARY = 61
WAITS = r"rank {}: .* of \d+ bytes .*\(number \d+ of step \d+\) has waited [\d.]+ s for rank"


def rank_of(process: int) -> int | None:
    """The rank of a process of mpirun; None of mpirun itself, and of one that has ended."""
    try:
        variables = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    ranks = [int(entry.split(b"=")[1]) for entry in variables if entry.startswith(b"OMPI_COMM_WORLD_RANK=")]
    return ranks[0] if ranks else None


def newest(checkpoints: Path) -> int:
    """The last step of which there is a checkpoint, or 0."""
    return max((int(entry.name.split("-")[1]) for entry in checkpoints.glob("step-*") if entry.is_dir()), default=0)


class Run:
    def __init__(self, program: Path, folder: Path) -> None:
        self.program, self.folder, self.checkpoints = program, folder, folder / "checkpoints"
        folder.mkdir(parents=True)
        tokens = array("H", (i * i % VOCABULARY for i in range(4000)))
        (folder / "tokens.bin").write_bytes(tokens.tobytes())

    def command(self, steps: int, *flags: str) -> list[str]:
        data = ["--data", str(self.folder / "tokens.bin"), "--threads", "1", "--quiet"]
        return ["mpirun", "-np", "4", str(self.program), "--steps", str(steps), "--comm-timeout", "3", *data, *flags]

    def kept(self) -> list[str]:
        return ["--checkpoint-dir", str(self.checkpoints), "--checkpoint-every", "2"]

    def loses_a_rank(self, how: signal.Signals) -> str:
        """What is said when rank 2 gets a signal behind the first checkpoints."""
        command = self.command(1000000, *self.kept(), "--save", str(self.folder / "never"))
        with subprocess.Popen(command, env=ENVIRONMENT, text=True, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) as launcher:
            begin = time.monotonic()
            while newest(self.checkpoints) < 4:
                if launcher.poll() is not None or time.monotonic() - begin > LIMIT:
                    launcher.kill()
                    raise Wrong(f"no checkpoint came\n{launcher.stderr.read()}")
                time.sleep(0.05)
            lost = [process for process in processes_with(str(self.folder)) if rank_of(process) == LOST]
            for process in lost:
                os.kill(process, how)
            begin = time.monotonic()
            while left := [p for p in processes_with(str(self.folder)) if p != launcher.pid or launcher.poll() is None]:
                if time.monotonic() - begin > LIMIT:
                    for process in left:
                        os.kill(process, signal.SIGKILL)
                    raise Wrong(f"processes {left} were left after {LIMIT} s\n{launcher.stderr.read()}")
                time.sleep(0.1)
            if launcher.returncode == 0 or len(lost) != 1:
                raise Wrong(f"exit code {launcher.returncode}, {len(lost)} ranks lost")
            return launcher.stderr.read()

    def ends(self, steps: int, *flags: str) -> None:
        done = subprocess.run(self.command(steps, *flags), env=ENVIRONMENT, capture_output=True, text=True, timeout=2 * LIMIT,
                              check=False)
        if done.returncode != 0:
            raise Wrong(f"{flags}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def survives(run: Run, how: signal.Signals) -> None:
    text = run.loses_a_rank(how)
    for rank in OTHERS:
        if not re.search(WAITS.format(rank), text):
            raise Wrong(f"rank {rank} did not say for whom it waited:\n{text}")
    if how == signal.SIGSTOP and "expected at most 3 s (--comm-timeout)" not in text:
        raise Wrong(f"nothing said that the time was over:\n{text}")
    steps = newest(run.checkpoints) + 2
    run.ends(steps, *run.kept(), "--resume", "--save", str(run.folder / "again"))
    run.ends(steps, "--save", str(run.folder / "whole"))
    if (run.folder / "again").read_bytes() != (run.folder / "whole").read_bytes():
        raise Wrong("a run that went on has other weights")


def main(argv: list[str]) -> int:
    if len(argv) != 3:
        print("error: wrong arguments, expected PROGRAM FOLDER", file=sys.stderr)
        return 2
    program, folder = Path(shutil.which(argv[1]) or argv[1]).resolve(), Path(argv[2]).resolve()
    for name, how in {"killed": signal.SIGKILL, "stopped": signal.SIGSTOP}.items():
        try:
            survives(Run(program, folder / name), how)
        except Wrong as wrong:
            print(f"a trainer's rank is {name}: {wrong}")
            return 1
        print(f"a trainer's rank is {name}: all end, and its checkpoint loads")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
