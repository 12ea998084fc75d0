"""Random functions: a graph is grown by a sequence of moves, each of which appends one op or one idiom to values made
before, mostly recent ones. The same seed gives the same graph.

Sizes come from a small pool per graph, so that shapes meet again; odd sizes, 1 and sometimes 0 are in it.
"""

from __future__ import annotations

import random
import re

from elements import ElementMoves
from gradients import GradientMoves
from graphs import Argument, Shape, Value, function
from layers import LayerMoves
from moves import SimpleMoves


class Grower(SimpleMoves, LayerMoves, GradientMoves, ElementMoves):
    """All moves: a smooth graph leaves out those that jump, that round to another type, or that stop a gradient; only
    an exported one has those that autodiff removes."""

    def grow(self, moves: int, exported: bool = False) -> None:
        for _ in range(2):
            self.values.append(self.argument(self.shape()))
        table = SimpleMoves.MOVES | LayerMoves.MOVES | GradientMoves.MOVES
        if not self.smooth:
            table |= SimpleMoves.ROUGH_MOVES | GradientMoves.ROUGH_MOVES | ElementMoves.MOVES
        if exported:
            table |= GradientMoves.EXPORTED_MOVES
        for move in self.random.choices(list(table), list(table.values()), k=moves):
            value = move(self)
            if value and len(value.shape) <= 5:
                self.keep(value)


def random_function(seed: int, smooth: bool, name: str = "forward") -> str:
    """A function that returns its leaves and a few inner values."""
    grower = Grower(random.Random(seed), smooth=smooth)
    grower.grow(grower.random.randint(4, 40))
    results = grower.leaves()
    results += [value for value in grower.values if value.name in grower.used and grower.random.random() < 0.1]
    results = list(dict.fromkeys(results)) or grower.values[-1:]
    return function(name, grower.parameters(), grower.lines, results)


def depends_on_parameter(value: Value, arguments: list[Argument], lines: list[str]) -> bool:
    reached = {argument.value.name for argument in arguments if argument.kind == "param"}
    for line in lines:
        made, read = line.split(" = ", 1)
        if any(name in reached for name in re.findall(r"%(\w+)", read)):
            reached.update(re.findall(r"%(\w+)", made))
    return value.name in reached


def random_forward(
    seed: int, parts: int, exported: bool = True, weight: Shape | None = None
) -> tuple[list[Argument], str]:
    """Arguments and text of a `@forward` whose loss adds up several independent graphs, and the mean of a parameter of
    the shape `weight`."""
    arguments: list[Argument] = []
    lines: list[str] = []
    total: Value | None = None
    key: Value | None = None
    for part in range(parts):
        grower = Grower(random.Random(seed * 100 + part), smooth=True, prefix=f"g{part}")
        grower.grow(grower.random.randint(4, 30), exported)
        leaves = grower.leaves() or grower.values[-1:]
        for leaf in leaves:
            factor = grower.map("cos", grower.bounded(grower.pick_like(leaf.shape)))
            weighted = grower.map("mul", grower.bounded(leaf), factor)
            dims = list(range(len(leaf.shape)))
            share = grower.mean(weighted, dims) if dims else weighted
            total = grower.map("add", total, share) if total else share
        arguments += grower.arguments
        lines += grower.lines
        if part == parts - 1 and not depends_on_parameter(total, arguments, lines):
            weight = weight or (3,)
        if part == parts - 1 and weight:
            written = len(grower.lines)
            added = grower.map("sin", grower.argument(weight))
            total = grower.map("add", total, grower.mean(added, list(range(len(weight)))))
            arguments.append(grower.arguments[-1])
            lines += grower.lines[written:]
        key = key or grower.key
    assert total is not None
    if key:
        arguments = arguments + [Argument(key, "rng")]
    return arguments, function("forward", arguments, lines, [total], ' {hone.kind = "loss"}')
