"""The table of bad input: what a user may get wrong, and the one line they read then.

Commands run in a fresh folder; `prepare` puts files into it. Exit code 2 is a wrong command line, 1 everything else.
"""

from __future__ import annotations

import hashlib
import json
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

    def package(self, graph: str = GRAPH) -> Path:
        """A package p.hone of `graph`, with its own fingerprint."""
        path = self.home / "p.hone"
        path.mkdir()
        data = graph.encode("latin-1")
        (path / "graph.mlir").write_bytes(data)
        manifest = {"schema": 1, "model": "bigram", "fingerprint": hashlib.sha256(data).hexdigest(), "arguments": ARGUMENTS}
        (path / "manifest.json").write_text(json.dumps(manifest))
        return path

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
        return {self.command[0]} & {"honec", "hone-opt", "hone-run"}


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
    "arch-unknown": usage("--arch: is 'z80', expected native, x86-64-v3, x86-64-v4, skylake-avx512, sapphirerapids, znver4 "
                          "or another CPU of LLVM", "--arch=z80"),
    "arch-of-a-gpu": usage("--arch: 'sm_90' is not supported yet, expected a CPU", "--arch=sm_90"),
    "precision-unknown": usage("--precision: is 'fp8', expected fp32, tf32, bf16 or fp16", "--precision=fp8"),
    "precision-bf16": usage("--precision: 'bf16' is not supported yet, expected fp32", "--precision=bf16"),
    "pad-multiple": usage("--pad: '64' is not supported yet, expected auto or off", "--pad=64"),
    "pad-unknown": usage("--pad: is 'maybe', expected auto, off or a multiple", "--pad=maybe"),
    "memory-budget": usage("--memory-budget: not supported yet", "--memory-budget=2GiB"),
    "mesh": usage("--mesh: not supported yet", "--mesh=dp=2"),
    "recipe": usage("--recipe: not supported yet", "--recipe=fsdp"),
    "micro-batches-zero": usage("--micro-batches: is '0', expected an integer from 1 to 1048576", "--micro-batches=0"),
    "micro-batches-text": usage("--micro-batches: is 'two', expected an integer from 1 to 1048576", "--micro-batches", "two"),
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
    "output-folder-missing": Case(["honec", "p.hone", "-o", "none/train"], 1,
                                  "none/train: cannot be written: No such file or directory"),
    "output-is-a-folder": Case(["honec", "p.hone", "-o", "p.hone"], 1, "p.hone: is a directory, expected a file to write"),
    "output-full": Case(["honec", "p.hone", "--emit=mlir", "-o", "/dev/full"], 1,
                        "/dev/full: cannot be written: No space left on device"),
    "report-over-a-file": Case(honec("--emit=plan", "--report=p.hone/graph.mlir"), 1,
                               "p.hone/graph.mlir/index.html: cannot be written: Not a directory"),
}

PACKAGES = {
    "package-missing": Case(["honec", "q.hone", "-o", "train"], 1, "q.hone: does not exist, expected a package directory"),
    "package-is-a-file": Case(["honec", "p.hone/graph.mlir", "-o", "train"], 1,
                              "p.hone/graph.mlir: is not a directory, expected a package"),
    "manifest-missing": Case(honec(), 1, "p.hone/manifest.json: cannot be read: No such file or directory",
                             removed("manifest.json")),
    "manifest-truncated": Case(honec(), 1, "p.hone/manifest.json: not JSON: [1:12, byte=12]: Expected , or } after object property",
                               raw_manifest('{"schema": 1')),
    "manifest-empty": Case(honec(), 1, "p.hone/manifest.json: not JSON: [1:0, byte=0]: Unexpected EOF", raw_manifest("")),
    "manifest-array": Case(honec(), 1, "p.hone/manifest.json: is not a JSON object", raw_manifest("[]")),
    "schema-missing": Case(honec(), 1, 'p.hone/manifest.json: "schema" is missing, expected an integer', raw_manifest("{}")),
    "schema-newer": Case(honec(), 1, "p.hone/manifest.json: schema is 2, expected 1: export the model again with this version",
                         manifest(schema=2)),
    "fingerprint-number": Case(honec(), 1, 'p.hone/manifest.json: "fingerprint" is something else, expected a string',
                               manifest(fingerprint=7)),
    "arguments-object": Case(honec(), 1, 'p.hone/manifest.json: "arguments" is something else, expected an array',
                             manifest(arguments={})),
    "argument-without-name": Case(honec(), 1, 'p.hone/manifest.json: argument 0: "fqn" is missing, expected a string',
                                  manifest(arguments=[{"kind": "param"}])),
    "argument-negative-size": Case(
        honec(), 1, 'p.hone/manifest.json: argument 0: "shape" is something else, expected an array of sizes',
        manifest(arguments=[{"fqn": "w", "kind": "param", "dtype": "f32", "shape": [-1]}])),
    "arguments-too-few": Case(honec(), 1, "p.hone/graph.mlir:2:3: has 3 arguments, expected 0 as in manifest.json", manifest(arguments=[])),
    "argument-other-name": Case(honec(), 1, "p.hone/graph.mlir:2:3: argument 0 has name 'table', expected 'other' as in manifest.json", lambda shop: shop.manifest(
        lambda content: content["arguments"][0].update(fqn="other"))),
    "argument-other-kind": Case(honec(), 1, "p.hone/graph.mlir:2:3: argument 0 has kind 'param', expected 'buffer' as in manifest.json", lambda shop: shop.manifest(
        lambda content: content["arguments"][0].update(kind="buffer"))),
    "argument-other-type": Case(honec(), 1, "p.hone/graph.mlir:2:3: argument 0 has type 'f32[16x16]', expected 'bf16[16x16]' as in manifest.json", lambda shop: shop.manifest(
        lambda content: content["arguments"][0].update(dtype="bf16"))),
    "graph-missing": Case(honec(), 1, "p.hone/graph.mlir: cannot be read: No such file or directory", removed("graph.mlir")),
    "graph-changed": Case(honec(), 1, "p.hone/graph.mlir: SHA-256 is fd224b313807..., expected 605a68129e32... of p.hone/manifest.json: the file was changed after export", lambda shop: (shop.package() / "graph.mlir").write_text("module {}")),
}

GRAPHS = {
    "graph-truncated": Case(honec(), 1, "p.hone/graph.mlir:5:113: expected '}' in attribute dictionary", graph(GRAPH[:len(GRAPH) // 2])),
    "graph-empty": Case(honec(), 1, "p.hone/graph.mlir:1:1: has no function @forward", graph("")),
    "graph-binary": Case(honec(), 1, "p.hone/graph.mlir:1:2: unexpected character", graph("\x00\x01\x02\xff" * 64)),
    "graph-short-bytecode": Case(honec(), 1, "p.hone/graph.mlir: bytecode of 5 bytes, expected at least 8", graph("ML\xefR\x01")),
    "graph-wrong-bytecode": Case(honec(), 1, "p.hone/graph.mlir: bytecode version 127 is newer than the current version 6", graph("ML\xefR" + "\xff" * 64)),
    "op-unknown": Case(honec(), 1, "p.hone/graph.mlir:8:10: unregistered operation 'hone.frobnicate' found in dialect ('hone') that does not allow unknown operations", replaced("hone.neg", "hone.frobnicate")),
    "dialect-unknown": Case(honec(), 1, "p.hone/graph.mlir:8:19: operation being parsed with an unregistered dialect", replaced("hone.neg", "foo.bar")),
    "other-dialect": Case(honec(), 1, "p.hone/graph.mlir:8:10: 'math.absf' op is not an op of the hone dialect", replaced("hone.neg", "math.absf")),
    "type-mismatch": Case(honec(), 1, "p.hone/graph.mlir:9:40: use of value '%y' expects different type than prior uses: 'tensor<2x8x16xf32>' vs 'tensor<2x8x17xf32>'", replaced("(tensor<2x8x16xf32>) -> tensor<2x8x16xf32>",
                                                    "(tensor<2x8x16xf32>) -> tensor<2x8x17xf32>")),
    "operand-type-mismatch": Case(honec(), 1, "p.hone/graph.mlir:8:21: use of value '%x' expects different type than prior uses: 'tensor<2x8x16xf64>' vs 'tensor<2x8x16xf32>'", replaced("(tensor<2x8x16xf32>) ->", "(tensor<2x8x16xf64>) ->")),
    "value-undefined": Case(honec(), 1, "p.hone/graph.mlir:8:21: use of undeclared SSA value name", replaced('"hone.neg"(%x)', '"hone.neg"(%z)')),
    "value-defined-twice": Case(honec(), 1, "p.hone/graph.mlir:8:5: redefinition of SSA value '%x'", replaced("%y = ", "%x = ")),
    "value-cyclic": Case(honec(), 1, "p.hone/graph.mlir:8:10: operand #0 does not dominate this use", replaced('"hone.neg"(%x)', '"hone.neg"(%y)')),
    "attribute-missing": Case(honec(), 1, "p.hone/graph.mlir:9:19: 'hone.cross_entropy' op requires attribute 'ignore_index'", replaced("ignore_index = -100 : i64, ", "")),
    "attribute-type": Case(honec(), 1, 'p.hone/graph.mlir:9:19: invalid properties {ignore_index = -100 : i64, label_smoothing = "none", reduction = #hone<reduction mean>} for op hone.cross_entropy: Invalid attribute `label_smoothing` in property conversion: "none"', replaced("label_smoothing = 0.0 : f64", 'label_smoothing = "none"')),
    "reduction-unknown": Case(honec(), 1, "p.hone/graph.mlir:9:140: expected ::hone::LossReduction to be one of: none, mean, sum", replaced("reduction mean", "reduction median")),
    "dynamic-shape": Case(honec(), 1, "p.hone/graph.mlir:9:40: use of value '%y' expects different type than prior uses: 'tensor<2x8x16xf32>' vs 'tensor<?x8x16xf32>'", replaced("(tensor<2x8x16xf32>) -> tensor<2x8x16xf32>",
                                                    "(tensor<2x8x16xf32>) -> tensor<?x8x16xf32>")),
    "size-overflow": Case(honec(), 1, "p.hone/graph.mlir:3:23: invalid dimension", graph(GRAPH.replace("16x16xf32", "16x99999999999999999999xf32"))),
    "bytes-overflow": Case(honec(), 1, "p.hone/graph.mlir:2:3: makes a tensor of type 'tensor<4611686018427387904x16xf32>', expected at most 2^40 bytes", lambda shop: _with_arguments(
        shop, GRAPH.replace("16x16xf32", "4611686018427387904x16xf32"), [4611686018427387904, 16])),
    "nested-brackets": Case(honec(), 1, "p.hone/graph.mlir:1:521: nests 513 levels deep, expected at most 512",
                            graph("#deep = " + "[" * 100_000)),
    "nested-regions": Case(honec(), 1, "p.hone/graph.mlir:257:6: nests 513 levels deep, expected at most 512",
                           graph('"a.b"() ({\n' * 20_000)),
    "nested-minus": Case(honec(), 1, "p.hone/graph.mlir:1:1052: nests 513 levels deep, expected at most 512",
                         graph("#map = affine_map<(d0) -> (" + "- " * 100_000 + "d0)>")),
    "no-forward": Case(honec(), 1, "p.hone/graph.mlir:1:1: has no function @forward", graph("module {}")),
    "dialect-newer": Case(honec(), 1, "p.hone/graph.mlir:1:1: dialect version is 9 : i64, this compiler reads 1", replaced("hone.version = 1", "hone.version = 9")),
    "kind-missing": Case(honec(), 1, "p.hone/graph.mlir:2:3: argument 0 has kind '', expected 'param' as in manifest.json", replaced('hone.kind = "param", ', "")),
    "kind-unknown": Case(honec(), 1, 'p.hone/graph.mlir:2:3: attribute \'hone.kind\' is "weight", expected an argument kind (param, buffer, opt, grad, input, rng, scalar)', replaced('hone.kind = "param"', 'hone.kind = "weight"')),
    "init-missing": Case(honec(), 1, "p.hone/graph.mlir:2:3: argument 0 ('table') has no hone.init, expected one on every param and buffer", replaced(", hone.init = {dist = \"normal\", mean = 0.0 : f64, std = 0.02 : f64}", "")),
    "init-unknown": Case(honec(), 1, 'p.hone/graph.mlir:2:3: attribute \'hone.init\' is {dist = "cauchy", mean = 0.000000e+00 : f64, std = 2.000000e-02 : f64}, expected {dist = "normal", mean, std}, {dist = "uniform", low, high}, {dist = "constant", value} or {dist = "file"} with float entries', replaced('dist = "normal"', 'dist = "cauchy"')),
    "loss-missing": Case(honec(), 1, "p.hone/graph.mlir:2:3: returns something else than one loss, expected one result of kind loss, floating-point and of rank 0", replaced(' {hone.kind = "loss"}', "")),
    "nothing-to-train": Case(honec(), 1, "p.hone/graph.mlir:2:3: the loss depends on no parameter that requires a gradient, expected at least one", replaced("hone.requires_grad, ", "")),
}

CASES: dict[str, Case] = {**COMMAND_LINES, **OUTPUTS, **PACKAGES, **GRAPHS}
