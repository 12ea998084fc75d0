"""Which ids an input may hold: bounds of tables, followed back through arithmetic. Standard library only.

A package says of an input `vocab`: every id of its files is in [0, vocab). Runs refuse other files before they start, so
it must refuse no good one: an id beyond it leaves a table wherever it stands. Ids below it may still leave one at some
places; the compiler (hone-bound-ids, hone-guard-ids) checks these for each batch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Callable, Iterable, Sequence

from .graph import Argument, Op, Value, is_float

# Ops through which ids keep their numbers on the way from an input to a table, and all of which they pass on.
_MOVES = ("reshape", "transpose", "broadcast", "concat", "stop_gradient", "pad")

_LEAST = -(2**63)

Range = tuple[int, int]  # both ends are in it
Constants = dict[int, Range]  # by a value's id: its least and its largest element


@dataclass(frozen=True)
class Within:
    """Where the elements of a value must be for the ids made of them to stay inside their tables."""

    low: int
    high: int
    exact: bool = True  # all of these do stay inside, and no other
    ignored: int | None = None  # that a loss ignores and is none of these; the compiler adds it to an input's bound

    def __and__(self, other: Within) -> Within:
        if self.ignored != other.ignored:
            both = [x for a, b in ((self, other), (other, self)) if (x := a.ignored) is not None and b.has(x)]
            if both:
                return self.merged() & other.merged()
        low, high, exact = max(self.low, other.low), min(self.high, other.high), self.exact and other.exact
        return Within(low, high, exact, self.ignored if self.ignored == other.ignored else None)

    def has(self, id: int) -> bool:
        return self.low <= id <= self.high or id == self.ignored

    def merged(self) -> Within:
        """The ignored id among the others, with all that is between them."""
        if self.ignored is None:
            return self
        return self.moved(min(self.low, self.ignored), max(self.high, self.ignored))

    def moved(self, low: int, high: int) -> Within:
        return Within(low, high, exact=False)


Wanted = list[tuple[Value, Within]]
Rule = Callable[[Op, Within, Constants, dict[int, Op]], Wanted]


def id_bounds(ops: Sequence[Op], arguments: Sequence[Argument]) -> dict[int, int]:
    """For each input of ids, by its value's id: the bound that no good file breaks. Ids of a stream are not negative
    anyway; files of an input that is given by name may hold any id that does no harm: there every other one must."""
    found = _followed(ops, _possible)
    bounds = {}
    for argument in arguments:
        within = found.get(argument.value.id)
        if argument.kind != "input" or within is None or not within.low <= 0 <= within.high:
            continue
        fits = within.high < 2 ** (_bits(argument.value) - 1) - 1
        if fits and (argument.role or within.exact and within.low == 0):
            bounds[argument.value.id] = within.high + 1
    return bounds


def safe_bounds(ops: Sequence[Op], arguments: Sequence[Argument]) -> dict[int, int]:
    """The same, such that all ids below the bound stay inside at every place, as far as their way can be followed."""
    found = _followed(ops, _certain)
    inputs = {argument.value.id for argument in arguments if argument.kind == "input"}
    return {id: within.high + 1 for id, within in found.items() if id in inputs and within.low <= 0 <= within.high}


def _followed(ops: Sequence[Op], rule: Rule) -> dict[int, Within]:
    """Where each value must be, by `rule`, by its id: each op is asked once, after all readers of its result."""
    constants, producer = _constants(ops), {result.id: op for op in ops for result in op.results}
    found: dict[int, Within] = {}
    cuts: dict[int, list[tuple[Op, Within]]] = {}

    def narrow(value: Value, within: Within) -> None:
        found[value.id] = found[value.id] & within if value.id in found else within

    def join_cuts(value: Value) -> None:
        covered = _covered(value.shape, cuts.pop(value.id, []))
        if covered is not None:
            narrow(value, covered)

    for op in reversed(ops):
        for result in op.results:
            join_cuts(result)
        if op.name in ("embedding", "cross_entropy") and op.operands[1].type.numel > 0:
            size = op.operands[0].shape[0 if op.name == "embedding" else -1]
            ignored = op.attribute("ignore_index") if op.name == "cross_entropy" and rule is _possible else None
            is_inside = ignored is not None and 0 <= ignored < size
            narrow(op.operands[1], Within(0, size - 1, ignored=None if is_inside else ignored))
        within = found.get(op.results[0].id)
        if within is None or op.results[0].type.numel == 0:
            continue
        if op.name == "slice" and rule is _possible:
            cuts.setdefault(op.operands[0].id, []).append((op, within))
            continue
        for operand, part in rule(op, within, constants, producer):
            narrow(operand, part)
    for value in {cut.operands[0] for parts in cuts.values() for cut, _ in parts}:
        join_cuts(value)
    return found


def _covered(shape: tuple[int, ...], cuts: list[tuple[Op, Within]]) -> Within | None:
    """Where the elements of a value may be that slices read, each at least at its place; None where slices along one
    dimension do not read all of it: what they leave out may be any number."""
    for dim, size in enumerate(shape):
        places: dict[int, Within] = {}
        for cut, within in cuts:
            if any(a != b for i, (a, b) in enumerate(zip(cut.results[0].shape, shape)) if i != dim):
                continue
            for place in range(*(cut.attribute(name)[dim] for name in ("starts", "limits", "strides"))):
                places[place] = places[place] & within if place in places else within
        if len(places) == size > 0:
            parts = list(places.values())
            if len({part.ignored for part in parts}) > 1:
                parts = [part.merged() for part in parts]
            return replace(parts[0], low=min(x.low for x in parts), high=max(x.high for x in parts), exact=False)
    return None


def _possible(op: Op, wanted: Within, constants: Constants, producer: dict[int, Op]) -> Wanted:
    """The operands each element of which must be in a range for the element made of it to be in `wanted` at some
    place, whatever else decides it; and that range."""
    result = op.results[0]
    if op.name in _MOVES:
        # Parts of a concatenation may each be made of the input in another way.
        return [(operand, wanted.merged() if op.name == "concat" else wanted) for operand in op.operands]
    if op.name == "cast":
        widens = all(x.dtype in ("i8", "i32", "i64") for x in (op.operands[0], result))
        return [(op.operands[0], wanted)] if widens and _bits(op.operands[0]) <= _bits(result) else []
    if op.name == "select":
        return _unless_equal(op, wanted.merged(), constants, producer)
    operand, other, is_left = _beside_constant(op, constants)
    if operand is None:
        return []
    wanted = wanted.merged()
    (low, high), (least, most) = (wanted.low, wanted.high), other
    if op.name == "add":
        return [(operand, wanted.moved(low - most, high - least))]
    if op.name == "sub" and is_left:
        return [(operand, wanted.moved(low + least, high + most))]
    if op.name == "sub":
        return [(operand, wanted.moved(least - high, most - low))]
    if op.name == "mul" and least > 0:
        return [(operand, wanted.moved(min(-(-low // x) for x in other), max(high // x for x in other)))]
    if op.name == "div" and is_left and least > 0 and low <= 0 <= high:
        return [(operand, wanted.moved((low - 1) * most + 1, (high + 1) * most - 1))]
    if op.name == "max" and most >= low:
        return [(operand, wanted.moved(_LEAST, high))]
    # A minimum with a number inside hides what is beyond.
    return [(operand, wanted)] if op.name == "max" or op.name == "min" and least > high else []


def _unless_equal(op: Op, wanted: Within, constants: Constants, producer: dict[int, Op]) -> Wanted:
    """Of a select that fills in numbers of x: where x must be. Any other choice may leave x out."""
    predicate, is_equal = producer.get(op.operands[0].id), True
    while predicate is not None and predicate.name == "not":
        predicate, is_equal = producer.get(predicate.operands[0].id), not is_equal
    if predicate is None or predicate.name != "cmp" or predicate.attribute("predicate").case not in ("eq", "ne"):
        return []
    x = op.operands[2 if is_equal == (predicate.attribute("predicate").case == "eq") else 1]
    operand, (least, most), _ = _beside_constant(predicate, constants)
    if operand is None or operand.id != x.id:
        return []
    return [(x, wanted.moved(min(wanted.low, least), max(wanted.high, most)))]


def _certain(op: Op, wanted: Within, constants: Constants, producer: dict[int, Op]) -> Wanted:
    """The operands that suffice for the result to be in `wanted`, and where they must be for that."""
    if op.name in (*_MOVES, "slice") or op.name == "cast" and op.results[0].dtype != "i1":
        return [(operand, wanted) for operand in op.operands]
    if op.name == "select":
        return [(branch, wanted) for branch in op.operands[1:]]
    operand, other, is_left = _beside_constant(op, constants)
    if operand is None:
        return []
    (low, high), (least, most) = (wanted.low, wanted.high), other
    if op.name == "add":
        return [(operand, wanted.moved(low - least, high - most))]
    if op.name == "sub" and is_left:
        return [(operand, wanted.moved(low + most, high + least))]
    if op.name == "sub":
        return [(operand, wanted.moved(most - high, least - low))]
    if op.name == "mul" and least >= 0 < most and low <= 0:
        return [(operand, wanted.moved(-(-low // most), high // most))]
    if op.name == "div" and is_left and least > 0 and low <= 0 <= high:
        return [(operand, wanted.moved(low * least, (high + 1) * least - 1))]
    return [(operand, wanted)] if op.name in ("max", "min") else []


def _beside_constant(op: Op, constants: Constants) -> tuple[Value | None, Range, bool]:
    """The operand of a binary op that is no constant, the range of the one that is, and whether the former is left."""
    if op.name not in ("add", "sub", "mul", "div", "max", "min", "cmp"):
        return None, (0, 0), False
    x, y = op.operands
    if (x.id in constants) == (y.id in constants):
        return None, (0, 0), False
    return (y, constants[x.id], False) if x.id in constants else (x, constants[y.id], True)


def _constants(ops: Iterable[Op]) -> Constants:
    """The integers made of constants and indices, and between which numbers they are."""
    found: Constants = {}
    for op in ops:
        result = op.results[0]
        if is_float(result.dtype) or result.type.numel == 0:
            continue
        ranges = [found.get(operand.id) for operand in op.operands]
        made = None
        if op.name == "constant":
            values = op.attribute("value").values
            made = int(min(values)), int(max(values))
        elif op.name == "iota":
            made = 0, result.shape[op.attribute("dim")] - 1
        elif None not in ranges:
            made = _combined(op.name, ranges)
        if made is not None and -(2 ** (_bits(result) - 1)) <= made[0] and made[1] < 2 ** max(1, _bits(result) - 1):
            found[result.id] = made
    return found


def _combined(name: str, ranges: list[Range]) -> Range | None:
    if name == "pad":
        ranges = [*ranges, (0, 0)]
    if name in (*_MOVES, "slice", "cast"):
        return min(low for low, _ in ranges), max(high for _, high in ranges)
    if name not in ("add", "sub", "mul"):
        return None
    (a, b), (c, d) = ranges
    ends = {"add": (a + c, b + d), "sub": (a - d, b - c), "mul": (a * c, a * d, b * c, b * d)}[name]
    return min(ends), max(ends)


def _bits(value: Value) -> int:
    return int(value.dtype[1:])
