"""Which ids an input may hold: bounds of tables, followed back through arithmetic. Standard library only.

The compiler finds the bounds that a program is run with (hone-bound-ids); these are what a package tells its readers,
and what the golden file draws its tokens from.
"""

from __future__ import annotations

from .graph import Argument, Op, Value

# Ops through which ids keep their numbers on the way from an input to a table.
_MOVES = {"reshape", "transpose", "slice", "cast", "broadcast", "concat", "stop_gradient"}

Range = tuple[int, int]  # both ends are in it


def id_bounds(ops: tuple[Op, ...], arguments: tuple[Argument, ...]) -> dict[int, int]:
    """For each input of ids, by its value's id: the bound below which all of them stay inside the tables, rows of an
    embedding or classes of a loss, whose places they decide alone."""
    producer = {result.id: op for op in ops for result in op.results}
    inputs = {argument.value.id for argument in arguments if argument.kind == "input"}
    bounds: dict[int, int] = {}
    for op in ops:
        if op.name not in ("embedding", "cross_entropy"):
            continue
        size = op.operands[0].shape[0 if op.name == "embedding" else -1]
        pending = [(op.operands[1], (0, size - 1))]
        while pending:
            value, (low, high) = pending.pop()
            if value.id in inputs and low <= 0 <= high:
                bounds[value.id] = min(high + 1, bounds.get(value.id, high + 1))
            elif value.id in producer:
                pending += _operands_within(producer[value.id], (low, high), producer)
    return bounds


def _operands_within(op: Op, wanted: Range, producer: dict[int, Op]) -> list[tuple[Value, Range]]:
    """The operands whose numbers alone decide that those of the result are in `wanted`, and where they must be."""
    if op.name in _MOVES:
        return [(operand, wanted) for operand in op.operands]
    if op.name == "select":
        pred = producer.get(op.operands[0].id)
        clamps = pred is not None and pred.name == "cmp" and pred.attribute("predicate").case not in ("eq", "ne")
        return [] if clamps else [(branch, wanted) for branch in op.operands[1:]]
    if op.name not in ("add", "sub", "mul", "div"):
        return []
    x, y = op.operands
    known = [_constant_range(value, producer) for value in (x, y)]
    if (known[0] is None) == (known[1] is None):
        return []
    if known[1] is not None:
        within = _first_within(op.name, wanted, known[1])
        return [] if within is None else [(x, within)]
    if op.name == "sub":  # known - y
        (least, most), (low, high) = known[0], wanted
        return [(y, (most - high, least - low))]
    within = None if op.name == "div" else _first_within(op.name, wanted, known[0])
    return [] if within is None else [(y, within)]


def _first_within(name: str, wanted: Range, other: Range) -> Range | None:
    """Where x must be for `x name y` to be in `wanted` for all y of `other`; None: too hard to say."""
    (low, high), (least, most) = wanted, other
    if name == "add":
        return low - least, high - most
    if name == "sub":
        return low + most, high + least
    if least != most or least <= 0:
        return None
    if name == "mul":
        return -(-low // least), high // least
    return low * least, (high + 1) * least - 1  # of a quotient toward zero, as far as x >= 0


def _constant_range(value: Value, producer: dict[int, Op]) -> Range | None:
    """The smallest and the largest element of a value made of constants and indices; None for any other."""
    op = producer.get(value.id)
    if op is None or value.type.numel == 0:
        return None
    if op.name == "constant":
        values = op.attribute("value").values
        return min(values), max(values)
    if op.name == "iota":
        return 0, value.shape[op.attribute("dim")] - 1
    if op.name not in _MOVES and op.name not in ("add", "mul"):
        return None
    ranges = [_constant_range(operand, producer) for operand in op.operands]
    if any(each is None for each in ranges):
        return None
    if op.name in _MOVES:
        return min(low for low, _ in ranges), max(high for _, high in ranges)
    (a, b), (c, d) = ranges
    ends = [x + y for x, y in ((a, c), (b, d))] if op.name == "add" else [x * y for x in (a, b) for y in (c, d)]
    return min(ends), max(ends)
