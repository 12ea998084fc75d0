"""Bounds of ids: what a package says that files hold, and what a golden file draws. Needs no torch."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest
from hone.builder import Builder
from hone.graph import Op, Type, Value
from hone.id_bounds import id_bounds, safe_bounds

ROWS = 50


def numbers(b: Builder, *values: int) -> Value:
    return b.constant(values, Type("i64", (3,)))


def bounds_after(change, role: str | None = "tokens", rows: int = ROWS) -> tuple[dict[str, int], dict[str, int]]:
    """The bounds of inputs `t` and `u` of 3 ids that a table is read with after `change`, and those that are safe."""
    b = Builder()
    table = b.argument(Type("f32", (rows, 4)), "param", "table", requires_grad=True)
    t, u = (b.argument(Type("i64", (3,)), "input", name, role=role) for name in "tu")
    number = lambda *values: numbers(b, *values * (3 // len(values)))
    for ids in [found] if isinstance(found := change(b, t, u, number), Value) else found:
        b.embedding(table if isinstance(ids, Value) else b.slice_dim(table, 0, 0, ids[1]),
                    ids if isinstance(ids, Value) else ids[0])
    names = {t.id: "t", u.id: "u"}
    found = [f(tuple(b.ops), tuple(b.arguments)) for f in (id_bounds, safe_bounds)]
    return tuple({names[id]: bound for id, bound in bounds.items()} for bounds in found)


def test_vocabulary_follows_ids_through_shapes() -> None:
    b = Builder()
    table = b.argument(Type("f32", (50, 4)), "param", "t", requires_grad=True)
    ids = b.argument(Type("i32", (2, 3)), "input", "ids")
    other = b.argument(Type("i32", (2, 3)), "input", "other")
    b.embedding(table, b.cast(b.reshape(ids, (6,)), "i64"))
    b.embedding(b.slice_dim(table, 0, 0, 40), b.transpose(ids, (1, 0)))
    assert id_bounds(tuple(b.ops), tuple(b.arguments)) == {ids.id: 40}
    assert other.id not in id_bounds(tuple(b.ops), tuple(b.arguments))


def equals(b: Builder, x: Value, number: Value) -> Value:
    return b.compare("eq", x, number)


# What a stream may hold: at the place that allows the most.
@pytest.mark.parametrize(
    ("change", "bound", "safe"),
    [
        (lambda b, t, u, n: b.binary("add", t, n(1)), 49, 49),
        (lambda b, t, u, n: b.binary("sub", t, n(-3)), 47, 47),
        (lambda b, t, u, n: b.binary("sub", n(20), t), 21, 21),
        (lambda b, t, u, n: b.binary("mul", n(4), t), 13, 13),
        (lambda b, t, u, n: b.binary("div", t, n(10)), 500, 500),
        (lambda b, t, u, n: b.binary("add", t, n(0, 10, 30)), 50, 20),
        (lambda b, t, u, n: b.binary("sub", n(40, 20, 49), t), 50, 21),
        (lambda b, t, u, n: b.binary("mul", t, n(1, 2, 7)), 50, 8),
        (lambda b, t, u, n: b.binary("div", t, n(1, 2, 7)), 350, 50),
        (lambda b, t, u, n: b.binary("add", b.binary("mul", b.iota(0, t.type), n(10)), t), 50, 30),
        (lambda b, t, u, n: b.binary("max", t, n(0)), 50, 50),
        (lambda b, t, u, n: b.binary("min", t, n(60)), 50, 50),
        (lambda b, t, u, n: b.binary("min", t, n(60, 49, 60)), None, 50),
        (lambda b, t, u, n: b.binary("min", b.binary("max", t, n(0)), n(49)), None, 50),
        (lambda b, t, u, n: b.select(equals(b, t, n(-100)), n(0), t), 50, 50),
        (lambda b, t, u, n: b.select(b.unary("not", equals(b, t, n(7))), t, n(0)), 50, 50),
        (lambda b, t, u, n: b.select(equals(b, t, n(255)), n(0), t), 256, 50),
        (lambda b, t, u, n: b.select(equals(b, t, n(255)), t, n(0)), None, 50),
        (lambda b, t, u, n: b.select(equals(b, u, n(0)), n(0), t), None, 50),
        (lambda b, t, u, n: b.select(b.compare("lt", t, n(50)), t, n(0)), None, 50),
        (lambda b, t, u, n: b.cast(b.cast(t, "i32"), "i64"), None, 50),
        (lambda b, t, u, n: b.cast(b.cast(t, "i1"), "i64"), None, None),
        # Slices: what none of them reads may be any number.
        (lambda b, t, u, n: b.slice_dim(t, 0, 1, 3), None, 50),
        (lambda b, t, u, n: [b.slice_dim(t, 0, 0, 2), b.slice_dim(t, 0, 1, 3)], 50, 50),
        (lambda b, t, u, n: [(b.slice_dim(t, 0, i, i + 1), 10 * i + 5) for i in range(3)], 25, 5),
        (lambda b, t, u, n: [t, (b.slice_dim(t, 0, 0, 1), 5)], 50, 5),
        # Nothing is a bound of one input where another, or the same twice, decides too.
        (lambda b, t, u, n: b.binary("add", t, u), None, None),
        (lambda b, t, u, n: b.binary("sub", t, b.binary("mul", b.binary("div", t, n(50)), n(50))), None, None),
        # An offset that id 0 does not survive is no bound either.
        (lambda b, t, u, n: b.binary("sub", t, n(1)), None, None),
    ],
)
def test_bounds_of_streams_follow_arithmetic(change, bound, safe) -> None:
    found = bounds_after(change)
    assert [bounds.get("t") for bounds in found] == [bound, safe]


# Where a file may hold anything that does no harm, no bound is written that is not exact.
@pytest.mark.parametrize(
    ("change", "bound"),
    [
        (lambda b, t, u, n: b.transpose(b.reshape(t, (3, 1)), (1, 0)), 50),
        (lambda b, t, u, n: b.concat([t, u], 0), 50),
        (lambda b, t, u, n: b.binary("min", t, n(60)), 50),
        (lambda b, t, u, n: [t, (t, 40)], 40),
        (lambda b, t, u, n: b.binary("add", t, n(1)), None),  # -1
        (lambda b, t, u, n: b.binary("mul", t, n(4)), None),  # 2^62
        (lambda b, t, u, n: b.binary("div", t, n(10)), None),  # -9
        (lambda b, t, u, n: b.binary("max", t, n(0)), None),  # -1
        (lambda b, t, u, n: b.select(equals(b, t, n(-100)), n(0), t), None),  # -100
        (lambda b, t, u, n: b.cast(t, "i32"), None),  # 2^32
        (lambda b, t, u, n: [b.slice_dim(t, 0, i, i + 1) for i in (0, 1)], None),
    ],
)
def test_bounds_of_named_inputs_are_exact(change, bound) -> None:
    assert bounds_after(change, role=None)[0].get("t") == bound


def test_each_op_is_asked_once() -> None:
    def doubled(b, t, u, n):
        for _ in range(60):
            t = b.select(equals(b, u, n(0)), b.binary("max", t, n(0)), b.binary("max", t, n(0)))
        return t

    def constants(b, t, u, n):
        number = n(0)
        for _ in range(60):
            number = b.binary("add", number, number)
        return b.binary("add", t, number)

    begin = time.process_time()
    assert bounds_after(doubled) == ({}, {"t": 50})
    assert bounds_after(constants) == ({"t": 50}, {"t": 50})
    assert time.process_time() - begin < 1


def value_of(op: Op, values: dict[int, np.ndarray]) -> np.ndarray:
    operands = [values[operand.id] for operand in op.operands]
    if op.name == "constant":
        flat = np.array(op.attribute("value").values)
        return np.broadcast_to(flat, op.results[0].shape)
    if op.name == "slice":
        return operands[0][tuple(map(slice, *(op.attribute(k) for k in ("starts", "limits", "strides"))))]
    if op.name == "concat":
        return np.concatenate(operands, op.attribute("dim"))
    if op.name == "cmp":
        return {"eq": np.equal, "ne": np.not_equal, "lt": np.less}[op.attribute("predicate").case](*operands)
    functions = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum, "min": np.minimum,
                 "div": lambda x, y: (np.sign(x) * (np.abs(x) // y)), "select": np.where, "not": np.logical_not}
    return functions[op.name](*operands)


def random_ids(b: Builder, t: Value, pick: random.Random) -> Value:
    """`t` after random ops."""
    value = t
    for _ in range(pick.randint(0, 4)):
        number = numbers(b, *(pick.choice((1, 2, 5, 40, 60)) for _ in range(3)))
        kind = pick.choice(("add", "sub", "from", "mul", "div", "max", "min", "fill", "keep", "clamp", "swap", "both"))
        if kind in ("add", "sub", "mul", "div", "max", "min"):
            value = b.binary(kind, value, number)
        elif kind == "from":
            value = b.binary("sub", number, value)
        elif kind in ("fill", "keep"):
            pred = b.compare(pick.choice(("eq", "ne")), value, number)
            value = b.select(b.unary("not", pred) if kind == "keep" else pred, numbers(b, 0), value)
        elif kind == "clamp":
            value = b.select(b.compare("lt", value, number), value, numbers(b, 0))
        elif kind == "swap":
            value = b.concat([b.slice_dim(value, 0, pick.randint(0, 2), 3), b.slice_dim(value, 0, 0, 3)], 0)
            value = b.slice_dim(value, 0, 0, 3)
        else:
            value = b.binary("max", value, t)
    return value


# The id that a loss ignores may come of any id once arithmetic has moved it. Unmoved it is the compiler's.
@pytest.mark.parametrize(
    ("change", "ignored", "bound"),
    [
        (lambda b, t: t, -100, 61),
        (lambda b, t: t, 200, 61),
        (lambda b, t: b.reshape(t, (3,)), 200, 61),
        (lambda b, t: b.binary("mul", t, numbers(b, 2, 2, 2)), 200, 101),
        (lambda b, t: b.binary("mul", t, numbers(b, 2, 2, 2)), -100, 31),
        (lambda b, t: b.binary("sub", numbers(b, 3, 3, 3), t), -1, 5),
        (lambda b, t: b.binary("min", t, numbers(b, 100, 100, 100)), 200, None),
        (lambda b, t: b.select(equals(b, t, numbers(b, 255, 255, 255)), numbers(b, -100, -100, -100), t), -100, 256),
    ],
)
def test_bounds_let_ignored_ids_in(change, ignored: int, bound: int | None) -> None:
    b = Builder()
    t = b.argument(Type("i64", (3,)), "input", "t", role="targets")
    b.cross_entropy(b.splat(1.0, Type("f32", (3, 61))), change(b, t), "mean", ignored, 0.0)
    assert id_bounds(tuple(b.ops), tuple(b.arguments)).get(t.id) == bound


@pytest.mark.parametrize(
    ("dtype", "number", "bound"),
    [("i64", 5, None), ("i64", -1, None), ("i64", -2, 2**63 - 1), ("i32", 5, None)],
)
def test_bounds_fit_the_type(dtype: str, number: int, bound: int | None) -> None:
    b = Builder()
    t = b.argument(Type(dtype, (3,)), "input", "t", role="tokens")
    turned = b.binary("sub", b.constant((number,) * 3, t.type), t)
    b.embedding(b.splat(1.0, Type("f32", (100, 2))), b.binary("max", turned, b.constant((0, 0, 0), t.type)))
    assert id_bounds(tuple(b.ops), tuple(b.arguments)).get(t.id) == bound




@pytest.mark.parametrize("seed", range(400))
def test_no_good_file_is_refused(seed: int) -> None:
    pick = random.Random(seed)
    b = Builder()
    role = pick.choice((None, "tokens"))
    t = b.argument(Type("i64", (3,)), "input", "t", role=role)
    sites = [(random_ids(b, t, pick), pick.choice((5, 17, 50)), pick.choice((None, None, -100, -1, 3, 60, 200)))
             for _ in range(pick.choice((1, 1, 2)))]
    for ids, rows, ignored in sites:
        if ignored is None:
            b.embedding(b.splat(1.0, Type("f32", (rows, 2))), ids)
        else:
            b.cross_entropy(b.splat(1.0, Type("f32", (3, rows))), ids, "mean", ignored, 0.0)
    ops, arguments = tuple(b.ops), tuple(b.arguments)
    bound = id_bounds(ops, arguments).get(t.id)
    if bound is None:
        return
    assert 0 < bound < 2**63

    def is_good(ids: list[int]) -> bool:
        values = {t.id: np.array(ids)}
        for op in ops:
            if op.name not in ("embedding", "cross_entropy") and not op.results[0].dtype.startswith("f"):
                values[op.results[0].id] = value_of(op, values)
        return all((((values[x.id] >= 0) & (values[x.id] < rows)) | (values[x.id] == ignored)).all()
                   for x, rows, ignored in sites)

    refused = [bound, bound + 1, max(bound, 100), max(bound, 200), *(bound + pick.randrange(2000) for _ in range(20))]
    if role is None:
        refused += [-1, -2, -5, -40, -60, -pick.randrange(1, 2000)]
    # What a loss ignores of the input itself the compiler adds to the bound.
    added = [ignored for x, _, ignored in sites if x is t]
    for id in refused:
        if id in added or id >= 2**63:
            continue
        for place in range(3):
            ids = [id if i == place else pick.randrange(min(bound, 9)) for i in range(3)]
            assert not is_good(ids), f"{ids} is refused: bound {bound}"
