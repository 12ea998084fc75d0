"""Building blocks of random graphs of the hone dialect: values, arguments and one method per shape of op.

A graph is a list of lines of text. Every value knows its shape and element type, so that an op's types are written,
never inferred. What to build at random is decided in moves.py, layers.py, elements.py and models.py.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import Callable

Shape = tuple[int, ...]
Dims = tuple[list[int], list[int]]  # of the left and of the right operand

MAX_ELEMENTS = 6000
SIZES = (2, 3, 5, 7, 8, 13, 16, 17, 19, 31, 32, 33, 37)
WIDE_SIZES = (64, 67, 130)


def count(shape: Shape) -> int:
    return math.prod(shape)


def tensor(shape: Shape, element: str = "f32") -> str:
    return "tensor<" + "".join(f"{size}x" for size in shape) + element + ">"


@dataclass(frozen=True)
class Value:
    name: str
    shape: Shape
    element: str = "f32"

    @property
    def type(self) -> str:
        return tensor(self.shape, self.element)

    def __str__(self) -> str:
        return "%" + self.name


@dataclass(frozen=True)
class Argument:
    """`kind` is that of the hone dialect; `below` bounds the integers of an input."""

    value: Value
    kind: str
    init: str = ""
    below: int = 0

    def text(self) -> str:
        attributes = [f'hone.kind = "{self.kind}"', f'hone.fqn = "{self.value.name}"']
        if self.kind == "param":
            attributes.append("hone.requires_grad")
        if self.init:
            attributes.append(f"hone.init = {self.init}")
        if self.below:
            attributes.append(f"hone.vocab = {self.below} : i64")
        return f"{self.value}: {self.value.type} {{{', '.join(attributes)}}}"


def normal(mean: float, std: float) -> str:
    return f'{{dist = "normal", mean = {mean!r} : f64, std = {std:.6f} : f64}}'


NORMAL = normal(0.0, 0.7)
AROUND_ONE = normal(1.0, 0.3)


@dataclass
class Graph:
    """A function under construction. `smooth` leaves out what jumps: autodiff and results in fp32 cannot bear it."""

    random: random.Random
    smooth: bool = True
    prefix: str = ""
    arguments: list[Argument] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    key: Value | None = None
    numbers: int = 0
    sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        pick = self.random
        self.sizes = self.sizes or tuple(pick.sample(SIZES, 3))
        if pick.random() < 0.4:
            self.sizes += (1,)
        if pick.random() < 0.2:
            self.sizes += (pick.choice(WIDE_SIZES),)
        if pick.random() < 0.12:
            self.sizes += (0,)

    # -- names, arguments, choices ------------------------------------------------------------------------------

    def fresh(self) -> str:
        self.numbers += 1
        return f"{self.prefix}v{self.numbers}"

    def emit(self, text: str, operands: list[Value], shape: Shape, types: str, element: str = "f32") -> Value:
        """One op with one result: `text` after `hone.`, `types` after the colon."""
        result = Value(self.fresh(), shape, element)
        self.lines.append(f"{result} = hone.{text} : {types}")
        self.used.update(operand.name for operand in operands)
        return result

    def keep(self, value: Value) -> Value:
        if value.element == "f32":
            self.values.append(value)
        return value

    def argument(self, shape: Shape, init: str = NORMAL) -> Value:
        value = Value(f"{self.prefix}a{len(self.arguments)}", shape)
        self.arguments.append(Argument(value, "param", init))
        return value

    def buffer(self, shape: Shape, init: str = NORMAL) -> Value:
        value = Value(f"{self.prefix}a{len(self.arguments)}", shape)
        self.arguments.append(Argument(value, "buffer", init))
        return value

    def ids(self, shape: Shape, below: int) -> Value:
        value = Value(f"{self.prefix}a{len(self.arguments)}", shape, "i64")
        self.arguments.append(Argument(value, "input", below=below))
        return value

    def rng(self) -> Value:
        if self.key is None:
            self.key = Value("key", (3,), "i64")
        return self.key

    def shape(self, rank: int | None = None) -> Shape:
        rank = self.random.choice((0, 1, 1, 2, 2, 2, 3, 3, 4)) if rank is None else rank
        shape = tuple(self.random.choice(self.sizes) for _ in range(rank))
        while count(shape) > MAX_ELEMENTS:
            shape = shape[1:]
        return shape

    def pick(self, wanted: Callable[[Value], bool] = lambda value: True) -> Value | None:
        """A value, preferably a recent one."""
        found = [value for value in self.values if wanted(value)]
        if not found:
            return None
        return found[-1 - min(int(self.random.expovariate(0.3)), len(found) - 1)]

    def pick_like(self, shape: Shape) -> Value:
        """A value of that shape: one that is there, a broadcast, a reshape, or a new argument."""
        same = self.pick(lambda value: value.shape == shape)
        if same and self.random.random() < 0.6:
            return same
        ways = [self.broadcast_to, self.splat, self.reshape_to]
        self.random.shuffle(ways)
        for way in ways:
            if value := way(shape):
                return value
        return same or self.argument(shape)

    # -- elementwise --------------------------------------------------------------------------------------------

    def constant(self, shape: Shape, number: float, element: str = "f32") -> Value:
        return self.emit(f"constant dense<{number!r}>", [], shape, tensor(shape, element), element)

    def splat(self, shape: Shape) -> Value | None:
        return self.constant(shape, self.random.choice((0.5, -1.25, 2.0))) if self.random.random() < 0.3 else None

    def counter(self, dim: int, shape: Shape, element: str = "i64") -> Value:
        return self.emit(f"iota dim {dim}", [], shape, tensor(shape, element), element)

    def map(self, op: str, *operands: Value) -> Value:
        first = operands[0]
        text = f"{op} {', '.join(map(str, operands))}"
        return self.emit(text, list(operands), first.shape, first.type, first.element)

    def scale(self, value: Value, factor: float) -> Value:
        return self.map("mul", value, self.constant(value.shape, factor, value.element))

    def shift(self, value: Value, term: float) -> Value:
        return self.map("add", value, self.constant(value.shape, term, value.element))

    def cast(self, value: Value, element: str) -> Value:
        if value.element == element:
            return value
        types = f"{value.type} -> {tensor(value.shape, element)}"
        return self.emit(f"cast {value}", [value], value.shape, types, element)

    def compare(self, predicate: str, x: Value, y: Value) -> Value:
        return self.emit(f"cmp {predicate}, {x}, {y}", [x, y], x.shape, f"{x.type} -> {tensor(x.shape, 'i1')}", "i1")

    def select(self, mask: Value, x: Value, y: Value) -> Value:
        return self.emit(f"select {mask}, {x}, {y}", [mask, x, y], x.shape, f"{mask.type}, {x.type}", x.element)

    # -- shape --------------------------------------------------------------------------------------------------

    def reshape(self, value: Value, shape: Shape) -> Value:
        if shape == value.shape:
            return value
        types = f"{value.type} -> {tensor(shape, value.element)}"
        return self.emit(f"reshape {value}", [value], shape, types, value.element)

    def broadcast(self, value: Value, dims: tuple[int, ...], shape: Shape) -> Value:
        if shape == value.shape:
            return value
        types = f"{value.type} -> {tensor(shape, value.element)}"
        return self.emit(f"broadcast {value} dims {list(dims)}", [value], shape, types, value.element)

    def per_row(self, value: Value, shape: Shape) -> Value:
        """One element per row, repeated along the row."""
        return self.broadcast(value, tuple(range(len(shape) - 1)), shape)

    def per_column(self, value: Value, shape: Shape) -> Value:
        return self.broadcast(value, (len(shape) - 1,), shape)

    def broadcast_to(self, shape: Shape) -> Value | None:
        """A value whose dimensions are some of `shape`, repeated to it; a new vector if there is none."""
        ways = []
        for value in self.values:
            for dims in self.embeddings(value.shape, shape):
                ways.append((value, dims))
        if ways and self.random.random() < 0.7:
            value, dims = self.random.choice(ways[-6:])
            return self.broadcast(value, dims, shape)
        if not shape:
            return None
        dim = self.random.choice((0, len(shape) - 1))
        return self.broadcast(self.argument((shape[dim],)), (dim,), shape)

    @staticmethod
    def embeddings(small: Shape, large: Shape) -> list[tuple[int, ...]]:
        """Increasing lists of dimensions of `large` with the sizes of `small`."""
        if len(small) >= len(large):
            return []
        found: list[tuple[int, ...]] = [()]
        for size in small:
            found = [dims + (dim,) for dims in found for dim in range(dims[-1] + 1 if dims else 0, len(large))
                     if large[dim] == size]
        return found

    def reshape_to(self, shape: Shape) -> Value | None:
        value = self.pick(lambda value: count(value.shape) == count(shape) and value.shape != shape)
        return self.reshape(value, shape) if value else None

    def slice(self, value: Value, starts: list[int], limits: list[int], strides: list[int] | None = None) -> Value:
        strides = strides or [1] * len(starts)
        shape = tuple(-(-(limit - start) // stride) for start, limit, stride in zip(starts, limits, strides))
        text = f"slice {value} {starts} to {limits} by {strides}"
        return self.emit(text, [value], shape, f"{value.type} -> {tensor(shape, value.element)}", value.element)

    def part(self, value: Value, dim: int, begin: int, end: int) -> Value:
        """The elements `begin` to `end` of one dimension."""
        starts, limits = [0] * len(value.shape), list(value.shape)
        starts[dim], limits[dim] = begin, end
        return self.slice(value, starts, limits)

    def transpose(self, value: Value, order: list[int]) -> Value:
        shape = tuple(value.shape[dim] for dim in order)
        types = f"{value.type} -> {tensor(shape, value.element)}"
        return self.emit(f"transpose {value} {order}", [value], shape, types, value.element)

    def pad(self, value: Value, dim: int, low: int, high: int, interior: int = 0) -> Value:
        lows, highs, inner = ([0] * len(value.shape) for _ in range(3))
        lows[dim], highs[dim], inner[dim] = low, high, interior
        shape = list(value.shape)
        shape[dim] = low + high + shape[dim] + max(shape[dim] - 1, 0) * interior
        text = f"pad {value} low {lows} high {highs} interior {inner}"
        types = f"{value.type} -> {tensor(tuple(shape), value.element)}"
        return self.emit(text, [value], tuple(shape), types, value.element)

    def concat(self, parts: list[Value], dim: int) -> Value:
        sizes = list(parts[0].shape)
        sizes[dim] = sum(part.shape[dim] for part in parts)
        shape, types = tuple(sizes), ", ".join(part.type for part in parts)
        text = f"concat {', '.join(map(str, parts))} dim {dim}"
        element = parts[0].element
        return self.emit(text, parts, shape, f"({types}) -> {tensor(shape, element)}", element)

    # -- reductions and products --------------------------------------------------------------------------------

    def reduce(self, kind: str, value: Value, dims: list[int]) -> Value:
        shape = tuple(size for dim, size in enumerate(value.shape) if dim not in dims)
        types = f"{value.type} -> {tensor(shape, value.element)}"
        return self.emit(f"reduce {kind} {value} dims {dims}", [value], shape, types, value.element)

    def row(self, kind: str, value: Value) -> Value:
        """A reduction along the last dimension, repeated along it again."""
        return self.per_row(self.reduce(kind, value, [len(value.shape) - 1]), value.shape)

    def mean(self, value: Value, dims: list[int]) -> Value:
        """The sum over the root of the number of terms, which keeps the magnitude of random terms."""
        terms = max(1, count(tuple(value.shape[dim] for dim in dims)))
        return self.scale(self.reduce("sum", value, dims), round(terms**-0.5, 6))

    def dot(self, lhs: Value, rhs: Value, batch: Dims, contract: Dims) -> Value:
        def free(value: Value, side: int) -> Shape:
            taken = batch[side] + contract[side]
            return tuple(size for dim, size in enumerate(value.shape) if dim not in taken)

        shape = tuple(lhs.shape[dim] for dim in batch[0]) + free(lhs, 0) + free(rhs, 1)
        text = f"dot_general {lhs}, {rhs} batch {batch[0]} x {batch[1]} contract {contract[0]} x {contract[1]}"
        types = f"{lhs.type}, {rhs.type} -> {tensor(shape, lhs.element)}"
        return self.emit(text, [lhs, rhs], shape, types, lhs.element)

    def linear(self, value: Value, width: int) -> Value:
        """value @ weight, whose rows have about unit norm."""
        depth = value.shape[-1]
        init = normal(0.0, max(depth, 1) ** -0.5)
        last = len(value.shape) - 1
        if self.random.random() < 0.5:
            return self.dot(value, self.argument((width, depth), init), ([], []), ([last], [1]))
        return self.dot(value, self.argument((depth, width), init), ([], []), ([last], [0]))

    # -- the whole ----------------------------------------------------------------------------------------------

    def leaves(self) -> list[Value]:
        """Values that nothing reads, and that an op makes."""
        made = {line.split(" ", 1)[0].rstrip(",").lstrip("%") for line in self.lines}
        return [value for value in dict.fromkeys(self.values) if value.name in made and value.name not in self.used]

    def parameters(self) -> list[Argument]:
        key = [Argument(self.key, "rng")] if self.key else []
        return self.arguments + key


def function(name: str, arguments: list[Argument], lines: list[str], results: list[Value], attributes: str = "") -> str:
    """The text of one function that returns `results`."""
    signature = ",\n    ".join(argument.text() for argument in arguments)
    types = ", ".join(value.type + attributes for value in results)
    body = "".join(f"    {line}\n" for line in lines)
    names = ", ".join(map(str, results))
    plain = ", ".join(value.type for value in results)
    return f"  func.func @{name}(\n    {signature}) -> ({types}) {{\n{body}    return {names} : {plain}\n  }}\n"
