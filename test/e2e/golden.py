#!/usr/bin/env python3
"""Compares a compiled training run with PyTorch's: golden.py PACKAGE WORKDIR [honec options].

Compiles the package, trains as many steps as golden.safetensors holds, from the same weights and on the same tokens, with
1 and with 2 threads, and checks

- every loss within 1e-5 of PyTorch's (relative to max(1, loss)),
- every gradient of step 1: root mean square error at most 1e-5 of its root mean square,
- every parameter after the last step: the difference at most 2e-3 of its change, root mean square,
- the two runs bitwise equal.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

LOSS_TOLERANCE = 1e-5
GRADIENT_TOLERANCE = 1e-5
PARAMETER_TOLERANCE = 2e-3
# Adam moves an element by up to lr per step however small its gradient. Where that is nothing but rounding (the bias of
# attention keys has none), so is the move: such elements are left out.
NO_GRADIENT = 1e-4

DTYPES = {"F64": np.float64, "F32": np.float32, "I64": np.int64, "I32": np.int32, "BF16": np.uint16}


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        flat = np.frombuffer(data[8 + length + begin : 8 + length + end], DTYPES[entry["dtype"]])
        if entry["dtype"] == "BF16":  # the upper half of an f32
            flat = (flat.astype(np.uint32) << 16).view(np.float32)
        tensors[name] = flat.reshape(entry["shape"])
    return tensors


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values.astype(np.float64))))) if values.size else 0.0


def train(work: Path, package: Path, steps: int, threads: int) -> list[dict]:
    """Lines of the log; weights and dump lie in WORK/run<threads>."""
    out = work / f"run{threads}"
    out.mkdir(parents=True)
    subprocess.run(
        [
            work / "train",
            "--data",
            work / "tokens.npy",
            "--init",
            package / "model.safetensors",
            "--steps",
            str(steps),
            "--threads",
            str(threads),
            "--save",
            out / "weights.safetensors",
            "--dump",
            out,
            "--log",
            out / "log.jsonl",
            "--quiet",
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]


def main(argv: list[str]) -> int:
    package, work, options = Path(argv[1]), Path(argv[2]), argv[3:]
    work.mkdir(parents=True, exist_ok=True)
    golden = read_safetensors(package / "golden.safetensors")
    start = read_safetensors(package / "model.safetensors")
    np.save(work / "tokens.npy", golden["tokens"])
    subprocess.run(["honec", package, "-o", work / "train", "--keep-gradients", *options], check=True)
    steps = len(golden["loss"])
    problems = []
    logs = {threads: train(work, package, steps, threads) for threads in (1, 2)}

    losses = [entry["loss"] for entry in logs[1] if "loss" in entry]
    worst = max(abs(a - float(b)) / max(1.0, abs(float(b))) for a, b in zip(losses, golden["loss"], strict=True))
    print(f"losses      {steps} steps, worst difference {worst:.2e}")
    if not worst <= LOSS_TOLERANCE:
        problems.append(f"losses differ by {worst:.2e}: {losses}, expected {golden['loss'].tolist()}")

    dump = read_safetensors(work / "run1" / "step1.safetensors")
    worst = 0.0
    gradients = {name: value for name, value in golden.items() if name.startswith("grad.")}
    for name, expected in gradients.items():
        error = rms(dump[name] - expected) / max(rms(expected), 1e-12)
        worst = max(worst, error)
        if not error <= GRADIENT_TOLERANCE:
            problems.append(f"{name}: error {error:.2e} of its rms {rms(expected):.2e}")
    print(f"gradients   {len(gradients)}, worst error {worst:.2e} of the rms")

    weights = read_safetensors(work / "run1" / "weights.safetensors")
    worst = 0.0
    parameters = {name.removeprefix("param."): value for name, value in golden.items() if name.startswith("param.")}
    for name, expected in parameters.items():
        gradient = np.abs(golden["grad." + name])
        moved = gradient > NO_GRADIENT * rms(gradient)
        error = rms((weights[name] - expected)[moved]) / max(rms((expected - start[name])[moved]), 1e-12)
        worst = max(worst, error)
        if not error <= PARAMETER_TOLERANCE:
            problems.append(f"{name}: after {steps} steps differs by {error:.2e} of its change")
    print(f"parameters  {len(parameters)}, worst difference {worst:.2e} of their change")

    for name in ("weights.safetensors", "step1.safetensors"):
        if (work / "run1" / name).read_bytes() != (work / "run2" / name).read_bytes():
            problems.append(f"{name}: differs between 1 and 2 threads")
    print("\n".join(problems) if problems else "equal with 1 and 2 threads")
    return 1 if problems or not gradients or not parameters else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
