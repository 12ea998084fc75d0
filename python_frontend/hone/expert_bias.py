"""The biases by which routers balance their experts: which buffers they are, and how often each expert is selected.

A router such as DeepSeek-V3's adds a buffer to its scores and selects the experts with the largest sums. No gradient
reaches the buffer: once per step, training moves it against the counts of selected experts (arXiv 2412.19437, 2.1.2).
Forward adds the counts of each batch to a buffer of their own, and the step does the rest (`hone.balance`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Collection, Mapping

import torch

from .assembly import live
from .builder import Builder
from .errors import HoneError
from .graph import Op, Type, Value

COUNTS = ".counts"  # behind the name of a bias: the buffer of its counts

_ROUTER = "expected a router that selects experts by topk(scores + bias), whose bias is a buffer in float32"

# Ops between the bias and a sum, and between the sum and a topk. Larger elements stay larger through all of them, so a
# larger bias selects its expert more often; a product, say, could turn that around.
_VIEWS = ("reshape", "broadcast", "cast", "stop_gradient")
_KEPT = {**dict.fromkeys(_VIEWS, slice(0, 1)), "add": slice(0, 2), "sub": slice(0, 1), "select": slice(1, 3)}


def checked_rate(rate: object) -> float:
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not math.isfinite(rate) or rate <= 0:
        raise HoneError(f"expert_bias: is {rate!r}, expected a number above 0, such as 0.001")
    return float(rate)


def possible_biases(buffers: Mapping[str, torch.Tensor]) -> frozenset[str]:
    """Names of the buffers that may be a router's bias."""
    return frozenset(name for name, x in buffers.items() if x.dtype == torch.float32 and x.dim() == 1)


def check_biases(selected: Mapping[str, list[Value]], changed: Collection[str]) -> None:
    """Refuses a model without a bias, and one that changes its bias itself."""
    if not selected:
        raise HoneError(f"expert_bias: no buffer of the model is added to scores that a topk reads; {_ROUTER}")
    for fqn in selected:
        if fqn in changed:
            raise HoneError(f"expert_bias: forward changes buffer '{fqn}' itself; expected a buffer that it only reads")


def selected_ids(b: Builder, loss: Value, biases: Collection[str]) -> dict[str, list[Value]]:
    """The ids of experts that the loss depends on and that scores with each bias select, of those that select any."""
    arguments = {a.value.id: a for a in b.arguments if a.kind == "buffer" and a.fqn in biases}
    ops = live(b.ops, loss)
    makers = {result.id: op for op in ops for result in op.results}
    found: dict[str, list[Value]] = {}
    for op in ops:
        if op.name != "topk" or op.attribute("smallest") or op.attribute("dim") != op.operands[0].rank - 1:
            continue
        if not _selects(op, ops, makers):
            continue
        for value in _added(op.operands[0], makers):
            argument = arguments.get(value.id)
            if argument and value.shape == op.operands[0].shape[-1:]:
                found.setdefault(argument.fqn, []).append(op.results[0])
    return found


def _added(scores: Value, makers: Mapping[int, Op]) -> list[Value]:
    """What is added to something on the way to `scores`, without views of it."""
    seen, open_, added = set(), [scores], []
    while open_:
        value = open_.pop()
        op = makers.get(value.id)
        if value.id in seen or op is None or op.name not in _KEPT:
            continue
        seen.add(value.id)
        operands = op.operands[_KEPT[op.name]]
        open_ += operands
        if op.name == "add":
            added += [_without_views(operand, makers) for operand in operands]
    return list({value.id: value for value in added}.values())


def _without_views(value: Value, makers: Mapping[int, Op]) -> Value:
    while (op := makers.get(value.id)) is not None and op.name in _VIEWS:
        value = op.operands[0]
    return value


def _selects(topk: Op, ops: tuple[Op, ...], makers: Mapping[int, Op]) -> bool:
    """Whether something reads the ids but to take the largest scores themselves, as a router does that scores groups
    of experts by their best."""
    source = _without_views(topk.operands[0], makers)
    views = {topk.results[0].id}
    for op in ops:
        if views.isdisjoint(operand.id for operand in op.operands):
            continue
        if op.name in _VIEWS:
            views.add(op.results[0].id)
        elif op.name != "take_along" or _without_views(op.operands[0], makers).id != source.id:
            return True
    return False


def count_experts(b: Builder, selected: Mapping[str, list[Value]], rate: float | None) -> dict[str, Value]:
    """Makes a buffer of counts for each bias, and returns their values after a batch, by name. No tensor of a model has
    such a name: the bias would be a module."""
    counts: dict[str, Value] = {}
    for fqn, ids in selected.items():
        name = fqn + COUNTS
        place, bias = next((i, a) for i, a in enumerate(b.arguments) if a.fqn == fqn)
        b.arguments[place] = replace(bias, balance={"counts": name, "rate": rate})
        count = Type("i64", bias.value.shape)
        value = b.argument(count, "buffer", name, init={"dist": "constant", "value": 0.0})
        for chosen in ids:
            value = b.binary("add", value, _histogram(b, chosen, count.shape[0]))
        counts[name] = value
    return counts


def _histogram(b: Builder, ids: Value, size: int) -> Value:
    """How often each of `size` numbers stands in `ids`."""
    wide = Type(ids.dtype, ids.shape + (size,))
    each = b.broadcast(ids, wide.shape, range(ids.rank))
    is_equal = b.compare("eq", each, b.iota(ids.rank, wide))
    return b.reduce("sum", b.cast(is_equal, "i64"), range(ids.rank))
