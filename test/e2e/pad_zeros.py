#!/usr/bin/env python3
"""Padding stays zero while a compiled program trains: pad_zeros.py PACKAGE WORKDIR MULTIPLE STEPS [options of honec].

Files hide padding. So the padded graph, its parts forgotten, is made a package of its own, whose parameters are the padded
ones: its files show all of the storage. Starting from the same weights with zeros around them, every element that is padding
must be exactly zero after STEPS steps in parameters and optimizer state, and the others must have the bits of the program that
honec padded itself.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from golden import read_safetensors

PART = re.compile(r", hone\.parts = \[#hone\.part<[^>]*>\]")
ARGUMENT = re.compile(r'tensor<([0-9x]+)xf32> \{[^{}]*(?:\{[^{}]*\}[^{}]*)*hone\.fqn = "([^"]*)"')


def write(path: Path, tensors: dict[str, np.ndarray]) -> None:
    header, end = {}, 0
    for name, value in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [end, end + value.nbytes]}
        end += value.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(value.tobytes() for value in tensors.values()))


def widen(value: np.ndarray, shape: list[int]) -> np.ndarray:
    if not value.shape:
        return value
    return np.pad(value, [(0, wide - size) for wide, size in zip(shape, value.shape)])


def main() -> None:
    package, work, multiple, steps, *options = sys.argv[1:]
    package, work = Path(package), Path(work)
    wide = work / "wide.hone"
    wide.mkdir(parents=True)
    text = subprocess.run(
        ["hone-opt", package / "graph.mlir", f"--hone-pipeline=upto=pad pad={multiple}"], check=True, capture_output=True, text=True
    ).stdout
    assert "hone.parts" in text, "nothing was padded"
    graph = PART.sub("", text)
    (wide / "graph.mlir").write_text(graph)
    shapes = {name: [int(size) for size in sizes.split("x")] for sizes, name in ARGUMENT.findall(text)}
    manifest = json.loads((package / "manifest.json").read_text())
    manifest["fingerprint"] = hashlib.sha256(graph.encode()).hexdigest()
    for entry in manifest["arguments"]:
        entry["shape"] = shapes.get(entry["fqn"], entry["shape"])
    (wide / "manifest.json").write_text(json.dumps(manifest))
    weights = read_safetensors(package / "model.safetensors")
    write(wide / "model.safetensors", {name: widen(value, shapes[name]) for name, value in weights.items() if name in shapes})

    vocab = min(entry["vocab"] for entry in manifest["arguments"] if "vocab" in entry)
    np.save(work / "tokens.npy", np.random.default_rng(3).integers(0, vocab, 500).astype(np.int32))
    states = {}
    for name, source, pad in (("wide", wide, "off"), ("padded", package, multiple)):
        subprocess.run(["honec", source, "-o", work / name, f"--pad={pad}", *options], check=True)
        flags = ["--data", work / "tokens.npy", "--init", source / "model.safetensors", "--steps", steps, "--quiet"]
        flags += ["--lr", "0.01", "--weight-decay", "0.1", "--clip", "1", "--checkpoint-dir", work / f"c-{name}"]
        subprocess.run([work / name, *flags], check=True, stdout=subprocess.DEVNULL)
        states[name] = read_safetensors(next((work / f"c-{name}").glob("step-*")) / "state.safetensors")
    assert states["wide"].keys() == states["padded"].keys()
    padding = 0
    for name, value in states["padded"].items():
        whole = states["wide"][name]
        assert np.array_equal(widen(value, whole.shape), whole), f"{name} differs, or is not zero in its padding"
        padding += whole.size - value.size
        assert np.any(value) or not value.shape, f"{name} is zero: nothing was trained"
    assert padding > 0
    print(f"{padding} elements of padding in {len(states['wide'])} tensors are zero after {steps} steps")


if __name__ == "__main__":
    main()
