"""The table from ATen overload to emitter.

An emitter takes the builder and the overload's arguments under their schema names: tensors as `Value`, element types as
strings, numbers and lists as they are; device, layout and memory format are dropped. It returns a `Value`, or a list of
them where the overload returns several. In-place overloads use the emitter of their functional twin.
"""

from __future__ import annotations

from typing import Callable

TABLE: dict[str, Callable] = {}


def emits(*overloads: str) -> Callable:
    """Registers a function as the emitter of these overloads, named without the `aten.` prefix."""

    def register(function: Callable) -> Callable:
        for overload in overloads:
            assert overload not in TABLE, overload
            TABLE[overload] = function
        return function

    return register
