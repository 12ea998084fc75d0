"""What trial.py does with PyTorch, done with JAX and optax, for the models of JAX."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
import optax
import torch
from catalogue.base import Entry, JaxTrial
from programs import Ended, Row, one_line
from trial import CLIP, EPS, EXAMPLE_SEED, STEPS, Steps, Weights, all_finite, batches, run_program, written

DECAY = 0.01  # torch.optim.AdamW's own


def made(entry: Entry) -> JaxTrial:
    return entry.make()


def optimizer(trial: JaxTrial) -> optax.GradientTransformation:
    return optax.chain(optax.clip_by_global_norm(CLIP), optax.adamw(trial.rate, eps=EPS, weight_decay=DECAY))


def eager_run(entry: Entry, row: Row) -> Steps:
    """The ten steps, each compiled by jax.jit."""
    try:
        trial = made(entry)
        row["parameters"] = sum(x.size for x in jax.tree.leaves(trial.model))
        return jitted_steps(trial, row)
    except Exception as error:
        raise Ended("wrong entry", one_line(f"{type(error).__name__}: {error}")) from error


def jitted_steps(trial: JaxTrial, row: Row) -> Steps:
    update = optimizer(trial)

    @jax.jit
    def step(params, state, *batch):
        loss, gradients = jax.value_and_grad(trial.loss)(params, *batch)
        updates, state = update.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, loss, gradients

    params, state = trial.model, update.init(trial.model)
    losses, norms, times = [], [], []
    for batch in batches(trial):
        start = time.perf_counter()
        params, state, loss, gradients = jax.block_until_ready(step(params, state, *(x.numpy() for x in batch)))
        times.append(time.perf_counter() - start)
        losses.append(float(loss))
        norms.append(float(np.sqrt(sum(np.square(np.float64(g)).sum() for g in jax.tree.leaves(gradients)))))
    row["eager_ms"] = round(1e3 * sorted(times)[STEPS // 2], 3)
    weights, before = named(params), named(trial.model)
    return Steps(all_finite(losses), norms, weights, {name: x - before[name] for name, x in weights.items()})


def named(params: Any) -> Weights:
    """The leaves by path."""
    from hone.jax.names import leaves

    return {name: torch.from_numpy(np.array(leaf, np.float64)) for name, leaf in leaves(params).items()}


def trained(trial: JaxTrial, work: Path, row: Row) -> Steps:
    import hone.jax

    losses, norms = run_program(trial, work, row)
    return Steps(losses, norms, named(hone.jax.load(str(work / "weights.safetensors"), trial.model)), {})


def exported(entry: Entry, trial: JaxTrial, work: Path, row: Row) -> Path:
    import hone.jax

    def write(out: str) -> None:
        example = tuple(x.numpy() for x in trial.batch(EXAMPLE_SEED))
        roles = dict.fromkeys(trial.names, "")
        hone.jax.export(trial.loss, trial.model, example, optimizer(trial), out=out, roles=roles, name=entry.name)

    return written(write, work, row)


def conditioned(entry: Entry, expected: Steps, end: Ended, row: Row) -> Ended:
    """The end as it is: JAX has single precision alone unless a process begins with another."""
    return end
