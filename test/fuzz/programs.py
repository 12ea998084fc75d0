"""Compiles random training programs and compares them with the interpreter.

    programs.py WORKDIR [--seeds FROM TO] [--parts N]

Each seed gives a package: a random @forward (graphs.py) of N independent graphs, its arguments and random integers for
its inputs. The compiled binary and `hone-run --f64` train it for STEPS steps of SGD or AdamW, over one micro-batch or
two; losses, and the gradients of the first step, agree up to the error of fp32, which is told from hone-run in fp32,
and the binary gives the same bits with 1 and 2 threads. Prints a line per failure with the seed that repeats it, and a
summary; exits 1 if there is a failure.
"""

from __future__ import annotations

import argparse
import array
import concurrent.futures
import hashlib
import json
import math
import random
import struct
import subprocess
import sys
from pathlib import Path
from typing import Sequence

from graphs import Argument, count, random_forward

STEPS = 2
# fp32 has 6e-8; sums and divisions of a graph of some hundred ops, forward and backward, lose two digits more. A graph
# that loses more does so in the interpreter too; another order of sums may lose some times as much.
LOSS_TOLERANCE = 1e-5
GRADIENT_TOLERANCE = 3e-4
ORDER_OF_SUMS = 16
# Gradients this far below the largest, or below 1, are cancellation.
NEGLIGIBLE = 1e-5

OPTIMIZER = '{name = "sgd", lr = 0.01 : f64, weight_decay = 0.0 : f64, momentum = 0.0 : f64, clip = 1.0 : f64}'


class Failure(Exception):
    pass


def write_package(path: Path, arguments: list[Argument], forward: str) -> None:
    path.mkdir(parents=True, exist_ok=True)
    attributes = f'hone.version = 1 : i64, hone.model = "random", hone.optimizer = {OPTIMIZER}'
    graph = f"module attributes {{{attributes}}} {{\n{forward}}}\n"
    (path / "graph.mlir").write_text(graph)
    table = [{"fqn": argument.value.name, "kind": argument.kind, "dtype": argument.value.element,
              "shape": list(argument.value.shape)} for argument in arguments]
    manifest = {"schema": 1, "model": "random", "fingerprint": hashlib.sha256(graph.encode()).hexdigest(),
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


def check(seed: int, parts: int, work: Path) -> None:
    arguments, forward = random_forward(seed, parts)
    package = work / f"{seed}.hone"
    write_package(package, arguments, forward)
    pick = random.Random(seed)
    inputs: list[str] = []
    for argument in arguments:
        if argument.kind == "input":
            path = work / f"{seed}.{argument.value.name}.npy"
            write_ids(path, argument, pick)
            inputs += ["--input", f"{argument.value.name}={path}"]
    binary = work / f"{seed}.train"
    step = [f"--micro-batches={pick.choice((1, 1, 2))}", f"--optimizer={pick.choice(('adamw', 'sgd'))}"]
    call("honec", "honec", package, "-o", binary, "--keep-gradients", *step)
    runs = {"1 thread": [binary, "--threads", "1"], "2 threads": [binary, "--threads", "2"],
            "fp32": ["hone-run", package, *step], "fp64": ["hone-run", package, "--f64", *step]}
    for name, command in runs.items():
        out = work / f"{seed}.{name.replace(' ', '-')}"
        out.mkdir(exist_ok=True)
        call(name, *command, *inputs, "--steps", STEPS, "--seed", seed, "--dump", out, "--log", out / "log.jsonl",
             "--quiet")
    compiled, second, rounded, exact = (work / f"{seed}.{name.replace(' ', '-')}" for name in runs)
    if (compiled / "step1.safetensors").read_bytes() != (second / "step1.safetensors").read_bytes():
        raise Failure("differs between 1 and 2 threads")
    logs = (losses(out / "log.jsonl") for out in (compiled, rounded, exact))
    for step, (seen, interpreted, wanted) in enumerate(zip(*logs, strict=True)):
        if not abs(seen - wanted) <= LOSS_TOLERANCE * max(1.0, abs(wanted)) + ORDER_OF_SUMS * abs(interpreted - wanted):
            raise Failure(f"loss of step {step + 1} is {seen!r}, expected {wanted!r}")
    seen_tensors, rounded_tensors, exact_tensors = (read_tensors(out / "step1.safetensors")
                                                    for out in (compiled, rounded, exact))
    if seen_tensors.keys() != exact_tensors.keys():
        raise Failure(f"dumps {sorted(seen_tensors)}, expected {sorted(exact_tensors)}")
    floor = NEGLIGIBLE * max(1.0, *(rms(values) for values in exact_tensors.values()))
    for name, wanted in exact_tensors.items():
        error, unavoidable = distance(seen_tensors[name], wanted), distance(rounded_tensors[name], wanted)
        if not error <= GRADIENT_TOLERANCE * max(rms(wanted), floor) + ORDER_OF_SUMS * unavoidable:
            raise Failure(f"{name}: error {error:.3g}, rms {rms(wanted):.3g}")


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
