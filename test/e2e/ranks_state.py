"""What runs of several ranks leave behind: ranks_state.py PROGRAM FOLDER, where PROGRAM is honert-divided.

The model's weights have the same bits on every mesh (sums of its ranks are exact), so that files are compared byte by
byte with those of one rank. Prints a line per case; exit 1 at the first that fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from signal import SIGTERM

ENVIRONMENT = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
MESHES = {"": 1, "dp=2": 2, "tp=4": 4, "dp=2,tp=2": 4, "tp=2,rep=2,dp=2": 8}


class Wrong(Exception):
    """A case that did not go as it must."""


class Runs:
    def __init__(self, program: str, folder: Path) -> None:
        self.program, self.folder = program, folder
        (folder / "tokens.bin").write_bytes(bytes(i * i % 31 if i % 2 == 0 else 0 for i in range(2000)))

    def start(self, mesh: str, *flags: str, signal: str = "", folders: list[Path] | None = None):
        """A run on `mesh`; with `folders`, each rank is started in its own one."""
        own = [self.program, "--data", str(self.folder / "tokens.bin"), "--threads", "1", "--check-replicas", "2", *flags]
        count = MESHES[mesh]
        if folders:
            line = ["mpirun"]
            for folder in folders:
                line += [*(":" if len(line) > 1 else ""), "-np", "1", "-wdir", str(folder), *own]
        else:
            line = own if count == 1 else ["mpirun", "-np", str(count), *own]
        variables = {"HONE_DIVIDED_MESH": mesh, "HONE_DIVIDED_SIGNAL": signal}
        return subprocess.run(
            line, env=ENVIRONMENT | variables, capture_output=True, text=True, timeout=60, check=False
        )

    def good(self, mesh: str, *flags: str, signal: str = "", code: int = 0) -> str:
        done = self.start(mesh, *flags, signal=signal)
        if done.returncode != code:
            raise Wrong(f"{mesh}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout


def same(path: Path, wanted: Path) -> None:
    if path.read_bytes() != wanted.read_bytes():
        raise Wrong(f"{path} differs from {wanted}")


def writes_files_of_one(runs: Runs, folder: Path) -> None:
    for number, mesh in enumerate(MESHES):
        to = folder / str(number)
        to.mkdir()
        flags = ["--steps", "5", "--shuffle", "--save", str(to / "w"), "--checkpoint-dir", str(to / "c")]
        runs.good(mesh, *flags, "--dump", str(to / "d"))
        for name in ("w", "c/step-00000005/state.safetensors", "c/step-00000005/manifest.json", "d/step1.safetensors"):
            same(to / name, folder / "0" / name)


def goes_on(runs: Runs, folder: Path) -> None:
    runs.good("", "--steps", "6", "--save", str(folder / "whole"))
    meshes = list(MESHES)
    for number, mesh in enumerate(meshes):
        kept = ["--checkpoint-dir", str(folder / f"c{number}")]
        runs.good(mesh, "--steps", "3", *kept)
        runs.good(meshes[(number + 2) % len(meshes)], "--steps", "6", *kept, "--resume", "--save", str(folder / "rest"))
        same(folder / "rest", folder / "whole")


def stops_together(runs: Runs, folder: Path) -> None:
    runs.good("", "--steps", "3", "--save", str(folder / "one"))
    text = runs.good("dp=2,tp=2", "--steps", "1000", "--save", str(folder / "many"), signal="2:3", code=128 + SIGTERM)
    if "stopped by SIGTERM after step 3: 3 steps in" not in text:
        raise Wrong(text)
    same(folder / "many", folder / "one")


def speaks_once(runs: Runs, folder: Path) -> None:
    text = runs.good("dp=2,tp=2", "--steps", "2", "--log", str(folder / "log"))
    if text.count("2 steps in ") != 1 or text.count("4 ranks (dp=2,tp=2)") != 1:
        raise Wrong(text)
    log = (folder / "log").read_text()
    if [log.count(f'"{key}":') for key in ("run", "loss", "end")] != [1, 2, 1]:
        raise Wrong(log)


def needs_one_folder(runs: Runs, folder: Path) -> None:
    folders = [folder / str(rank) for rank in range(2)]
    for each in folders:
        each.mkdir()
    for flags in (["--save", "w"], ["--checkpoint-dir", "."], ["--dump", "."]):
        done = runs.start("dp=2", "--steps", "3", *flags, folders=folders)
        if done.returncode == 0 or "rank 1 does not see what the first rank writes there" not in done.stderr:
            raise Wrong(f"{flags}: {done.returncode}\n{done.stderr}")
        if left := [name for each in folders for name in os.listdir(each)]:
            raise Wrong(f"{flags}: {left} was left")


def refuses_an_earlier_run(runs: Runs, folder: Path) -> None:
    runs.good("dp=2", "--steps", "1", "--checkpoint-dir", str(folder / "c"))
    done = runs.start("tp=4", "--steps", "1", "--checkpoint-dir", str(folder / "c"))
    if done.returncode == 0 or "holds step-00000001 of an earlier run" not in done.stderr:
        raise Wrong(f"{done.returncode}\n{done.stderr}")


def main(argv: list[str]) -> int:
    if len(argv) != 3:
        print("error: wrong arguments, expected PROGRAM FOLDER", file=sys.stderr)
        return 2
    program, folder = str(Path(shutil.which(argv[1]) or argv[1]).resolve()), Path(argv[2]).resolve()
    runs = Runs(program, folder)
    cases = {
        "every mesh writes the files of one rank": writes_files_of_one,
        "a run goes on on another mesh": goes_on,
        "a signal to one rank stops all after one step": stops_together,
        "the first rank speaks for all": speaks_once,
        "a folder that one rank does not see is refused": needs_one_folder,
        "a checkpoint folder of an earlier run is refused": refuses_an_earlier_run,
    }
    for number, (name, case) in enumerate(cases.items()):
        own = folder / f"case{number}"
        own.mkdir()
        try:
            case(runs, own)
        except Wrong as wrong:
            print(f"{name}: {wrong}")
            return 1
        print(f"{name}: yes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
