"""hone.jax.export_step: from a whole training step to a package.

The step is differentiated and updates its state itself; the package holds it as it is, as @step. Each leaf of the state
becomes an argument of kind param, opt or buffer, which the new value replaces.
"""

from __future__ import annotations

import fnmatch
import platform
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from ..assembly import finished_step, take_roles
from ..errors import HoneError, warn
from ..fitted_init import spec_of_values
from ..graph import Graph, Value, is_float
from ..package import WEIGHTS, write_package
from ..version import VERSION
from . import control, elementwise, index, random, reduce, shape, windows  # noqa: F401  (each fills the table)
from .export import input_operand, name_of, named_inputs, say, tensors
from .names import array_of, is_key, leaves, type_of
from .stablehlo import Program, is_program
from .walk import Key, Operand, Walk

_KINDS = ("param", "opt", "buffer")
_NORMS = ("grad_norm", "gnorm", "gradient_norm")


@dataclass(frozen=True)
class _Leaf:
    """A leaf of the state: an array at export, and what the package makes of it; a key has no kind."""

    fqn: str
    array: Any
    kind: str | None


@dataclass(frozen=True)
class _Traced:
    """A step that is ready to be walked. `names`: of its results behind the state, as paths."""

    run: Callable[[Walk, list[Operand]], list[Operand]]
    names: list[str]


def export_step(
    step: Any,
    state: Any,
    batch: Sequence[Any] | Mapping[str, Any],
    out: str = "model.hone",
    kinds: Mapping[str, str] | None = None,
    name: str | None = None,
    roles: Mapping[str, str] | None = None,
    weights: bool = True,
) -> str:
    """Writes the package `out` and returns its path.

    step(state, *batch) gives (new state, loss), or (new state, metrics) with the metric "loss", and "grad_norm" if
    there is one. It may be a function, what jax.jit(step).lower(...) or jax.export.export(...)(...) gives, or the text
    of a StableHLO module with the leaves of state and batch as arguments.

    state: a pytree of arrays, with their values; names are its paths, as "params.h_0.attn.kernel". Weights, kind
        "param", are its leaves of floating point; "opt" are those in a state of optax, and integers; "buffer" are those
        in a collection batch_stats. A random key is no state: a run draws new numbers at every step, from its --seed.
    batch: arrays or pytrees of them, named after the step's parameters, or a dictionary of these by name. Of a module
        names are known where it has them: lowered.as_text(debug_info=True).
    kinds: other kinds by name pattern, as {"ema.*": "opt"}. The first that matches counts.
    roles, weights: as for hone.jax.export.

    Raises HoneError, whose text is one line, where the step cannot be exported; nothing is written then.
    """
    held = _state_leaves(state, kinds or {})
    program = Program.of(step) if is_program(step) else None
    inputs = _inputs(program or step, batch, held)
    values = list(batch.values()) if isinstance(batch, Mapping) else list(batch)
    arguments = [*(leaf.array for leaf in held), *inputs.values()]
    traced = _walked(program, arguments, len(held)) if program else _traced(step, state, values)
    w = Walk()
    operands = [_argument(w, leaf) for leaf in held] + [input_operand(w, fqn, x) for fqn, x in inputs.items()]
    graph = _graph(w, traced, held, operands, roles, name or name_of(step, "step"))
    kinds_of = {a.fqn: a for a in graph.arguments}
    from_file = {leaf.fqn: leaf.array for leaf in held
                 if leaf.kind != "param" and leaf.fqn in kinds_of and kinds_of[leaf.fqn].init == {"dist": "file"}}
    files = {"consts.safetensors": tensors(w.constants | from_file)}
    files[WEIGHTS] = tensors({leaf.fqn: leaf.array for leaf in held if leaf.kind == "param"}) if weights else {}
    write_package(out, graph, {"hone": VERSION, "python": platform.python_version(), "jax": jax.__version__}, files)
    say(graph, roles, weights)
    return out


# -- the state ----------------------------------------------------------------------------------------------------


def _state_leaves(state: Any, kinds: Mapping[str, str]) -> list[_Leaf]:
    for pattern, kind in kinds.items():
        if kind not in _KINDS:
            raise HoneError(f"kinds: '{pattern}' has kind '{kind}', expected one of {', '.join(_KINDS)}")
    of_optax = _optax_names(state)
    found = []
    for fqn, x in leaves(state).items():
        x = x if hasattr(x, "dtype") else jnp.asarray(x)
        if not fqn:
            raise HoneError("state: is a single array; expected a pytree with names, such as a dictionary")
        if isinstance(x, jax.ShapeDtypeStruct):
            raise HoneError(f"state: leaf '{fqn}' has no values (ShapeDtypeStruct); expected an array")
        if is_key(x):
            found.append(_Leaf(fqn, x, None))
            continue
        type = type_of(x, f"state: leaf '{fqn}'")
        given = next((kind for pattern, kind in kinds.items() if fnmatch.fnmatchcase(fqn, pattern)), None)
        kind = "param"
        if fqn in of_optax or not is_float(type.dtype):
            kind = "opt"
        elif "batch_stats" in fqn.split("."):
            kind = "buffer"
        found.append(_Leaf(fqn, x, given or kind))
    if not any(leaf.kind == "param" for leaf in found):
        raise HoneError('state: has no weights; expected arrays of floating point, or kinds={"PATTERN": "param"}')
    return found


def _optax_names(state: Any) -> set[str]:
    """Names of the leaves inside a state of optax: its own classes."""
    is_state = lambda x: type(x).__module__.split(".")[0] == "optax"
    marked = jax.tree.map(lambda x: jax.tree.map(lambda _: is_state(x), x), state, is_leaf=is_state)
    return {fqn for fqn, inside in leaves(marked).items() if inside}


def _argument(w: Walk, leaf: _Leaf) -> Operand:
    if leaf.kind is None:
        return Key((leaf.fqn,))
    values = array_of(leaf.array)
    init = spec_of_values(values, leaf.fqn)
    if leaf.kind != "param" and init["dist"] != "constant":
        init = {"dist": "file"}
    return w.b.argument(type_of(leaf.array, leaf.fqn), leaf.kind, leaf.fqn, init=init)


# -- the step -----------------------------------------------------------------------------------------------------


def _inputs(step: Any, batch: Any, held: list[_Leaf]) -> dict[str, Any]:
    """The arrays of the batch, by name."""
    taken = {leaf.fqn for leaf in held}
    if isinstance(step, Program) and isinstance(batch, (tuple, list)):
        batch = _named_by(step, batch, len(held))
    if isinstance(batch, Mapping):
        found = {fqn: x if hasattr(x, "dtype") else jnp.asarray(x)
                 for name, tree in batch.items() for fqn, x in leaves(tree, name).items()}
        return {f"input.{fqn}" if fqn in taken or fqn == "rng" else fqn: x for fqn, x in found.items()}
    return named_inputs(getattr(step, "__wrapped__", step), batch, taken, "step")


def _named_by(program: Program, batch: Sequence[Any], place: int) -> dict[str, Any]:
    """A batch whose first leaf is argument `place` of the step, with the names that a module tells."""
    found = {}
    for number, tree in enumerate(batch):
        found[program.parameter(place) or f"input{number}"] = tree
        place += len(jax.tree.leaves(tree))
    return found


def _walked(program: Program, arguments: list[Any], state: int) -> _Traced:
    return _Traced(program.run, program.checked(arguments, state))


def _traced(step: Callable, state: Any, batch: list[Any]) -> _Traced:
    try:
        closed, shapes = jax.make_jaxpr(step, return_shape=True)(state, *batch)
    except HoneError:
        raise
    except Exception as error:  # the user's code, traced
        raise HoneError(f"step: {type(error).__name__}: {str(error).strip().splitlines()[0]}") from error
    if not isinstance(shapes, (tuple, list)) or len(shapes) < 2:
        raise HoneError(f"step: returns a {type(shapes).__name__}, expected (new state, loss)")
    if jax.tree.structure(shapes[0]) != jax.tree.structure(state):
        raise HoneError("step: returns another tree than state as its first result, expected (new state, loss)")
    return _Traced(lambda w, operands: w.run(closed, operands), list(leaves(tuple(shapes[1:]), "result")))


def _graph(
    w: Walk,
    traced: _Traced,
    held: list[_Leaf],
    operands: list[Operand],
    roles: Mapping[str, str] | None,
    name: str,
) -> Graph:
    results = traced.run(w, operands)
    changed = {}
    for leaf, old, new in zip(held, operands, results):
        if leaf.kind is None:
            continue
        new = w.value(new)
        if new.type != old.type:
            raise HoneError(f"step: state '{leaf.fqn}' comes back as {new.type}, expected {old.type} as it went in")
        if new.id != old.id:
            changed[leaf.fqn] = new
    loss, norm = _metrics(w, traced.names, results[len(held) :])
    if not any(fqn in changed for fqn in (leaf.fqn for leaf in held if leaf.kind == "param")):
        raise HoneError("step: changes no weights, expected (new state, loss)")
    inputs = {a.fqn: a.value for a in w.b.arguments if a.kind == "input"}
    take_roles(w.b, list(inputs), list(inputs.values()), roles)
    return finished_step(w.b, loss, norm, name, changed)


def _metrics(w: Walk, names: list[str], results: list[Operand]) -> tuple[Value, Value | None]:
    """The loss and the norm of the gradients, among the results behind the state."""
    scalars = {}
    for name, x in zip(names, results, strict=True):
        is_number = not isinstance(x, Key) and x.shape == () and is_float(w.value(x).dtype)
        last = name.split(".")[-1]
        if is_number and last not in scalars:
            scalars[last] = w.b.cast(w.value(x), "f32")
        else:
            warn(f"step: leaves result '{name}' out, expected scalars of floating point")
    norm = next((scalars.pop(name) for name in _NORMS if name in scalars), None)
    if "loss" in scalars:
        loss = scalars.pop("loss")
    elif len(scalars) == 1:
        loss = scalars.popitem()[1]
    else:
        raise HoneError(f"step: returns {', '.join(scalars) or 'no number'} behind the state, expected the loss, or "
                        'metrics with the name "loss"')
    for name in scalars:
        warn(f"step: leaves metric '{name}' out: a run logs the loss and grad_norm")
    return loss, norm
