"""Compiles random training programs and compares them with the interpreter.

    programs.py WORKDIR [--seeds FROM TO] [--parts N]

Each seed gives a package: a random @forward of N independent graphs (grow.py), or a small transformer (models.py), with
random integers for its inputs. The compiled binary and `hone-run --f64` train it for STEPS steps of an optimizer, over
one micro-batch or two, the binary with or without padding and chunks of the loss, in fp32 or (transformers) bf16;
losses, and the gradients of the first step, agree up to the error of that precision, which is told from hone-run in the
same, and the binary gives the same bits with 1 and 2 threads. A badly conditioned graph is told by moving each weight
by about an ulp: what that changes in hone-run is allowed too. Prints a line per failure with the seed that repeats it,
and a summary; exits 1 if there is a failure.
"""

from __future__ import annotations

import argparse
import array
import concurrent.futures
import hashlib
import json
import math
import random
import re
import struct
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Sequence

from graphs import Argument, count
from grow import random_forward
from models import random_model

STEPS = 2
# fp32 has 6e-8; sums and divisions of a graph of some hundred ops, forward and backward, lose two digits more. A graph
# that loses more does so in the interpreter too; another order of sums may lose some times as much.
LOSS_TOLERANCE = 1e-5
GRADIENT_TOLERANCE = 3e-4
ORDER_OF_SUMS = 16
# Gradients this far below the largest, or below 1, are cancellation.
NEGLIGIBLE = 1e-5
LOW_SHARE = 0.5  # of transformers that are compiled for bf16

OPTIMIZERS = ("adamw", "sgd", "lion", "adafactor")
OPTIMIZER = '{name = "sgd", lr = 0.01 : f64, weight_decay = 0.0 : f64, momentum = 0.0 : f64, clip = 1.0 : f64}'


class Failure(Exception):
    pass


def write_package(path: Path, arguments: list[Argument], forward: str) -> None:
    path.mkdir(parents=True, exist_ok=True)
    attributes = f'hone.version = 2 : i64, hone.model = "random", hone.optimizer = {OPTIMIZER}'
    graph = f"module attributes {{{attributes}}} {{\n{forward}}}\n"
    (path / "graph.mlir").write_text(graph)
    table = [{"fqn": argument.value.name, "kind": argument.kind, "dtype": argument.value.element,
              "shape": list(argument.value.shape)} for argument in arguments]
    manifest = {"schema": 2, "model": "random", "fingerprint": hashlib.sha256(graph.encode()).hexdigest(),
                "arguments": table}
    (path / "manifest.json").write_text(json.dumps(manifest))


def write_ids(path: Path, argument: Argument, pick: random.Random) -> None:
    """A .npy file of int64 below the bound of the argument."""
    shape = argument.value.shape
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({''.join(f'{size}, ' for size in shape)}), }}"
    header = header.ljust(117) + "\n"
    ids = array.array("q", (pick.randrange(argument.below) for _ in range(count(shape))))
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + ids.tobytes())


def read_tensors(path: Path) -> dict[str, array.array]:
    """Floats of a safetensors file by name."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = array.array({"F32": "f", "F64": "d"}[entry["dtype"]], data[8 + length + begin:8 + length + end])
    return tensors


def rms(values: Sequence[float]) -> float:
    return math.sqrt(sum(value * value for value in values) / len(values)) if values else 0.0


def distance(first: Sequence[float], second: Sequence[float]) -> float:
    return rms([a - b for a, b in zip(first, second, strict=True)])


def call(what: str, *command: object) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if not line.startswith("warning")] or ["no message"]
        raise Failure(f"{what} exits with {done.returncode}: {lines[0][:300]}")


def losses(log: Path) -> list[float]:
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    return [entry["loss"] for entry in entries if "loss" in entry]


@dataclass(frozen=True)
class Program:
    """One random program: its graph, and how it is compiled."""

    seed: int
    arguments: list[Argument]
    forward: str
    step: tuple[str, ...]  # flags of honec and of hone-run
    passes: tuple[str, ...]  # flags of honec: what must change nothing

    @staticmethod
    def draw(seed: int, parts: int) -> Program:
        pick = random.Random(seed)
        is_model = seed % 2 == 1
        arguments, forward = random_model(seed) if is_model else random_forward(seed, parts)
        step = [f"--micro-batches={pick.choice((1, 1, 2))}", f"--optimizer={pick.choice(OPTIMIZERS)}"]
        if is_model and pick.random() < LOW_SHARE:
            step.append("--precision=bf16")
        passes = (f"--pad={pick.choice(('auto', 'off', '8'))}",
                  f"--chunk-loss={pick.choice(('auto', 'off', '2', '3'))}",
                  f"--attention={pick.choice(('auto', 'unfused'))}")
        return Program(seed, arguments, forward, tuple(step), passes)


@dataclass(frozen=True)
class Outcome:
    losses: list[float]
    gradients: dict[str, array.array]

    @staticmethod
    def of(folder: Path) -> Outcome:
        return Outcome(losses(folder / "log.jsonl"), read_tensors(folder / "step1.safetensors"))


def moved_by_an_ulp(arguments: list[Argument], pick: random.Random) -> list[Argument]:
    """Arguments whose weights are each about an ulp of fp32 larger or smaller."""
    def move(init: str) -> str:
        factor = 1 + pick.choice((-1, 1)) * 2.0**-23
        return re.sub(r"(mean|std) = ([-0-9.e]+)", lambda match: f"{match[1]} = {float(match[2]) * factor!r}", init)
    return [replace(argument, init=move(argument.init)) for argument in arguments]


def train(what: str, command: list[object], inputs: list[str], seed: int, out: Path) -> Outcome:
    out.mkdir(exist_ok=True)
    call(what, *command, *inputs, "--steps", STEPS, "--seed", seed, "--dump", out, "--log", out / "log.jsonl",
         "--quiet")
    return Outcome.of(out)


def complaint(seen: Outcome, exact: Outcome, others: list[Outcome]) -> str:
    """What is further from `exact` than `others`, which share its graph and its precision, make likely.

    What a step changes the loss by is known no better than the gradients.
    """
    floor = NEGLIGIBLE * max(1.0, *(rms(values) for values in exact.gradients.values()))
    doubt = max(distance(other.gradients[name], wanted) / max(rms(wanted), floor)
                for other in others for name, wanted in exact.gradients.items())
    for step, (loss, wanted) in enumerate(zip(seen.losses, exact.losses, strict=True)):
        unavoidable = max(abs(other.losses[step] - wanted) for other in others)
        unavoidable = max(unavoidable, doubt * abs(wanted - exact.losses[0]))
        if not abs(loss - wanted) <= LOSS_TOLERANCE * max(1.0, abs(wanted)) + ORDER_OF_SUMS * unavoidable:
            return f"loss of step {step + 1} is {loss!r}, expected {wanted!r}"
    if seen.gradients.keys() != exact.gradients.keys():
        return f"dumps {sorted(seen.gradients)}, expected {sorted(exact.gradients)}"
    for name, wanted in exact.gradients.items():
        error = distance(seen.gradients[name], wanted)
        unavoidable = max(distance(other.gradients[name], wanted) for other in others)
        if not error <= GRADIENT_TOLERANCE * max(rms(wanted), floor) + ORDER_OF_SUMS * unavoidable:
            return f"{name}: error {error:.3g}, rms {rms(wanted):.3g}"
    return ""


def check(seed: int, parts: int, work: Path) -> None:
    program, pick = Program.draw(seed, parts), random.Random(seed)
    package = work / f"{seed}.hone"
    write_package(package, program.arguments, program.forward)
    inputs: list[str] = []
    for argument in program.arguments:
        if argument.kind == "input":
            path = work / f"{seed}.{argument.value.name}.npy"
            write_ids(path, argument, pick)
            inputs += ["--input", f"{argument.value.name}={path}"]
    binary = work / f"{seed}.train"
    call("honec", "honec", package, "-o", binary, "--keep-gradients", *program.step, *program.passes)

    def run(what: str, *command: object) -> Outcome:
        return train(what, list(command), inputs, seed, work / f"{seed}.{what.replace(' ', '-')}")

    one, two = (run(f"{number} threads", binary, "--threads", number) for number in (1, 2))
    if one.gradients != two.gradients or one.losses != two.losses:
        raise Failure("differs between 1 and 2 threads")
    rounded = run("rounded", "hone-run", package, *program.step)
    exact = run("exact", "hone-run", package, "--f64", *program.step)
    if not complaint(one, exact, [rounded]):
        return
    moved = work / f"{seed}.moved.hone"
    write_package(moved, moved_by_an_ulp(program.arguments, pick), program.forward)
    if problem := complaint(one, exact, [rounded, run("moved", "hone-run", moved, *program.step)]):
        raise Failure(f"{problem} ({' '.join([*program.step, *program.passes])})")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 10], help="FROM and TO, or FROM alone for one")
    parser.add_argument("--parts", type=int, default=3)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)

    def attempt(seed: int) -> str | None:
        try:
            check(seed, options.parts, options.work)
        except Failure as failure:
            return f"seed {seed}: {failure}"
        return None

    first, *last = options.seeds
    seeds = range(first, *last or [first + 1])
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        problems = [problem for problem in pool.map(attempt, seeds) if problem]
    print("\n".join([*problems, f"{len(seeds)} programs of {options.parts} graphs, {len(problems)} failures"]))
    return 1 if problems or not seeds else 0


if __name__ == "__main__":
    sys.exit(main())
