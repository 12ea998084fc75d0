"""The package on disk: safetensors, manifest, and nothing half-written. Needs no torch."""

from __future__ import annotations

import hashlib
import json
import os
import struct

import pytest
from hone import package
from hone.errors import HoneError
from hone.graph import Type
from hone.package import Tensor, write_package, write_safetensors
from test_emit import small_graph


def read_safetensors(path) -> tuple[dict, bytes]:
    data = open(path, "rb").read()
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def test_safetensors_layout(tmp_path) -> None:
    path = tmp_path / "t.safetensors"
    write_safetensors(
        str(path),
        {
            "a.b": Tensor(Type("f32", (2,)), struct.pack("<2f", 1, 2)),
            "c": Tensor(Type("i1", (3,)), b"\1\0\1"),
            "empty": Tensor(Type("i64", (0, 4)), b""),
        },
    )
    header, data = read_safetensors(path)
    assert header == {
        "__metadata__": {"format": "pt"},
        "empty": {"dtype": "I64", "shape": [0, 4], "data_offsets": [0, 0]},
        "a.b": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
        "c": {"dtype": "BOOL", "shape": [3], "data_offsets": [8, 11]},
    }
    assert data == struct.pack("<2f", 1, 2) + b"\1\0\1"
    assert (os.path.getsize(path) - len(data)) % 8 == 0


def test_manifest(tmp_path) -> None:
    out = tmp_path / "m.hone"
    write_package(str(out), small_graph(), {"hone": "0"}, {"consts.safetensors": {}})
    assert sorted(os.listdir(out)) == ["graph.mlir", "manifest.json"]
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["schema"] == 2 and manifest["model"] == 'odd "name"' and manifest["producer"] == {"hone": "0"}
    assert manifest["fingerprint"] == hashlib.sha256((out / "graph.mlir").read_bytes()).hexdigest()
    assert manifest["arguments"] == [
        {"fqn": "wte.weight", "kind": "param", "dtype": "f32", "shape": [61, 8], "aliases": ["head.weight"]},
        {"fqn": "tokens", "kind": "input", "dtype": "i64", "shape": [2, 5], "role": "tokens", "vocab": 61},
    ]
    assert manifest["results"] == [{"kind": "loss", "dtype": "f32", "shape": []}]
    assert manifest["optimizer"]["name"] == "sgd"


def test_a_package_is_replaced_whole(tmp_path) -> None:
    out = tmp_path / "m.hone"
    write_package(str(out), small_graph(), {}, {"model.safetensors": {"x": Tensor(Type("i8", (1,)), b"\0")}})
    write_package(str(out), small_graph(), {}, {})
    assert sorted(os.listdir(out)) == ["graph.mlir", "manifest.json"]
    assert os.listdir(tmp_path) == ["m.hone"]


@pytest.mark.parametrize("make", [lambda p: p.mkdir(), lambda p: p.write_text("mine")])
def test_something_else_is_not_overwritten(tmp_path, make) -> None:
    out = tmp_path / "m.hone"
    make(out)
    with pytest.raises(HoneError, match="exists and is not a package"):
        write_package(str(out), small_graph(), {}, {})
    assert os.listdir(tmp_path) == ["m.hone"]


def test_missing_folder(tmp_path) -> None:
    with pytest.raises(HoneError, match="m.hone: cannot be written: No such file or directory"):
        write_package(str(tmp_path / "no" / "m.hone"), small_graph(), {}, {})


def test_a_failed_write_leaves_the_old_package(tmp_path, monkeypatch) -> None:
    out = tmp_path / "m.hone"
    write_package(str(out), small_graph(), {}, {})
    before = (out / "manifest.json").read_bytes()

    def full(path: str, tensors: dict) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(package, "write_safetensors", full)
    with pytest.raises(HoneError, match="No space left on device"):
        write_package(
            str(out), small_graph(), {"new": "1"}, {"model.safetensors": {"x": Tensor(Type("i8", (1,)), b"\0")}}
        )
    assert (out / "manifest.json").read_bytes() == before and os.listdir(tmp_path) == ["m.hone"]
