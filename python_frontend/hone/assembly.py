"""From built ops to the graph of a package: what the front ends of PyTorch and JAX share. Needs neither of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Mapping, Sequence

from .builder import Builder
from .errors import HoneError
from .graph import Graph, Value, values_with_gradient
from .id_bounds import id_bounds
from .optimizer_spec import OptimizerSpec
from .roles import STREAM, given_roles, inferred_roles

VERSION = "0.1.0"


def finished(
    b: Builder,
    loss: Value,
    spec: OptimizerSpec | None,
    name: str,
    buffers: Mapping[str, Value],
    assumptions: tuple[str, ...] = (),
) -> Graph:
    """Orders the arguments, renumbers values, drops dead ops, and adds what only the whole graph shows.

    buffers: new values of buffers, by name.
    """
    ops = live(b.ops, loss, *buffers.values())
    bounds = id_bounds(ops, tuple(b.arguments))
    reached = values_with_gradient(ops, loss)
    order = {"param": 0, "buffer": 1, "input": 2, "rng": 3}
    read = {operand.id for op in ops for operand in op.operands}
    arguments = []
    for argument in sorted(b.arguments, key=lambda a: order[a.kind]):
        if argument.kind in ("buffer", "rng") and argument.value.id not in read and argument.fqn not in buffers:
            continue
        if argument.kind == "input":
            argument = replace(argument, vocab=bounds.get(argument.value.id))
        if argument.requires_grad and argument.value.id not in reached:
            argument = replace(argument, requires_grad=False, param_group=None)
        arguments.append(argument)
    if not any(argument.requires_grad for argument in arguments):
        raise HoneError("model: no parameter gets a gradient from the loss")
    numbers: dict[int, Value] = {}

    def renumbered(value: Value) -> Value:
        return numbers.setdefault(value.id, Value(len(numbers), value.type))

    arguments = tuple(replace(a, value=renumbered(a.value)) for a in arguments)
    ops = tuple(
        replace(op, operands=tuple(map(renumbered, op.operands)), results=tuple(map(renumbered, op.results)))
        for op in ops
    )
    changed = tuple((fqn, renumbered(value)) for fqn, value in buffers.items())
    optimizer = spec.attribute if spec else None
    return Graph(name, arguments, ops, renumbered(loss), optimizer, changed, assumptions)


def live(ops: Sequence, *results: Value) -> tuple:
    """The ops the results depend on (every op is pure)."""
    needed, kept = {value.id for value in results}, []
    for op in reversed(ops):
        if any(result.id in needed for result in op.results):
            needed.update(operand.id for operand in op.operands)
            kept.append(op)
    return tuple(reversed(kept))


def take_roles(b: Builder, names: Sequence[str], inputs: list[Value], given: Mapping[str, str] | None) -> None:
    """Writes the inputs' roles into their arguments."""
    found = inferred_roles(names, inputs, b.ops) if given is None else given_roles(names, inputs, given)
    by_value = {value.id: found[name] for name, value in zip(names, inputs)}
    b.arguments = [
        replace(a, role=STREAM[role][1]) if (role := by_value.get(a.value.id)) else a for a in b.arguments
    ]
