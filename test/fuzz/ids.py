#!/usr/bin/env python3
"""Random programs with ids outside their table: none may run without a word. ids.py WORKDIR [--count N] [--compile-every N]

A program passes two inputs, given by name or of a token stream, through random integer arithmetic to embeddings or
losses: in one or more micro-batches, on one rank or two, with validation or without. NumPy computes the ids that its files
lead to. Where one is outside the table, the run must end with exit code 1 and one line that says what was expected, and
nothing saved, but the steps before a validation that finds it; where all are inside, with exit code 0, or with the refusal
of an id that the package's own bound keeps out. Every N-th program is compiled, the others are interpreted: both run the
same passes and the same checks of the runtime.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

SHAPE, STEPS, CHECKS, WIDTH = (2, 6), 2, 2, 4  # CHECKS: batches of a validation
DTYPES = {"i64": np.int64, "i32": np.int32}


@dataclass
class Program:
    """Lines of a graph beside the numbers that each value has in each batch: those of the steps, then those of the
    validation."""

    pick: random.Random
    lines: list[str] = field(default_factory=list)
    breaks_bound: bool = False  # some id is not below the bound that the package gives, or of a stream, and negative

    def __post_init__(self) -> None:
        self.micro, self.ranks = self.pick.choice((1, 1, 2, 3)), self.pick.choice((1, 1, 2))
        self.checks = self.pick.choice((0, CHECKS))
        self.is_stream = self.pick.random() < 0.3
        self.has_outside = np.zeros(STEPS * self.micro + self.checks, dtype=bool)  # by batch
        self.element = self.pick.choice(tuple(DTYPES))
        self.dtype = DTYPES[self.element]
        self.type = f"tensor<{SHAPE[0]}x{SHAPE[1]}x{self.element}>"
        self.rows = self.pick.choice((1, 5, 17, 64, 100))

    def emit(self, text: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    @property
    def trains_outside(self) -> bool:
        return bool(self.has_outside[: STEPS * self.micro].any())

    @property
    def checks_outside(self) -> bool:
        return bool(self.has_outside[STEPS * self.micro :].any())

    def number(self, value: int) -> str:
        return self.emit(f"hone.constant dense<{value}> : {self.type}")

    def numbers(self, values: tuple[int, ...]) -> tuple[str, np.ndarray]:
        """One of them for all places, or one for each."""
        if self.pick.random() < 0.6:
            value = self.pick.choice(values)
            return self.number(value), np.full(SHAPE, value, dtype=self.dtype)
        each = np.array([self.pick.choice(values) for _ in range(SHAPE[0] * SHAPE[1])], dtype=self.dtype).reshape(SHAPE)
        return self.emit(f"hone.constant dense<{each.tolist()}> : {self.type}"), each

    def moved(self, name: str, x: np.ndarray, other: tuple[str, np.ndarray]) -> tuple[str, np.ndarray]:
        """One random op on values of [batches, *SHAPE]."""
        kind = self.pick.choice(("add", "sub", "mul", "div", "max", "min", "both", "select", "fill", "float", "cumsum",
                                 "neg", "abs", "shift", "wrap"))
        with np.errstate(over="ignore"):
            if kind in ("add", "sub", "mul", "max", "min"):
                value, each = self.numbers((1, 2, -1, 3, 10, 60))
                operation = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum,
                             "min": np.minimum}[kind]
                return self.emit(f"hone.{kind} {name}, {value} : {self.type}"), operation(x, each)
            if kind == "div":
                value, each = self.numbers((1, 7, 10))
                quotient = np.abs(x.astype(object)) // each * np.sign(x.astype(object))
                return self.emit(f"hone.div {name}, {value} : {self.type}"), quotient.astype(self.dtype)
            if kind == "both":
                return self.emit(f"hone.add {name}, {other[0]} : {self.type}"), x + other[1]
            if kind in ("select", "fill"):
                predicate, limits = ("lt", (self.rows,)) if kind == "select" else ("eq", (-100, -1, 65000))
                bits = self.type.replace(self.element, "i1")
                value, limit = self.numbers(limits)
                pred = self.emit(f"hone.cmp {predicate}, {name}, {value} : {self.type} -> {bits}")
                chosen = x < limit if kind == "select" else x != limit
                values = (name, self.number(0)) if kind == "select" else (self.number(0), name)
                text = f"hone.select {pred}, {values[0]}, {values[1]} : {bits}, {self.type}"
                return self.emit(text), np.where(chosen, x, 0).astype(self.dtype)
            if kind == "float":
                if np.abs(x.astype(object)).max() >= 2**24:
                    return name, x
                floats = self.type.replace(self.element, "f32")
                wide = self.emit(f"hone.cast {name} : {self.type} -> {floats}")
                return self.emit(f"hone.cast {wide} : {floats} -> {self.type}"), x
            if kind == "cumsum":
                return self.emit(f"hone.cumsum {name} dim 1 : {self.type}"), np.cumsum(x, axis=2, dtype=self.dtype)
            if kind == "wrap":
                bytes = self.type.replace(self.element, "i8")
                narrow = self.emit(f"hone.cast {name} : {self.type} -> {bytes}")
                return self.emit(f"hone.cast {narrow} : {bytes} -> {self.type}"), x.astype(np.int8).astype(self.dtype)
            if kind == "shift":
                part = self.type.replace(f"x{SHAPE[1]}x", f"x{SHAPE[1] - 1}x")
                first = self.type.replace(f"x{SHAPE[1]}x", "x1x")
                ends = f"[0, 0] to [{SHAPE[0]}, {SHAPE[1] - 1}] by [1, 1]"
                cut = self.emit(f"hone.slice {name} {ends} : {self.type} -> {part}")
                start = self.emit(f"hone.constant dense<0> : {first}")
                text = f"hone.concat {start}, {cut} dim 1 : ({first}, {part}) -> {self.type}"
                return self.emit(text), np.concatenate([np.zeros_like(x[:, :, :1]), x[:, :, :-1]], axis=2)
            return self.emit(f"hone.{kind} {name} : {self.type}"), -x if kind == "neg" else np.abs(x)

    def cut(self, name: str, ids: np.ndarray) -> tuple[str, str, np.ndarray, tuple[int, int]]:
        """The ids of all columns or of some, in their type or in a narrower one; and which columns."""
        begin, end, element = 0, SHAPE[1], self.element
        if self.pick.random() < 0.4:
            begin, end = self.pick.choice(((0, 1), (1, SHAPE[1]), (0, SHAPE[1] - 1), (2, 4)))
            part = f"tensor<{SHAPE[0]}x{end - begin}x{element}>"
            bounds = f"[0, {begin}] to [{SHAPE[0]}, {end}] by [1, 1]"
            name, ids = self.emit(f"hone.slice {name} {bounds} : {self.type} -> {part}"), ids[:, :, begin:end]
        type = f"tensor<{SHAPE[0]}x{end - begin}x{element}>"
        if self.pick.random() < 0.15:
            narrow = type.replace(element, "i8")
            name, ids, type = self.emit(f"hone.cast {name} : {type} -> {narrow}"), ids.astype(np.int8), narrow
        return name, type, ids, (begin, end)

    def read(self, name: str, ids: np.ndarray) -> str:
        """A loss of what the table, or logits, hold at `ids`."""
        name, type, ids, (begin, end) = self.cut(name, ids)
        shape, inside = f"{SHAPE[0]}x{end - begin}", (ids >= 0) & (ids < self.rows)
        if self.pick.random() < 0.5:
            self.has_outside |= ~inside.all(axis=(1, 2))
            found = self.emit(f"hone.embedding %table, {name} : tensor<{self.rows}x{WIDTH}xf32>, {type} -> "
                              f"tensor<{shape}x{WIDTH}xf32>")
            return self.emit(f"hone.reduce sum {found} dims [0, 1, 2] : tensor<{shape}x{WIDTH}xf32> -> tensor<f32>")
        ignored = self.pick.choice((-100, -1, 0, 300))
        self.has_outside |= ~(inside | (ids == ignored)).all(axis=(1, 2))
        logits, part = "%logits", f"tensor<{shape}x{self.rows}xf32>"
        if end - begin != SHAPE[1]:
            whole = f"tensor<{SHAPE[0]}x{SHAPE[1]}x{self.rows}xf32>"
            bounds = f"[0, {begin}, 0] to [{SHAPE[0]}, {end}, {self.rows}] by [1, 1, 1]"
            logits = self.emit(f"hone.slice %logits {bounds} : {whole} -> {part}")
        self.lines.append(
            f"%l{len(self.lines)}, %s{len(self.lines)} = hone.cross_entropy sum {logits}, {name} ignore_index {ignored} "
            f"label_smoothing 0.0 : {part}, {type} -> tensor<f32>, tensor<{shape}xf32>")
        return f"%l{len(self.lines) - 1}"


def random_ids(pick: random.Random, program: Program, count: int, others: tuple[int, ...]) -> np.ndarray:
    """Ids, as many of `others` of them outside the table: not the first or the last, which one input of a stream reads."""
    ids = np.array([pick.randrange(program.rows) for _ in range(count)], dtype=program.dtype)
    bits = 31 if program.element == "i32" else 63
    end = pick.choice((count - 1, SHAPE[0] * SHAPE[1] - 1))  # anywhere, or in the first batch
    for _ in range(pick.choice(others)):
        ids[pick.randrange(1, end)] = pick.choice(
            (program.rows, program.rows + 1, -pick.randrange(1, 8), -100, 65000, -(2**bits), 2**bits - 1, 2**30))
    return ids


def write_inputs(program: Program, folder: Path) -> tuple[dict[str, np.ndarray], list[str]]:
    """Writes the files of the inputs; what each has of them in each batch, and the flags."""
    pick, size = program.pick, SHAPE[0] * SHAPE[1]
    counts = [STEPS * program.micro, *[program.checks] * (program.checks > 0)]
    flags = ["--val-batches", str(CHECKS), *pick.choice(([], ["--val-every", "1"]))] if program.checks else []
    inputs: dict[str, list[np.ndarray]] = {"t": [], "u": []}
    of_steps = (0,) if program.checks and pick.random() < 0.7 else (0, 0, 0, 1, 3)
    for of, batches, others in zip(("", "val-"), counts, (of_steps, (0, 1, 3))):
        if program.is_stream:
            ids = random_ids(pick, program, batches * size + 1, others)
            np.save(folder / f"{of}data.npy", ids)
            flags += [f"--{of}data", f"{of}data.npy"]
            files = {"t": ids[:-1], "u": ids[1:]}
        else:
            files = {name: random_ids(pick, program, batches * size, others) for name in inputs}
        for name, ids in files.items():
            inputs[name].append(ids.reshape(batches, *SHAPE))
            if not program.is_stream:
                np.save(folder / f"{of}{name}.npy", inputs[name][-1])
                flags += [f"--{of}input", f"{name}={of}{name}.npy"]
    return {name: np.concatenate(parts) for name, parts in inputs.items()}, flags


def build(seed: int, folder: Path) -> tuple[Program, list[str]]:
    """Writes the package p.hone and the files of its inputs; returns the flags that name these."""
    program = Program(random.Random(seed))
    pick = program.pick
    inputs, flags = write_inputs(program, folder)
    values = [(f"%{name}", ids) for name, ids in inputs.items()]
    losses = []
    for _ in range(pick.choice((1, 2))):
        value = pick.choice(values)
        for _ in range(pick.choice((0, 1, 1, 2, 3))):
            value = program.moved(*value, other=pick.choice(values))
        losses.append(program.read(*value))
    total = losses[0] if len(losses) == 1 else program.emit(f"hone.add {losses[0]}, {losses[1]} : tensor<f32>")
    state = 'hone.requires_grad, hone.init = {dist = "constant", value = 0.1 : f64}'
    bound = pick.choice((None, None, 2**62, program.rows))
    vocab = "" if bound is None else f", hone.vocab = {bound} : i64"
    roles = dict(zip(inputs, ("tokens", "targets"))) if program.is_stream else {}
    role = {name: f', hone.role = "{roles[name]}"' if roles else "" for name in inputs}
    least, most = 0 if program.is_stream or bound else -(2**63), bound or 2**63
    program.breaks_bound = any(not least <= id < most for ids in inputs.values() for id in ids.flat)
    size = f"{SHAPE[0]}x{SHAPE[1]}x{program.rows}xf32"
    # Both parameters are in every loss.
    sums = [program.emit(f"hone.reduce sum {x} dims {dims} : tensor<{of}> -> tensor<f32>")
            for x, dims, of in (("%table", "[0, 1]", f"{program.rows}x{WIDTH}xf32"), ("%logits", "[0, 1, 2]", size))]
    for x in sums:
        total = program.emit(f"hone.add {total}, {x} : tensor<f32>")
    arguments = [
        f'%table: tensor<{program.rows}x{WIDTH}xf32> {{hone.kind = "param", hone.fqn = "table", {state}}}',
        f'%logits: tensor<{size}> {{hone.kind = "param", hone.fqn = "logits", {state}}}',
        *(f'%{name}: {program.type} {{hone.kind = "input", hone.fqn = "{name}"{role[name]}{vocab}}}' for name in inputs),
    ]
    body = "\n".join(program.lines)
    text = ('module attributes {hone.version = 2 : i64, hone.model = "ids"} {\n'
            f'func.func @forward({", ".join(arguments)}) -> (tensor<f32> {{hone.kind = "loss"}}) {{\n'
            f"{body}\nreturn {total} : tensor<f32>\n}}\n}}\n")
    shapes = {"table": [program.rows, WIDTH], "logits": [*SHAPE, program.rows]}
    entries = [{"fqn": name, "kind": "param", "dtype": "f32", "shape": shape} for name, shape in shapes.items()]
    entries += [{"fqn": name, "kind": "input", "dtype": program.element, "shape": list(SHAPE)}
                | ({"role": roles[name]} if roles else {}) for name in inputs]
    package = folder / "p.hone"
    package.mkdir()
    (package / "graph.mlir").write_text(text)
    fingerprint = hashlib.sha256(text.encode()).hexdigest()
    manifest = {"schema": 2, "model": "ids", "fingerprint": fingerprint, "arguments": entries}
    (package / "manifest.json").write_text(json.dumps(manifest))
    return program, flags


def run(program: Program, flags: list[str], folder: Path, compiles: bool) -> subprocess.CompletedProcess:
    flags = [*flags, "--steps", str(STEPS), "--lr", "0.1", "--quiet", "--save", "w"]
    call = lambda *words: subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)
    if not compiles:
        mesh = ["--mesh", f"dp={program.ranks}"] if program.ranks > 1 else []
        return call("hone-run", "p.hone", "--micro-batches", str(program.micro), *mesh, *flags)
    done = call("honec", "p.hone", "-o", "train", f"--micro-batches={program.micro}")
    return done if done.returncode else call("./train", *flags, "--threads", "1")


def check(program: Program, done: subprocess.CompletedProcess, saved: bool) -> str:
    """How the program ended; raises AssertionError where it should have ended otherwise."""
    assert done.returncode in (0, 1), f"exit code {done.returncode}: {done.stderr}"
    is_outside = program.trains_outside or program.checks_outside
    if done.returncode == 0:
        assert not is_outside, "ran, with ids outside the table"
        return "inside"
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and "expected 0 to " in lines[0], f"not one line about an id: {done.stderr}"
    if "validation batch" in lines[0]:
        assert program.checks_outside, f"refused ids that are inside: {lines[0]}"
        assert saved, "lost the weights of good steps"
        return "validated"
    assert not saved, "saved weights after a wrong id"
    if any(word in lines[0] for word in ("step ", "' op reads ids")):
        assert program.trains_outside, f"refused ids that are inside: {lines[0]}"
        return "guarded"
    if is_outside:
        return "refused at the start"
    assert program.breaks_bound, f"refused ids that do no harm: {lines[0]}"
    return "refused by the package's bound"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--compile-every", type=int, default=10)
    options = parser.parse_args()
    seen: dict[str, int] = {}
    for seed in range(options.first, options.first + options.count):
        folder = options.work / str(seed)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        program, flags = build(seed, folder)
        done = run(program, flags, folder, compiles=seed % options.compile_every == 0)
        try:
            ending = check(program, done, (folder / "w").exists())
        except AssertionError as error:
            print(f"{folder}: {error}")
            return 1
        seen[ending] = seen.get(ending, 0) + 1
        shutil.rmtree(folder)
    print(f"{options.count} programs, 0 silent: " + ", ".join(f"{n} {how}" for how, n in sorted(seen.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
