"""Reads an optax optimizer: the chain of its transformations, for every parameter, into the `hone.optimizer` attribute.

optax keeps numbers in closures, so transformations are known by the names of their update functions. What was read is
then checked: optax and the reading must make the same updates of random gradients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Mapping

import jax
import numpy as np

from ..errors import HoneError, warn
from ..optimizer_spec import Group, OptimizerSpec, attribute_of, checked_clip, from_dict, one_clip, refuse_vectors
from .names import leaves
from .schedule import base_and_flags

_KINDS = {"scale_by_adam": "adamw", "scale_by_lion": "lion", "trace": "sgd"}
_NOTHING = ("identity", "init_empty_state")
_EXPECTED = "adamw, adam, sgd, lion, clip_by_global_norm, add_decayed_weights, masked, partition, schedules"
_CHECKED_STEPS = 3
_TOLERANCE = 1e-4  # of an update: single precision, and the 1e-6 that the program adds to the norm it clips by


@dataclass(frozen=True)
class Link:
    """A transformation, with the numbers in its closure."""

    name: str
    facts: Mapping[str, Any]


def read_optimizer(optimizer: Any, params: Any, clip: float | None) -> OptimizerSpec | None:
    """An optax optimizer or a dictionary (optimizer_spec.py). Raises HoneError naming what is not supported.

    Parameters that optax sets to zero are in no group, or, where the norm that is clipped counts them, in one of lr 0.
    """
    clip = checked_clip(clip)
    names = list(leaves(params))
    if optimizer is None:
        if clip is not None:
            raise HoneError("clip: needs an optimizer")
        return None
    if isinstance(optimizer, dict):
        group = from_dict(optimizer)
        refuse_vectors(group[0], {fqn: np.ndim(x) for fqn, x in leaves(params).items()}, "adamw, sgd or lion")
        attribute = attribute_of([group], checked_clip(one_clip(optimizer.get("clip"), clip)))
        if optimizer.get("moments", "fp32") != "fp32":
            attribute["moments"] = optimizer["moments"]
        return OptimizerSpec(attribute, dict.fromkeys(names, 0))
    if not hasattr(optimizer, "update") or not hasattr(optimizer, "init"):
        raise HoneError(f"optimizer: is a {type(optimizer).__name__}, expected an optax optimizer or a dictionary")
    if getattr(optimizer, "tx", None) is not None and hasattr(optimizer, "model"):
        raise HoneError("optimizer: is an nnx.Optimizer; expected the optax optimizer in it (optimizer.tx)")
    chains = _chains(optimizer, params, len(names))
    spec, note = _spec(dict(zip(names, chains)), clip)
    _check(optimizer, params, spec, clip)
    if note is not None:
        warn(note)
    return spec


def _cells(function: Callable) -> dict[str, Any]:
    return {n: c.cell_contents for n, c in zip(function.__code__.co_freevars, function.__closure__ or ())}


def _chains(transformation: Any, params: Any, count: int) -> list[tuple[Link, ...]]:
    """The links that each leaf of `params` goes through."""
    update = transformation.update
    name = getattr(update, "__qualname__", type(transformation).__name__).split(".")[0]
    if not hasattr(update, "__code__"):
        raise HoneError(f"optimizer: optax's {name} is not supported; expected {_EXPECTED}")
    facts = _cells(update)
    inner = lambda other: _chains(other, params, count)
    if name == "with_extra_args_support":
        return inner(facts["tx"])
    if name == "chain":
        links = [_chains_of(f, params, count) for f in facts["update_fns"]]
        return [tuple(link for part in parts for link in part) for parts in zip(*links)] if links else [()] * count
    if name == "masked":
        chosen = _per_leaf(facts["mask"], params, count)
        return [chain if is_in else () for chain, is_in in zip(inner(facts["inner"]), chosen)]
    if name == "partition":
        labels = _per_leaf(facts["param_labels"], params, count)
        of = {label: inner(other) for label, other in facts["transforms"].items()}
        return [of[label][i] for i, label in enumerate(labels)]
    if name == "MultiSteps":
        raise HoneError(
            "optimizer: optax.MultiSteps is not supported; expected the optimizer in it, and honec --micro-batches=K, "
            "which adds up gradients"
        )
    if name == "inject_hyperparams":
        raise HoneError("optimizer: inject_hyperparams is not supported; expected the optimizer that is in it")
    return [(Link(name, facts),)] * count


def _chains_of(update: Callable, params: Any, count: int) -> list[tuple[Link, ...]]:
    class Transformation:
        pass

    Transformation.update = staticmethod(update)
    return _chains(Transformation, params, count)


def _per_leaf(tree: Any, params: Any, count: int) -> list[Any]:
    """A mask or labels, a pytree or a function of the parameters that may be a prefix of theirs, for every leaf."""
    tree = tree(params) if callable(tree) else tree
    wide = jax.tree.map(lambda value, part: [value] * len(jax.tree.leaves(part)), tree, params)
    found = jax.tree.leaves(wide)
    if len(found) != count:
        raise HoneError("optimizer: a mask or the labels of a partition do not have the structure of the parameters")
    return found


@dataclass(frozen=True)
class _Reading:
    kind: str
    options: dict
    clip: float | None
    is_still: bool  # set to zero
    note: str | None


def _read(chain: tuple[Link, ...]) -> _Reading:
    """What the links of one parameter are together. They must be in this order: clipping, decay that moments see
    (sgd), moments, decay that they do not see, factors."""
    kind, options, clip, note, coupled = None, {}, None, None, 0.0
    decay, rate, stage = 0.0, 1.0, 0
    is_still = False
    for link in chain:
        f = link.facts
        if link.name in _NOTHING:
            continue
        if link.name == "set_to_zero":
            is_still = True
        elif link.name == "clip_by_global_norm" and stage == 0 and clip is None:
            clip, stage = float(f["max_norm"]), 1
        elif link.name in _KINDS and stage <= 1:
            kind, stage = _KINDS[link.name], 2
            options = _numbers(link)
        elif link.name == "add_decayed_weights" and stage <= 2:
            before, after = (0.0, f["weight_decay"]) if stage == 2 else (f["weight_decay"], 0.0)
            coupled, decay = coupled + before, decay + after
        elif link.name == "scale":
            rate, stage = rate * float(f["step_size"]), 3
        elif link.name == "scale_by_schedule":
            base, note = base_and_flags(f["step_size_fn"])
            rate, stage = rate * base, 3
        else:
            place = "" if link.name not in _KINDS and not link.name.startswith(("clip", "add")) else " at this place"
            raise HoneError(f"optimizer: optax's {link.name} is not supported{place}; expected {_EXPECTED}")
    kind = kind or "sgd"
    if (kind != "sgd" and coupled) or (kind == "sgd" and decay and options.get("momentum")):
        raise HoneError(
            "optimizer: add_decayed_weights stands where the program has none: expected it before sgd's momentum, or "
            "after the moments of adam and lion (adamw)"
        )
    if kind == "sgd":
        options = {"momentum": 0.0, "nesterov": False} | options
    options |= {"weight_decay": float(coupled + decay), "lr": -rate, "maximize": False}
    if not is_still and rate > 0 and any(link.name.startswith("scale") for link in chain if link.name not in _KINDS):
        raise HoneError("optimizer: its updates go up the gradient; expected optax.scale(-rate) or a learning rate")
    return _Reading(kind, options, clip, is_still, note)


def _numbers(link: Link) -> dict:
    """The options of moments, checked for what the program lacks."""
    f = link.facts
    refused = {"eps_root": (0, 0.0), "mu_dtype": (None, "float32"), "accumulator_dtype": (None, "float32"),
               "mode": ("hard",)}
    for option, good in refused.items():
        value = f.get(option, good[0])
        if (str(np.dtype(value)) if "dtype" in option and value is not None else value) not in good:
            raise HoneError(f"optimizer: {link.name} has {option}={value}, which is not supported, only {good[0]}")
    if link.name == "trace":
        return {"momentum": float(f["decay"]), "nesterov": bool(f["nesterov"])}
    if link.name == "scale_by_adam":
        if f["nesterov"]:
            raise HoneError("optimizer: adam with nesterov=True is not supported, only False")
        return {"beta1": float(f["b1"]), "beta2": float(f["b2"]), "eps": float(f["eps"])}
    return {"beta1": float(f["b1"]), "beta2": float(f["b2"])}


def _spec(chains: dict[str, tuple[Link, ...]], clip: float | None) -> tuple[OptimizerSpec, str | None]:
    read: dict[tuple[int, ...], _Reading] = {}
    readings = {n: read.setdefault(tuple(map(id, chain)), _read(chain)) for n, chain in chains.items()}
    moving = {n: r for n, r in readings.items() if not r.is_still}
    if not moving:
        raise HoneError("optimizer: sets the updates of all parameters to zero; expected one that trains some")
    clips = {r.clip for r in moving.values()}
    if len(clips) > 1:
        raise HoneError("optimizer: clips the norm of some parameters alone; expected clip_by_global_norm around all")
    bound = one_clip(next(iter(clips)), clip)
    first = next(iter(moving.values()))
    groups: list[Group] = []
    group_of: dict[str, int] = {}
    for name, reading in readings.items():
        if reading.is_still and (bound is None or reading.clip is None):
            continue
        still = {"lr": 0.0, "weight_decay": 0.0}
        group = (first.kind, first.options | still) if reading.is_still else (reading.kind, reading.options)
        if group not in groups:
            groups.append(group)
        group_of[name] = groups.index(group)
    notes = {r.note for r in moving.values()}
    if len(notes) > 1:
        raise HoneError("optimizer: parameters have different schedules; expected one schedule for all")
    return OptimizerSpec(attribute_of(groups, bound), group_of), notes.pop()


# -- the check ----------------------------------------------------------------------------------------------------


def _check(optimizer: Any, params: Any, spec: OptimizerSpec, clip: float | None) -> None:
    """Raises HoneError where optax and what was read of it make different updates: of small parameters, or, where a
    mask may go by their sizes, of such as they are. A schedule's rate is not compared."""
    if clip is not None:  # optax does not know that bound
        spec = OptimizerSpec({k: v for k, v in spec.attribute.items() if k != "clip"}, spec.group_of)
    if _differing(optimizer, params, spec, 2) is None:
        return
    name = _differing(optimizer, params, spec, None)
    if name is not None:
        raise HoneError(
            f"optimizer: the updates of '{name}' differ from what was read of it ({spec.attribute['name']}); expected "
            'a plain chain, or a dictionary such as {"name": "adamw", "lr": 1e-3}'
        )


def _differing(optimizer: Any, params: Any, spec: OptimizerSpec, most: int | None) -> str | None:
    """The first leaf whose update differs; sizes are at most `most`."""
    random = np.random.default_rng(7)
    small = lambda x: random.standard_normal([n if most is None else min(n, most) for n in x.shape]).astype(np.float32)
    params = jax.tree.map(small, params)
    state, values = optimizer.init(params), {n: x.astype(np.float64) for n, x in leaves(params).items()}
    memory: dict[str, np.ndarray] = {}
    for step in range(1, _CHECKED_STEPS + 1):
        size = 4 * spec.attribute.get("clip", 1.0)  # every norm is clipped
        gradients = jax.tree.map(lambda x: (size * random.standard_normal(x.shape)).astype(np.float32), params)
        updates, state = optimizer.update(gradients, state, params)
        made = {n: np.asarray(u, np.float64) for n, u in leaves(updates).items()}
        read = _updates(spec, values, {n: g.astype(np.float64) for n, g in leaves(gradients).items()}, memory, step)
        name = _first_difference(made, read)
        if name is not None:
            return name
    return None


def _first_difference(made: dict[str, np.ndarray], read: dict[str, np.ndarray]) -> str | None:
    """The first leaf where `made` is not `read` times one number, that of a schedule at this step."""
    largest = max(read, key=lambda name: np.abs(read[name]).max(initial=0))
    place = np.unravel_index(np.abs(read[largest]).argmax(), read[largest].shape)
    ratio = float(made[largest][place] / read[largest][place])
    for name, update in made.items():
        bound = _TOLERANCE * abs(ratio) * np.abs(read[name]).max(initial=1e-30)
        if np.abs(update - ratio * read[name]).max(initial=0) > bound:
            return name
    return None


def _updates(
    spec: OptimizerSpec, values: dict, gradients: dict, memory: dict[str, np.ndarray], step: int
) -> dict[str, np.ndarray]:
    """The program's updates (lib/Interpreter has their definition), in double precision."""
    a, found = spec.attribute, {n: np.zeros_like(x) for n, x in values.items()}
    held = {n: g for n, g in gradients.items() if n in spec.group_of}
    norm = np.sqrt(sum((g * g).sum() for g in held.values()))
    factor = min(1.0, a["clip"] / (norm + 1e-6)) if "clip" in a else 1.0
    for name, gradient in held.items():
        group = a["groups"][spec.group_of[name]]
        rule = group if "name" in group else a
        lr, decay = a["lr"] * group["lr_scale"], a["weight_decay"] * group["decay_scale"]
        g, old = gradient * factor, lambda key: memory.get(f"{key} {name}", 0.0)
        if rule["name"] == "sgd":
            g = g + decay * values[name]
            memory[f"m {name}"] = m = rule["momentum"] * old("m") + g
            found[name] = -lr * ((g + rule["momentum"] * m) if rule.get("nesterov") else m)
            continue
        b1, b2, m = rule["beta1"], rule["beta2"], old("m")
        if rule["name"] == "lion":
            direction = np.sign(b1 * m + (1 - b1) * g)
            memory[f"m {name}"] = b2 * m + (1 - b2) * g
        else:
            memory[f"m {name}"] = m = b1 * m + (1 - b1) * g
            memory[f"v {name}"] = v = b2 * old("v") + (1 - b2) * g * g
            direction = (m / (1 - b1**step)) / (np.sqrt(v / (1 - b2**step)) + rule["eps"])
        found[name] = -lr * (direction + decay * values[name])
    return found
