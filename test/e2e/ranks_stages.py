"""Runs of a program with stages under mpirun: ranks_stages.py PROGRAM FOLDER, where PROGRAM is honert-staged.

Losses, weights and checkpoints are those of the program without stages, for each schedule and size of window. A rank that
does not come is named by those that wait for it. Prints a line per case; exit 1 at the first that fails.
"""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

ENVIRONMENT = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
SLEEP = (
    r"rank {}: error: receive 'boundary g\d' of micro-batch 0 from rank 1 \(number \d+ of step 1\) "
    r"has waited 2\.\d s for rank 1, expected at most 2 s \(--comm-timeout\)"
)


class Wrong(Exception):
    """A case that did not go as it must."""


def run(program: str, staged: str, flags: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    stages, _, _, dp = staged.split(":")
    ranks = max(int(stages), 1) * int(dp)
    launcher = ["mpirun", "-np", str(ranks)] if ranks > 1 else []
    return subprocess.run(
        [*launcher, program, "--threads", "1", "--quiet", *flags],
        env=ENVIRONMENT | {"HONE_STAGED": staged} | variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def figures(log: Path) -> list[dict[str, float]]:
    """What the lines of steps and validations say, without times."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    kept = ("step", "loss", "grad_norm", "lr", "val_loss")
    return [{k: line[k] for k in kept if k in line} for line in lines if "loss" in line or "val_loss" in line]


def tensors(path: Path) -> dict[str, tuple[str, str, bytes]]:
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    body = data[8 + length :]
    return {
        name: (entry["dtype"], str(entry["shape"]), body[slice(*entry["data_offsets"])])
        for name, entry in header.items()
        if name != "__metadata__"
    }


def train(program: str, folder: Path, staged: str) -> tuple[list[dict[str, float]], dict, dict]:
    here = folder / staged.replace(":", "-")
    here.mkdir()
    tokens = folder / "tokens"
    flags = ["--data", str(tokens), "--val-data", str(tokens), "--val-every", "2", "--steps", "3", "--log"]
    flags += [str(here / "log"), "--save", str(here / "weights"), "--checkpoint-dir", str(here / "checkpoints")]
    done = run(program, staged, flags)
    if done.returncode:
        raise Wrong(f"{staged}: exit code {done.returncode}\n{done.stderr}")
    state = here / "checkpoints/step-00000003/state.safetensors"
    return figures(here / "log"), tensors(here / "weights"), tensors(state)


def main() -> int:
    program, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokens").write_bytes(struct.pack("<300H", *((7 * i * i + i) % 32 for i in range(300))))
    expected = train(program, folder, "0:1f1b:1:1")
    if len(expected[0]) < 4 or "w2" not in expected[1] or "updates" not in expected[2]:
        raise Wrong(f"the run without stages left {expected}")
    for stages in (2, 3):
        for schedule in ("gpipe", "1f1b"):
            for window in (1, 2, 4):
                staged = f"{stages}:{schedule}:{window}:1"
                if train(program, folder, staged) != expected:
                    raise Wrong(f"{staged}: differs from the run without stages")
                print(staged)
    flags = ["--data", str(folder / "tokens"), "--steps", "2", "--comm-timeout", "2"]
    done = run(program, "2:1f1b:1:1", flags, HONE_STAGED_SLEEPING="1")
    if done.returncode == 0 or not re.search(SLEEP.format(0), done.stderr):
        raise Wrong(f"a rank that sleeps: exit code {done.returncode}\n{done.stderr}")
    print("a rank that does not come is named")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Wrong as wrong:
        print(f"wrong: {wrong}", file=sys.stderr)
        sys.exit(1)
