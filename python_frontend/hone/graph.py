"""The training graph as plain data: what capture produces and emit prints. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Union

# Element types of the dialect and their width in bytes (i1 is stored as one byte).
DTYPE_BYTES = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2, "i64": 8, "i32": 4, "i8": 1, "i1": 1}


def is_float(dtype: str) -> bool:
    return dtype in ("f64", "f32", "bf16", "f16")


@dataclass(frozen=True)
class Type:
    """A ranked tensor of static shape."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def numel(self) -> int:
        return prod(self.shape)

    def __str__(self) -> str:
        return "tensor<" + "".join(f"{size}x" for size in self.shape) + self.dtype + ">"


@dataclass(frozen=True)
class Value:
    """The result of an op or an argument; `id` is its number in the function."""

    id: int
    type: Type

    @property
    def dtype(self) -> str:
        return self.type.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def rank(self) -> int:
        return len(self.type.shape)


@dataclass(frozen=True)
class Enum:
    """`#hone<kind case>`."""

    kind: str
    case: str


@dataclass(frozen=True)
class Segments:
    """Operand counts of an op with several optional operands."""

    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Dense:
    """A constant: its elements in row-major order, or one element for all of them."""

    type: Type
    values: tuple[Union[int, float, bool], ...]


# int: i64; float: f64; tuple: array of i64; True: unit.
Attribute = Union[int, float, bool, tuple, Enum, Segments, Dense]


@dataclass(frozen=True)
class Location:
    """Where the user wrote an op: module name over a source line; either may be missing ("" or 0)."""

    module: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True)
class Op:
    name: str
    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    attributes: tuple[tuple[str, Attribute], ...] = ()
    location: Location = Location()

    body: Body | None = None

    def attribute(self, name: str, default=None):
        return dict(self.attributes).get(name, default)

    @property
    def differentiated(self) -> tuple[Value, ...]:
        """The operands to which a gradient of the results flows."""
        if self.name == "stop_gradient":
            return ()
        if self.name == "select_mode":
            return self.operands[:1]
        if self.name == "custom_gradient":
            values, inputs, _ = self.attribute("operandSegmentSizes").sizes
            return self.operands[values : values + inputs]
        return self.operands


@dataclass(frozen=True)
class Body:
    """The region of an op, which sees its own arguments only; its values are numbered apart from those outside."""

    arguments: tuple[Value, ...]
    ops: tuple[Op, ...]
    results: tuple[Value, ...]


@dataclass(frozen=True)
class Argument:
    """A function argument and the `hone.*` attributes it carries (see the dialect's description)."""

    value: Value
    kind: str
    fqn: str
    aliases: tuple[str, ...] = ()
    requires_grad: bool = False
    param_group: int | None = None
    init: dict | None = None
    role: str | None = None
    vocab: int | None = None
    balance: dict | None = None


@dataclass(frozen=True)
class Result:
    """A function result and its `hone.*` attributes; `donates`: the number of the argument that it replaces."""

    value: Value
    kind: str
    fqn: str = ""
    donates: int | None = None


@dataclass(frozen=True)
class Graph:
    """The function of a package: arguments (parameters, optimizer state, buffers, inputs, rng), ops in order, the
    scalar loss, and new values of arguments by name.

    @forward has new values of buffers that training changes. @step, a whole step, has those of all state, and may have
    the norm of the gradients.
    """

    model: str
    arguments: tuple[Argument, ...]
    ops: tuple[Op, ...]
    loss: Value
    optimizer: dict | None = None
    changed: tuple[tuple[str, Value], ...] = ()
    assumptions: tuple[str, ...] = ()  # what the example batch decided, in words
    function: str = "forward"
    norm: Value | None = None

    @property
    def results(self) -> tuple[Result, ...]:
        """In the order of the function table of docs/design.md."""
        loss = Result(self.loss, "loss")
        if self.function == "forward":
            return (loss, *(Result(value, "buffer", name) for name, value in self.changed))
        places = {argument.fqn: number for number, argument in enumerate(self.arguments)}
        state = (Result(x, self.arguments[places[n]].kind, n, places[n]) for n, x in self.changed)
        return (*state, loss, *([Result(self.norm, "grad_norm")] if self.norm else []))


def values_with_gradient(ops: tuple[Op, ...], loss: Value) -> set[int]:
    """Ids of all values that the loss depends on through differentiable ops."""
    reached = {loss.id}
    for op in reversed(ops):
        if any(result.id in reached for result in op.results):
            reached.update(operand.id for operand in op.differentiated if is_float(operand.dtype))
    return reached
