#!/usr/bin/env python3
"""What becomes of state in low precision: loss_scaling.py ENGINE PACKAGE.hone WORKDIR [MICRO-BATCHES [OPTION]].

ENGINE is honec or hone-run, OPTION one more of each run in low precision.

- fp16 from a scale that overflows: the first step is skipped, which halves the scale and changes no other bit of state.
- fp16, bf16 and bf16-sr: a run that was stopped and resumed ends in the bits of one that was not, so scale and counters
  are saved and low copies of weights are made again as they were. The fp16 runs skip steps on both sides of the stop.
- A scale too small for any use ends the run.
- Weights saved in bf16 start a run in fp32, where they are the same numbers, and a checkpoint in bf16 does not.
"""

from __future__ import annotations

import json
import random
import struct
import subprocess
import sys
from pathlib import Path


def read(path: Path) -> dict[str, bytes]:
    """Tensors of a safetensors file as bytes."""
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    return {name: data[8 + length + entry["data_offsets"][0] : 8 + length + entry["data_offsets"][1]]
            for name, entry in header.items()}


class Engine:
    def __init__(self, engine: str, package: Path, work: Path, micro_batches: int, options: list[str]) -> None:
        self.engine, self.package, self.work, self.micro_batches = engine, package, work, micro_batches
        self.options = options
        self.tokens = work / "tokens.bin"
        random.seed(3)
        self.tokens.write_bytes(b"".join(struct.pack("<H", random.randrange(61)) for _ in range(6000)))

    def command(self, build: list[str]) -> list[str]:
        low = [] if "--precision=fp32" in build else self.options
        build = [*build, *low, f"--micro-batches={self.micro_batches}"]
        if self.engine == "hone-run":
            return ["hone-run", str(self.package), *build]
        binary = self.work / ("train" + "".join(build).replace("=", "-").replace("--", "-"))
        if not binary.exists():
            subprocess.run(["honec", str(self.package), "-o", str(binary), *build], check=True)
        return [str(binary)]

    def train(self, build: list[str], folder: str, steps: int, *more: str) -> subprocess.CompletedProcess[str]:
        command = [*self.command(build), "--data", str(self.tokens), "--steps", str(steps), "--seed", "5", "--quiet",
                   "--checkpoint-dir", str(self.work / folder), "--log", str(self.work / f"{folder}.jsonl"), *more]
        if "--init" not in more:  # the scales below suit the gradients of these values
            command.append("--fresh")
        return subprocess.run(command, capture_output=True, text=True)

    def run(self, build: list[str], folder: str, steps: int, *more: str) -> dict[str, bytes]:
        result = self.train(build, folder, steps, *more)
        if result.returncode != 0:
            sys.exit(f"{build} {steps} steps: exit {result.returncode}: {result.stderr}")
        return read(self.work / folder / f"step-{steps:08d}" / "state.safetensors")

    def log(self, folder: str) -> list[dict[str, object]]:
        lines = (self.work / f"{folder}.jsonl").read_text().splitlines()
        return [entry for entry in map(json.loads, lines) if "loss" in entry]


def check(holds: bool, what: str) -> None:
    if not holds:
        sys.exit(f"error: {what}")


def check_skip(engine: Engine) -> None:
    build = ["--precision=fp16", "--loss-scale=1099511627776"]
    before = engine.run(build, "skip", 0)
    after = engine.run(build, "skip", 1, "--resume")
    changed = {name for name in before if before[name] != after[name]}
    check(changed == {"loss_scale"}, f"a skipped step changed {sorted(changed)}, expected loss_scale alone")
    check(struct.unpack("<f", after["loss_scale"])[0] == 2.0**39, "the scale was not halved")
    entry = engine.log("skip")[-1]
    check(entry["skipped"] is True and entry["grad_norm"] is None, f"the log says {entry}")
    print("skipped step changes the scale alone")


def check_resume(engine: Engine, precision: str, *options: str) -> None:
    build = [f"--precision={precision}", *options]
    name = precision + "".join(options)
    whole = engine.run(build, f"{name}-whole", 8)
    engine.run(build, f"{name}-parts", 4)
    parts = engine.run(build, f"{name}-parts", 8, "--resume")
    changed = {tensor for tensor in whole if whole[tensor] != parts[tensor]}
    check(whole.keys() == parts.keys() and not changed, f"{precision}: resumed run differs in {sorted(changed)}")
    check(not any("working_copy" in tensor for tensor in whole), f"{precision}: the file holds a working copy")
    if precision != "fp16":
        return print(f"{precision}: resumed bit for bit")
    skipped = [bool(entry["skipped"]) for entry in engine.log(f"{name}-whole")]
    check(any(skipped) and not all(skipped), f"skipped steps are {skipped}, expected some")
    updates = struct.unpack("<q", whole["updates"])[0]
    check(updates == skipped.count(False), f"{updates} updates are counted, expected {skipped.count(False)}")
    print("fp16: resumed bit for bit across skipped steps")


def check_underflow(engine: Engine) -> None:
    result = engine.train(["--precision=fp16", "--loss-scale=1e-9"], "small", 3)
    check(result.returncode == 1 and "the loss scale is 1e-09, expected at least 5.96046e-08" in result.stderr,
          f"exit {result.returncode}: {result.stderr}")
    print("a scale that is lost ends the run")


def check_weights(engine: Engine) -> None:
    weights = engine.work / "weights.safetensors"
    state = engine.run(["--precision=bf16-sr"], "low", 2, "--save", str(weights))
    saved = read(weights)
    check(all(saved[name] == state[name] for name in saved), "saved weights differ from the state")
    wide = engine.run(["--precision=fp32"], "wide", 0, "--init", str(weights))
    for name, data in saved.items():
        low = b"".join(b"\0\0" + data[i : i + 2] for i in range(0, len(data), 2))
        check(wide[name] == low, f"{name}: not the bf16 value in fp32")
    result = engine.train(["--precision=fp32"], "low", 3, "--resume")
    refused = result.returncode == 1 and "precision bf16-sr, this program has fp32" in result.stderr
    check(refused, f"exit {result.returncode}: {result.stderr}")
    print("weights change precision, checkpoints do not")


def main() -> None:
    engine = Engine(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 1,
                    sys.argv[5:])
    check_skip(engine)
    check_resume(engine, "fp16", "--loss-scale=1e8")
    check_resume(engine, "bf16")
    check_resume(engine, "bf16-sr")
    check_underflow(engine)
    check_weights(engine)


if __name__ == "__main__":
    main()
