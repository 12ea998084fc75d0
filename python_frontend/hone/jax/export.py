"""hone.jax.export: from a loss of JAX to a package."""

from __future__ import annotations

import inspect
import platform
import sys
from typing import Any, Callable, Collection, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from ..assembly import finished, take_roles
from ..errors import HoneError
from ..fitted_init import checked_spec, given_spec, spec_of_values
from ..graph import Graph, Type, Value, is_float
from ..optimizer_spec import OptimizerSpec
from ..package import FRESH, LEFT_OUT, WEIGHTS, Tensor, write_package
from ..roles import described_roles
from ..version import VERSION
from . import control, elementwise, index, random, reduce, shape, windows  # noqa: F401  (each fills the table)
from .names import array_of, is_key, leaves, type_of
from .optax_reader import read_optimizer
from .walk import Key, Operand, Walk


def export(
    loss: Callable,
    params: Any,
    batch: Sequence[Any],
    optimizer: Any = None,
    out: str = "model.hone",
    init: Mapping[str, dict] | None = None,
    name: str | None = None,
    clip: float | None = None,
    roles: Mapping[str, str] | None = None,
    weights: bool = True,
) -> str:
    """Writes the package `out` and returns its path.

    loss(params, *batch) gives the scalar loss. Shapes are those of the example, and its values do not matter.

    params: a pytree of arrays; names are its paths, as "params.h_0.attn.kernel". Of nnx, what
        nnx.split(model, nnx.Param, ...) gives; of equinox, what eqx.partition(model, eqx.is_inexact_array) does.
    batch: arrays or pytrees of them, named after the loss's parameters. A random key among them is no input: a run
        draws new numbers at every step, from its --seed.
    optimizer: an optax optimizer, which is read, or a dictionary such as {"name": "adamw", "lr": 6e-4}.
    clip: bound of the gradient's global norm, where the optimizer has none.
    init: how a run with --fresh fills parameters, by name pattern, as for hone.export. Otherwise inferred.
    roles: what a token stream feeds the inputs, as for hone.export.
    weights: whether the package holds the values of `params`, from which runs then start.

    Raises HoneError, whose text is one line, where the loss cannot be exported; nothing is written then.
    """
    named = _checked(params)
    spec = read_optimizer(optimizer, params, clip)
    inputs = named_inputs(loss, batch, named, "loss")
    try:
        closed = jax.make_jaxpr(loss)(params, *batch)
    except HoneError:
        raise
    except Exception as error:  # the user's code, traced
        raise HoneError(f"loss: {type(error).__name__}: {str(error).strip().splitlines()[0]}") from error
    patterns = {pattern: checked_spec(given, f"init '{pattern}'") for pattern, given in (init or {}).items()}
    w = Walk()
    operands: list[Operand] = [_parameter(w, fqn, x, spec, patterns) for fqn, x in named.items()]
    operands += [input_operand(w, fqn, x) for fqn, x in inputs.items()]
    graph = _graph(w, closed, operands, list(inputs), spec, roles, name or name_of(loss, "loss"))
    files = {"consts.safetensors": tensors(w.constants)}
    from_file = [a.fqn for a in graph.arguments if a.kind == "param" and a.init == {"dist": "file"}]
    if from_file and not weights:
        raise HoneError(f"weights: is False, but init says dist 'file' for '{from_file[0]}'; leave one of the two out")
    files[WEIGHTS] = tensors(named) if weights else {}
    write_package(out, graph, {"hone": VERSION, "python": platform.python_version(), "jax": jax.__version__}, files)
    say(graph, roles, weights)
    return out


def name_of(function: Any, default: str) -> str:
    name = getattr(function, "__name__", "")
    return name if name.isidentifier() else default


def _checked(params: Any) -> dict[str, Any]:
    """The parameters by name."""
    named = leaves(params)
    if not named:
        raise HoneError("params: has no arrays; expected a pytree of the parameters")
    for fqn, x in named.items():
        if not hasattr(x, "dtype") or not hasattr(x, "shape"):
            raise HoneError(f"params: leaf '{fqn}' is a {type(x).__name__}, expected an array")
        if is_key(x):
            raise HoneError(f"params: leaf '{fqn}' is a random key; expected keys in the batch")
        type_of(x, f"params: leaf '{fqn}'")
        if not fqn:
            raise HoneError("params: is a single array; expected a pytree with names, such as a dictionary")
    return named


def named_inputs(function: Callable, batch: Sequence[Any], taken: Collection[str], what: str) -> dict[str, Any]:
    """The arrays of the batch, by name; the function, called `what` in errors, takes them behind its first argument."""
    if not isinstance(batch, (tuple, list)) or not batch:
        raise HoneError(f"batch: is a {type(batch).__name__}, expected a tuple of arrays")
    try:
        bound = inspect.signature(function).bind(None, *batch)
    except TypeError as error:
        raise HoneError(f"batch: does not fit the {what}: {error}") from None
    found: dict[str, Any] = {}
    for name, value in list(bound.arguments.items())[1:]:
        items = {f"{name}{i}": x for i, x in enumerate(value)} if _is_variadic(function, name) else {name: value}
        for part, tree in items.items():
            for fqn, x in leaves(tree, part).items():
                x = x if hasattr(x, "dtype") else jnp.asarray(x)
                found[f"input.{fqn}" if fqn in taken or fqn == "rng" else fqn] = x
    return found


def _is_variadic(function: Callable, name: str) -> bool:
    return inspect.signature(function).parameters[name].kind is inspect.Parameter.VAR_POSITIONAL


def _parameter(w: Walk, fqn: str, x: Any, spec: OptimizerSpec | None, init: Mapping[str, dict]) -> Value:
    type = type_of(x, fqn)
    is_trained = is_float(type.dtype) and (spec is None or fqn in spec.group_of)
    facts: dict[str, Any] = {"requires_grad": is_trained}
    if is_trained and spec is not None:
        facts["param_group"] = spec.group_of[fqn]
    given = given_spec(dict(init), fqn)
    if given is None and isinstance(x, jax.ShapeDtypeStruct):
        raise HoneError(f"init: parameter '{fqn}' has no values (ShapeDtypeStruct): give init= for it")
    facts["init"] = given or spec_of_values(np.asarray(x), fqn)
    return w.b.argument(type, "param", fqn, **facts)


def input_operand(w: Walk, fqn: str, x: Any) -> Operand:
    if is_key(x):
        return Key((fqn,))
    dtype = jax.dtypes.canonicalize_dtype(x.dtype)
    return w.b.argument(type_of(jax.ShapeDtypeStruct(x.shape, dtype), f"input '{fqn}'"), "input", fqn)


def _graph(
    w: Walk,
    closed: Any,
    operands: list[Operand],
    names: list[str],
    spec: OptimizerSpec | None,
    roles: Mapping[str, str] | None,
    name: str,
) -> Graph:
    results = [(v.aval.shape, v.aval.dtype) for v in closed.jaxpr.outvars]
    if len(results) != 1 or results[0][0] != () or not jnp.issubdtype(results[0][1], jnp.floating):
        seen = ", ".join(f"{dtype}{list(shape)}" for shape, dtype in results)
        raise HoneError(f"loss: returns {seen or 'nothing'}, expected one floating-point scalar, without auxiliaries")
    loss = w.b.cast(w.value(w.run(closed, operands)[0]), "f32")
    inputs = {a.fqn: a.value for a in w.b.arguments if a.kind == "input"}
    take_roles(w.b, list(inputs), list(inputs.values()), roles)
    return finished(w.b, loss, spec, name, {})


def tensors(arrays: Mapping[str, Any]) -> dict[str, Tensor]:
    return {name: _tensor(name, array_of(x)) for name, x in arrays.items()}


def _tensor(name: str, x: np.ndarray) -> Tensor:
    return Tensor(Type(type_of(x, name).dtype, x.shape), x.tobytes())


def say(graph: Graph, roles: Mapping[str, str] | None, weights: bool) -> None:
    given: dict[str, str | None] = {a.fqn: a.role for a in graph.arguments if a.kind == "input"}
    if roles is None and any(given.values()):
        print(f"roles: {described_roles(given)}", file=sys.stderr)
    kept = f"kept; {FRESH}" if weights else LEFT_OUT
    print(f"weights: {kept}", file=sys.stderr)


