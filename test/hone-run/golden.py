"""golden.py PACKAGE.hone DIRECTORY [hone-run flags...]: trains a package in the interpreter as its golden file did.

Prints the largest difference of a loss, and the largest RMS error of a gradient of the first step over that gradient's
RMS, against the losses and gradients that PyTorch found; with --f64, those of its double-precision run. Fails above the
bounds of LOSS and GRADIENT. The standard library only, so that the check runs where torch is not installed.
"""

from __future__ import annotations

import array
import json
import math
import os
import shutil
import struct
import subprocess
import sys

# Single precision: PyTorch's own rounding over ten steps. Double: constants of the graph that the exporter wrote in
# single precision (an epsilon of 1e-5) differ from PyTorch's in double by one part in 1e8.
LOSS = {"f32": 1e-5, "f64": 1e-9}
GRADIENT = {"f32": 1e-5, "f64": 1e-8}
CODES = {"F32": "f", "F64": "d", "I32": "i", "I64": "q"}
NPY = {"F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8"}


class Tensor:
    def __init__(self, dtype: str, shape: list[int], data: bytes):
        self.dtype, self.shape, self.data = dtype, shape, data

    def values(self) -> array.array:
        return array.array(CODES[self.dtype], self.data)


def read_safetensors(path: str) -> dict[str, Tensor]:
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        body = file.read()
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            tensors[name] = Tensor(entry["dtype"], entry["shape"], body[begin:end])
    return tensors


def write_npy(path: str, tensor: Tensor) -> None:
    shape = "(" + "".join(f"{size}, " for size in tensor.shape) + ")"
    header = f"{{'descr': '{NPY[tensor.dtype]}', 'fortran_order': False, 'shape': {shape}}}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + tensor.data)


def rms(values) -> float:
    values = list(values)
    return math.sqrt(sum(value * value for value in values) / max(1, len(values)))


def main() -> int:
    package, work, *flags = sys.argv[1:]
    mode, suffix = ("f64", "_f64") if "--f64" in flags else ("f32", "")
    golden = read_safetensors(os.path.join(package, "golden.safetensors"))
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    feed = []
    if "tokens" in golden:
        write_npy(os.path.join(work, "tokens.npy"), golden["tokens"])
        feed += ["--data", os.path.join(work, "tokens.npy")]
    for name, tensor in golden.items():
        if name.startswith("input."):
            path = os.path.join(work, f"{name}.npy")
            write_npy(path, tensor)
            feed += ["--input", f"{name.removeprefix('input.')}={path}"]
    losses = golden["loss" + suffix].values()
    log, dump = os.path.join(work, "run.jsonl"), os.path.join(work, "dump")
    command = ["hone-run", package, "--steps", str(len(losses)), "--quiet", "--log", log, "--dump", dump]
    command += ["--init", os.path.join(package, "model.safetensors"), *feed, *flags]
    if subprocess.run(command, stdout=subprocess.DEVNULL).returncode != 0:
        return 1
    with open(log) as file:
        seen = [entry["loss"] for entry in map(json.loads, file) if "loss" in entry][: len(losses)]
    worst_loss = max(abs(a - b) for a, b in zip(seen, losses, strict=True))

    gradients = {
        name.removeprefix(f"grad{suffix}."): tensor
        for name, tensor in golden.items()
        if name.startswith(f"grad{suffix}.")
    }
    dumped = read_safetensors(os.path.join(dump, "step1.safetensors"))
    worst_gradient = 0.0
    for name, wanted in gradients.items():
        found, wanted = dumped[f"grad.{name}"].values(), wanted.values()
        error = rms(a - b for a, b in zip(found, wanted, strict=True))
        worst_gradient = max(worst_gradient, error / max(rms(wanted), 1e-30))
    good = worst_loss <= LOSS[mode] and worst_gradient <= GRADIENT[mode] and bool(gradients)
    print(
        f"{os.path.basename(package)} {mode}: {len(losses)} losses within {worst_loss:.2g}, "
        f"{len(gradients)} gradients within {worst_gradient:.2g}: {'ok' if good else 'TOO FAR'}"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
