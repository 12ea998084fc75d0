#!/usr/bin/env python3
"""Random programs of kernels and collectives, of which the latter begin early: early.py FOLDER [--graphs N] [--seed S].

Kernels, sums, scatters and gathers along two axes read each other, also through slices, and write into concatenations,
over whose operands others lie. Each program must pass the plan's verifier as it is, and with collectives that begin
early: nothing is read before it is there, or written while a collective is under way. FOLDER keeps both modules. Prints
a line for each way, and the verifier's errors; exit code 1 if there is one.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

LEAST = 1 << 14  # elements
INPUTS, RECENT = 3, 8
WAYS = {"waited for at once": [], "begun early": ["--hone-overlap-collectives=always"]}


@dataclass(frozen=True)
class Value:
    name: str
    size: int

    @property
    def type(self) -> str:
        return f"tensor<1x{self.size}xf32>"


def typed(values: list[Value]) -> str:
    """Names and types of operands."""
    return f"{', '.join(value.name for value in values)} : {', '.join(value.type for value in values)}"


class Program:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.inputs = [Value(f"%x{number}", 4 * LEAST) for number in range(INPUTS)]
        self.known, self.body, self.count = list(self.inputs), [], 0
        moves = [self.kernel] * 7 + [self.collective] * 5 + [self.slice] * 3 + [self.swiglu] * 2 + [self.join] * 3
        for _ in range(self.random.randint(10, 40)):
            self.random.choice(moves)(self.pick())
        self.results = [self.kernel(value) for value in self.known[-3:]]

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def pick(self) -> Value:
        return self.random.choice(self.known[-RECENT:])

    def add(self, text: str, *made: Value) -> Value:
        self.body.append(text)
        self.known += made
        return made[0]

    def kernel(self, value: Value) -> Value:
        """Of one or two values."""
        like = [other for other in self.known[-RECENT:] if other.size == value.size and other != value]
        made = Value(self.name(), value.size)
        operands = [value, *self.random.sample(like, min(len(like), self.random.randint(0, 1)))]
        bound = ", ".join(f"%p{index} = {operand.name} : {operand.type}" for index, operand in enumerate(operands))
        op = f"hone.add %p0, %p1 : {made.type}" if len(operands) == 2 else f"hone.exp %p0 : {made.type}"
        return self.add(f"{made.name} = hone.fused map ({bound}) -> {made.type} {{\n"
                        f"  %0 = {op}\n  hone.yield %0 : {made.type}\n}}", made)

    def collective(self, value: Value) -> Value:
        kind = self.random.choice(("all_reduce", "reduce_scatter", "all_gather"))
        axis = self.random.choice(("fs", "cp"))
        size = {"all_reduce": value.size, "reduce_scatter": value.size // 2, "all_gather": 2 * value.size}[kind]
        if not LEAST <= size <= 8 * LEAST or value.size % 2:
            kind, size = "all_reduce", value.size
        made = Value(self.name(), size)
        op = {"all_reduce": "all_reduce sum %p", "reduce_scatter": "reduce_scatter sum %p dim 1",
              "all_gather": "all_gather %p dim 1"}[kind]
        types = made.type if kind == "all_reduce" else f"{value.type} -> {made.type}"
        return self.add(f"{made.name} = hone.fused collective (%p = {value.name} : {value.type}) -> {made.type} {{\n"
                        f'  %0 = dist.{op} over ["{axis}"] : {types}\n'
                        f"  hone.yield %0 : {made.type}\n}}", made)

    def part(self, value: Value, begin: int, size: int) -> Value:
        made = Value(self.name(), size)
        return self.add(f"{made.name} = hone.slice {value.name} [0, {begin}] to [1, {begin + size}] by [1, 1] : "
                        f"{value.type} -> {made.type}", made)

    def slice(self, value: Value) -> None:
        if value.size >= 2 * LEAST:
            self.part(value, self.random.choice((0, value.size // 2)), value.size // 2)

    def concat(self, parts: list[Value]) -> Value:
        """Which nothing else reads, so that they are no operands of other moves."""
        made = Value(self.name(), sum(part.size for part in parts))
        self.known = [value for value in self.known if value not in parts]
        types = ", ".join(part.type for part in parts)
        names = ", ".join(part.name for part in parts)
        return self.add(f"{made.name} = hone.concat {names} dim 1 : ({types}) -> {made.type}", made)

    def swiglu(self, value: Value) -> None:
        """A kernel of both halves of a value, whose two results may be written over them."""
        if value.size < 2 * LEAST:
            return
        halves = [self.part(value, begin, value.size // 2) for begin in (0, value.size // 2)]
        name, type = self.name(), halves[0].type
        made = [Value(f"{name}#{index}", halves[0].size) for index in range(2)]
        bound = ", ".join(f"%p{index} = {half.name} : {type}" for index, half in enumerate(halves))
        self.add(f"{name}:2 = hone.fused map ({bound}) -> ({type}, {type}) {{\n"
                 f"  %0 = hone.mul %p0, %p1 : {type}\n  %1 = hone.add %p0, %p1 : {type}\n"
                 f"  hone.yield %0, %1 : {type}, {type}\n}}", *made)
        self.concat(made)

    def join(self, value: Value) -> None:
        """A concatenation of what collectives and kernels make for it, others between."""
        parts = []
        for _ in range(self.random.randint(2, 3)):
            maker = self.collective if self.random.random() < 0.7 else self.kernel
            parts.append(maker(value))
            self.known.remove(parts[-1])
            value = self.pick()
            if self.random.random() < 0.6:
                self.kernel(value)
        whole = self.concat(parts)
        if self.random.random() < 0.5:
            whole = self.collective(whole)
        self.part(whole, 0, LEAST)

    def text(self) -> str:
        inputs = ", ".join(f'{value.name}: {value.type} {{hone.kind = "input", hone.fqn = "{value.name[1:]}"}}'
                           for value in self.inputs)
        results = ", ".join(f'{value.type} {{hone.kind = "grad", hone.fqn = "r{number}"}}'
                            for number, value in enumerate(self.results))
        body = "\n".join(self.body)
        return (f'module attributes {{hone.target = "cuda sm_90"}} {{\ndist.mesh @mesh [<"fs" = 2>, <"cp" = 2>]\n'
                f"func.func @step({inputs}) -> ({results}) {{\n{body}\nreturn {typed(self.results)}\n}}\n}}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--graphs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    programs = options.folder / "programs.mlir"
    seeds = range(options.seed, options.seed + options.graphs)
    programs.write_text("// -----\n".join(f"// seed {seed}\n{Program(seed).text()}" for seed in seeds))
    failures = 0
    for way, passes in WAYS.items():
        command = ["hone-opt", programs, "--split-input-file", *passes, "--hone-plan-memory", "--hone-verify-plan"]
        left = options.folder / f"{way.replace(' ', '-')}.mlir"
        done = subprocess.run([*command, "-o", left], stderr=subprocess.PIPE, text=True)
        begun = left.read_text().count(" async") if left.exists() else 0
        print(f"{way}: {options.graphs} programs, exit code {done.returncode}, {begun} collectives have a wait apart")
        print(done.stderr, end="")
        failures += done.returncode != 0
        if passes and not begun:
            print("expected some that begin early")
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
