"""Random numbers: jax.random's functions of a key. Draws of equal keys are equal; their values are not JAX's own.

JAX makes them of random bits by arithmetic on unsigned integers, so whole functions are imported by their names.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Callable, Sequence

import jax

from ..aten.functions import floor
from ..errors import HoneError
from ..graph import Type, Value
from .registry import emits
from .walk import Key, Operand, Walk


def _draw(w: Walk, key: Key, dist: str, type: Type) -> Value:
    if w.inside:
        raise HoneError("draws random numbers in a custom derivative, which is not supported; draw them outside")
    place = (key, dist, type)
    if place not in w.draws:
        w.draws[place] = w.b.random(dist, type)
    return w.draws[place]


def _result(w: Walk, e: Any) -> Type:
    return w.type_of(e.outvars[0].aval)


def _uniform(w: Walk, e: Any, key: Key, low: Operand, high: Operand) -> Value:
    type = _result(w, e)
    low, high = (w.b.broadcast_to(w.b.cast(w.value(x, type.shape), type.dtype), type.shape) for x in (low, high))
    drawn = _draw(w, key, "uniform", type)
    if w.b.fill_of(low) == 0 and w.b.fill_of(high) == 1:
        return drawn
    return w.b.binary("add", w.b.binary("mul", drawn, w.b.binary("sub", high, low)), low)


def _normal(w: Walk, e: Any, key: Key) -> Value:
    return _draw(w, key, "normal", _result(w, e))


def _bernoulli(w: Walk, e: Any, key: Key, chance: Operand) -> Value:
    drawn = _draw(w, key, "uniform", Type("f32", _result(w, e).shape))
    limit = w.b.cast(w.value(chance, drawn.shape), "f32")
    return w.b.compare("lt", drawn, w.b.stop_gradient(w.b.broadcast_to(limit, drawn.shape)))


def _randint(w: Walk, e: Any, key: Key, low: Operand, high: Operand) -> Value:
    type = _result(w, e)
    low, high = (w.b.cast(w.b.broadcast_to(w.value(x, type.shape), type.shape), type.dtype) for x in (low, high))
    drawn = _draw(w, key, "uniform", Type("f32", type.shape))
    reach = w.b.cast(w.b.binary("sub", high, low), "f32")
    return w.b.binary("add", w.b.cast(floor(w.b, w.b.binary("mul", drawn, reach)), type.dtype), low)


FUNCTIONS: dict[str, Callable] = {
    "_uniform": _uniform,
    "_normal": _normal,
    "_normal_real": _normal,
    "_bernoulli": _bernoulli,
    "_randint": _randint,
}


def function_of(name: str, inputs: Sequence[Operand]) -> Callable | None:
    """The emitter of a call of jax.random."""
    return FUNCTIONS.get(name) if inputs and isinstance(inputs[0], Key) else None


def drawn_by(w: Walk, name: str, result: jax.ShapeDtypeStruct, inputs: Sequence[Operand]) -> Value | None:
    """What a call of jax.random's function `name` draws; None for another function."""
    function = function_of(name, inputs)
    call = SimpleNamespace(outvars=[SimpleNamespace(aval=result)])
    return None if function is None else function(w, call, *inputs)


@emits("random_bits", raw=True)
def random_bits(w: Walk, e: Any, key: Operand) -> Value:
    raise HoneError("draws random bits, which is not supported; expected jax.random's uniform, normal, bernoulli, "
                    "randint, truncated_normal, gumbel or categorical")
