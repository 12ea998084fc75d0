"""Packages of as many ops as one asks for, for benchmark-compile.py: write_package(FOLDER, KIND, OPS).

Kinds: `layers` (a deep transformer), `chain` (elementwise ops one behind the
other), `diamonds` (ops that read one value twice), `wide` (products side by side, added
up at the end), `parameters` (many small parameters). Sizes of tensors are tiny: compile time is what counts.
Standard library only; no PyTorch, whose export of 100,000 ops would take longer than what is measured.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
from typing import Callable

BATCH, LENGTH, WIDTH, HIDDEN, HEADS, VOCAB = 2, 8, 16, 32, 2, 29
LOCATIONS = 97  # source lines that ops come from


def tensor(shape: tuple[int, ...], element: str = "f32") -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


class Graph:
    """@forward in the generic form that the exporter writes."""

    def __init__(self) -> None:
        self.arguments: list[tuple[str, tuple[int, ...], str, dict[str, object]]] = []
        self.types: dict[str, tuple[int, ...]] = {}
        self.body: list[str] = []

    def argument(self, name: str, shape: tuple[int, ...], kind: str, element: str = "f32", **facts: object) -> str:
        value = f"%a{len(self.arguments)}"
        self.arguments.append((name, shape, element, {"kind": kind, **facts}))
        self.types[value] = shape
        return value

    def parameter(self, name: str, *shape: int) -> str:
        return self.argument(name, shape, "param")

    def op(self, name: str, operands: list[str], shape: tuple[int, ...], attributes: str = "") -> str:
        return self.ops(name, operands, [shape], attributes)[0]

    def ops(self, name: str, operands: list[str], shapes: list[tuple[int, ...]], attributes: str = "") -> list[str]:
        elements = {value: "i64" if value in self.integers() else "f32" for value in operands}
        results = [f"%{len(self.types) + index}" for index in range(len(shapes))]
        self.types.update(zip(results, shapes))
        sources = ", ".join(tensor(self.types[value], elements[value]) for value in operands)
        made = ", ".join(map(tensor, shapes))
        made = made if len(shapes) == 1 else f"({made})"
        properties = f" <{{{attributes}}}>" if attributes else ""
        self.body.append(f'    {", ".join(results)} = "hone.{name}"({", ".join(operands)}){properties} : ({sources}) '
                         f"-> {made} loc(#loc{len(self.body) % LOCATIONS})")
        return results

    def integers(self) -> tuple[str, str]:
        return "%a0", "%a1"

    def add(self, a: str, b: str) -> str:
        return self.op("add", [a, b], self.types[a])

    def linear(self, x: str, weight: str) -> str:
        shape = (*self.types[x][:-1], self.types[weight][0])
        return self.op("dot_general", [x, weight], shape,
                       f"lhs_batch = array<i64>, lhs_contract = array<i64: {len(shape) - 1}>, rhs_batch = array<i64>, "
                       "rhs_contract = array<i64: 1>")

    def norm(self, x: str, weight: str) -> str:
        shape = self.types[x]
        return self.ops("layer_norm", [x, weight], [shape, shape[:-1], shape[:-1]],
                        "eps = 1.0e-05 : f64, operandSegmentSizes = array<i32: 1, 1, 0>")[0]

    def heads(self, x: str) -> str:
        return self.op("reshape", [x], (BATCH, LENGTH, HEADS, WIDTH // HEADS))


def layer(graph: Graph, x: str, number: int) -> str:
    """A transformer's block, of 17 ops."""
    def weight(name: str, *shape: int) -> str:
        return graph.parameter(f"blocks.{number}.{name}.weight", *shape)

    normed = graph.norm(x, weight("norm1", WIDTH))
    parts = [graph.heads(graph.linear(normed, weight(name, WIDTH, WIDTH))) for name in "qkv"]
    attended = graph.ops("attention", parts, [graph.types[parts[0]], (BATCH, HEADS, LENGTH)],
                         "causal, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, scale = 0.5 : f64")[0]
    joined = graph.op("reshape", [attended], graph.types[x])
    x = graph.add(x, graph.linear(joined, weight("out", WIDTH, WIDTH)))
    hidden = graph.linear(graph.norm(x, weight("norm2", WIDTH)), weight("up", HIDDEN, WIDTH))
    hidden = graph.op("gelu", [hidden], graph.types[hidden], "approximate = #hone<gelu tanh>")
    return graph.add(x, graph.linear(hidden, weight("down", WIDTH, HIDDEN)))


def layers(graph: Graph, x: str, ops: int) -> str:
    number = 0
    while len(graph.body) < ops:
        x, number = layer(graph, x, number), number + 1
    return x


def chain(graph: Graph, x: str, ops: int) -> str:
    first = x
    while len(graph.body) < ops:
        x = graph.op("tanh", [graph.add(x, first)], graph.types[x])
    return x


def diamonds(graph: Graph, x: str, ops: int) -> str:
    """Each op reads the last one twice: whoever walks paths and not values walks 2^ops of them."""
    first = x
    while len(graph.body) < ops:
        spread = graph.op("broadcast", [graph.op("reduce", [x], graph.types[x][:-1], "dims = array<i64: 2>, kind = "
                                                 "#hone<reduce sum>")], graph.types[x], "dims = array<i64: 0, 1>")
        x = graph.op("mul", [spread, first], graph.types[x])
        for _ in range(12):
            x = graph.op("sub", [graph.op("add", [x, x], graph.types[x]), x], graph.types[x])
    return x


def wide(graph: Graph, x: str, ops: int) -> str:
    parts, weight = [], graph.parameter("shared.weight", WIDTH, WIDTH)
    while len(graph.body) < ops:
        part = graph.op("tanh", [graph.linear(x, weight)], graph.types[x])
        parts.append(graph.op("mul", [part, x], graph.types[x]))
        if len(parts) % 8 == 0:  # of what came before
            weight = graph.parameter(f"branch.{len(parts)}.weight", WIDTH, WIDTH)
    while len(parts) > 1:
        parts = [graph.add(*parts[at:at + 2]) if at + 1 < len(parts) else parts[at] for at in range(0, len(parts), 2)]
    return parts[0]


def parameters(graph: Graph, x: str, ops: int) -> str:
    shape = graph.types[x]
    while len(graph.body) < ops:
        scale = graph.parameter(f"scale.{len(graph.arguments)}", WIDTH)
        spread = graph.op("broadcast", [scale], shape, "dims = array<i64: 2>")
        x = graph.op("mul", [x, spread], shape)
    return x


KINDS: dict[str, Callable[[Graph, str, int], str]] = {
    "layers": layers, "chain": chain, "diamonds": diamonds, "wide": wide, "parameters": parameters}


def build(kind: str, ops: int) -> tuple[Graph, str]:
    graph = Graph()
    tokens = graph.argument("tokens", (BATCH, LENGTH), "input", "i64", role="tokens", vocab=VOCAB)
    targets = graph.argument("targets", (BATCH, LENGTH), "input", "i64", role="targets", vocab=VOCAB)
    table = graph.parameter("embed.weight", VOCAB, WIDTH)
    x = graph.op("embedding", [table, tokens], (BATCH, LENGTH, WIDTH))
    x = KINDS[kind](graph, x, ops)
    logits = graph.linear(graph.norm(x, graph.parameter("norm.weight", WIDTH)),
                          graph.parameter("head.weight", VOCAB, WIDTH))
    rows = BATCH * LENGTH
    logits = graph.op("reshape", [logits], (rows, VOCAB))
    results = [f"%{len(graph.types) + index}" for index in range(3)]
    graph.body.append(f'    {results[0]} = "hone.reshape"({targets}) : ({tensor((BATCH, LENGTH), "i64")}) -> '
                      f'{tensor((rows,), "i64")} loc(#loc0)')
    graph.body.append(
        f'    {results[1]}, {results[2]} = "hone.cross_entropy"({logits}, {results[0]}) <{{ignore_index = -100 : i64, '
        "label_smoothing = 0.0 : f64, reduction = #hone<reduction mean>}> : "
        f'({tensor((rows, VOCAB))}, {tensor((rows,), "i64")}) -> (tensor<f32>, {tensor((rows,))}) loc(#loc0)')
    return graph, results[1]


def in_order(graph: Graph) -> list[tuple[int, tuple]]:
    """The arguments and their numbers: parameters come first, then buffers."""
    kinds = ("param", "buffer", "input")
    return sorted(enumerate(graph.arguments), key=lambda entry: kinds.index(entry[1][3]["kind"]))


def module_text(graph: Graph, loss: str, name: str) -> str:
    lines = []
    for number, (fqn, shape, element, facts) in in_order(graph):
        words = [f'hone.kind = "{facts["kind"]}"', f'hone.fqn = "{fqn}"']
        if facts["kind"] == "param":
            words += ["hone.requires_grad", "hone.param_group = 0 : i64",
                      'hone.init = {dist = "normal", mean = 0.0 : f64, std = 0.02 : f64}']
        elif facts["kind"] == "buffer":
            words.append('hone.init = {dist = "file"}')
        else:
            words += [f'hone.role = "{facts["role"]}"', f'hone.vocab = {facts["vocab"]} : i64']
        lines.append(f"    %a{number}: {tensor(shape, element)} {{{', '.join(words)}}}")
    optimizer = ('{name = "sgd", lr = 0.1 : f64, weight_decay = 0.0 : f64, momentum = 0.9 : f64, '
                 "groups = [{lr_scale = 1.0 : f64, decay_scale = 1.0 : f64}]}")
    locations = "".join(f'#loc{number} = loc("model.py":{number}:0)\n' for number in range(LOCATIONS))
    return (f'module attributes {{hone.version = 2 : i64, hone.model = "{name}", hone.optimizer = {optimizer}}} {{\n'
            "  func.func @forward(\n" + ",\n".join(lines) + '\n  ) -> (tensor<f32> {hone.kind = "loss"}) {\n'
            + "\n".join(graph.body) + f'\n    "func.return"({loss}) : (tensor<f32>) -> ()\n  }}\n}}\n' + locations)


def write_package(folder: pathlib.Path, kind: str, ops: int) -> int:
    """The package at `folder`; the number of ops in its graph."""
    graph, loss = build(kind, ops)
    folder.mkdir(parents=True, exist_ok=True)
    text = module_text(graph, loss, f"{kind}-{ops}")
    (folder / "graph.mlir").write_text(text)
    arguments = [{"fqn": fqn, "dtype": element, "shape": list(shape), **facts}
                 for _, (fqn, shape, element, facts) in in_order(graph)]
    manifest = {"schema": 2, "model": f"{kind}-{ops}", "fingerprint": hashlib.sha256(text.encode()).hexdigest(),
                "arguments": arguments, "results": [{"kind": "loss", "dtype": "f32", "shape": []}],
                "optimizer": {"name": "sgd", "lr": 0.1, "weight_decay": 0.0, "momentum": 0.9,
                              "groups": [{"lr_scale": 1.0, "decay_scale": 1.0}]}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return len(graph.body)
