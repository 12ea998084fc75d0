"""From built ops to the graph of a package: what the front ends of PyTorch and JAX share. Needs neither of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Mapping, Sequence

from .builder import Builder
from .errors import HoneError
from .graph import Argument, Graph, Value, values_with_gradient
from .id_bounds import id_bounds
from .optimizer_spec import OptimizerSpec
from .roles import STREAM, given_roles, inferred_roles

_ORDER = {kind: place for place, kind in enumerate(("param", "opt", "buffer", "input", "rng"))}


def finished(
    b: Builder,
    loss: Value,
    spec: OptimizerSpec | None,
    name: str,
    buffers: Mapping[str, Value],
    assumptions: tuple[str, ...] = (),
) -> Graph:
    """The graph of a @forward: orders the arguments, renumbers values, drops dead ops, and adds what only the whole
    graph shows.

    buffers: new values of buffers, by name.
    """
    ops = live(b.ops, loss, *buffers.values())
    reached = values_with_gradient(ops, loss)
    arguments = [
        replace(a, requires_grad=False, param_group=None) if a.requires_grad and a.value.id not in reached else a
        for a in _ordered(b, ops, buffers)
    ]
    if not any(argument.requires_grad for argument in arguments):
        raise HoneError("model: no parameter gets a gradient from the loss")
    optimizer = spec.attribute if spec else None
    return _renumbered(Graph(name, tuple(arguments), ops, loss, optimizer, tuple(buffers.items()), assumptions))


def finished_step(b: Builder, loss: Value, norm: Value | None, name: str, changed: Mapping[str, Value]) -> Graph:
    """The graph of a whole step, which gives new values of state, `changed` by name."""
    ops = live(b.ops, loss, *changed.values(), *([norm] if norm else []))
    arguments = _ordered(b, ops, changed)
    places = {argument.fqn: place for place, argument in enumerate(arguments)}
    state = tuple(sorted(changed.items(), key=lambda item: places[item[0]]))
    return _renumbered(Graph(name, tuple(arguments), ops, loss, None, state, (), "step", norm))


def _ordered(b: Builder, ops: tuple, changed: Mapping[str, Value]) -> list[Argument]:
    """The arguments in the package's order, with bounds of ids, and without buffers and a key that nothing reads."""
    bounds = id_bounds(ops, tuple(b.arguments))
    read = {operand.id for op in ops for operand in op.operands} | {value.id for value in changed.values()}
    kept = []
    for argument in sorted(b.arguments, key=lambda a: _ORDER[a.kind]):
        if argument.kind in ("buffer", "rng") and argument.value.id not in read and argument.fqn not in changed:
            continue
        if argument.kind == "input":
            argument = replace(argument, vocab=bounds.get(argument.value.id))
        kept.append(argument)
    return kept


def _renumbered(graph: Graph) -> Graph:
    numbers: dict[int, Value] = {}

    def renumbered(value: Value) -> Value:
        return numbers.setdefault(value.id, Value(len(numbers), value.type))

    arguments = tuple(replace(a, value=renumbered(a.value)) for a in graph.arguments)
    ops = tuple(
        replace(op, operands=tuple(map(renumbered, op.operands)), results=tuple(map(renumbered, op.results)))
        for op in graph.ops
    )
    changed = tuple((fqn, renumbered(value)) for fqn, value in graph.changed)
    norm = renumbered(graph.norm) if graph.norm else None
    return replace(graph, arguments=arguments, ops=ops, loss=renumbered(graph.loss), changed=changed, norm=norm)


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
