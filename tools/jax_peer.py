"""The training step of the example models in JAX, with its best settings, as a peer on a GPU: gpu_peers.py times it.

Plain functions on dicts of arrays: fp32 weights and optimizer state, bf16 operands of products, fused attention by
cuDNN on a GPU, layers unrolled, state donated. AdamW with clipping at 1, as `peers.torch_step`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

from gpu_cases import Case


def _attention(q, k, v):
    """[B, T, H, D], with fewer heads of k and v where they are shared."""
    fused = jax.default_backend() == "gpu" and q.dtype == jnp.bfloat16
    return jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="cudnn" if fused else "xla")


def _layer_norm(x, p):
    x32 = x.astype(jnp.float32)
    mean = x32.mean(-1, keepdims=True)
    scale = lax.rsqrt(((x32 - mean) ** 2).mean(-1, keepdims=True) + 1e-5)
    return ((x32 - mean) * scale * p["weight"] + p["bias"]).astype(x.dtype)


def _rms_norm(x, weight):
    x32 = x.astype(jnp.float32)
    return (x32 * lax.rsqrt((x32**2).mean(-1, keepdims=True) + 1e-5) * weight).astype(x.dtype)


def _linear(x, p):
    y = x @ p["weight"].astype(x.dtype)
    return y + p["bias"].astype(x.dtype) if "bias" in p else y


# ---- GPT-2 -----------------------------------------------------------------------------------------------------------


def _gpt2_shapes(s: dict) -> dict:
    width = s.get("width", 768)
    linear = lambda rows, cols: {"weight": (rows, cols), "bias": (cols,)}
    norm = {"weight": (width,), "bias": (width,)}
    block = {"ln_1": norm, "qkv": linear(width, 3 * width), "proj": linear(width, width), "ln_2": norm,
             "up": linear(width, 4 * width), "down": linear(4 * width, width)}
    return {"wte": (s.get("vocab", 50257), width), "wpe": (s.get("context", 1024), width),
            "blocks": [block] * s.get("layers", 12), "ln_f": norm}


def _gpt2_logits(p: dict, tokens, s: dict, dtype):
    heads = s.get("heads", 12)
    x = (p["wte"][tokens] + p["wpe"][: tokens.shape[1]]).astype(dtype)
    for block in p["blocks"]:
        split = lambda y: y.reshape(*y.shape[:2], heads, -1)
        q, k, v = map(split, jnp.split(_linear(_layer_norm(x, block["ln_1"]), block["qkv"]), 3, axis=-1))
        x = x + _linear(_attention(q, k, v).reshape(x.shape), block["proj"])
        up = _linear(_layer_norm(x, block["ln_2"]), block["up"])
        x = x + _linear(jax.nn.gelu(up, approximate=s.get("gelu", "none") == "tanh"), block["down"])
    return _layer_norm(x, p["ln_f"]) @ p["wte"].T.astype(dtype)


# ---- Llama -----------------------------------------------------------------------------------------------------------


def _llama_shapes(s: dict) -> dict:
    width, hidden, heads, key_heads = s["width"], s["hidden"], s["heads"], s["key_heads"]
    keys = width // heads * key_heads
    block = {"attn_norm": (width,), "q": {"weight": (width, width)}, "k": {"weight": (width, keys)},
             "v": {"weight": (width, keys)}, "o": {"weight": (width, width)}, "mlp_norm": (width,),
             "gate": {"weight": (width, hidden)}, "up": {"weight": (width, hidden)},
             "down": {"weight": (hidden, width)}}
    return {"embed": (s["vocab"], width), "blocks": [block] * s["layers"], "norm": (width,),
            "head": {"weight": (width, s["vocab"])}}


def _rotate(x, cos, sin):
    first, second = jnp.split(x, 2, axis=-1)
    return (x * cos + jnp.concatenate((-second, first), axis=-1) * sin).astype(x.dtype)


def _llama_logits(p: dict, tokens, s: dict, dtype):
    head_width = s["width"] // s["heads"]
    frequencies = s.get("theta", 1e4) ** (-jnp.arange(0, head_width, 2) / head_width)
    angles = jnp.tile(jnp.outer(jnp.arange(tokens.shape[1]), frequencies), 2)[:, None, :]
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    x = p["embed"][tokens].astype(dtype)
    for block in p["blocks"]:
        h = _rms_norm(x, block["attn_norm"])
        q, k, v = (_linear(h, block[name]).reshape(*x.shape[:2], -1, head_width) for name in "qkv")
        x = x + _linear(_attention(_rotate(q, cos, sin), _rotate(k, cos, sin), v).reshape(x.shape), block["o"])
        h = _rms_norm(x, block["mlp_norm"])
        x = x + _linear(jax.nn.silu(_linear(h, block["gate"])) * _linear(h, block["up"]), block["down"])
    return _linear(_rms_norm(x, p["norm"]), p["head"])


# ---- Training --------------------------------------------------------------------------------------------------------

_MODELS = {"gpt2": (_gpt2_shapes, _gpt2_logits), "llama": (_llama_shapes, _llama_logits)}


def _is_shape(value) -> bool:
    return isinstance(value, tuple)


def init(case: Case) -> dict:
    """Weights from a normal distribution; what is added or scales starts at 0 or 1."""
    shapes = _MODELS[case.model][0](case.settings)
    leaves, tree = jax.tree_util.tree_flatten_with_path(shapes, is_leaf=_is_shape)
    keys = jax.random.split(jax.random.key(0), len(leaves))

    def draw(path, shape, key):
        if len(shape) == 1:
            return jnp.zeros(shape) if getattr(path[-1], "key", "") == "bias" else jnp.ones(shape)
        return 0.02 * jax.random.normal(key, shape)

    return jax.tree_util.tree_unflatten(tree, [draw(path, shape, key) for (path, shape), key in zip(leaves, keys)])


def _loss(params, tokens, targets, case: Case):
    dtype = jnp.bfloat16 if case.precision == "bf16" else jnp.float32
    logits = _MODELS[case.model][1](params, tokens, case.settings, dtype).astype(jnp.float32)
    chosen = jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return (jax.nn.logsumexp(logits, axis=-1) - chosen).mean()


@functools.partial(jax.jit, static_argnames="case", donate_argnums=0)
def _step(state, tokens, targets, case: Case):
    params, mean, square, count = state
    loss, grads = jax.value_and_grad(_loss)(params, tokens, targets, case)
    norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(grads)))
    grads = jax.tree.map(lambda g: g * jnp.minimum(1.0, 1.0 / norm), grads)
    count = count + 1
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, grads)
    square = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, square, grads)

    def update(p, m, v):
        decay = 0.1 * p if p.ndim > 1 else 0.0
        return p - 6e-4 * (m / (1 - 0.9**count) / (jnp.sqrt(v / (1 - 0.95**count)) + 1e-8) + decay)

    return (jax.tree.map(update, params, mean, square), mean, square, count), loss


class _Static:
    """A case as an argument that jit compares by identity."""

    def __init__(self, case: Case) -> None:
        self.__dict__.update(model=case.model, settings=case.settings, precision=case.precision)


def jax_step(case: Case, ids_below: int) -> Callable[[], jax.Array]:
    """One step on random tokens below `ids_below`, which returns its loss. The GPU may still work when it does."""
    static = _Static(case)
    params = init(case)
    zeros = lambda: jax.tree.map(jnp.zeros_like, params)
    state = [(params, zeros(), zeros(), jnp.zeros((), jnp.int32))]
    draw = lambda seed: jax.random.randint(jax.random.key(seed), (case.batch, case.sequence), 0, ids_below)
    tokens, targets = draw(1), draw(2)

    def step():
        state[0], loss = _step(state[0], tokens, targets, static)
        return loss

    return step


def peak_bytes() -> int:
    """The most memory that arrays and programs took on the first device; 0: unknown."""
    return (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0)
