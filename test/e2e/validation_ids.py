#!/usr/bin/env python3
"""A validation that finds a wrong id ends the run, and the weights of the steps before are saved. validation_ids.py WORKDIR

The ids come from floating point, so that nothing is known of them before the validation reads them.
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

GRAPH = """module attributes {hone.version = 2 : i64, hone.model = "ids"} {
  func.func @forward(
      %table: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "table", hone.requires_grad,
        hone.init = {dist = "constant", value = 0.1 : f64}},
      %t: tensor<6xf32> {hone.kind = "input", hone.fqn = "t"}) -> (tensor<f32> {hone.kind = "loss"}) {
    %ids = hone.cast %t : tensor<6xf32> -> tensor<6xi64>
    %x = hone.embedding %table, %ids : tensor<8x4xf32>, tensor<6xi64> -> tensor<6x4xf32>
    %loss = hone.reduce sum %x dims [0, 1] : tensor<6x4xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}
"""


def write_package(folder: Path) -> None:
    entries = [{"fqn": "table", "kind": "param", "dtype": "f32", "shape": [8, 4]},
               {"fqn": "t", "kind": "input", "dtype": "f32", "shape": [6]}]
    folder.mkdir(parents=True)
    (folder / "graph.mlir").write_text(GRAPH)
    manifest = {"schema": 2, "model": "ids", "fingerprint": hashlib.sha256(GRAPH.encode()).hexdigest(),
                "arguments": entries}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def main() -> None:
    work = Path(sys.argv[1])
    write_package(work / "p.hone")
    np.save(work / "good.npy", np.arange(6, dtype=np.float32))
    np.save(work / "bad.npy", np.array([[1] * 6, [1, 2, 9, 1, 1, 1]], dtype=np.float32))

    def run(name: str, steps: int, *flags: str) -> subprocess.CompletedProcess:
        return subprocess.run(["hone-run", "p.hone", "--input", "t=good.npy", "--steps", str(steps), "--lr", "0.1",
                               "--quiet", "--save", name, *flags], cwd=work, capture_output=True, text=True, timeout=60)

    for steps in (1, 3):
        assert run(f"good{steps}", steps).returncode == 0
    for name, flags, ends in (("end", (), 3), ("between", ("--val-every", "1"), 1)):
        done = run(name, 3, "--val-input", "t=bad.npy", "--val-batches", "2", "--checkpoint-dir", f"c-{name}", *flags)
        assert done.returncode == 1, done
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert "validation batch 1: embedding at " in done.stderr, done.stderr
        assert done.stderr.endswith(" reads id 9, expected 0 to 7; the run ends\n"), done.stderr
        assert (work / name).read_bytes() == (work / f"good{ends}").read_bytes(), f"{name}: other weights"
        resumed = run(f"{name}-resumed", 3, "--checkpoint-dir", f"c-{name}", "--resume")
        assert resumed.returncode == 0, resumed
        assert (work / f"{name}-resumed").read_bytes() == (work / "good3").read_bytes(), f"{name}: other weights"
    print("2 runs ended by a validation: weights saved")


main()
