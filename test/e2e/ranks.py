#!/usr/bin/env python3
"""Trains one model on several meshes and compares: ranks.py [OPTION]... PACKAGE WORKDIR HOW [MESH:RECIPE[:K[:SCHEDULE]]]...

Each case is compiled (HOW is mpi, gpus or torchrun; or run in the interpreter, all ranks in one process) with `--mesh=MESH --recipe=RECIPE` and K
micro-batches, and trained for five steps from the package's weights with the seed and the tokens of the run on one
rank with as many micro-batches. Losses and gradient norms must agree within 1e-6 of themselves under MPI: sums of f32
in another order. Saved weights must agree within 2 % of the largest step that AdamW can have made, lr times steps:
where a gradient is nearly zero, its rounding decides the update's direction. Every copy of a weight is compared in
every bit, each step. With --exact, everything must have the bits of one rank. Other options (--optimizer=lion) are given to the compiler in
each case (--moe-factor=inf to those of several ranks); --numbers=1e-4 and --weights=0.1 are the two tolerances in place of 1e-6 and 2 %.

The run on one rank is as HOW says, or with --alone=mpi one on a CPU.

`gpus` are emulated ones, whose collectives a fake of NCCL makes, under mpirun; `torchrun` starts the same.
"""

from __future__ import annotations

import json
import math
import os
import random
import socket
import struct
import subprocess
import sys
from array import array
from pathlib import Path

STEPS = 5
RATE = 1e-3
TOLERANCE = 1e-6
MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",  # several runs at once would share the first cores
}


def vocabulary(package: Path) -> int:
    arguments = json.loads((package / "manifest.json").read_text())["arguments"]
    return min(entry["vocab"] for entry in arguments if "vocab" in entry)


def ranks_of(mesh: str) -> int:
    sizes = [axis.split("=")[1] for axis in mesh.split(",") if axis]
    return math.prod(int(size.split("@")[0]) for size in sizes)


def free_port() -> int:
    """Which is free, as the next one is, where ranks meet; none that the system gives to others meanwhile."""
    for port in random.sample(range(20000, 30000), 100):
        try:
            for used in (port, port + 1):
                socket.create_server(("localhost", used)).close()
            return port
        except OSError:
            continue
    raise OSError("no two ports in a row are free")


def launcher(how: str, ranks: int) -> list[str]:
    if how == "torchrun":  # which would take the program's flags for its own without "--"
        place = ["--nnodes=1", "--master-addr=localhost", f"--master-port={free_port()}"]
        return ["torchrun", "--no-python", *place, f"--nproc-per-node={ranks}", "--"]
    return ["mpirun", "-np", str(ranks)]


def weights(path: Path) -> dict[str, array]:
    """The f32 tensors of a file of safetensors."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            tensors[name] = array("f", data[8 + length + begin : 8 + length + end])
    return tensors


class Trainer:
    def __init__(self, package: Path, work: Path, how: str, options: list[str], flags: tuple[str, ...] = ()) -> None:
        """`options` are the compiler's, `flags` the program's."""
        self.package, self.work, self.how, self.options, self.flags = package, work, how, options, flags
        self.tokens = work / "tokens.bin"
        draw, limit = random.Random(3), vocabulary(package)
        self.tokens.write_bytes(array("H", (draw.randrange(limit) for _ in range(4000))).tobytes())

    def train(self, name: str, mesh: str, recipe: str, micro: int, schedule: str = "") -> tuple[list[dict], dict[str, array]]:
        log, saved = self.work / f"{name}.jsonl", self.work / f"{name}.safetensors"
        options = [f"--micro-batches={micro}"]
        options += [option for option in self.options if mesh or not option.startswith("--moe-")]
        options += [f"--mesh={mesh}", f"--recipe={recipe}"] if mesh else []
        options += [f"--schedule={schedule}"] if schedule else []
        if self.how == "interpreter":
            command = ["hone-run", self.package, *options]
        else:
            binary = self.work / name
            device = [] if self.how == "mpi" else ["--target=cuda", "--arch=sm_90", "--emulate"]
            subprocess.run(["honec", self.package, "-o", binary, *options, *device], check=True)
            command = [binary, "--threads", "1", "--comm-timeout", "60", "--check-replicas", "1"]
            if mesh:
                command = [*launcher(self.how, ranks_of(mesh)), *command]
        command += ["--data", self.tokens, "--val-data", self.tokens, "--val-batches", "2", "--steps", str(STEPS)]
        command += ["--lr", str(RATE), "--seed", "5", "--init", self.package / "model.safetensors"]
        command += ["--save", saved, "--log", log, "--quiet", *self.flags]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | MPI)
        return [*map(json.loads, log.read_text().splitlines())], weights(saved)


def differences(expected: tuple, seen: tuple) -> tuple[float, float]:
    """The largest relative difference of a number of the log, and the largest of a weight."""
    numbers = 0.0
    for before, after in zip(expected[0], seen[0], strict=True):
        for key in ("loss", "grad_norm", "val_loss"):
            assert (key in before) == (key in after), key
            if before.get(key) is not None:
                assert math.isfinite(before[key]) and math.isfinite(after[key]), key
                numbers = max(numbers, abs(before[key] - after[key]) / abs(before[key]))
    assert expected[1].keys() == seen[1].keys(), "the files hold other tensors"
    assert all(math.isfinite(x) for tensor in seen[1].values() for x in tensor), "a weight is no number"
    worst = max(max(abs(a - b) for a, b in zip(expected[1][name], seen[1][name], strict=True)) for name in expected[1])
    return numbers, worst


def has_bits_of(expected: tuple, seen: tuple) -> bool:
    return differences(expected, seen)[0] == 0 and all(
        seen[1][name].tobytes() == tensor.tobytes() for name, tensor in expected[1].items()
    )


def main(argv: list[str]) -> int:
    options = [argument for argument in argv[1:] if argument.startswith("--")]
    package, folder, how, *cases = [argument for argument in argv[1:] if not argument.startswith("--")]
    tolerances = {"--numbers": TOLERANCE, "--weights": 0.02}
    for option in [option for option in options if option.split("=")[0] in tolerances]:
        options.remove(option)
        tolerances[option.split("=")[0]] = float(option.split("=")[1])
    is_exact = "--exact" in options
    work = Path(folder)
    work.mkdir(parents=True, exist_ok=True)
    alone_on = [option.split("=")[1] for option in options if option.startswith("--alone=")]
    options = [option for option in options if not option.startswith("--alone=")]
    trainer = Trainer(Path(package), work, how, options)
    reference = Trainer(Path(package), work, *alone_on, options) if alone_on else trainer
    alone: dict[int, tuple] = {}
    failures = 0
    for number, case in enumerate(cases):
        mesh, recipe, micro, schedule = (case.split(":") + ["", "", ""])[:4]
        count = int(micro or 1)
        if count not in alone:
            alone[count] = reference.train(f"alone{count}", "", "", count, "")
        seen = trainer.train(f"case{number}", mesh, recipe, count, schedule)
        numbers, worst = differences(alone[count], seen)
        agrees = has_bits_of(alone[count], seen) if is_exact else (
            numbers <= tolerances["--numbers"] and worst <= tolerances["--weights"] * RATE * STEPS
        )
        failures += not agrees
        print(f"{mesh} {recipe or 'ddp'} {schedule}{' ' * bool(schedule)}x{count}: {'equal' if agrees else 'DIFFERENT'}, numbers {numbers:.2g}, weights {worst:.2g}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
