"""Random graphs of the hone dialect: well typed, bounded in size and in the magnitude of their values.

A graph is grown by a sequence of moves (`Grower.MOVES`): each picks values made before, mostly recent ones, and appends
one op or one idiom (a bias behind a product, a one-hot comparison, a split projection). Sizes come from a small pool
per graph, so that shapes meet again; odd sizes, 1 and sometimes 0 are in it. The same seed gives the same graph.
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
            attributes += ["hone.requires_grad", f"hone.init = {self.init}"]
        if self.below:
            attributes.append(f"hone.vocab = {self.below} : i64")
        return f"{self.value}: {self.value.type} {{{', '.join(attributes)}}}"


NORMAL = '{dist = "normal", mean = 0.0 : f64, std = 0.7 : f64}'
AROUND_ONE = '{dist = "normal", mean = 1.0 : f64, std = 0.3 : f64}'


@dataclass
class Grower:
    """Grows one function; `smooth` leaves out what autodiff or a comparison of fp32 with fp32 cannot bear."""

    random: random.Random
    smooth: bool
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
        self.sizes = tuple(pick.sample(SIZES, 3))
        if pick.random() < 0.4:
            self.sizes += (1,)
        if pick.random() < 0.2:
            self.sizes += (pick.choice(WIDE_SIZES),)
        if pick.random() < 0.12:
            self.sizes += (0,)

    # -- building blocks ----------------------------------------------------------------------------------------

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

    def ids(self, shape: Shape, below: int) -> Value:
        value = Value(f"{self.prefix}a{len(self.arguments)}", shape, "i64")
        self.arguments.append(Argument(value, "input", below=below))
        return value

    def rng(self) -> Value:
        if self.key is None:
            self.key = Value("key", (3,), "i64")
        return self.key

    def shape(self, rank: int | None = None) -> Shape:
        rank = self.random.choice((1, 2, 2, 3, 3, 4)) if rank is None else rank
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

    def constant(self, shape: Shape, number: float) -> Value:
        return self.emit(f"constant dense<{number!r}>", [], shape, tensor(shape))

    def splat(self, shape: Shape) -> Value | None:
        return self.constant(shape, self.random.choice((0.5, -1.25, 2.0))) if self.random.random() < 0.3 else None

    def map(self, op: str, *operands: Value) -> Value:
        return self.emit(f"{op} {', '.join(map(str, operands))}", list(operands), operands[0].shape, operands[0].type)

    def scale(self, value: Value, factor: float) -> Value:
        return self.map("mul", value, self.constant(value.shape, factor))

    def reshape(self, value: Value, shape: Shape) -> Value:
        if shape == value.shape:
            return value
        types = f"{value.type} -> {tensor(shape, value.element)}"
        return self.emit(f"reshape {value}", [value], shape, types, value.element)

    def broadcast(self, value: Value, dims: tuple[int, ...], shape: Shape) -> Value:
        types = f"{value.type} -> {tensor(shape, value.element)}"
        return self.emit(f"broadcast {value} dims {list(dims)}", [value], shape, types, value.element)

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

    def reduce(self, kind: str, value: Value, dims: list[int]) -> Value:
        shape = tuple(size for dim, size in enumerate(value.shape) if dim not in dims)
        return self.emit(f"reduce {kind} {value} dims {dims}", [value], shape, f"{value.type} -> {tensor(shape)}")

    def mean(self, value: Value, dims: list[int]) -> Value:
        """The sum over the root of the number of terms, which keeps the magnitude of random terms."""
        terms = max(1, count(tuple(value.shape[dim] for dim in dims)))
        return self.scale(self.reduce("sum", value, dims), round(terms**-0.5, 6))

    def slice(self, value: Value, starts: list[int], limits: list[int], strides: list[int]) -> Value:
        shape = tuple(-(-(limit - start) // stride) for start, limit, stride in zip(starts, limits, strides))
        text = f"slice {value} {starts} to {limits} by {strides}"
        return self.emit(text, [value], shape, f"{value.type} -> {tensor(shape)}")

    def transpose(self, value: Value, order: list[int]) -> Value:
        shape = tuple(value.shape[dim] for dim in order)
        return self.emit(f"transpose {value} {order}", [value], shape, f"{value.type} -> {tensor(shape)}")

    def concat(self, parts: list[Value], dim: int) -> Value:
        shape = list(parts[0].shape)
        shape[dim] = sum(part.shape[dim] for part in parts)
        types = ", ".join(part.type for part in parts)
        text = f"concat {', '.join(map(str, parts))} dim {dim}"
        return self.emit(text, parts, tuple(shape), f"({types}) -> {tensor(tuple(shape))}")

    def dot(self, lhs: Value, rhs: Value, batch: Dims, contract: Dims) -> Value:
        def free(value: Value, side: int) -> Shape:
            taken = batch[side] + contract[side]
            return tuple(size for dim, size in enumerate(value.shape) if dim not in taken)

        shape = tuple(lhs.shape[dim] for dim in batch[0]) + free(lhs, 0) + free(rhs, 1)
        text = f"dot_general {lhs}, {rhs} batch {batch[0]} x {batch[1]} contract {contract[0]} x {contract[1]}"
        product = self.emit(text, [lhs, rhs], shape, f"{lhs.type}, {rhs.type} -> {tensor(shape)}")
        return product

    def linear(self, value: Value, width: int) -> Value:
        """value @ weight, whose rows have about unit norm."""
        depth = value.shape[-1]
        std = f"{max(depth, 1) ** -0.5:.6f}"
        init = f'{{dist = "normal", mean = 0.0 : f64, std = {std} : f64}}'
        last = len(value.shape) - 1
        if self.random.random() < 0.5:
            return self.dot(value, self.argument((width, depth), init), ([], []), ([last], [1]))
        return self.dot(value, self.argument((depth, width), init), ([], []), ([last], [0]))

    # -- moves --------------------------------------------------------------------------------------------------

    def move_unary(self) -> Value | None:
        value = self.pick()
        ops = ["tanh", "logistic", "neg", "gelu tanh", "gelu erf", "sin", "cos", "erf"]
        if not self.smooth:
            ops += ["abs", "sign"]
        op = self.random.choice(ops)
        if value and op in ("sin", "cos"):  # of a large angle, nothing is left in fp32
            value = self.bounded(value)
        return value and self.map(op, value)

    def bounded(self, value: Value) -> Value:
        """x / sqrt(1 + x^2): like tanh, but with a derivative that does not cancel."""
        square = self.map("add", self.map("mul", value, value), self.constant(value.shape, 1.0))
        return self.map("mul", value, self.map("rsqrt", square))

    def move_positive(self) -> Value | None:
        """log, sqrt, rsqrt and quotients of 1 + x^2."""
        value = self.pick()
        if not value:
            return None
        positive = self.map("add", self.map("mul", value, value), self.constant(value.shape, 1.0))
        if self.random.random() < 0.3:
            return self.map("div", self.pick_like(value.shape), positive)
        return self.map(self.random.choice(("log", "sqrt", "rsqrt")), positive)

    def move_exp(self) -> Value | None:
        value = self.pick()
        return value and self.map("exp", self.map("tanh", value))

    def move_binary(self) -> Value | None:
        value = self.pick()
        if not value:
            return None
        operands = [value, self.pick_like(value.shape)]
        self.random.shuffle(operands)
        ops = ("add", "sub", "add", "mul") + (() if self.smooth else ("max", "min"))
        op = self.random.choice(ops)
        if op == "mul":
            operands[0] = self.map("tanh", operands[0])
        return self.map(op, *operands)

    def move_select(self) -> Value | None:
        """A causal or one-hot mask from counters, or a comparison of values."""
        value = self.pick(lambda value: len(value.shape) >= 2)
        if not value:
            return None
        shape = value.shape
        mask_type = tensor(shape, "i1")
        if self.random.random() < 0.35:
            target = self.ids(shape[:-1], max(1, shape[-1]))
            wide = self.broadcast(target, tuple(range(len(shape) - 1)), shape)
            counter = self.emit(f"iota dim {len(shape) - 1}", [], shape, wide.type, "i64")
            mask = self.emit(f"cmp eq, {counter}, {wide}", [counter, wide], shape, f"{wide.type} -> {mask_type}", "i1")
        elif self.smooth or self.random.random() < 0.6:
            first, second = self.random.sample(range(len(shape)), 2)
            kind = tensor(shape, "i64")
            rows = self.emit(f"iota dim {first}", [], shape, kind, "i64")
            cols = self.emit(f"iota dim {second}", [], shape, kind, "i64")
            predicate = self.random.choice(("lt", "le", "ge", "ne"))
            mask = self.emit(f"cmp {predicate}, {rows}, {cols}", [rows, cols], shape, f"{kind} -> {mask_type}", "i1")
        else:
            other = self.pick_like(shape)
            mask = self.emit(f"cmp gt, {value}, {other}", [value, other], shape, f"{value.type} -> {mask_type}", "i1")
        other = self.pick_like(shape)
        return self.emit(f"select {mask}, {value}, {other}", [mask, value, other], shape, f"{mask_type}, {value.type}")

    def move_counter(self) -> Value | None:
        """A table of positions, scaled, through a function: free of data."""
        shape = self.shape(self.random.choice((1, 2, 3)))
        counter = self.emit(f"iota dim {self.random.randrange(len(shape))}", [], shape, tensor(shape))
        return self.map(self.random.choice(("sin", "cos", "tanh")), self.scale(counter, 0.125))

    def move_mean(self) -> Value | None:
        value = self.pick(lambda value: len(value.shape) >= 1)
        if not value:
            return None
        rank = len(value.shape)
        some = sorted(self.random.sample(range(rank), self.random.randint(1, rank)))
        dims = self.random.choice(([rank - 1], list(range(rank - 1)) or [0], list(range(rank)), some))
        return self.mean(value, dims)

    def move_extreme(self) -> Value | None:
        """A row maximum, used as in a softmax: subtracted."""
        value = self.pick(lambda value: len(value.shape) >= 1 and 0 not in value.shape)
        if not value:
            return None
        last = len(value.shape) - 1
        extreme = self.reduce(self.random.choice(("max", "min")), value, [last])
        return self.map("sub", value, self.broadcast(extreme, tuple(range(last)), value.shape))

    def move_reduce_broadcast(self) -> Value | None:
        """A statistic per row or column, spread again: what norms are made of."""
        value = self.pick(lambda value: len(value.shape) >= 2)
        if not value:
            return None
        dims = self.random.choice(([len(value.shape) - 1], list(range(len(value.shape) - 1))))
        kept = tuple(dim for dim in range(len(value.shape)) if dim not in dims)
        spread = self.broadcast(self.keep(self.mean(value, dims)), kept, value.shape)
        return self.map(self.random.choice(("add", "sub")), value, spread)

    def move_reshape(self) -> Value | None:
        value = self.pick()
        if not value:
            return None
        shape = list(value.shape)
        for _ in range(self.random.randint(1, 2)):
            way = self.random.random()
            if way < 0.4 and len(shape) >= 2:  # merge
                dim = self.random.randrange(len(shape) - 1)
                shape[dim:dim + 2] = [shape[dim] * shape[dim + 1]]
            elif way < 0.8 and shape:  # split
                dim = self.random.randrange(len(shape))
                factors = [size for size in range(1, shape[dim] + 1) if shape[dim] % size == 0] or [1]
                factor = self.random.choice(factors)
                shape[dim:dim + 1] = [factor, shape[dim] // factor]
            else:
                shape.insert(self.random.randint(0, len(shape)), 1)
        return self.reshape(value, tuple(shape)) if len(shape) <= 5 else None

    def move_transpose(self) -> Value | None:
        value = self.pick(lambda value: len(value.shape) >= 2)
        if not value:
            return None
        order = list(range(len(value.shape)))
        self.random.shuffle(order)
        return self.transpose(value, order)

    def move_slice(self) -> Value | None:
        value = self.pick(lambda value: len(value.shape) >= 1)
        if not value:
            return None
        starts, limits, strides = [], [], []
        for size in value.shape:
            whole = self.random.random() < 0.5
            start = 0 if whole else self.random.randint(0, size)
            starts.append(start)
            limits.append(size if whole else self.random.randint(start, size))
            strides.append(self.random.choice((1, 1, 1, 2, 3)))
        if any(start == limit for start, limit in zip(starts, limits)) and self.random.random() < 0.9:
            return None  # empty slices are rare
        return self.slice(value, starts, limits, strides)

    def move_split(self) -> Value | None:
        """The parts of a dimension, each through a function, joined or summed after padding."""
        value = self.pick(lambda value: value.shape and max(value.shape) >= 2)
        if not value:
            return None
        dim = self.random.choice([dim for dim, size in enumerate(value.shape) if size >= 2])
        count_of_cuts = min(self.random.randint(1, 2), value.shape[dim] - 1)
        cuts = sorted(self.random.sample(range(1, value.shape[dim]), count_of_cuts))
        bounds = [0, *cuts, value.shape[dim]]
        parts = []
        for begin, end in zip(bounds, bounds[1:]):
            starts, limits = [0] * len(value.shape), list(value.shape)
            starts[dim], limits[dim] = begin, end
            part = self.slice(value, starts, limits, [1] * len(starts))
            parts.append(self.map("tanh", part) if self.random.random() < 0.6 else part)
        if self.random.random() < 0.5:
            self.random.shuffle(parts)
            return self.concat(parts, dim)
        padded = [self.pad(part, dim, begin, value.shape[dim] - end)
                  for part, begin, end in zip(parts, bounds, bounds[1:])]
        self.random.shuffle(padded)
        total = padded[0]
        for part in padded[1:]:
            total = self.map("add", total, part)
        return total

    def pad(self, value: Value, dim: int, low: int, high: int, interior: int = 0) -> Value:
        lows, highs, inner = ([0] * len(value.shape) for _ in range(3))
        lows[dim], highs[dim], inner[dim] = low, high, interior
        shape = list(value.shape)
        shape[dim] = low + high + shape[dim] + max(shape[dim] - 1, 0) * interior
        text = f"pad {value} low {lows} high {highs} interior {inner}"
        return self.emit(text, [value], tuple(shape), f"{value.type} -> {tensor(tuple(shape))}")

    def move_pad(self) -> Value | None:
        value = self.pick(lambda value: len(value.shape) >= 1)
        if not value:
            return None
        dim = self.random.randrange(len(value.shape))
        return self.pad(value, dim, self.random.randint(0, 3), self.random.randint(0, 3), self.random.choice((0, 0, 1)))

    def move_concat(self) -> Value | None:
        value = self.pick(lambda value: len(value.shape) >= 1)
        if not value:
            return None
        dim = self.random.randrange(len(value.shape))
        parts = [value]
        for _ in range(self.random.randint(0, 2)):
            shape = list(value.shape)
            shape[dim] = self.random.choice(self.sizes)
            parts.append(self.pick_like(tuple(shape)))
        return self.concat(parts, dim)

    def move_linear(self) -> Value | None:
        """x W (+ bias) (+ residual), the sums in any order."""
        value = self.pick(lambda value: len(value.shape) >= 1)
        if not value:
            return None
        product = self.linear(value, self.random.choice(self.sizes))
        if self.random.random() < 0.15:
            self.keep(product)  # another reader may follow
        if self.random.random() < 0.6:
            bias = self.broadcast(self.argument(product.shape[-1:]), (len(product.shape) - 1,), product.shape)
            product = self.map("add", product, bias)
        if self.random.random() < 0.5:
            product = self.map("add", product, self.pick_like(product.shape))
        return product

    def move_batched_dot(self) -> Value | None:
        """A product with batch and contracting dimensions anywhere."""
        lhs = self.pick(lambda value: len(value.shape) >= 2)
        if not lhs:
            return None
        dims = list(range(len(lhs.shape)))
        self.random.shuffle(dims)
        batch = dims[:self.random.randint(0, len(dims) - 1)]
        contract = dims[len(batch):len(batch) + self.random.randint(1, min(2, len(dims) - len(batch)))]
        sizes = [(lhs.shape[dim], ("batch", number)) for number, dim in enumerate(batch)]
        sizes += [(lhs.shape[dim], ("contract", number)) for number, dim in enumerate(contract)]
        sizes += [(self.random.choice(self.sizes), ("free", 0)) for _ in range(self.random.randint(0, 2))]
        self.random.shuffle(sizes)
        shape = tuple(size for size, _ in sizes)
        places = {label: dim for dim, (_, label) in enumerate(sizes)}
        product_size = count(lhs.shape) * count(tuple(size for size, label in sizes if label[0] == "free"))
        if count(shape) > MAX_ELEMENTS or product_size > 60 * MAX_ELEMENTS:
            return None
        rhs = self.pick_like(shape)
        product = self.dot(lhs, rhs, (batch, [places["batch", n] for n in range(len(batch))]),
                           (contract, [places["contract", n] for n in range(len(contract))]))
        terms = max(1, count(tuple(lhs.shape[dim] for dim in contract)))
        return self.scale(product, round(terms**-0.5, 6)) if count(product.shape) <= MAX_ELEMENTS else None

    def move_norm(self) -> Value | None:
        value = self.pick(lambda value: value.shape and value.shape[-1] >= 2 and count(value.shape) > 0)
        if not value:
            return None
        width, rows = (value.shape[-1],), tensor(value.shape[:-1])
        name, operands, text, types = self.fresh(), [value], "", [value.type]
        layer = self.random.random() < 0.6
        for word in ("scale", "bias")[:2 if layer else 1]:
            if self.random.random() < 0.7:
                vector = self.argument(width, AROUND_ONE)
                operands.append(vector)
                types.append(vector.type)
                text += f" {word} {vector}"
        op, extra = ("layer_norm", 2) if layer else ("rms_norm", 1)
        results = ", ".join([value.type] + [rows] * extra)
        names = ", ".join([f"%{name}"] + [f"%{name}_{n}" for n in range(extra)])
        self.lines.append(f"{names} = hone.{op} {value}{text} eps 0.0078125 : ({', '.join(types)}) -> ({results})")
        self.used.update(operand.name for operand in operands)
        if not self.smooth and self.random.random() < 0.3:
            self.keep(Value(f"{name}_{extra - 1}", value.shape[:-1]))
        return Value(name, value.shape)

    def move_softmax(self) -> Value | None:
        value = self.pick(lambda value: value.shape and count(value.shape) > 0)
        return value and self.emit(f"softmax {value}", [value], value.shape, value.type)

    def move_cross_entropy(self) -> Value | None:
        value = self.pick(lambda value: value.shape and count(value.shape) > 0 and value.shape[-1] >= 2)
        if not value:
            return None
        reduction = self.random.choice(("none", "sum", "mean"))
        rows = value.shape[:-1]
        targets = self.ids(rows, value.shape[-1])
        shape = rows if reduction == "none" else ()
        ignored = self.random.choice((-100, 1))
        if reduction == "mean" and ignored >= 0 and count(rows) < 4:
            ignored = -100  # all rows ignored would give NaN
        smoothing = self.random.choice((0.0, 0.0, 0.125))
        name = self.fresh()
        types = f"{value.type}, {targets.type} -> {tensor(shape)}, {tensor(rows)}"
        self.lines.append(f"%{name}, %{name}_lse = hone.cross_entropy {reduction} {value}, {targets} "
                          f"ignore_index {ignored} label_smoothing {smoothing} : {types}")
        self.used.update((value.name, targets.name))
        return Value(name, shape)

    def move_embedding(self) -> Value | None:
        rows = self.random.choice([size for size in self.sizes if size > 0])
        table = self.pick(lambda value: len(value.shape) == 2 and value.shape[0] > 0)
        if not table or self.random.random() < 0.4:
            table = self.argument((rows, self.random.choice(self.sizes)))
        ids = self.ids(self.shape(self.random.choice((1, 2))), table.shape[0])
        shape = ids.shape + table.shape[1:]
        if count(shape) > MAX_ELEMENTS:
            return None
        types = f"{table.type}, {ids.type} -> {tensor(shape)}"
        return self.emit(f"embedding {table}, {ids}", [table, ids], shape, types)

    def move_dropout(self) -> Value | None:
        value = self.pick()
        if not value:
            return None
        key = self.rng()
        text = f"dropout {value}, {key} p {self.random.choice((0.125, 0.5))} salt {self.random.randint(1, 99)}"
        return self.emit(text, [value], value.shape, f"{value.type}, {key.type}")

    def move_attention(self) -> Value | None:
        """Heads from slices of a packed projection, or from three of their own."""
        value = self.pick(lambda value: len(value.shape) == 3 and 0 not in value.shape)
        if not value:
            return None
        batch, time, _ = value.shape
        groups, repeat, width = self.random.choice((1, 2, 3)), self.random.choice((1, 2)), self.random.choice((2, 5, 8))
        heads = groups * repeat
        widths = [heads * width, groups * width, groups * width]
        if batch * time * sum(widths) > MAX_ELEMENTS or batch * heads * time * time > 4 * MAX_ELEMENTS:
            return None
        if self.random.random() < 0.6:
            packed = self.linear(value, sum(widths))
            parts, start = [], 0
            for size in widths:
                parts.append(self.slice(packed, [0, 0, start], [batch, time, start + size], [1, 1, 1]))
                start += size
        else:
            parts = [self.linear(value, size) for size in widths]
        q, k, v = (self.reshape(part, (batch, time, size // width, width)) for part, size in zip(parts, widths))
        causal = " causal" if self.random.random() < 0.6 else ""
        name = self.fresh()
        lse = tensor((batch, heads, time))
        self.lines.append(f"%{name}, %{name}_lse = hone.attention {q}, {k}, {v}{causal} scale {width ** -0.5:.6f} : "
                          f"({q.type}, {k.type}, {v.type}) -> ({q.type}, {lse})")
        self.used.update((q.name, k.name, v.name))
        return self.reshape(Value(name, q.shape), (batch, time, heads * width))

    # -- the whole ----------------------------------------------------------------------------------------------

    MOVES = {
        move_unary: 6, move_positive: 3, move_exp: 2, move_binary: 10, move_select: 3, move_counter: 2, move_mean: 6,
        move_reduce_broadcast: 4, move_reshape: 5, move_transpose: 4, move_slice: 3, move_split: 3, move_pad: 2,
        move_concat: 3, move_linear: 6, move_batched_dot: 4, move_norm: 4, move_softmax: 3, move_cross_entropy: 1,
        move_embedding: 2, move_dropout: 2, move_attention: 2,
    }
    ROUGH_MOVES = {move_extreme: 2}

    def grow(self, moves: int) -> None:
        for _ in range(2):
            self.values.append(self.argument(self.shape()))
        table = self.MOVES | ({} if self.smooth else self.ROUGH_MOVES)
        for move in self.random.choices(list(table), list(table.values()), k=moves):
            value = move(self)
            if value and len(value.shape) <= 5:
                self.keep(value)

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


def random_function(seed: int, name: str) -> str:
    """A function that returns its leaves and a few inner values."""
    grower = Grower(random.Random(seed), smooth=False)
    grower.grow(grower.random.randint(4, 40))
    results = grower.leaves()
    results += [value for value in grower.values if value.name in grower.used and grower.random.random() < 0.1]
    results = list(dict.fromkeys(results)) or grower.values[-1:]
    return function(name, grower.parameters(), grower.lines, results)


def random_forward(seed: int, parts: int) -> tuple[list[Argument], str]:
    """Arguments and text of a `@forward` whose loss adds up several independent graphs."""
    arguments: list[Argument] = []
    lines: list[str] = []
    total: Value | None = None
    key: Value | None = None
    for part in range(parts):
        grower = Grower(random.Random(seed * 100 + part), smooth=True, prefix=f"g{part}")
        grower.grow(grower.random.randint(4, 30))
        leaves = grower.leaves() or grower.values[-1:]
        for leaf in leaves:
            weight = grower.map("cos", grower.bounded(grower.pick_like(leaf.shape)))
            weighted = grower.map("mul", grower.bounded(leaf), weight)
            dims = list(range(len(leaf.shape)))
            share = grower.mean(weighted, dims) if dims else weighted
            total = grower.map("add", total, share) if total else share
        arguments += grower.arguments
        lines += grower.lines
        key = key or grower.key
    assert total is not None
    if key:
        arguments = arguments + [Argument(key, "rng")]
    return arguments, function("forward", arguments, lines, [total], ' {hone.kind = "loss"}')
