"""Whole training steps of JAX for the tests of hone.jax.export_step: (state, *batch) -> (state, loss or metrics)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax_models import BATCH, HEADS, LENGTH, STEPS, VOCAB, WIDTH, Trial, cross_entropy, tokens


@dataclass(frozen=True)
class Step:
    """A step with its state; `names` of the inputs, and `weights` of a state, which files hold."""

    function: Callable
    state: Any
    batches: list[tuple]
    names: tuple[str, ...]
    weights: Callable[[Any], Any] = lambda state: {"params": state["params"]}


def of_trial(trial: Trial, optimizer: optax.GradientTransformation) -> Step:
    """The step of a loss and an optimizer, which counts its calls too."""

    def step(state, *batch):
        loss, grads = jax.value_and_grad(trial.loss)(state["params"], *batch)
        updates, opt = optimizer.update(grads, state["opt"], state["params"])
        params = optax.apply_updates(state["params"], updates)
        metrics = {"loss": loss, "grad_norm": optax.tree.norm(grads)}
        return {"params": params, "opt": opt, "calls": state["calls"] + 1}, metrics

    state = {"params": trial.params, "opt": optimizer.init(trial.params), "calls": jnp.zeros((), jnp.int32)}
    return Step(step, state, trial.batches, trial.names)


def batch_norm_step(width: int = 6, classes: int = 4, rows: int = 16) -> Step:
    """A perceptron with the running statistics of a batch norm, and an average of its weights."""
    random = np.random.default_rng(2)
    optimizer = optax.adamw(1e-2)
    params = {"in": jnp.asarray(random.standard_normal((width, 8)), jnp.float32), "scale": jnp.ones(8),
              "out": jnp.asarray(random.standard_normal((8, classes)), jnp.float32)}
    state = {"params": params, "batch_stats": {"mean": jnp.zeros(8), "var": jnp.ones(8)},
             "opt": optimizer.init(params), "ema": optax.ema(0.9).init(params)}

    def loss(params, stats, x, y):
        h = x @ params["in"]
        mean, var = h.mean(0), h.var(0)
        moved = {"mean": 0.9 * stats["mean"] + 0.1 * mean, "var": 0.9 * stats["var"] + 0.1 * var}
        h = jax.nn.relu((h - mean) * jax.lax.rsqrt(var + 1e-5) * params["scale"])
        return cross_entropy(h @ params["out"], y), moved

    def step(state, x, y):
        (value, stats), grads = jax.value_and_grad(loss, has_aux=True)(state["params"], state["batch_stats"], x, y)
        updates, opt = optimizer.update(grads, state["opt"], state["params"])
        params = optax.apply_updates(state["params"], updates)
        _, ema = optax.ema(0.9).update(params, state["ema"])
        return {"params": params, "batch_stats": stats, "opt": opt, "ema": ema}, value

    batches = [(random.standard_normal((rows, width)).astype(np.float32),
                random.integers(0, classes, rows).astype(np.int32)) for _ in range(STEPS)]
    weights = lambda state: {name: state[name] for name in ("params", "batch_stats")}
    return Step(step, state, batches, ("x", "y"), weights)


def pooled_convolutions(size: int = 8, classes: int = 3) -> Step:
    """Two convolutions, one of them strided, with maxima and means over windows."""
    random = np.random.default_rng(4)
    draw = lambda *shape: jnp.asarray(0.3 * random.standard_normal(shape), jnp.float32)
    params = {"first": draw(3, 3, 2, 8), "second": draw(3, 3, 8, 8), "out": draw(8, classes)}
    optimizer = optax.sgd(0.05, momentum=0.9, nesterov=True)

    def loss(params, x, y):
        conv = lambda x, kernel, stride: jax.lax.conv_general_dilated(
            x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = jax.lax.reduce_window(jnp.tanh(conv(x, params["first"], 1)), -jnp.inf, jax.lax.max, (1, 3, 3, 1),
                                  (1, 2, 2, 1), "SAME")
        x = jax.lax.reduce_window(jnp.tanh(conv(x, params["second"], 2)), 0.0, jax.lax.add, (1, 2, 2, 1), (1, 2, 2, 1),
                                  "VALID")
        return cross_entropy(x.mean((1, 2)) @ params["out"], y)

    def step(state, x, y):
        value, grads = jax.value_and_grad(loss)(state["params"], x, y)
        updates, opt = optimizer.update(grads, state["opt"])
        return {"params": optax.apply_updates(state["params"], updates), "opt": opt}, value

    batches = [(random.standard_normal((6, size, size, 2)).astype(np.float32),
                random.integers(0, classes, 6).astype(np.int32)) for _ in range(STEPS)]
    return Step(step, {"params": params, "opt": optimizer.init(params)}, batches, ("x", "y"))


def scanned_gpt(layers: int = 3) -> Step:
    """A language model whose layers are stacked, and scanned over."""
    keys = iter(jax.random.split(jax.random.key(5), 8))
    normal = lambda *shape: 0.2 * jax.random.normal(next(keys), shape)
    params = {"table": normal(VOCAB, WIDTH), "layers": {
        "norm": jnp.ones((layers, WIDTH)), "qkv": normal(layers, WIDTH, 3 * WIDTH),
        "out": normal(layers, WIDTH, WIDTH), "up": normal(layers, WIDTH, 2 * WIDTH),
        "down": normal(layers, 2 * WIDTH, WIDTH)}}
    optimizer = optax.adamw(3e-3, eps=1e-5)

    def norm(x, scale):
        return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale

    def layer(x, p):
        q, k, v = jnp.split((norm(x, p["norm"]) @ p["qkv"]).reshape(*x.shape[:2], HEADS, -1), 3, axis=-1)
        x = x + jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape) @ p["out"]
        return x + jax.nn.gelu(norm(x, p["norm"]) @ p["up"]) @ p["down"], None

    def loss(params, ids, targets):
        x, _ = jax.lax.scan(layer, params["table"][ids], params["layers"])
        return cross_entropy(x @ params["table"].T, targets)

    def step(state, ids, targets):
        value, grads = jax.value_and_grad(loss)(state["params"], ids, targets)
        updates, opt = optimizer.update(grads, state["opt"], state["params"])
        return {"params": optax.apply_updates(state["params"], updates), "opt": opt}, value

    return Step(step, {"params": params, "opt": optimizer.init(params)}, tokens(7), ("ids", "targets"))
