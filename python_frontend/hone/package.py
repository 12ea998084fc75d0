"""Writes a package directory: graph.mlir, manifest.json and safetensors files. Standard library only."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import struct
import tempfile
from dataclasses import dataclass
from typing import Iterator, Mapping, Union

from .emit import emit
from .errors import HoneError
from .graph import DTYPE_BYTES, Argument, Graph, Type

SCHEMA = 2

# Names of element types in a safetensors header.
SAFETENSORS_DTYPES = {
    "f64": "F64",
    "f32": "F32",
    "bf16": "BF16",
    "f16": "F16",
    "i64": "I64",
    "i32": "I32",
    "i8": "I8",
    "i1": "BOOL",
}

GRAPH, MANIFEST = "graph.mlir", "manifest.json"
WEIGHTS = "model.safetensors"  # that runs start from; a binary knows it by size and header
# What export says of them.
LEFT_OUT = "left out, runs start from random values"
FRESH = "to start from random values: ./train --fresh, or fresh=true of hone train"


@dataclass(frozen=True)
class Tensor:
    """A tensor's bytes, little-endian and row-major."""

    type: Type
    data: Union[bytes, memoryview]


def write_package(path: str, graph: Graph, producer: dict[str, str], files: Mapping[str, Mapping[str, Tensor]]) -> None:
    """Writes the package `path`, replacing one that is there; nothing is left half-written.

    `files` maps names of safetensors files to their tensors; empty ones are not written.
    Raises HoneError where `path` cannot be written or holds something else than a package.
    """
    path = os.path.abspath(path)
    if os.path.lexists(path) and not os.path.isfile(os.path.join(path, MANIFEST)):
        raise HoneError(f"{path}: exists and is not a package, nothing was written")
    text = emit(graph)
    with _replacing(path) as folder:
        _write(os.path.join(folder, GRAPH), text.encode())
        _write(os.path.join(folder, MANIFEST), _json(_manifest(graph, text, producer)))
        for name, tensors in files.items():
            if tensors:
                write_safetensors(os.path.join(folder, name), tensors)


def seal(path: str) -> bool:
    """Accepts the graph of the package `path` as it is now: its fingerprint goes into the manifest.

    Returns False if it is there already. What the manifest says of arguments and optimizer stays: honec compares it
    with the graph. Raises HoneError where `path` is no package of this version.
    """
    manifest = os.path.join(path, MANIFEST)
    try:
        with open(os.path.join(path, GRAPH), "rb") as file:
            fingerprint = hashlib.sha256(file.read()).hexdigest()
        with open(manifest, encoding="utf-8") as file:
            content = json.load(file)
    except OSError as error:
        raise HoneError(f"{error.filename}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise HoneError(f"{manifest}: is not JSON: {error}") from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        found = content.get("schema") if isinstance(content, dict) else None
        raise HoneError(f"{manifest}: schema is {found}, expected {SCHEMA}: export the model again with this version")
    if content.get("fingerprint") == fingerprint:
        return False
    content["fingerprint"] = fingerprint
    try:
        _write(manifest + ".new", _json(content))
        os.replace(manifest + ".new", manifest)
    except OSError as error:
        raise HoneError(f"{manifest}: cannot be written: {error.strerror}") from None
    return True


def _json(manifest: dict) -> bytes:
    return (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode()


@contextlib.contextmanager
def _replacing(path: str) -> Iterator[str]:
    """A fresh folder that takes the place of `path` when the block ends without error."""
    try:
        folder = tempfile.mkdtemp(prefix=os.path.basename(path) + ".", dir=os.path.dirname(path))
    except OSError as error:
        raise HoneError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        os.chmod(folder, 0o755)
        yield folder
        old = folder + ".old"
        if os.path.lexists(path):
            os.rename(path, old)
        os.rename(folder, path)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise HoneError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def _manifest(graph: Graph, text: str, producer: dict[str, str]) -> dict:
    results = []
    for result in graph.results:
        name = {"fqn": result.fqn} if result.fqn else {}
        type = result.value.type
        results.append(name | {"kind": result.kind, "dtype": type.dtype, "shape": list(type.shape)})
    return {
        "schema": SCHEMA,
        "producer": producer,
        "model": graph.model,
        "fingerprint": hashlib.sha256(text.encode()).hexdigest(),
        "arguments": [_entry(argument) for argument in graph.arguments],
        "results": results,
        "optimizer": graph.optimizer,
    } | ({"assumptions": list(graph.assumptions)} if graph.assumptions else {})


def _entry(argument: Argument) -> dict:
    type = argument.value.type
    entry: dict = {"fqn": argument.fqn, "kind": argument.kind, "dtype": type.dtype, "shape": list(type.shape)}
    if argument.aliases:
        entry["aliases"] = list(argument.aliases)
    for name in ("role", "vocab"):
        if (fact := getattr(argument, name)) is not None:
            entry[name] = fact
    return entry


def write_safetensors(path: str, tensors: Mapping[str, Tensor]) -> None:
    """Wide element types first, so that every tensor is aligned to its elements; otherwise in the order given.

    The header of model.safetensors holds the SHA-256 of what follows it, so that headers differ where values do.
    """
    tensors = dict(sorted(tensors.items(), key=lambda item: -DTYPE_BYTES[item[1].type.dtype]))
    metadata = {"format": "pt"}
    if os.path.basename(path) == WEIGHTS:
        content = hashlib.sha256()
        for tensor in tensors.values():
            content.update(tensor.data)
        metadata["sha256"] = content.hexdigest()
    header, offset = {"__metadata__": metadata}, 0
    for name, tensor in tensors.items():
        size = len(tensor.data)
        header[name] = {
            "dtype": SAFETENSORS_DTYPES[tensor.type.dtype],
            "shape": list(tensor.type.shape),
            "data_offsets": [offset, offset + size],
        }
        offset += size
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for tensor in tensors.values():
            file.write(tensor.data)
