"""What rows of bad input are made of: a small model, the folder that it is put into, the row itself."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import struct
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Sequence

# A bigram model: the smallest graph with parameters, a token stream and a loss.
GRAPH = """\
module attributes {hone.version = 2 : i64, hone.model = "bigram"} {
  func.func @forward(
    %table: tensor<16x16xf32> {hone.kind = "param", hone.fqn = "table", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %tokens: tensor<2x8xi64> {hone.kind = "input", hone.fqn = "tokens", hone.role = "tokens", hone.vocab = 16 : i64},
    %targets: tensor<2x8xi64> {hone.kind = "input", hone.fqn = "targets", hone.role = "targets", hone.vocab = 16 : i64}
  ) -> (tensor<f32> {hone.kind = "loss"}) {
    %x = "hone.embedding"(%table, %tokens) : (tensor<16x16xf32>, tensor<2x8xi64>) -> tensor<2x8x16xf32>
    %y = "hone.neg"(%x) : (tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
    %loss, %lse = "hone.cross_entropy"(%y, %targets) <{ignore_index = -100 : i64, label_smoothing = 0.0 : f64, reduction = #hone<reduction mean>}> : (tensor<2x8x16xf32>, tensor<2x8xi64>) -> (tensor<f32>, tensor<2x8xf32>)
    return %loss : tensor<f32>
  }
}
"""

ARGUMENTS = [
    {"fqn": "table", "kind": "param", "dtype": "f32", "shape": [16, 16]},
    {"fqn": "tokens", "kind": "input", "dtype": "i64", "shape": [2, 8], "role": "tokens", "vocab": 16},
    {"fqn": "targets", "kind": "input", "dtype": "i64", "shape": [2, 8], "role": "targets", "vocab": 16},
]


@dataclass(frozen=True)
class Workshop:
    """Where a case makes its files."""

    home: Path
    tests: Path
    environment: dict[str, str]

    def package(self, graph: str = GRAPH, arguments: list[dict] = ARGUMENTS) -> Path:
        """A package p.hone of `graph`, with its own fingerprint."""
        path = self.home / "p.hone"
        path.mkdir()
        data = graph.encode("latin-1")
        (path / "graph.mlir").write_bytes(data)
        manifest = {
            "schema": 2,
            "model": "bigram",
            "fingerprint": hashlib.sha256(data).hexdigest(),
            "arguments": arguments,
        }
        (path / "manifest.json").write_text(json.dumps(manifest))
        return path

    def binary(self) -> None:
        """The compiled bigram model, ./train; compiled once for all cases, by the compiler that is there now."""
        compiler = Path(shutil.which("honec", path=self.environment["PATH"]))
        parts = [compiler, *(compiler.parent.parent / "lib" / "honec").glob("*")]
        cache = self.home.parent / "bigram"
        with open(self.home.parent / "bigram.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not cache.exists() or cache.stat().st_mtime < max(part.stat().st_mtime for part in parts):
                package = self.package()
                made = cache.with_suffix(".new")
                subprocess.run(["honec", package, "-o", made], env=self.environment, check=True)
                shutil.rmtree(package)
                made.rename(cache)
        os.link(cache, self.home / "train")

    def tokens(self, name: str = "tokens.bin", data: bytes | None = None) -> None:
        """A token file; good ids, 16-bit without header, unless `data` is given."""
        ids = [i % 16 for i in range(64)]
        (self.home / name).write_bytes(struct.pack("<64H", *ids) if data is None else data)

    def manifest(self, edit: Callable[[dict], None]) -> None:
        """A package whose manifest was edited."""
        path = self.package() / "manifest.json"
        content = json.loads(path.read_text())
        edit(content)
        path.write_text(json.dumps(content))


Prepare = Callable[[Workshop], object]


@dataclass(frozen=True)
class Case:
    command: Sequence[str]
    code: int
    message: str
    prepare: Prepare = field(default=Workshop.package)

    def tools(self) -> set[str]:
        """The tools of the build that the case runs."""
        return {self.command[0].replace("./train", "honec")}


def graph(text: str) -> Prepare:
    """A package whose graph reads `text`."""
    return lambda shop: shop.package(text)


def replaced(old: str, new: str) -> Prepare:
    """A package in whose graph the first `old` reads `new`."""
    assert old in GRAPH, old
    return graph(GRAPH.replace(old, new, 1))


def manifest(**entries: object) -> Prepare:
    return lambda shop: shop.manifest(lambda content: content.update(entries))


def raw_manifest(text: str) -> Prepare:
    return lambda shop: (shop.package() / "manifest.json").write_text(text)


def removed(name: str) -> Prepare:
    return lambda shop: (shop.package() / name).unlink()


def with_arguments(shop: Workshop, text: str, shape: list[int]) -> None:
    """A package whose table has another shape."""
    path = shop.package(text) / "manifest.json"
    content = json.loads(path.read_text())
    content["arguments"][0]["shape"] = shape
    path.write_text(json.dumps(content))


def honec(*arguments: str) -> Sequence[str]:
    return ("honec", "p.hone", "-o", "train", *arguments)


def usage(message: str, *arguments: str) -> Case:
    """A wrong command line of honec."""
    return Case(honec(*arguments), 2, message)


def safetensors(header: object, data: bytes = b"", length: int | None = None) -> bytes:
    text = header.encode() if isinstance(header, str) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data
