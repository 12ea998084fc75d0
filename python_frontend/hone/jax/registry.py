"""The table from JAX primitive to emitter.

An emitter takes the walk, the equation and its inputs, and returns a value, or a list where the equation has several
results. Inputs are `Value`s; a raw emitter also gets what is known at export as NumPy arrays, and keys as `Key`s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable


@dataclass(frozen=True)
class Emitter:
    function: Callable
    raw: bool


TABLE: dict[str, Emitter] = {}


def emits(*primitives: str, raw: bool = False) -> Callable:
    """Registers a function as the emitter of these primitives."""

    def register(function: Callable) -> Callable:
        for primitive in primitives:
            assert primitive not in TABLE, primitive
            TABLE[primitive] = Emitter(function, raw)
        return function

    return register
