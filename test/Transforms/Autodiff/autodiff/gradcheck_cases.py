"""The cases of gradcheck.py: functions of one op each, over many shapes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Callable, Iterable, Sequence

Shape = Sequence[int]

# How an argument is drawn: around 0, or away from where a function is not smooth.
NORMAL = ""
POSITIVE = 'hone.init = {dist = "uniform", low = 0.5 : f64, high = 2.0 : f64}, '


@dataclass(frozen=True)
class Case:
    """One function: arguments as (name, type, attributes), body lines, and the value it returns."""

    arguments: tuple[tuple[str, str, str], ...]
    body: tuple[str, ...]
    result: str
    type: str

    def text(self, name: str) -> str:
        arguments = ", ".join(f"%{n}: {t}{' {' + a.rstrip(', ') + '}' if a else ''}" for n, t, a in self.arguments)
        body = "".join(f"  {line}\n" for line in self.body)
        return f"func.func @{name}({arguments}) -> {self.type} {{\n{body}  return %{self.result} : {self.type}\n}}\n"


def tensor(shape: Shape, element: str = "f32") -> str:
    return "tensor<" + "".join(f"{size}x" for size in shape) + element + ">"


def floats(shape: Shape, name: str = "x", draw: str = NORMAL) -> tuple[str, str, str]:
    return name, tensor(shape), draw + "hone.requires_grad"


def ids(shape: Shape, below: int, name: str = "t") -> tuple[str, str, str]:
    return name, tensor(shape, "i64"), f"hone.vocab = {max(below, 1)} : i64"


KEY = ("key", "tensor<3xi64>", "")

# Shapes of elementwise ops: scalars, size 1, size 0, ranks 0 to 4.
SHAPES = ((), (1,), (5,), (3, 4), (1, 4), (4, 1), (2, 3, 5), (1, 1, 1), (0,), (3, 0, 2), (2, 1, 3, 2), (7, 11))

# -- elementwise --------------------------------------------------------------------------------------------------


def unary(op: str, draw: str = NORMAL) -> Iterable[Case]:
    for shape in SHAPES:
        t = tensor(shape)
        yield Case((floats(shape, "x", draw),), (f"%y = hone.{op} %x : {t}",), "y", t)


def binary(op: str, draws: tuple[str, str] = (NORMAL, NORMAL)) -> Iterable[Case]:
    for shape in SHAPES:
        t = tensor(shape)
        yield Case((floats(shape, "x", draws[0]), floats(shape, "z", draws[1])), (f"%y = hone.{op} %x, %z : {t}",),
                   "y", t)


def floor() -> Iterable[Case]:
    """Of numbers between two whole ones, where the derivative exists."""
    for shape in SHAPES:
        t = tensor(shape)
        yield Case((floats(shape),), (f"%p = hone.logistic %x : {t}", f"%y = hone.floor %p : {t}"), "y", t)


def power() -> Iterable[Case]:
    yield from binary("pow", (POSITIVE, NORMAL))
    for exponent, draw in (("2.0", NORMAL), ("3.0", NORMAL), ("0.5", POSITIVE), ("-1.5", POSITIVE), ("1.0", NORMAL),
                           ("0.0", NORMAL)):
        for shape in ((), (3, 4), (0, 2)):
            t = tensor(shape)
            elements = exponent if 0 not in shape else ""
            body = (f"%e = hone.constant dense<{elements}> : {t}",
                    f"%y = hone.pow %x, %e : {t}")
            yield Case((floats(shape, "x", draw),), body, "y", t)


def cast() -> Iterable[Case]:
    for shape in SHAPES:
        t, wide = tensor(shape), tensor(shape, "f64")
        yield Case((floats(shape),), (f"%w = hone.cast %x : {t} -> {wide}", f"%p = hone.mul %w, %w : {wide}",
                                      f"%y = hone.cast %p : {wide} -> {t}"), "y", t)


def select() -> Iterable[Case]:
    for shape in SHAPES:
        t, pred = tensor(shape), tensor(shape, "i1")
        yield Case((floats(shape), floats(shape, "z"), ids(shape, 2)),
                   (f"%p = hone.cast %t : {tensor(shape, 'i64')} -> {pred}",
                    f"%y = hone.select %p, %x, %z : {pred}, {t}"), "y", t)


def gelu() -> Iterable[Case]:
    return itertools.chain(unary("gelu erf"), unary("gelu tanh"))


def dropout() -> Iterable[Case]:
    for shape, p in itertools.product(SHAPES, ("0.25", "0.5")):
        t = tensor(shape)
        yield Case((floats(shape), KEY), (f"%y = hone.dropout %x, %key p {p} salt 3 : {t}, tensor<3xi64>",), "y", t)


# -- shape --------------------------------------------------------------------------------------------------------


def reshape() -> Iterable[Case]:
    pairs = [((), (1,)), ((1,), ()), ((6,), (2, 3)), ((2, 3), (6,)), ((2, 3, 4), (6, 4)), ((4, 1), (2, 2)),
             ((0,), (0, 3)),
             ((2, 0), (0,)), ((1, 1), (1,)), ((3, 4), (4, 3)), ((2, 6), (2, 1, 6))]
    for a, b in pairs:
        yield Case((floats(a),), (f"%y = hone.reshape %x : {tensor(a)} -> {tensor(b)}",), "y", tensor(b))


def transpose() -> Iterable[Case]:
    pairs = [((), ()), ((4,), (0,)), ((3, 4), (1, 0)), ((3, 4), (0, 1)), ((2, 3, 4), (2, 0, 1)), ((2, 3, 4), (1, 2, 0)),
             ((1, 3), (1, 0)), ((0, 3), (1, 0)), ((3, 0, 2), (2, 1, 0)), ((2, 3, 4, 5), (0, 2, 1, 3)),
             ((2, 1, 4), (2, 1, 0)), ((2, 3, 1, 2), (3, 1, 0, 2))]
    for a, order in pairs:
        b = [a[d] for d in order]
        yield Case((floats(a),), (f"%y = hone.transpose %x {list(order)} : {tensor(a)} -> {tensor(b)}",), "y",
                   tensor(b))


def broadcast() -> Iterable[Case]:
    pairs = [((), (), ()), ((), (), (4,)), ((3,), (0,), (3, 4)), ((3,), (1,), (4, 3)), ((3, 4), (0, 2), (3, 2, 4)),
             ((1,), (0,), (1, 5)), ((3,), (0,), (3, 0)), ((0,), (1,), (2, 0)), ((2, 3), (0, 1), (2, 3)),
             ((2, 1), (1, 2), (4, 2, 1)), ((5,), (2,), (2, 3, 5)), ((), (), (0, 2))]
    for a, dims, b in pairs:
        yield Case((floats(a),), (f"%y = hone.broadcast %x dims {list(dims)} : {tensor(a)} -> {tensor(b)}",), "y",
                   tensor(b))


def slice_() -> Iterable[Case]:
    cases = [((5,), (0,), (5,), (1,)), ((5,), (1,), (4,), (1,)), ((5,), (0,), (5,), (2,)), ((6,), (1,), (6,), (3,)),
             ((3, 4), (1, 0), (2, 4), (1, 1)), ((3, 4), (0, 1), (3, 4), (2, 2)), ((5,), (2,), (2,), (1,)),
             ((0, 3), (0, 1), (0, 3), (1, 1)), ((1, 7), (0, 0), (1, 7), (1, 4)),
             ((2, 3, 4), (0, 1, 2), (2, 3, 4), (1, 1, 1)), ((), (), (), ())]
    for a, starts, limits, strides in cases:
        b = [-(-(l - s) // k) for s, l, k in zip(starts, limits, strides)]
        yield Case((floats(a),),
                   (f"%y = hone.slice %x {list(starts)} to {list(limits)} by {list(strides)} "
                    f": {tensor(a)} -> {tensor(b)}",),
                   "y", tensor(b))


def pad() -> Iterable[Case]:
    cases = [((5,), (0,), (0,), (0,)), ((5,), (1,), (2,), (0,)), ((5,), (0,), (0,), (2,)), ((3,), (2,), (1,), (1,)),
             ((3, 4), (1, 0), (0, 2), (0, 1)), ((1,), (1,), (1,), (3,)), ((0,), (2,), (1,), (1,)),
             ((0, 2), (0, 1), (0, 1), (0, 0)),
             ((2, 3, 2), (0, 1, 0), (1, 0, 0), (0, 0, 2)), ((1, 1), (0, 3), (2, 0), (0, 0)), ((), (), (), ())]
    for a, low, high, interior in cases:
        b = [l + h + n + max(n - 1, 0) * i for n, l, h, i in zip(a, low, high, interior)]
        yield Case((floats(a),),
                   (f"%y = hone.pad %x low {list(low)} high {list(high)} interior {list(interior)} "
                    f": {tensor(a)} -> {tensor(b)}",),
                   "y", tensor(b))


def concat() -> Iterable[Case]:
    cases = [(((3,), (4,)), 0), (((3,),), 0), (((2, 3), (2, 1)), 1), (((2, 3), (5, 3)), 0), (((2, 0), (2, 3)), 1),
             (((0, 3), (0, 2)), 1), (((1, 2, 3), (1, 4, 3), (1, 1, 3)), 1), (((1,), (1,), (1,)), 0),
             (((2, 2, 2), (2, 2, 3)), 2),
             (((4, 1), (4, 1)), 1), (((0,), (3,)), 0)]
    for shapes, dim in cases:
        b = list(shapes[0])
        b[dim] = sum(s[dim] for s in shapes)
        names = [f"x{i}" for i in range(len(shapes))]
        yield Case(tuple(floats(s, n) for s, n in zip(shapes, names)),
                   (f"%y = hone.concat {', '.join('%' + n for n in names)} dim {dim} "
                    f": ({', '.join(map(tensor, shapes))}) -> {tensor(b)}",),
                   "y", tensor(b))


# -- reductions, contraction, index -------------------------------------------------------------------------------


def reduce() -> Iterable[Case]:
    cases = [((), ()), ((5,), (0,)), ((3, 4), (0,)), ((3, 4), (1,)), ((3, 4), (0, 1)), ((2, 3, 4), (1,)),
             ((2, 3, 4), (0, 2)),
             ((1, 4), (0,)), ((4, 1), (1,)), ((0, 3), (1,)), ((3, 0), (1,)), ((2, 1, 3), (0, 1, 2))]
    for kind, (a, dims) in itertools.product(("sum", "max", "min"), cases):
        if kind != "sum" and any(a[d] == 0 for d in dims):
            continue  # infinite
        b = [n for d, n in enumerate(a) if d not in dims]
        yield Case((floats(a),), (f"%y = hone.reduce {kind} %x dims {list(dims)} : {tensor(a)} -> {tensor(b)}",), "y",
                   tensor(b))


def cumsum() -> Iterable[Case]:
    cases = [((5,), 0), ((3, 4), 0), ((3, 4), 1), ((1,), 0), ((2, 3, 4), 1), ((0,), 0), ((3, 0), 0), ((1, 5), 1),
             ((5, 1), 1), ((2, 2, 6), 2), ((1, 1, 1), 0)]
    for (a, dim), reverse in itertools.product(cases, ("", " reverse")):
        yield Case((floats(a),), (f"%y = hone.cumsum %x dim {dim}{reverse} : {tensor(a)}",), "y", tensor(a))


def dot_general() -> Iterable[Case]:
    cases = [  # lhs, rhs, batch, contract
        ((4, 3), (5, 3), ((), ()), ((1,), (1,))), ((4, 3), (3, 5), ((), ()), ((1,), (0,))),
        ((3, 4), (3, 5), ((), ()), ((0,), (0,))),
        ((3,), (3,), ((), ()), ((0,), (0,))), ((3,), (4,), ((), ()), ((), ())),
        ((2, 4, 3), (5, 3), ((), ()), ((2,), (1,))),
        ((2, 4, 3), (2, 3, 5), ((0,), (0,)), ((2,), (1,))),
        ((2, 6, 4, 3), (2, 6, 5, 3), ((0, 1), (0, 1)), ((3,), (3,))),
        ((4, 2, 3), (3, 5, 2), ((1,), (2,)), ((2,), (0,))),
        ((2, 3, 4, 5), (3, 2, 6, 4), ((0, 1), (1, 0)), ((2,), (3,))),
        ((2, 3, 4), (4, 3, 5), ((), ()), ((1, 2), (1, 0))), ((2, 3, 4), (3, 4, 2), ((), ()), ((2, 0, 1), (1, 2, 0))),
        ((1, 3), (1, 3), ((), ()), ((1,), (1,))), ((4, 1), (5, 1), ((), ()), ((1,), (1,))),
        ((4, 0), (5, 0), ((), ()), ((1,), (1,))),
        ((0, 3), (5, 3), ((), ()), ((1,), (1,))), ((2, 3), (2, 3), ((0, 1), (0, 1)), ((), ())),
        ((3, 2, 4), (2, 3), ((1, 0), (0, 1)), ((), ())),
        ((), (3,), ((), ()), ((), ()))]
    for a, c, batch, contract in cases:
        free = lambda shape, i: [n for d, n in enumerate(shape) if d not in batch[i] and d not in contract[i]]
        b = [a[d] for d in batch[0]] + free(a, 0) + free(c, 1)
        lists = f"batch {list(batch[0])} x {list(batch[1])} contract {list(contract[0])} x {list(contract[1])}"
        yield Case((floats(a), floats(c, "w")),
                   (f"%y = hone.dot_general %x, %w {lists} : {tensor(a)}, {tensor(c)} -> {tensor(b)}",),
                   "y", tensor(b))


def embedding() -> Iterable[Case]:
    cases = [((5, 3), (4,)), ((5, 3), (2, 6)), ((1, 3), (4,)), ((5, 1), (4,)), ((5, 3), ()), ((5, 3), (0,)),
             ((5, 0), (4,)),
             ((7, 2), (1, 1)), ((2, 4), (3, 2, 2)), ((3, 3), (9,)), ((5, 3), (2, 0))]
    for table, index in cases:
        b = tensor((*index, table[1]))
        yield Case((floats(table), ids(index, table[0])),
                   (f"%y = hone.embedding %x, %t : {tensor(table)}, {tensor(index, 'i64')} -> {b}",), "y", b)


def put_along() -> Iterable[Case]:
    for a, dim, count in LINES:
        index = list(a)
        index[dim] = count
        u, t, b = tensor(index), tensor(index, "i64"), tensor(a)
        yield Case((floats(index, "u"), ids(index, a[dim])),
                   (f"%y = hone.put_along sum %u, %t dim {dim} : {u}, {t} -> {b}",), "y", b)


def take_along() -> Iterable[Case]:
    for a, dim, count in LINES:
        index = list(a)
        index[dim] = count
        x, t, b = tensor(a), tensor(index, "i64"), tensor(index)
        yield Case((floats(a), ids(index, a[dim])),
                   (f"%y = hone.take_along %x, %t dim {dim} : {x}, {t} -> {b}",), "y", b)


# A tensor, one of its dimensions, and how many elements are picked of each line along it.
LINES = (((5,), 0, 3), ((5,), 0, 9), ((1,), 0, 4), ((3, 4), 1, 2), ((3, 4), 0, 5), ((3, 4), 1, 0), ((1, 6), 1, 6),
         ((6, 1), 0, 2), ((6, 1), 1, 3), ((2, 3, 4), 0, 2), ((2, 3, 4), 1, 5), ((2, 3, 4), 2, 1), ((0, 3), 1, 2),
         ((3, 0, 2), 2, 3), ((2, 1, 3, 2), 2, 4), ((2, 2, 2), 1, 7), ((7,), 0, 1), ((4, 9), 1, 9), ((9, 4), 0, 9),
         ((1, 1, 1), 1, 1))

# -- windows ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Convolution:
    """Input [N, S..., C], window sizes, output channels and groups; strides, padding and dilations per dimension."""

    input: Shape
    sizes: Shape
    channels: int
    groups: int = 1
    strides: Shape = ()
    low: Shape = ()
    high: Shape = ()
    dilations: Shape = ()

    def attributes(self) -> tuple[Shape, Shape, Shape, Shape]:
        rank = len(self.sizes)
        return (tuple(self.strides) or (1,) * rank, tuple(self.low) or (0,) * rank, tuple(self.high) or (0,) * rank,
                tuple(self.dilations) or (1,) * rank)

    def output(self, channels: int) -> Shape:
        strides, low, high, dilations = self.attributes()
        spatial = [(n + a + b - (k - 1) * d - 1) // s + 1
                   for n, k, s, a, b, d in zip(self.input[1:], self.sizes, strides, low, high, dilations)]
        return (self.input[0], *spatial, channels)

    def weight(self) -> Shape:
        return (*self.sizes, self.input[-1] // self.groups, self.channels)

    def text(self) -> str:
        words = zip(("strides", "low", "high", "dilations"), self.attributes())
        return " ".join(f"{word} {list(entries)}" for word, entries in words)

    def flag(self) -> str:
        return "depthwise " if self.groups == self.channels == self.input[-1] else ""


CONVOLUTIONS = (
    Convolution((1, 4, 2), (2,), 3), Convolution((2, 5, 1), (3,), 1, low=(2,)), Convolution((2, 6, 4), (1,), 2),
    Convolution((1, 7, 4), (4,), 4, groups=4, low=(3,)), Convolution((2, 7, 4), (3,), 6, groups=2, strides=(2,)),
    Convolution((1, 8, 2), (3,), 2, dilations=(2,), low=(1,), high=(2,)), Convolution((1, 5, 3), (5,), 2),
    Convolution((0, 5, 2), (2,), 3), Convolution((1, 1, 2), (1,), 2), Convolution((1, 9, 1), (2,), 2, strides=(3,)),
    Convolution((1, 4, 4, 1), (2, 2), 1), Convolution((2, 5, 4, 3), (3, 3), 2, low=(1, 1), high=(1, 1)),
    Convolution((1, 6, 6, 2), (3, 2), 4, groups=2, strides=(2, 1)),
    Convolution((1, 4, 4, 3), (3, 3), 3, groups=3, low=(1, 1), high=(1, 1)),
    Convolution((1, 4, 4, 2), (4, 4), 3, strides=(4, 4)), Convolution((1, 5, 7, 2), (1, 3), 2, dilations=(1, 3)),
    Convolution((2, 4, 6, 2), (2, 3), 2, strides=(2, 3)), Convolution((1, 3, 3, 2), (3, 3), 4, groups=2),
    Convolution((1, 5, 5, 1), (2, 2), 3, low=(1, 0), high=(0, 2), strides=(2, 2), dilations=(2, 1)),
    Convolution((1, 3, 4, 2, 2), (2, 2, 2), 2), Convolution((1, 4, 3, 3, 1), (2, 3, 1), 2, strides=(2, 1, 2)),
)


def conv() -> Iterable[Case]:
    for c in CONVOLUTIONS:
        x, w, y = tensor(c.input), tensor(c.weight()), tensor(c.output(c.channels))
        yield Case((floats(c.input), floats(c.weight(), "w")), (f"%y = hone.conv {c.flag()}%x, %w {c.text()} : {x}, {w} -> {y}",),
                   "y", y)


def conv_bwd_input() -> Iterable[Case]:
    for c in CONVOLUTIONS:
        x, w, y = tensor(c.input), tensor(c.weight()), tensor(c.output(c.channels))
        yield Case((floats(c.output(c.channels), "g"), floats(c.weight(), "w")),
                   (f"%y = hone.conv_bwd_input {c.flag()}%g, %w {c.text()} : {y}, {w} -> {x}",), "y", x)


def max_pool() -> Iterable[Case]:
    for c in CONVOLUTIONS:
        if any(a >= k for a, k in zip((*c.low, *c.high), c.sizes * 2)):
            continue  # a window of padding alone
        x, shape = tensor(c.input), c.output(c.input[-1])
        yield Case((floats(c.input),),
                   (f"%y, %taps = hone.max_pool %x sizes {list(c.sizes)} {c.text()} : {x} -> {tensor(shape)}, "
                    f"{tensor(shape, 'i32')}",), "y", tensor(shape))


# -- groups of rows -----------------------------------------------------------------------------------------------


def grouped_dot() -> Iterable[Case]:
    """The counts of the groups add up to the rows, or leave some behind."""
    cases = (((4, 3), 2, (2, 4)), ((4, 3), 2, (0, 4)), ((4, 3), 1, (4, 4)), ((5, 2), 3, (1, 1, 5)),
             ((6, 1), 4, (2, 3, 3)), ((1, 4), 2, (0, 1, 1)), ((7, 5), 3, (3, 3, 5)), ((3, 3), 3, (3,)),
             ((0, 3), 2, (0, 0)), ((8, 2), 1, (1, 2, 4, 8)))
    for ((rows, width), made, ends), contract in itertools.product(cases, (1, 2)):
        count = len(ends)
        x, y, e = tensor((rows, width)), tensor((rows, made)), tensor((count,), "i64")
        matrix = (count, width, made) if contract == 1 else (count, made, width)
        yield Case((floats((rows, width)), floats(matrix, "w")),
                   (f"%e = hone.constant dense<{list(ends)}> : {e}",
                    f"%y = hone.grouped_dot %x, %w, %e contract {contract} : {x}, {tensor(matrix)}, {e} -> {y}"),
                   "y", y)


# -- named ops ----------------------------------------------------------------------------------------------------

ROWS = ((5,), (1,), (3, 4), (3, 1), (1, 7), (2, 3, 5), (0, 4), (2, 0, 3), (2, 1, 3, 2), (4, 9), (1, 1, 6))


def norm(op: str, vectors: tuple[str, ...]) -> Iterable[Case]:
    subsets = [[n for n, kept in zip(vectors, mask) if kept] for mask in itertools.product((0, 1), repeat=len(vectors))]
    for shape, present in itertools.product(ROWS, subsets):
        t, row, width = tensor(shape), tensor(shape[:-1]), tensor(shape[-1:])
        rows = [row] * (2 if op == "layer_norm" else 1)
        operands = "".join(f" {n} %{n}" for n in present)
        types = ", ".join([t] + [width] * len(present))
        names = ", ".join(["%y", "%m", "%r"][:1 + len(rows)])
        yield Case((floats(shape), *(floats(shape[-1:], n) for n in present)),
                   (f"{names} = hone.{op} %x{operands} eps 0.1 : ({types}) -> ({', '.join([t] + rows)})",), "y", t)


def softmax() -> Iterable[Case]:
    for shape in ROWS:
        yield Case((floats(shape),), (f"%y = hone.softmax %x : {tensor(shape)}",), "y", tensor(shape))


def cross_entropy() -> Iterable[Case]:
    options = itertools.product(ROWS, ("none", "mean", "sum"), ((-100, "0.0"), (2, "0.1")))
    for shape, reduction, (ignored, smoothing) in options:
        rows = tensor(shape[:-1])
        loss = rows if reduction == "none" else "tensor<f32>"
        count = 1
        for size in shape[:-1]:
            count *= size
        if reduction == "mean" and (count == 0 or ignored >= 0 and shape[-1] > ignored and count < 6):
            continue  # a mean over no row is NaN
        yield Case((floats(shape), ids(shape[:-1], shape[-1])),
                   (f"%y, %l = hone.cross_entropy {reduction} %x, %t ignore_index {ignored} "
                    f"label_smoothing {smoothing} : {tensor(shape)}, {tensor(shape[:-1], 'i64')} "
                    f"-> {loss}, {rows}",), "y", loss)


def attention() -> Iterable[Case]:
    cases = [  # B, T, S, H, G, D, E, causal, mask, dropout, and ids of documents
        (1, 3, 3, 1, 1, 2, 2, True, None, False), (2, 4, 4, 2, 2, 3, 3, True, None, False),
        (2, 4, 4, 4, 2, 3, 3, True, None, False),
        (2, 3, 5, 2, 1, 3, 4, False, None, False), (1, 1, 1, 1, 1, 1, 1, False, None, False),
        (2, 4, 4, 2, 2, 3, 3, False, (2, 2), False),
        (2, 4, 4, 2, 1, 3, 3, True, (1, 1), False), (2, 3, 3, 2, 2, 2, 2, True, None, True),
        (2, 3, 4, 4, 2, 2, 3, False, (2, 1), True),
        (0, 3, 3, 2, 2, 2, 2, True, None, False), (1, 0, 3, 1, 1, 2, 2, False, None, False),
        (1, 5, 5, 3, 3, 4, 4, True, (1, 3), False),
        (2, 4, 4, 2, 1, 3, 3, True, None, False, [[0, 0, 1, 1], [0, 1, 1, 2]]),
        (1, 5, 5, 2, 2, 2, 3, False, (1, 2), True, [[4, -1, 4, -1, 4]])]
    for B, T, S, H, G, D, E, causal, mask, drop, *documents in cases:
        q, k, v, o = tensor((B, T, H, D)), tensor((B, S, G, D)), tensor((B, S, G, E)), tensor((B, T, H, E))
        arguments = [floats((B, T, H, D), "q"), floats((B, S, G, D), "k"), floats((B, S, G, E), "v")]
        masks, lines, types = [], [], [q, k, v]
        if mask:
            types.append(tensor((*mask, T, S)))
            arguments.append(("m", types[-1], ""))
            masks.append("%m")
        for ids_of_rows in documents:
            types.append(tensor((B, T), "i64"))
            lines.append(f"%ids = hone.constant dense<{ids_of_rows}> : {types[-1]}")
            masks.append("%ids")
        words = f" mask {', '.join(masks)}" if masks else ""
        if drop:
            types.append("tensor<3xi64>")
            arguments.append(KEY)
            words += " rng %key"
        words += " causal" if causal else ""
        words += " scale 0.7" + (" dropout 0.3 salt 5" if drop else "")
        yield Case(tuple(arguments),
                   (*lines, f"%y, %l = hone.attention %q, %k, %v{words} : ({', '.join(types)}) -> "
                    f"({o}, {tensor((B, H, T))})"), "y", o)


def rope() -> Iterable[Case]:
    shapes = ((1, 1, 1, 2), (2, 3, 4, 6), (1, 5, 1, 4), (0, 3, 2, 4), (2, 0, 2, 4), (3, 2, 2, 8), (2, 1, 3, 2),
              (1, 4, 2, 10),
              (4, 2, 1, 6), (2, 2, 0, 4), (1, 7, 1, 2))
    for shape, style, inverse in itertools.product(shapes, ("half", "interleaved"), ("", "inverse ")):
        t, table = tensor(shape), tensor((shape[1], shape[3] // 2))
        yield Case((floats(shape), ("c", table, ""), ("s", table, "")),
                   (f"%y = hone.rope {style} {inverse}%x, %c, %s : {t}, {table}",), "y", t)


RULE_CASES: dict[str, Callable[[], Iterable[Case]]] = {
    "Neg": lambda: unary("neg"), "Abs": lambda: unary("abs"), "Exp": lambda: unary("exp"),
    "Log": lambda: unary("log", POSITIVE),
    "Sqrt": lambda: unary("sqrt", POSITIVE), "Rsqrt": lambda: unary("rsqrt", POSITIVE), "Sin": lambda: unary("sin"),
    "Cos": lambda: unary("cos"), "Tanh": lambda: unary("tanh"), "Erf": lambda: unary("erf"),
    "Logistic": lambda: unary("logistic"),
    "Expm1": lambda: unary("expm1"), "Log1p": lambda: unary("log1p", POSITIVE), "Atan": lambda: unary("atan"),
    "Floor": floor,
    "Sign": lambda: unary("sign", POSITIVE), "Cast": cast, "Add": lambda: binary("add"), "Sub": lambda: binary("sub"),
    "Mul": lambda: binary("mul"), "Div": lambda: binary("div", (NORMAL, POSITIVE)), "Max": lambda: binary("max"),
    "Min": lambda: binary("min"), "Pow": power, "Select": select, "Reshape": reshape, "Transpose": transpose,
    "Broadcast": broadcast, "Slice": slice_, "Pad": pad, "Concat": concat, "Reduce": reduce, "Cumsum": cumsum,
    "DotGeneral": dot_general, "Embedding": embedding, "LayerNorm": lambda: norm("layer_norm", ("scale", "bias")),
    "RmsNorm": lambda: norm("rms_norm", ("scale",)), "Softmax": softmax, "CrossEntropy": cross_entropy,
    "Attention": attention,
    "Rope": rope, "Gelu": gelu, "Dropout": dropout,
    "TakeAlong": take_along, "PutAlong": put_along, "Conv": conv, "ConvBwdInput": conv_bwd_input, "MaxPool": max_pool,
    "GroupedDot": grouped_dot,
}
