"""Walks a jaxpr and builds the graph of it, one equation after the other.

What an equation computes from known numbers alone is computed at export, so that starts of slices, steps of loops and
keys made in the loss are numbers by the time they are needed. Equal ops are built once.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Sequence, Union

import jax
import numpy as np
from jax.extend.core import Literal

from ..builder import Builder
from ..errors import HoneError
from ..graph import Location, Type, Value
from ..source import placed, relative_path
from ..structured import structured_array
from .names import inner_dtype
from .registry import TABLE
from .sharing import SharingBuilder

_FOLDED = 4096  # elements of the largest result that is computed at export
_INLINE = 64  # bytes of the largest constant in the graph's text
_LIBRARY = tuple(os.path.dirname(os.path.abspath(jax.__file__)).rsplit(os.sep, 1)[0] + f"/{name}/" for name in
                 ("jax", "jaxlib", "_jax"))
# Results that are unsigned, and may be: they move elements, or make them of others.
_UNSIGNED = {"convert_element_type", "broadcast_in_dim", "reshape", "squeeze", "slice", "iota", "select_n", "gather",
             "concatenate", "transpose", "copy", "jit", "pjit", "custom_jvp_call", "custom_vjp_call", "remat2", "scan",
             "stop_gradient", "argmax", "argmin", "sort", "top_k", "max", "min", "and", "or", "expand_dims", "cond",
             "dynamic_slice", "random_bits", "rev", "pad", "clamp", "split", "while", "checkpoint"}


@dataclass(frozen=True)
class Key:
    """A random key, or an array of them, known by how it was derived: equal keys draw equal numbers."""

    path: tuple

    def derived(self, *step: Any) -> Key:
        return Key((*self.path, *step))


Known = Union[np.ndarray, jax.Array]  # an array at export; a jax.Array only where it holds keys
Operand = Union[Value, Key, np.ndarray, jax.Array]


@dataclass
class Walk:
    """A walk that builds with `b`. `inside`: of a custom derivative, where no other one counts. `follows_source`:
    whether equations say where they are from; otherwise what runs the walk sets `frames` and the builder's location."""

    b: Builder = field(default_factory=SharingBuilder)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    draws: dict[tuple, Value] = field(default_factory=dict)
    lookups: set[tuple[int, int]] = field(default_factory=set)  # ids that are rows of tables, by id, and how many rows
    inside: bool = False
    follows_source: bool = True
    frames: list[tuple[str, int]] = field(default_factory=list)

    def run(self, closed: Any, inputs: Sequence[Operand]) -> list[Operand]:
        """The results of a jaxpr on `inputs`. Raises HoneError with the user's line and the primitive."""
        jaxpr, consts = (closed.jaxpr, closed.consts) if hasattr(closed, "consts") else (closed, ())
        env: dict[Any, Operand] = dict(zip(jaxpr.constvars, map(_known, consts))) | dict(zip(jaxpr.invars, inputs))
        read = lambda v: np.asarray(v.val, v.aval.dtype) if isinstance(v, Literal) else env[v]
        for equation in jaxpr.eqns:
            results = self._equation(equation, [read(v) for v in equation.invars])
            env.update(zip(equation.outvars, results))
        return [read(v) for v in jaxpr.outvars]

    def _equation(self, e: Any, inputs: list[Operand]) -> list[Operand]:
        outer = self.frames, self.b.location
        if self.follows_source:
            self._follow(e)
        try:
            if all(not isinstance(x, (Value, Key)) for x in inputs) and _is_folded(e, inputs):
                return _evaluated(e, inputs)
            return self._emitted(e, inputs)
        except HoneError as error:
            if getattr(error, "is_placed", False):
                raise
            where = HoneError(placed(f"{e.primitive.name}: {error}", self.frames))
            where.is_placed = True
            raise where from None
        finally:
            self.frames, self.b.location = outer

    def _follow(self, e: Any) -> None:
        """Takes the place of an equation."""
        if e.source_info.traceback is not None:
            frames = [(f.file_name, f.line_num) for f in reversed(e.source_info.traceback.frames)]
            self.frames = [frame for frame in frames if not frame[0].startswith(_LIBRARY)] or self.frames
        self.b.location = self.location(str(e.source_info.name_stack))

    def location(self, module: str) -> Location:
        """The innermost frame, inside a module of the user's."""
        if not self.frames:
            return Location(module)
        file, line = self.frames[-1]
        return Location(module, relative_path(os.path.abspath(file)), line)

    def _emitted(self, e: Any, inputs: list[Operand]) -> list[Operand]:
        name = e.primitive.name
        if any(isinstance(x, Key) for x in inputs) and all(_is_key_result(v.aval) for v in e.outvars):
            others = tuple(repr(x) if isinstance(x, np.ndarray) else x for x in inputs if not isinstance(x, Key))
            key = next(x for x in inputs if isinstance(x, Key))
            return [key.derived(name, str(sorted(e.params.items())), others, i) for i in range(len(e.outvars))]
        if name not in TABLE:
            raise HoneError("this primitive is not supported; expected the loss to do without it")
        if name not in _UNSIGNED and any(getattr(v.aval.dtype, "kind", "") == "u" for v in e.outvars):
            raise HoneError("unsigned arithmetic, which wraps around, is not supported; expected int32")
        emitter = TABLE[name]
        if not emitter.raw:
            inputs = [self.value(x) for x in inputs]
        found = emitter.function(self, e, *inputs)
        results = list(found) if isinstance(found, (list, tuple)) else [found]
        for variable, result in zip(e.outvars, results, strict=True):
            if isinstance(result, Value) and result.type != self.type_of(variable.aval):
                raise HoneError(f"is imported as {result.type}, and JAX says {variable.aval}; please report this")
        return results

    def type_of(self, aval: Any) -> Type:
        return Type(inner_dtype(aval.dtype), tuple(aval.shape))

    def value(self, x: Operand, shape: Sequence[int] | None = None) -> Value:
        """An operand as a value of the graph; `shape`: of a known number that fills it."""
        if isinstance(x, Value):
            return x
        if isinstance(x, Key) or not isinstance(x, np.ndarray):
            raise HoneError("reads the bits of a random key, which is not supported; expected jax.random's functions")
        type = Type(inner_dtype(x.dtype), x.shape)
        if x.size and (not any(x.strides) or (x == x.flat[0]).all()):
            return self.b.splat(x.flat[0].item(), type if shape is None else Type(type.dtype, tuple(shape)))
        structured = structured_array(self.b, x, type)
        if structured is not None:
            return structured
        if x.nbytes <= _INLINE or self.inside:
            return self.b.constant(x.astype(float).ravel().tolist() if x.dtype.kind not in "iub" else
                                   x.ravel().tolist(), type)
        for name, held in self.constants.items():
            if held is x:
                return next(a.value for a in self.b.arguments if a.fqn == name)
        name = f"const{len(self.constants)}"
        self.constants[name] = x
        return self.b.argument(type, "buffer", name, init={"dist": "file"})


def _known(x: Any) -> Known:
    if hasattr(x, "dtype") and jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
        return x
    return np.asarray(x)


def _is_key_result(aval: Any) -> bool:
    return hasattr(aval, "dtype") and (jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key) or
                                       str(aval.dtype) == "uint32" and aval.shape[-1:] == (2,))


def _is_folded(e: Any, inputs: Sequence[Known]) -> bool:
    """Whether an equation of known inputs is computed at export: all that keys have a part in, and small results. Ops
    that follow a rule (positions, fills) stay in the graph where they are not tiny."""
    if any(_is_key_result(x) for x in inputs) or e.primitive.name == "random_seed":
        return True
    sizes = [int(np.prod(v.aval.shape)) for v in e.outvars]
    if e.primitive.name in ("iota", "broadcast_in_dim"):
        return max(sizes) <= 1
    return bool(sizes) and max(sizes) <= _FOLDED


def _evaluated(e: Any, inputs: Sequence[Known]) -> list[Known]:
    from jax.core import eval_jaxpr
    from jax.extend.core import Jaxpr

    variables = [v for v in e.invars if not isinstance(v, Literal)]
    given = [x for v, x in zip(e.invars, inputs) if not isinstance(v, Literal)]
    unique = dict(zip(variables, given))
    jaxpr = Jaxpr((), list(unique), list(e.outvars), [e])
    with jax.ensure_compile_time_eval():
        return [_known(x) for x in eval_jaxpr(jaxpr, (), *unique.values())]
