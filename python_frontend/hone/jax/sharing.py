"""A builder that builds equal ops once and leaves out those that change nothing.

jnp's functions guard their arguments and add dimensions of size 1; without this, layer norms, attention and cross
entropies would not be the ops that hone-raise looks for.
"""

from __future__ import annotations

import math
from typing import Any, Mapping, Sequence

from ..builder import Builder
from ..graph import Dense, Op, Type, Value, is_float


class SharingBuilder(Builder):
    """`made_by`: the op that makes a value, by the value's id."""

    def __init__(self) -> None:
        super().__init__()
        self.made_by: dict[int, Op] = {}
        self._shared: dict[tuple, tuple[Value, ...]] = {}

    def op(self, name: str, operands: Sequence[Value], results: Sequence[Type], **attributes) -> tuple[Value, ...]:
        if name == "reshape" and self.made_op(operands[0]) == "reshape":
            operands = self.made_by[operands[0].id].operands
        same = self._unchanged(name, operands, results)
        same = self._cut(operands[0], attributes) if same is None and name == "slice" else same
        if same is not None:
            return (same,)
        facts = tuple((k, repr(v) if isinstance(v, Dense) else v) for k, v in attributes.items())
        key = (name, tuple(x.id for x in operands), tuple(results), facts)
        if key not in self._shared:
            self._shared[key] = super().op(name, operands, results, **attributes)
            self.made_by.update({value.id: self.ops[-1] for value in self._shared[key]})
        return self._shared[key]

    def made_op(self, value: Value) -> str | None:
        """The name of the op that makes a value."""
        op = self.made_by.get(value.id)
        return op.name if op else None

    def parts_of(self, x: Value, dim: int) -> Sequence[Value]:
        """What a concatenation along `dim` is made of, or x itself."""
        is_joined = self.made_op(x) == "concat" and self.made_by[x.id].attribute("dim") == dim
        return self.made_by[x.id].operands if is_joined else (x,)

    def _cut(self, x: Value, where: Mapping[str, Any]) -> Value | None:
        """A slice of a concatenation along its dimension, made of the parts that it lies in; None for another. What
        loops stack step by step is read step by step."""
        if self.made_op(x) != "concat" or any(n != 1 for n in where["strides"]):
            return None
        starts, limits = where["starts"], where["limits"]
        cut = [d for d in range(x.rank) if (starts[d], limits[d]) != (0, x.shape[d])]
        joined = self.made_by[x.id]
        if cut != [joined.attribute("dim")]:
            return None
        (dim,), begin, parts = cut, 0, []
        for part in joined.operands:
            low, high = max(starts[dim] - begin, 0), min(limits[dim] - begin, part.shape[dim])
            if low < high:
                parts.append(self.slice_dim(part, dim, low, high))
            begin += part.shape[dim]
        return self.concat(parts, dim) if parts else None

    def _unchanged(self, name: str, operands: Sequence[Value], results: Sequence[Type]) -> Value | None:
        """The operand that an op gives back as it is, for all values of it; None if there is none."""
        if name == "reshape":
            return operands[0] if operands[0].type == results[0] else None
        if name == "select":
            chosen, on_true, on_false = (self.fill_of(x) for x in operands)
            if chosen is not None:
                return operands[1 if chosen else 2]
            is_itself = results[0].dtype == "i1" and on_true is not None and on_false is not None
            return operands[0] if is_itself and on_true and not on_false else None
        if name in ("sub", "div") and self.fill_of(operands[1]) == (0 if name == "sub" else 1):
            return operands[0]
        if name in ("max", "add", "mul") and len(operands) == 2:
            neutral = {"max": -math.inf, "add": 0, "mul": 1}[name]
            if name == "add" and is_float(results[0].dtype):  # -0 + 0 is 0
                return None
            for fill, other in (operands, reversed(operands)):
                if self.fill_of(fill) == neutral:
                    return other
        return None
