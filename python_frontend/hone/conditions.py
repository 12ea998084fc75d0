"""What a batch must meet for the graph to hold: the program's own assertions, and answers of the example batch."""

from __future__ import annotations

import math
from typing import Sequence

from .assumptions import ASSUMED, FIXED
from .builder import Builder
from .errors import HoneError
from .graph import Op, Value
from .source import BRANCH, NUMBER, placed


class PlacedError(HoneError):
    """An error that names its source line already."""


class Conditions:
    """Booleans that decide whether a loss counts. assumptions: answers of the example batch, in words."""

    def __init__(self, builder: Builder) -> None:
        self._b = builder
        self._values: list[Value] = []
        self.assumptions: dict[str, None] = {}

    def add(self, condition: Value, message: str, frames: Sequence[tuple[str, int]]) -> None:
        """A condition of one element with the text of its assertion and the stack that asks. One that holds for all
        batches and parameters is left out; PlacedError where random draws decide it, or a float that was read."""
        holds = self._b.cast(self._b.reshape(condition, ()), "i1")
        ops, made_from = self._b.origins(holds)
        depends = any(x.value.id in made_from and x.kind in ("input", "param") for x in self._b.arguments)
        drawn = [op for op in ops if op.name == "random"]
        if not depends and (not drawn or _is_certain(self._b, ops)):
            return
        is_float = message.startswith(FIXED)
        if is_float or drawn and message.startswith(ASSUMED):
            raise PlacedError(placed(NUMBER if is_float else BRANCH, frames))
        self._values.append(holds)
        if message.startswith(ASSUMED):
            self.assumptions[message.removeprefix(ASSUMED)] = None

    def checked(self, loss: Value) -> Value:
        """The loss, and NaN for a batch that does not meet the conditions."""
        if not self._values:
            return loss
        met = self._values[0]
        for condition in self._values[1:]:
            met = self._b.binary("and", met, condition)
        return self._b.select(met, loss, self._b.splat(math.nan, loss.type))


def _is_certain(b: Builder, ops: Sequence[Op]) -> bool:
    """Whether what is drawn among `ops`, the last first, is only compared with what lies beyond all draws, or at their
    end: `rand() < 0.0` is how a layer is dropped that never is."""
    drawn: set[int] = set()
    for op in reversed(ops):
        if op.name == "random" and op.attribute("dist").case == "uniform":
            drawn.add(op.results[0].id)
        elif drawn.intersection(operand.id for operand in op.operands):
            if op.name == "cmp":
                bounds = [b.fill_of(operand) for operand in op.operands if operand.id not in drawn]
                if not bounds or bounds[0] is None or 0 < bounds[0] < 1:
                    return False
            elif op.name in ("reshape", "broadcast", "slice"):
                drawn.add(op.results[0].id)
            else:
                return False
        elif op.name in ("random", "dropout"):
            return False
    return True
