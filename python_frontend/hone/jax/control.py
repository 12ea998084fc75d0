"""Calls, loops, branches, and functions with a derivative of their own."""

from __future__ import annotations

import os
from typing import Any, Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from ..builder import Builder
from ..errors import HoneError
from ..graph import Value
from .random import function_of
from .registry import emits
from .walk import Key, Operand, Walk

_MOST_STEPS = 4096  # of a loop whose end is known, which is unrolled

Part = Callable[[Sequence[Operand]], list[Operand]]  # of a loop or a branch: results on operands


@emits("jit", "pjit", "closed_call", "core_call", raw=True)
def call(w: Walk, e: Any, *xs: Operand) -> list[Operand]:
    function = function_of(e.params.get("name", ""), xs)
    if function is not None:
        return [function(w, e, *xs)]
    return w.run(e.params.get("jaxpr") or e.params["call_jaxpr"], xs)


@emits("remat2", "checkpoint", raw=True)
def remat(w: Walk, e: Any, *xs: Operand) -> list[Operand]:
    """Without the hint: the compiler chooses itself what it computes again."""
    return w.run(e.params["jaxpr"], xs)


def _row(w: Walk, x: Operand, i: int) -> Operand:
    if isinstance(x, Value):
        return w.b.reshape(w.b.slice_dim(x, 0, i, i + 1), x.shape[1:])
    return x.derived("row", i) if isinstance(x, Key) else x[i]


def _stacked(w: Walk, rows: Sequence[Operand], aval: Any) -> Operand:
    if any(isinstance(x, Key) for x in rows):
        raise HoneError("returns a key from each step, which is not supported; split keys before the loop")
    if all(isinstance(x, np.ndarray) for x in rows):
        return np.stack(rows)
    values = [w.value(x) for x in rows]
    return w.b.concat([w.b.reshape(x, (1, *x.shape)) for x in values], 0)


@emits("scan", raw=True)
def scan(w: Walk, e: Any, *xs: Operand) -> list[Operand]:
    """Unrolled: the dialect has no loop, and passes see every layer."""
    p = e.params
    consts, carry = xs[: p["num_consts"]], list(xs[p["num_consts"] : p["num_consts"] + p["num_carry"]])
    rows, made = xs[p["num_consts"] + p["num_carry"] :], []
    order = range(p["length"])
    for i in reversed(order) if p["reverse"] else order:
        results = w.run(p["jaxpr"], [*consts, *carry, *(_row(w, x, i) for x in rows)])
        carry = results[: p["num_carry"]]
        made.append(results[p["num_carry"] :])
    if p["reverse"]:
        made.reverse()
    columns = zip(*made) if made else ()
    outer = e.outvars[p["num_carry"] :]
    return [*carry, *(_stacked(w, column, v.aval) for column, v in zip(columns, outer))]


@emits("while", raw=True)
def while_(w: Walk, e: Any, *xs: Operand) -> list[Operand]:
    """Unrolled, where numbers known at export decide when it ends."""
    p = e.params
    ends, body = p["cond_nconsts"], p["cond_nconsts"] + p["body_nconsts"]
    goes_on = lambda carry: w.run(p["cond_jaxpr"], [*xs[:ends], *carry])
    return unrolled(xs[body:], goes_on, lambda carry: w.run(p["body_jaxpr"], [*xs[ends:body], *carry]))


def unrolled(carry: Sequence[Operand], goes_on: Part, body: Part) -> list[Operand]:
    """The results of a loop, step after step."""
    for _ in range(_MOST_STEPS):
        (is_on,) = goes_on(carry)
        if not isinstance(is_on, np.ndarray):
            raise HoneError("the data decides how often the loop runs; expected a fixed number of steps (lax.scan)")
        if not is_on:
            return list(carry)
        carry = body(carry)
    raise HoneError(f"the loop has more than {_MOST_STEPS} steps, and is unrolled; expected fewer")


@emits("cond", raw=True)
def cond(w: Walk, e: Any, which: Operand, *xs: Operand) -> list[Operand]:
    return chosen(w, which, [lambda xs, branch=branch: w.run(branch, xs) for branch in e.params["branches"]], xs)


def chosen(w: Walk, which: Operand, branches: Sequence[Part], xs: Sequence[Operand]) -> list[Operand]:
    """All branches, and a selection; one, where a number known at export decides."""
    if isinstance(which, np.ndarray):
        return branches[min(max(int(which), 0), len(branches) - 1)](xs)
    results = [[w.value(x) for x in branch(xs)] for branch in branches]
    found = results[0]
    for number, others in enumerate(results[1:], 1):
        here = w.b.compare("ge", w.b.cast(which, "i32"), w.b.splat(number, w.b.cast(which, "i32").type))
        found = [w.b.select(w.b.broadcast(here, x.shape, ()) if x.rank else here, y, x)
                 for x, y in zip(found, others)]
    return found


# -- derivatives of their own -------------------------------------------------------------------------------------


def _relu(w: Walk, e: Any, x: Operand) -> list[Value]:
    """A selection: the gradient at 0 is 0."""
    x = w.value(x)
    zero = w.b.splat(0, x.type)
    return [w.b.select(w.b.compare("le", x, zero), zero, x)]


def _is_of_jax(e: Any) -> bool:
    """Whether a function is one of jax.nn's own."""
    return f"{os.sep}jax{os.sep}_src{os.sep}nn{os.sep}" in (e.params["call_jaxpr"].jaxpr.debug_info.func_src_info or "")


@emits("custom_jvp_call", "custom_vjp_call", raw=True)
def custom_derivative(w: Walk, e: Any, *xs: Operand) -> list[Operand]:
    """A hone.custom_gradient: JAX differentiates the call, by its rule, into a forward and a backward part."""
    if e.params["call_jaxpr"].jaxpr.debug_info.func_name == "relu" and _is_of_jax(e):
        return _relu(w, e, *xs)
    differentiated = [i for i, x in enumerate(xs) if isinstance(x, Value) and w.b.is_differentiable(x)]
    if w.inside or not differentiated:
        return w.run(e.params["call_jaxpr"], xs)
    if any(isinstance(x, Key) for x in xs):
        raise HoneError("draws random numbers in a custom derivative, which is not supported; draw them outside")
    inner = _Differentiated(e, differentiated)
    inputs = [w.value(x) for x in xs]
    w.inside = True
    try:
        values = [w.value(x) for x in w.run(inner.forward, inputs)]
    finally:
        w.inside = False
    results, saved = values[: len(e.outvars)], values[len(e.outvars) :]
    return list(w.b.custom_gradient(results, [inputs[i] for i in differentiated], saved, inner.backward_of(w)))


class _Differentiated:
    """A call split into a forward part, which also gives what the backward part needs, and that part."""

    def __init__(self, e: Any, differentiated: list[int]) -> None:
        self.floats = [is_float_aval(v.aval) for v in e.outvars]

        def call(*args: Any) -> list[Any]:
            params = e.primitive.get_bind_params(e.params)
            functions, params = params if isinstance(params, tuple) else ((), params)
            return list(e.primitive.bind(*functions, *args, **params))

        def forward(*args: Any) -> list[Any]:
            def of_floats(*given: Any) -> list[Any]:
                every = list(args)
                for i, x in zip(differentiated, given):
                    every[i] = x
                return call(*every)

            results, pull = jax.vjp(of_floats, *(args[i] for i in differentiated))
            saved, self._tree = jax.tree.flatten(pull)
            self._saved = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in map(jnp.asarray, saved)]
            return [*results, *saved]

        self.forward = jax.make_jaxpr(forward)(*(jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in e.invars))
        self._results = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in e.outvars]

    def backward_of(self, w: Walk):
        """`backward` as Builder.custom_gradient takes it."""

        def pulled(saved: list[Any], cotangents: list[Any]) -> Any:
            given = iter(cotangents)
            every = [next(given) if is_real else np.zeros(x.shape, jax.dtypes.float0)
                     for is_real, x in zip(self.floats, self._results)]
            return jax.tree.unflatten(self._tree, saved)(every)

        def backward(b: Builder, cotangents: list[Value], saved: list[Value]) -> list[Value]:
            real = [x for x, is_real in zip(self._results, self.floats) if is_real]
            closed = jax.make_jaxpr(pulled)(self._saved, real)
            body = Walk(b, inside=True, frames=w.frames)
            return [body.value(x) for x in body.run(closed, [*saved, *cotangents])]

        return backward


def is_float_aval(aval: Any) -> bool:
    return jnp.issubdtype(aval.dtype, jnp.floating)
