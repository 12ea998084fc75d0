"""What the nodes of a captured program hold, where several share storage: views, and operators that write in place.

A graph of values has no storage. So a write becomes a new value of the tensor that the storage was made with, and a
view that is read afterwards is taken from that value again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Sequence

import torch
from torch.fx import Node

from .aten.complex import Complex
from .aten.shape import slice_scatter
from .builder import Builder
from .errors import HoneError
from .graph import Op, Type, Value

Function = Callable[[Builder, Value], Value]  # a view operator with all arguments but the viewed tensor


@dataclass(frozen=True)
class _View:
    """A node as `function` of the node whose storage it shares; None: the same tensor."""

    source: Node
    function: Function | None = None
    detaches: bool = False


class Memory:
    """The values of nodes. `read` and `write` see a tensor as the program does when it runs in order."""

    def __init__(self, builder: Builder) -> None:
        self._b = builder
        self._values: dict[Node, object] = {}
        self._views: dict[Node, _View] = {}
        self._writes: dict[Node, int] = {}  # storage, by the node that made it -> how often it was written
        self._seen: dict[Node, int] = {}  # node -> the writes of its storage that its value has in it
        self._renamed: dict[Node, Node] = {}  # a tensor whose shape an operator changed in place -> the node that did

    def define(self, node: Node, value: object) -> None:
        """A node of storage of its own, or one that is no tensor."""
        self._values[node] = value

    def define_view(
        self, node: Node, source: Node, value: object, function: Function | None = None, detaches: bool = False
    ) -> None:
        """A node that shares the storage of `source`; `value` is what it holds now."""
        self._views[node] = _View(self._now(source), function, detaches)
        self._values[node] = value
        self._seen[node] = self._writes.get(self.root(node), 0)

    def rename(self, node: Node, by: Node) -> None:
        """From here on `node` is what `by` is, of which it had another shape."""
        self._renamed[self._now(node)] = by

    def root(self, node: Node) -> Node:
        """The node that made the storage."""
        while node in self._views:
            node = self._views[node].source
        return node

    def read(self, node: Node):
        return self._current(self._now(node))

    def write(self, node: Node, value: Value) -> None:
        """Replaces the elements of a tensor, and so those of what shares them."""
        self._store(self._now(node), value)

    def without_gradient(self, x: object) -> object:
        if isinstance(x, Complex):
            return Complex(self._b.stop_gradient(x.real), self._b.stop_gradient(x.imag))
        return self._b.stop_gradient(x) if isinstance(x, Value) else x

    def _now(self, node: Node) -> Node:
        while node in self._renamed:
            node = self._renamed[node]
        return node

    def _current(self, node: Node):
        view = self._views.get(node)
        if view is None:
            return self._values[node]
        writes = self._writes.get(self.root(node), 0)
        if self._seen[node] != writes:
            value = self._current(view.source)
            value = self.without_gradient(value) if view.detaches else value
            self._values[node] = value if view.function is None else view.function(self._b, value)
            self._seen[node] = writes
        return self._values[node]

    def _store(self, node: Node, value: Value) -> None:
        view = self._views.get(node)
        if view is None:
            self._values[node] = value
            self._writes[node] = self._writes.get(node, 0) + 1
            return
        whole = self._current(view.source)
        if isinstance(whole, Complex):
            raise HoneError("changes a complex tensor in place, which is not supported")
        if view.detaches and self._b.is_differentiable(whole):
            raise HoneError("changes a tensor that has a gradient through detach() or no_grad; write a new tensor")
        self._store(view.source, value if view.function is None else _replaced(self._b, whole, view.function, value))
        self._values[node] = value
        self._seen[node] = self._writes[self.root(node)]


def storage_of(value: object) -> object | None:
    """What identifies the storage of a fake tensor."""
    return value.untyped_storage()._cdata if isinstance(value, torch.Tensor) and not value.is_sparse else None


def _replaced(b: Builder, whole: Value, function: Function, part: Value) -> Value:
    """`whole` with the elements that `function` shows of it replaced by `part`."""
    chain = _steps(whole.type, function)
    before = [whole]
    for op in chain[:-1]:
        before.append(_again(b, op, before[-1]))
    for op, operand in zip(reversed(chain), reversed(before)):
        part = _undone(b, op, operand, part)
    return part


def _steps(type: Type, function: Function) -> list[Op]:
    """The ops by which a view's elements come from a tensor of `type`."""
    scratch = Builder()
    at = function(scratch, scratch.argument(type, "input", "x"))
    by_result = {op.results[0].id: op for op in scratch.ops}
    chain: list[Op] = []
    while at.id in by_result:
        op = by_result[at.id]
        if op.name not in ("reshape", "transpose", "slice"):
            raise HoneError("writes in place through a view that repeats or computes elements")
        chain.append(op)
        at = op.operands[0]
    return chain[::-1]


def _again(b: Builder, op: Op, x: Value) -> Value:
    if op.name == "reshape":
        return b.reshape(x, op.results[0].shape)
    if op.name == "transpose":
        return b.transpose(x, op.attribute("permutation"))
    return b.slice(x, *(op.attribute(name) for name in ("starts", "limits", "strides")))


def _undone(b: Builder, op: Op, operand: Value, part: Value) -> Value:
    if op.name == "reshape":
        return b.reshape(part, operand.shape)
    if op.name == "transpose":
        permutation = op.attribute("permutation")
        return b.transpose(part, sorted(range(len(permutation)), key=permutation.__getitem__))
    places = list(zip(*(op.attribute(name) for name in ("starts", "limits", "strides"))))
    return _slice_replaced(b, operand, places, part, 0)


def _slice_replaced(b: Builder, x: Value, places: Sequence[tuple], part: Value, dim: int) -> Value:
    """`x` with the slice at `places` (from dimension `dim` on) replaced."""
    while dim < x.rank and places[dim] == (0, x.shape[dim], 1):
        dim += 1
    if dim == x.rank:
        return part
    start, limit, stride = places[dim]
    inner = _slice_replaced(b, b.slice_dim(x, dim, start, limit, stride), places, part, dim + 1)
    return slice_scatter(b, x, inner, dim, start, limit, stride)
