#!/usr/bin/env python3
"""Files do not tell padded programs from others: pad_files.py PACKAGE WORKDIR honec|hone-run [MULTIPLE].

Two programs of one package, one padded. Checks that fresh runs of both start with the same bits, that weights saved by either
load into the other bit for bit, that a checkpoint of either is resumed by the other and trains on as without the change, and
what is said of a file whose tensor has the padded shape.
"""

from __future__ import annotations

import json
import random
import struct
import subprocess
import sys
from pathlib import Path


def read(path: Path) -> dict[str, tuple[list[int], bytes]]:
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    begin = 8 + length
    return {
        name: (entry["shape"], data[begin + entry["data_offsets"][0] : begin + entry["data_offsets"][1]])
        for name, entry in header.items()
    }


def write(path: Path, tensors: dict[str, tuple[list[int], bytes]]) -> None:
    header, end = {}, 0
    for name, (shape, data) in tensors.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end + len(data)]}
        end += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, data in tensors.values()))


def losses(log: Path) -> list[float]:
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [line["loss"] for line in lines if "loss" in line]


def main() -> None:
    package, work, engine, multiple = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], (sys.argv[4:] or ["48"])[0]
    work.mkdir(parents=True)
    commands = {}
    for name, pad in (("plain", "off"), ("padded", multiple)):
        commands[name] = ["hone-run", package, f"--pad={pad}"]
        if engine == "honec":
            subprocess.run(["honec", package, "-o", work / name, f"--pad={pad}"], check=True)
            commands[name] = [work / name]
    arguments = json.loads((package / "manifest.json").read_text())["arguments"]
    shapes = {entry["fqn"]: entry["shape"] for entry in arguments if entry["kind"] == "param"}
    vocab = min(entry["vocab"] for entry in arguments if "vocab" in entry)
    generator = random.Random(3)
    tokens = work / "tokens.bin"
    tokens.write_bytes(struct.pack("<400H", *(generator.randrange(vocab) for _ in range(400))))

    def run(name: str, *flags: object, ok: bool = True) -> str:
        done = subprocess.run([*commands[name], "--data", tokens, "--quiet", *map(str, flags)], capture_output=True, text=True)
        assert (done.returncode == 0) == ok, (name, flags, done.stderr)
        return done.stderr

    still, noise = ("--steps", 1, "--lr", 0, "--weight-decay", 0), ("--fresh", "--seed", 9)
    for name in commands:  # a step of rate 0 leaves the initial values
        run(name, *still, *noise, "--save", work / f"fresh-{name}")
    fresh = read(work / "fresh-plain")
    assert fresh == read(work / "fresh-padded"), "initial values differ"
    assert {name: shape for name, (shape, _) in fresh.items() if name in shapes} == shapes
    print(f"{len(fresh)} tensors start alike")

    for name, other in (("plain", "padded"), ("padded", "plain")):
        run(name, "--steps", 3, *noise, "--save", work / f"w-{name}")
        run(other, *still, "--init", work / f"w-{name}", "--save", work / f"again-{name}")
        assert read(work / f"w-{name}") == read(work / f"again-{name}"), "weights changed on their way"
        print(f"weights of the {name} program load into the other")

    run("plain", "--steps", 6, *noise, "--log", work / "whole")
    for name, other in (("plain", "padded"), ("padded", "plain")):
        folder = work / f"c-{name}"
        run(name, "--steps", 3, *noise, "--checkpoint-dir", folder, "--checkpoint-every", 3)
        state = read(folder / "step-00000003" / "state.safetensors")
        assert all(state[f"exp_avg.{fqn}"][0] == shape for fqn, shape in shapes.items() if f"exp_avg.{fqn}" in state)
        run(other, "--steps", 6, *noise, "--checkpoint-dir", folder, "--resume", "--log", work / f"rest-{name}")
        pairs = list(zip(losses(work / f"rest-{name}"), losses(work / "whole")[3:], strict=True))
        assert len(pairs) == 3 and all(abs(x - y) <= 1e-5 * abs(y) for x, y in pairs), pairs
        print(f"a checkpoint of the {name} program is resumed by the other")

    name, shape = next((name, shape) for name, shape in shapes.items() if shape[0] % int(multiple))
    wide = [-(-shape[0] // int(multiple)) * int(multiple), *shape[1:]]
    row = len(fresh[name][1]) // shape[0]
    write(work / "wide", {**fresh, name: (wide, fresh[name][1] + bytes(row * (wide[0] - shape[0])))})
    message = run("padded", *still, "--init", work / "wide", ok=False).strip()
    assert message.endswith(f"tensor '{name}' has shape {wide}, expected {shape}"), message
    print("a file of the padded shape is refused")


main()
