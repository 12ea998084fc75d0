"""The table of bad input: what a user may get wrong, and the one line they read then.

Commands run in a fresh folder; `prepare` puts files into it. Exit code 2 is a wrong command line, 1 everything else.
"""

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
module attributes {hone.version = 1 : i64, hone.model = "bigram"} {
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
            "schema": 1,
            "model": "bigram",
            "fingerprint": hashlib.sha256(data).hexdigest(),
            "arguments": arguments,
        }
        (path / "manifest.json").write_text(json.dumps(manifest))
        return path

    def binary(self) -> None:
        """The compiled bigram model, ./train; compiled once for all cases."""
        cache = self.home.parent / "bigram"
        with open(self.home.parent / "bigram.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not cache.exists():
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


def _with_arguments(shop: Workshop, text: str, shape: list[int]) -> None:
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


COMMAND_LINES = {
    "option-unknown": usage("--fast: unknown option, see honec --help", "--fast"),
    "option-short-unknown": usage("-O3: unknown option, see honec --help", "-O3"),
    "no-package": Case(["honec", "-o", "train"], 2, "no package given, expected a directory NAME.hone"),
    "no-output": Case(["honec", "p.hone"], 2, "-o: missing, expected a file to write"),
    "output-without-value": Case(["honec", "p.hone", "-o"], 2, "-o: no value, expected FILE"),
    "output-empty": Case(["honec", "p.hone", "-o", ""], 2, "-o: is '', expected a file"),
    "binary-to-stdout": Case(["honec", "p.hone", "-o", "-"], 2, "-o: is '-', expected a file for a binary"),
    "two-packages": usage("'q.hone': unexpected, expected one package, which is 'p.hone'", "q.hone"),
    "emit-unknown": usage("--emit: is 'asm', expected mlir, plan, llvm, ptx, obj or exe", "--emit=asm"),
    "emit-ptx": usage("--emit: 'ptx' is not supported yet, expected mlir, plan, llvm, obj or exe", "--emit=ptx"),
    "target-unknown": usage("--target: is 'tpu', expected cpu or cuda", "--target=tpu"),
    "target-cuda": usage("--target: 'cuda' is not supported yet, expected cpu", "--target=cuda"),
    "arch-unknown": usage(
        "--arch: is 'z80', expected native, x86-64-v3, x86-64-v4, skylake-avx512, sapphirerapids, znver4 "
        "or another CPU of LLVM",
        "--arch=z80",
    ),
    "arch-of-a-gpu": usage("--arch: 'sm_90' is not supported yet, expected a CPU", "--arch=sm_90"),
    "precision-unknown": usage("--precision: is 'fp8', expected fp32, tf32, bf16, fp16 or bf16-sr", "--precision=fp8"),
    "pad-zero": usage("--pad: is '0', expected auto, off or a multiple", "--pad=0"),
    "chunk-loss-zero": usage("--chunk-loss: is '0', expected auto, off or a number of rows", "--chunk-loss=0"),
    "chunk-loss-unknown": usage("--chunk-loss: is 'all', expected auto, off or a number of rows", "--chunk-loss=all"),
    "pad-unknown": usage("--pad: is 'maybe', expected auto, off or a multiple", "--pad=maybe"),
    "memory-budget": usage("--memory-budget: not supported yet", "--memory-budget=2GiB"),
    "mesh": usage("--mesh: not supported yet", "--mesh=dp=2"),
    "recipe": usage("--recipe: not supported yet", "--recipe=fsdp"),
    "micro-batches-zero": usage("--micro-batches: is '0', expected an integer from 1 to 1048576", "--micro-batches=0"),
    "micro-batches-text": usage(
        "--micro-batches: is 'two', expected an integer from 1 to 1048576", "--micro-batches", "two"
    ),
    "optimizer-unknown": usage("--optimizer: is 'rmsprop', expected adamw or sgd", "--optimizer=rmsprop"),
    "optimizer-lion": usage("--optimizer: 'lion' is not supported yet, expected adamw or sgd", "--optimizer=lion"),
    "lr-negative": usage("--lr: is '-1', expected a number >= 0", "--lr=-1"),
    "lr-not-a-number": usage("--lr: is 'nan', expected a number >= 0", "--lr=nan"),
    "clip-zero": usage("--clip: is '0', expected a number > 0 or inf", "--clip=0"),
    "flag-with-value": usage("--dry-run: has value 'yes', expected none", "--dry-run=yes"),
    "given-twice": usage("--lr: given twice, as '1' and '2'", "--lr=1", "--lr=2"),
    "dry-run-emits": usage("--dry-run: writes nothing, expected no --emit", "--dry-run", "--emit=plan"),
}

OUTPUTS = {
    "output-folder-missing": Case(
        ["honec", "p.hone", "-o", "none/train"], 1, "none/train: cannot be written: No such file or directory"
    ),
    "output-is-a-folder": Case(
        ["honec", "p.hone", "-o", "p.hone"], 1, "p.hone: is a directory, expected a file to write"
    ),
    "output-is-the-graph": Case(
        ["honec", "p.hone", "-o", "p.hone/../p.hone/graph.mlir"],
        1,
        "p.hone/../p.hone/graph.mlir: is a file of the package, expected another file to write",
        Workshop.package,
    ),
    "output-full": Case(
        ["honec", "p.hone", "--emit=mlir", "-o", "/dev/full"],
        1,
        "/dev/full: cannot be written: No space left on device",
    ),
    "report-over-a-file": Case(
        honec("--emit=plan", "--report=p.hone/graph.mlir"),
        1,
        "p.hone/graph.mlir/index.html: cannot be written: Not a directory",
    ),
}

PACKAGES = {
    "package-missing": Case(
        ["honec", "q.hone", "-o", "train"], 1, "q.hone: does not exist, expected a package directory"
    ),
    "package-is-a-file": Case(
        ["honec", "p.hone/graph.mlir", "-o", "train"], 1, "p.hone/graph.mlir: is not a directory, expected a package"
    ),
    "manifest-missing": Case(
        honec(), 1, "p.hone/manifest.json: cannot be read: No such file or directory", removed("manifest.json")
    ),
    "manifest-truncated": Case(
        honec(),
        1,
        "p.hone/manifest.json: not JSON: [1:12, byte=12]: Expected , or } after object property",
        raw_manifest('{"schema": 1'),
    ),
    "manifest-empty": Case(
        honec(), 1, "p.hone/manifest.json: not JSON: [1:0, byte=0]: Unexpected EOF", raw_manifest("")
    ),
    "manifest-array": Case(honec(), 1, "p.hone/manifest.json: is not a JSON object", raw_manifest("[]")),
    "schema-missing": Case(
        honec(), 1, 'p.hone/manifest.json: "schema" is missing, expected an integer', raw_manifest("{}")
    ),
    "schema-newer": Case(
        honec(),
        1,
        "p.hone/manifest.json: schema is 2, expected 1: export the model again with this version",
        manifest(schema=2),
    ),
    "fingerprint-number": Case(
        honec(), 1, 'p.hone/manifest.json: "fingerprint" is something else, expected a string', manifest(fingerprint=7)
    ),
    "arguments-object": Case(
        honec(), 1, 'p.hone/manifest.json: "arguments" is something else, expected an array', manifest(arguments={})
    ),
    "argument-without-name": Case(
        honec(),
        1,
        'p.hone/manifest.json: argument 0: "fqn" is missing, expected a string',
        manifest(arguments=[{"kind": "param"}]),
    ),
    "argument-negative-size": Case(
        honec(),
        1,
        'p.hone/manifest.json: argument 0: "shape" is something else, expected an array of sizes',
        manifest(arguments=[{"fqn": "w", "kind": "param", "dtype": "f32", "shape": [-1]}]),
    ),
    "arguments-too-few": Case(
        honec(), 1, "p.hone/graph.mlir:2:3: has 3 arguments, expected 0 as in manifest.json", manifest(arguments=[])
    ),
    "argument-other-name": Case(
        honec(),
        1,
        "p.hone/graph.mlir:2:3: argument 0 has name 'table', expected 'other' as in manifest.json",
        lambda shop: shop.manifest(lambda content: content["arguments"][0].update(fqn="other")),
    ),
    "argument-other-kind": Case(
        honec(),
        1,
        "p.hone/graph.mlir:2:3: argument 0 has kind 'param', expected 'buffer' as in manifest.json",
        lambda shop: shop.manifest(lambda content: content["arguments"][0].update(kind="buffer")),
    ),
    "optimizer-other-rate": Case(
        honec(),
        1,
        "p.hone/manifest.json: optimizer differs from the one in graph.mlir, expected the same (honec has options for other settings)",
        manifest(optimizer={"name": "sgd", "lr": 0.1}),
    ),
    "argument-other-type": Case(
        honec(),
        1,
        "p.hone/graph.mlir:2:3: argument 0 has type 'f32[16x16]', expected 'bf16[16x16]' as in manifest.json",
        lambda shop: shop.manifest(lambda content: content["arguments"][0].update(dtype="bf16")),
    ),
    "graph-missing": Case(
        honec(), 1, "p.hone/graph.mlir: cannot be read: No such file or directory", removed("graph.mlir")
    ),
    "graph-changed": Case(
        honec(),
        1,
        "p.hone/graph.mlir: SHA-256 is fd224b313807..., expected 605a68129e32... of p.hone/manifest.json: the file was changed after export",
        lambda shop: (shop.package() / "graph.mlir").write_text("module {}"),
    ),
}


def safetensors(header: object, data: bytes = b"", length: int | None = None) -> bytes:
    text = header.encode() if isinstance(header, str) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


# The same with a table of constants that comes from a file.
CONSTANT = {"fqn": "shift", "kind": "buffer", "dtype": "f32", "shape": [16]}
GRAPH_WITH_CONSTANT = GRAPH.replace(
    "    %tokens:",
    '    %shift: tensor<16xf32> {hone.kind = "buffer", hone.fqn = "shift", hone.init = {dist = "file"}},\n    %tokens:',
)
SHIFT = {"dtype": "F32", "shape": [16], "data_offsets": [0, 64]}


def constants(message: str, data: bytes | None) -> Case:
    """A package whose file of constants is bad or, None, missing."""

    def prepare(shop: Workshop) -> None:
        package = shop.package(GRAPH_WITH_CONSTANT, [ARGUMENTS[0], CONSTANT, *ARGUMENTS[1:]])
        if data is not None:
            (package / "consts.safetensors").write_bytes(data)

    return Case(honec(), 1, f"p.hone/consts.safetensors: {message}", prepare)


CONSTANTS = {
    "constants-missing": constants("cannot be read: No such file or directory", None),
    "constants-empty": constants("0 bytes, expected the header's length in 8", b""),
    "constants-header-longer-than-file": constants(
        "header of 1152921504606846976 bytes, expected at most the 131 that follow",
        safetensors({"shift": SHIFT}, b"\0" * 64, length=1 << 60),
    ),
    "constants-not-json": constants(
        "header is not JSON: [1:2, byte=2]: Expected object key", safetensors("{shift", b"\0" * 64)
    ),
    "constants-array": constants("header is not a JSON object", safetensors([], b"")),
    "constants-truncated": constants(
        "tensor 'shift': bytes 0 to 64, expected inside [0, 60)", safetensors({"shift": SHIFT}, b"\0" * 60)
    ),
    "constants-shape": constants(
        "tensor 'shift': is F32[4, 4], expected F32[16]", safetensors({"shift": {**SHIFT, "shape": [4, 4]}}, b"\0" * 64)
    ),
    "constants-dtype": constants(
        "tensor 'shift': is I32[16], expected F32[16]", safetensors({"shift": {**SHIFT, "dtype": "I32"}}, b"\0" * 64)
    ),
    "constants-size-lies": constants(
        "tensor 'shift': 60 bytes, expected 64", safetensors({"shift": {**SHIFT, "data_offsets": [0, 60]}}, b"\0" * 64)
    ),
    "constants-tensor-missing": constants("tensor 'shift': missing", safetensors({}, b"")),
    "constants-entry-malformed": constants(
        "tensor 'shift': expected dtype, shape and two data_offsets", safetensors({"shift": 7}, b"")
    ),
}

GRAPHS = {
    "graph-truncated": Case(
        honec(), 1, "p.hone/graph.mlir:5:113: expected '}' in attribute dictionary", graph(GRAPH[: len(GRAPH) // 2])
    ),
    "graph-empty": Case(honec(), 1, "p.hone/graph.mlir:1:1: has no function @forward", graph("")),
    "graph-binary": Case(honec(), 1, "p.hone/graph.mlir:1:2: unexpected character", graph("\x00\x01\x02\xff" * 64)),
    "graph-short-bytecode": Case(
        honec(), 1, "p.hone/graph.mlir: bytecode of 5 bytes, expected at least 8", graph("ML\xefR\x01")
    ),
    "graph-wrong-bytecode": Case(
        honec(),
        1,
        "p.hone/graph.mlir: bytecode version 127 is newer than the current version 6",
        graph("ML\xefR" + "\xff" * 64),
    ),
    "op-unknown": Case(
        honec(),
        1,
        "p.hone/graph.mlir:8:10: unregistered operation 'hone.frobnicate' found in dialect ('hone') that does not allow unknown operations",
        replaced("hone.neg", "hone.frobnicate"),
    ),
    "dialect-unknown": Case(
        honec(),
        1,
        "p.hone/graph.mlir:8:19: operation being parsed with an unregistered dialect",
        replaced("hone.neg", "foo.bar"),
    ),
    "other-dialect": Case(
        honec(),
        1,
        "p.hone/graph.mlir:8:10: 'math.absf' op is not an op of the hone dialect",
        replaced("hone.neg", "math.absf"),
    ),
    "type-mismatch": Case(
        honec(),
        1,
        "p.hone/graph.mlir:9:40: use of value '%y' expects different type than prior uses: 'tensor<2x8x16xf32>' vs 'tensor<2x8x17xf32>'",
        replaced("(tensor<2x8x16xf32>) -> tensor<2x8x16xf32>", "(tensor<2x8x16xf32>) -> tensor<2x8x17xf32>"),
    ),
    "operand-type-mismatch": Case(
        honec(),
        1,
        "p.hone/graph.mlir:8:21: use of value '%x' expects different type than prior uses: 'tensor<2x8x16xf64>' vs 'tensor<2x8x16xf32>'",
        replaced("(tensor<2x8x16xf32>) ->", "(tensor<2x8x16xf64>) ->"),
    ),
    "value-undefined": Case(
        honec(),
        1,
        "p.hone/graph.mlir:8:21: use of undeclared SSA value name",
        replaced('"hone.neg"(%x)', '"hone.neg"(%z)'),
    ),
    "value-defined-twice": Case(
        honec(), 1, "p.hone/graph.mlir:8:5: redefinition of SSA value '%x'", replaced("%y = ", "%x = ")
    ),
    "value-cyclic": Case(
        honec(),
        1,
        "p.hone/graph.mlir:8:10: operand #0 does not dominate this use",
        replaced('"hone.neg"(%x)', '"hone.neg"(%y)'),
    ),
    "attribute-missing": Case(
        honec(),
        1,
        "p.hone/graph.mlir:9:19: 'hone.cross_entropy' op requires attribute 'ignore_index'",
        replaced("ignore_index = -100 : i64, ", ""),
    ),
    "attribute-type": Case(
        honec(),
        1,
        'p.hone/graph.mlir:9:19: invalid properties {ignore_index = -100 : i64, label_smoothing = "none", reduction = #hone<reduction mean>} for op hone.cross_entropy: Invalid attribute `label_smoothing` in property conversion: "none"',
        replaced("label_smoothing = 0.0 : f64", 'label_smoothing = "none"'),
    ),
    "reduction-unknown": Case(
        honec(),
        1,
        "p.hone/graph.mlir:9:140: expected ::hone::LossReduction to be one of: none, mean, sum",
        replaced("reduction mean", "reduction median"),
    ),
    "dynamic-shape": Case(
        honec(),
        1,
        "p.hone/graph.mlir:9:40: use of value '%y' expects different type than prior uses: 'tensor<2x8x16xf32>' vs 'tensor<?x8x16xf32>'",
        replaced("(tensor<2x8x16xf32>) -> tensor<2x8x16xf32>", "(tensor<2x8x16xf32>) -> tensor<?x8x16xf32>"),
    ),
    "size-overflow": Case(
        honec(),
        1,
        "p.hone/graph.mlir:3:23: invalid dimension",
        graph(GRAPH.replace("16x16xf32", "16x99999999999999999999xf32")),
    ),
    "bytes-overflow": Case(
        honec(),
        1,
        "p.hone/graph.mlir:2:3: makes a tensor of type 'tensor<4611686018427387904x16xf32>', expected at most 2^40 bytes",
        lambda shop: _with_arguments(
            shop, GRAPH.replace("16x16xf32", "4611686018427387904x16xf32"), [4611686018427387904, 16]
        ),
    ),
    "nested-brackets": Case(
        honec(),
        1,
        "p.hone/graph.mlir:1:521: nests 513 levels deep, expected at most 512",
        graph("#deep = " + "[" * 100_000),
    ),
    "nested-regions": Case(
        honec(),
        1,
        "p.hone/graph.mlir:257:6: nests 513 levels deep, expected at most 512",
        graph('"a.b"() ({\n' * 20_000),
    ),
    "nested-minus": Case(
        honec(),
        1,
        "p.hone/graph.mlir:1:1052: nests 513 levels deep, expected at most 512",
        graph("#map = affine_map<(d0) -> (" + "- " * 100_000 + "d0)>"),
    ),
    "no-forward": Case(honec(), 1, "p.hone/graph.mlir:1:1: has no function @forward", graph("module {}")),
    "dialect-newer": Case(
        honec(),
        1,
        "p.hone/graph.mlir:1:1: dialect version is 9 : i64, this compiler reads 1",
        replaced("hone.version = 1", "hone.version = 9"),
    ),
    "kind-missing": Case(
        honec(),
        1,
        "p.hone/graph.mlir:2:3: argument 0 has kind '', expected 'param' as in manifest.json",
        replaced('hone.kind = "param", ', ""),
    ),
    "kind-unknown": Case(
        honec(),
        1,
        "p.hone/graph.mlir:2:3: attribute 'hone.kind' is \"weight\", expected an argument kind (param, buffer, opt, grad, input, rng, scalar, shadow)",
        replaced('hone.kind = "param"', 'hone.kind = "weight"'),
    ),
    "init-missing": Case(
        honec(),
        1,
        "p.hone/graph.mlir:2:3: argument 0 ('table') has no hone.init, expected one on every param and buffer",
        replaced(', hone.init = {dist = "normal", mean = 0.0 : f64, std = 0.02 : f64}', ""),
    ),
    "init-unknown": Case(
        honec(),
        1,
        'p.hone/graph.mlir:2:3: attribute \'hone.init\' is {dist = "cauchy", mean = 0.000000e+00 : f64, std = 2.000000e-02 : f64}, expected {dist = "normal", mean, std}, {dist = "uniform", low, high}, {dist = "constant", value} or {dist = "file"} with float entries',
        replaced('dist = "normal"', 'dist = "cauchy"'),
    ),
    "loss-missing": Case(
        honec(),
        1,
        "p.hone/graph.mlir:2:3: returns something else than one loss, expected one result of kind loss, floating-point and of rank 0",
        replaced(' {hone.kind = "loss"}', ""),
    ),
    "nothing-to-train": Case(
        honec(),
        1,
        "p.hone/graph.mlir:2:3: the loss depends on no parameter that requires a gradient, expected at least one",
        replaced("hone.requires_grad, ", ""),
    ),
}


def training(*arguments: str) -> Sequence[str]:
    return ("./train", "--data", "tokens.bin", "--steps", "2", "--quiet", *arguments)


def good_run(shop: Workshop) -> None:
    shop.binary()
    shop.tokens()


def tokens(data: bytes, name: str = "tokens.bin") -> Prepare:
    return lambda shop: (shop.binary(), shop.tokens(name, data))


def ids(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}H", *values)


def llmc(magic: int, version: int, count: int, data: bytes) -> bytes:
    """A token file of llm.c: a header of 256 words, then the ids."""
    return struct.pack("<256i", magic, version, count, *[0] * 253) + data


def npy(header: str, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text + data


TABLE = {"dtype": "F32", "shape": [16, 16], "data_offsets": [0, 1024]}


def weights(message: str, data: bytes) -> Case:
    """A run that starts from a bad file of weights."""

    def prepare(shop: Workshop) -> None:
        good_run(shop)
        (shop.home / "w.safetensors").write_bytes(data)

    return Case(training("--init", "w.safetensors"), 1, f"w.safetensors: {message}", prepare)


def flags(message: str, *arguments: str) -> Case:
    """A wrong command line of the compiled program."""
    return Case(training(*arguments), 2, message, good_run)


TOKEN_FILES = {
    "tokens-missing": Case(training(), 1, "tokens.bin: cannot be read: No such file or directory", Workshop.binary),
    "tokens-are-a-folder": Case(
        training(),
        1,
        "tokens.bin: is not a regular file",
        lambda shop: (shop.binary(), (shop.home / "tokens.bin").mkdir()),
    ),
    "tokens-empty": Case(training(), 1, "tokens.bin: holds no tokens", tokens(b"")),
    "tokens-odd-size": Case(
        training(),
        1,
        "tokens.bin: has 129 bytes, wanted an even number (uint16 ids)",
        tokens(ids(*range(16)) * 4 + b"x"),
    ),
    "tokens-fewer-than-a-batch": Case(
        training(),
        1,
        "tokens.bin: holds 3 tokens, wanted at least 17 (a batch of 2 x 8 and one more)",
        tokens(ids(1, 2, 3)),
    ),
    "tokens-one-short-of-a-batch": Case(
        training(),
        1,
        "tokens.bin: holds 16 tokens, wanted at least 17 (a batch of 2 x 8 and one more)",
        tokens(ids(*[1] * 16)),
    ),
    "tokens-id-too-large": Case(
        training(),
        1,
        "tokens.bin: token 16 at position 20, wanted ids from 0 to 15 (the vocabulary)",
        tokens(ids(*[1] * 20, 16, *[1] * 20)),
    ),
    "tokens-llmc-truncated": Case(
        training(),
        1,
        "tokens.bin: has 1124 bytes, wanted 1224 (its header says 100 tokens)",
        tokens(llmc(20240520, 1, 100, ids(*[1] * 50))),
    ),
    "tokens-llmc-header-only": Case(training(), 1, "tokens.bin: holds no tokens", tokens(llmc(20240520, 1, 0, b""))),
    "tokens-llmc-half-header": Case(
        training(),
        1,
        "tokens.bin: has 100 bytes, wanted a header of 1024 (magic 20240520)",
        tokens(llmc(20240520, 1, 0, b"")[:100]),
    ),
    "tokens-llmc-version": Case(
        training(),
        1,
        "tokens.bin: version 9 of magic 20240520, wanted 1",
        tokens(llmc(20240520, 9, 50, ids(*[1] * 50))),
    ),
    "tokens-npy-truncated": Case(
        ("./train", "--data", "t.npy"),
        1,
        "t.npy: .npy shape [64] of uint16, but 64 bytes of elements",
        tokens(npy("{'descr': '<u2', 'fortran_order': False, 'shape': (64,), }", ids(*[1] * 32)), "t.npy"),
    ),
    "tokens-npy-floats": Case(
        ("./train", "--data", "t.npy"),
        1,
        "t.npy: .npy of float32, wanted uint16, uint32, int32 or int64",
        tokens(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (64,), }", b"\0" * 256), "t.npy"),
    ),
    "tokens-npy-big-endian": Case(
        ("./train", "--data", "t.npy"),
        1,
        "t.npy: .npy element type '>u2', wanted a little-endian integer, float or bool",
        tokens(npy("{'descr': '>u2', 'fortran_order': False, 'shape': (64,), }", b"\0" * 128), "t.npy"),
    ),
    "tokens-npy-objects": Case(
        ("./train", "--data", "t.npy"),
        1,
        "t.npy: .npy element type '|O', wanted a little-endian integer, float or bool",
        tokens(npy("{'descr': '|O', 'fortran_order': False, 'shape': (64,), }", b"\0" * 512), "t.npy"),
    ),
    "tokens-npy-huge-shape": Case(
        ("./train", "--data", "t.npy"),
        1,
        "t.npy: .npy header is malformed",
        tokens(
            npy("{'descr': '<u2', 'fortran_order': False, 'shape': (18446744073709551616,), }", b"\0" * 512), "t.npy"
        ),
    ),
    "tokens-npy-negative": Case(
        ("./train", "--data", "t.npy"),
        1,
        "t.npy: token -1 at position 0, wanted ids from 0 to 15 (the vocabulary)",
        tokens(
            npy("{'descr': '<i4', 'fortran_order': False, 'shape': (40,), }", struct.pack("<40i", *[-1] * 40)), "t.npy"
        ),
    ),
    "tokens-npy-no-header": Case(
        ("./train", "--data", "t.npy"), 1, "t.npy: is no .npy file", tokens(b"\x93NUMPY", "t.npy")
    ),
    "tokens-bad-leave-no-output": Case(
        training("--save", "w.safetensors", "--log", "run.jsonl"),
        1,
        "tokens.bin: holds 3 tokens, wanted at least 17 (a batch of 2 x 8 and one more)",
        tokens(ids(1, 2, 3)),
    ),
    "validation-missing": Case(
        training("--val-data", "v.bin"), 1, "v.bin: cannot be read: No such file or directory", good_run
    ),
    "validation-too-short": Case(
        training("--val-data", "v.bin"),
        1,
        "v.bin: holds 1 tokens, wanted at least 17 (a batch of 2 x 8 and one more)",
        lambda shop: (good_run(shop), shop.tokens("v.bin", ids(1))),
    ),
}

WEIGHTS = {
    "weights-missing": Case(
        training("--init", "none.safetensors"),
        1,
        "none.safetensors: cannot be read: No such file or directory",
        good_run,
    ),
    "weights-empty": weights("has 0 bytes, wanted a safetensors file (8 bytes header length first)", b""),
    "weights-no-header": weights("has 3 bytes, wanted a safetensors file (8 bytes header length first)", b"\x08\0\0"),
    "weights-header-longer-than-file": weights(
        "header of 1099511627776 bytes, wanted at most 100000000 (is it a safetensors file?)",
        safetensors({"table": TABLE}, b"\0" * 1024, length=1 << 40),
    ),
    "weights-header-longest": weights(
        "header of 18446744073709551615 bytes, wanted at most 100000000 (is it a safetensors file?)",
        safetensors({"table": TABLE}, b"\0" * 1024, length=(1 << 64) - 1),
    ),
    "weights-not-json": weights("header, byte 8: expected '{'", safetensors("table", b"\0" * 1024)),
    "weights-array": weights("header, byte 8: expected '{'", safetensors([], b"")),
    "weights-truncated": weights(
        "tensor 'table' has bytes 0 to 1024, wanted a range within 1000", safetensors({"table": TABLE}, b"\0" * 1000)
    ),
    "weights-too-long": weights("4 bytes after the last tensor", safetensors({"table": TABLE}, b"\0" * 1028)),
    "weights-shape": weights(
        "tensor 'table' has shape [16, 15], wanted [16, 16]",
        safetensors({"table": {**TABLE, "shape": [16, 15], "data_offsets": [0, 960]}}, b"\0" * 960),
    ),
    "weights-transposed-rank": weights(
        "tensor 'table' has shape [256], wanted [16, 16]",
        safetensors({"table": {**TABLE, "shape": [256]}}, b"\0" * 1024),
    ),
    "weights-dtype": weights(
        "tensor 'table' is F64, wanted F32",
        safetensors({"table": {**TABLE, "dtype": "F64", "data_offsets": [0, 2048]}}, b"\0" * 2048),
    ),
    "weights-dtype-unknown": weights(
        "tensor 'table' has dtype F33, wanted F32, F64, BF16, F16, I64, I32, I8 or BOOL",
        safetensors({"table": {**TABLE, "dtype": "F33"}}, b"\0" * 1024),
    ),
    "weights-size-lies": weights(
        "tensor 'table' has 1000 bytes, wanted those of F32 of shape [16, 16]",
        safetensors({"table": {**TABLE, "data_offsets": [0, 1000]}}, b"\0" * 1000),
    ),
    "weights-offsets-reversed": weights(
        "tensor 'table' has bytes 1024 to 0, wanted a range within 1024",
        safetensors({"table": {**TABLE, "data_offsets": [1024, 0]}}, b"\0" * 1024),
    ),
    "weights-offsets-negative": weights(
        "header, byte 71: expected a whole number >= 0",
        safetensors({"table": {**TABLE, "data_offsets": [-8, 1016]}}, b"\0" * 1024),
    ),
    "weights-size-overflows": weights(
        "tensor 'table' has 1024 bytes, wanted those of F32 of shape [4611686018427387904, 16]",
        safetensors({"table": {**TABLE, "shape": [1 << 62, 16]}}, b"\0" * 1024),
    ),
    "weights-tensor-missing": weights("tensor 'table' is missing (F32 of shape [16, 16])", safetensors({}, b"")),
    "weights-tensor-extra": weights(
        "tensor 'chair' is not in this program",
        safetensors({"table": TABLE, "chair": {**TABLE, "data_offsets": [1024, 2048]}}, b"\0" * 2048),
    ),
    "weights-overlap": weights(
        "tensor 'chair' starts at byte 512 of the data, wanted 1024 (no holes, no overlaps)",
        safetensors({"table": TABLE, "chair": {**TABLE, "data_offsets": [512, 1536]}}, b"\0" * 1536),
    ),
    "weights-hole": weights(
        "tensor 'table' starts at byte 8 of the data, wanted 0 (no holes, no overlaps)",
        safetensors({"table": {**TABLE, "data_offsets": [8, 1032]}}, b"\0" * 1032),
    ),
    "weights-twice": weights(
        "header, byte 89: key 'table' appears twice",
        safetensors('{"table": %s, "table": %s}' % (json.dumps(TABLE), json.dumps(TABLE)), b"\0" * 1024),
    ),
}

FLAGS = {
    "train-no-data": Case(("./train",), 2, "--data: not given, wanted --data FILE with tokens", good_run),
    "train-flag-unknown": flags("--fast: unknown, wanted a flag of --help", "--fast"),
    "train-argument": flags("more.bin: unknown, wanted a flag of --help", "more.bin"),
    "train-threads-zero": flags("--threads: '0', wanted a whole number from 1 to 1024", "--threads", "0"),
    "train-steps-text": Case(
        ("./train", "--data", "tokens.bin", "--steps", "ten"), 2, "--steps: 'ten', wanted a whole number", good_run
    ),
    "train-lr-negative": flags("--lr: '-0.1', wanted a number >= 0", "--lr", "-0.1"),
    "train-lr-text": flags("--lr: 'high', wanted a number >= 0", "--lr", "high"),
    "train-warmup-beyond-steps": flags("--warmup: 3, wanted at most --steps (2)", "--warmup", "3"),
    "train-schedule-unknown": flags("--schedule: 'linear', wanted constant or cosine", "--schedule", "linear"),
    "train-min-lr-alone": flags("--min-lr: given without --schedule cosine", "--min-lr", "1e-5"),
    "train-min-lr-above-lr": flags(
        "--min-lr: 0.001, wanted at most --lr (1e-05)", "--schedule", "cosine", "--lr", "1e-5", "--min-lr", "1e-3"
    ),
    "train-resume-alone": flags("--resume: given without --checkpoint-dir", "--resume"),
    "train-checkpoint-every-alone": flags(
        "--checkpoint-every: given without --checkpoint-dir", "--checkpoint-every", "2"
    ),
    "train-val-every-alone": flags("--val-every: given without --val-data", "--val-every", "2"),
    "train-given-twice": flags("--lr: given twice, wanted once", "--lr", "1", "--lr", "2"),
    "train-flag-without-value": flags("--lr: no value, wanted X", "--lr"),
    "train-switch-with-value": flags("--resume: takes no value, 'yes' was given", "--resume=yes"),
    "train-input-unknown": Case(
        training("--input", "mask=t.npy"),
        2,
        "--input: 'mask', wanted an input of this program (there is none)",
        good_run,
    ),
    "train-save-unwritable": Case(
        training("--save", "none/w.safetensors"),
        1,
        "none/w.safetensors: cannot be written: No such file or directory",
        good_run,
    ),
    "train-save-over-the-program": Case(
        training("--save", "./train"), 2, "--save: ./train is this program, wanted another file", good_run
    ),
    "train-log-over-the-program": Case(
        training("--log", "train"), 2, "--log: train is this program, wanted another file", good_run
    ),
    "train-save-over-a-folder": Case(
        training("--save", "out"),
        1,
        "out: is no regular file, wanted one or none",
        lambda shop: (good_run(shop), (shop.home / "out").mkdir()),
    ),
    "train-log-unwritable": Case(
        training("--log", "none/run.jsonl"), 1, "none/run.jsonl: cannot be written: No such file or directory", good_run
    ),
    "train-checkpoint-over-a-file": Case(
        training("--checkpoint-dir", "tokens.bin"), 1, "tokens.bin: cannot be made: File exists", good_run
    ),
}

INTERPRETER = {
    "run-package-missing": Case(
        ("hone-run", "q.hone", "--data", "t.bin"), 1, "q.hone: does not exist, expected a package directory"
    ),
    "run-manifest-missing": Case(
        ("hone-run", "p.hone", "--data", "t.bin"),
        1,
        "p.hone/manifest.json: cannot be read: No such file or directory",
        removed("manifest.json"),
    ),
    "run-graph-truncated": Case(
        ("hone-run", "p.hone", "--data", "t.bin"),
        1,
        "p.hone/graph.mlir:5:113: expected '}' in attribute dictionary",
        graph(GRAPH[: len(GRAPH) // 2]),
    ),
    "run-nested": Case(
        ("hone-run", "--eval", "deep.mlir"),
        1,
        "deep.mlir:1:513: nests 513 levels deep, expected at most 512",
        lambda shop: (shop.home / "deep.mlir").write_text("(" * 100_000),
    ),
    "run-data-missing": Case(
        ("hone-run", "p.hone", "--data", "t.bin"), 1, "t.bin: cannot be read: No such file or directory"
    ),
    "run-flag-unknown": Case(("hone-run", "p.hone", "--fast"), 2, "--fast: unknown, wanted a flag of --help"),
}

KEPT = {
    "output-kept": Case(
        honec(),
        1,
        "p.hone/graph.mlir:3:110: expected '}' in attribute dictionary",
        lambda shop: (shop.package(GRAPH[:200]), (shop.home / "train").write_text("old")),
    )
}

CASES: dict[str, Case] = {
    **COMMAND_LINES,
    **OUTPUTS,
    **PACKAGES,
    **GRAPHS,
    **CONSTANTS,
    **TOKEN_FILES,
    **WEIGHTS,
    **FLAGS,
    **INTERPRETER,
    **KEPT,
}
