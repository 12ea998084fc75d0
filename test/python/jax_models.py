"""Small models of JAX for the tests of hone.jax: each is (loss, params, batches, optimizer), of one kind or library."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
import optax

VOCAB, LENGTH, WIDTH, HEADS, LAYERS, BATCH = 31, 8, 16, 2, 2, 3
STEPS = 10


@dataclass(frozen=True)
class Trial:
    """A loss with its parameters; `names` of the inputs, and `ops` that hone-raise must find."""

    loss: Callable
    params: Any
    batches: list[tuple[np.ndarray, ...]]
    names: tuple[str, ...]
    optimizer: Any = field(default_factory=lambda: optax.adamw(3e-3, eps=1e-5))
    ops: tuple[str, ...] = ()


def tokens(seed: int = 0) -> list[tuple[np.ndarray, ...]]:
    random = np.random.default_rng(seed)
    ids = lambda: random.integers(0, VOCAB, (BATCH, LENGTH)).astype(np.int32)
    return [(ids(), ids()) for _ in range(STEPS)]


def images(channels: int = 3, size: int = 8, classes: int = 5) -> list[tuple[np.ndarray, ...]]:
    random = np.random.default_rng(1)
    return [
        (random.standard_normal((BATCH, size, size, channels)).astype(np.float32),
         random.integers(0, classes, BATCH).astype(np.int32))
        for _ in range(STEPS)
    ]


def cross_entropy(logits: jax.Array, targets: jax.Array) -> jax.Array:
    return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()


# -- by hand ------------------------------------------------------------------------------------------------------


def gpt_params(layers: int = LAYERS) -> dict:
    keys = iter(jax.random.split(jax.random.key(3), 64))
    normal = lambda *shape: 0.2 * jax.random.normal(next(keys), shape)
    norm = lambda: {"scale": jnp.ones(WIDTH), "bias": jnp.zeros(WIDTH)}
    blocks = [
        {"norm1": norm(), "qkv": normal(WIDTH, 3 * WIDTH), "out": normal(WIDTH, WIDTH), "norm2": norm(),
         "up": normal(WIDTH, 4 * WIDTH), "down": normal(4 * WIDTH, WIDTH)}
        for _ in range(layers)
    ]
    return {"table": normal(VOCAB, WIDTH), "places": normal(LENGTH, WIDTH), "blocks": blocks, "norm": norm()}


def layer_norm(p: dict, x: jax.Array) -> jax.Array:
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * p["scale"] + p["bias"]


def block(p: dict, x: jax.Array) -> jax.Array:
    split = lambda y: y.reshape(*y.shape[:-1], HEADS, WIDTH // HEADS).swapaxes(1, 2)
    q, k, v = map(split, jnp.split(layer_norm(p["norm1"], x) @ p["qkv"], 3, -1))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(WIDTH // HEADS)
    scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -jnp.inf)
    y = (jax.nn.softmax(scores) @ v).swapaxes(1, 2).reshape(x.shape)
    x = x + y @ p["out"]
    return x + jax.nn.gelu(layer_norm(p["norm2"], x) @ p["up"]) @ p["down"]


def gpt_loss(each: Callable = block, forward: Callable | None = None) -> Callable:
    def loss(params, tokens, targets):
        x = params["table"][tokens] + params["places"]
        if forward is not None:
            x = forward(params["blocks"], x)
        else:
            for p in params["blocks"]:
                x = each(p, x)
        return cross_entropy(layer_norm(params["norm"], x) @ params["table"].T, targets)

    return loss


GPT_OPS = ("layer_norm", "attention", "cross_entropy", "gelu", "embedding")


def gpt() -> Trial:
    decays = lambda params: jax.tree.map(lambda x: x.ndim > 1, params)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(3e-3, weight_decay=0.1, mask=decays, eps=1e-5))
    return Trial(gpt_loss(), gpt_params(), tokens(), ("tokens", "targets"), optimizer, GPT_OPS)


def remat_gpt() -> Trial:
    return Trial(gpt_loss(jax.checkpoint(block)), gpt_params(), tokens(), ("tokens", "targets"), ops=GPT_OPS)


def scanned_gpt() -> Trial:
    params = gpt_params()
    params["blocks"] = jax.tree.map(lambda *xs: jnp.stack(xs), *params["blocks"])
    scanned = lambda blocks, x: jax.lax.scan(lambda x, p: (block(p, x), None), x, blocks)[0]
    return Trial(gpt_loss(forward=scanned), params, tokens(), ("tokens", "targets"), ops=GPT_OPS)


def bf16_gpt() -> Trial:
    """Parameters and norms in f32, the products of the layers in bf16."""

    def each(p, x):
        low = jax.tree.map(lambda w: w.astype(jnp.bfloat16) if w.ndim > 1 else w, p)
        h = layer_norm(p["norm2"], x).astype(jnp.bfloat16)
        return x + (jax.nn.gelu(h @ low["up"]) @ low["down"]).astype(jnp.float32)

    return Trial(gpt_loss(each), gpt_params(), tokens(), ("tokens", "targets"))


@jax.custom_vjp
def scaled_backward(x, factor):
    return jnp.sin(x) * factor


scaled_backward.defvjp(
    lambda x, factor: (jnp.sin(x) * factor, (x, factor)),
    lambda saved, g: (0.5 * g * saved[1], (g * jnp.sin(saved[0])).sum() * 2),
)


@jax.custom_jvp
def straight_through(x):
    return jnp.round(x)


straight_through.defjvps(lambda t, ans, x: t * (1 + x * x))


def custom_derivatives() -> Trial:
    def loss(params, x, y):
        h = scaled_backward(x @ params["a"], params["factor"])
        return jnp.square(straight_through(3 * h) @ params["b"] + jax.nn.relu(h).sum(-1, keepdims=True) - y).mean()

    random = np.random.default_rng(2)
    normal = lambda *shape: 0.3 * random.standard_normal(shape).astype(np.float32)
    params = {"a": normal(6, 5), "b": normal(5, 4), "factor": np.float32(0.7)}
    batches = [(normal(4, 6), normal(4, 4)) for _ in range(STEPS)]
    optimizer = optax.sgd(0.01, momentum=0.9, nesterov=True)
    return Trial(loss, jax.tree.map(jnp.asarray, params), batches, ("x", "y"), optimizer)


def indexing() -> Trial:
    """Sort, top-k, gathers and scatters of several forms, cumulative sums, a loop and a branch."""

    def loss(params, x, ids):
        h = jnp.tanh(x @ params["a"])
        values, places = jax.lax.top_k(h, 3)
        rows = jnp.take_along_axis(h, places[:, ::-1], axis=1)
        summed = jnp.zeros_like(h).at[:, 1].set(2.0).at[ids].add(h)
        picked = h[jnp.arange(h.shape[0]), ids]
        grouped = jax.ops.segment_sum(h, ids, 4)
        looped = jax.lax.fori_loop(0, 3, lambda i, y: y * 0.5 + i * params["b"], picked)
        branch = jax.lax.cond(x.sum() > 0, lambda y: jnp.sin(y), lambda y: y * y, summed)
        moved = jax.lax.dynamic_slice_in_dim(h, ids[0], 2, axis=1) + jnp.flip(jnp.sort(h, axis=-1), -1)[:, :2]
        parts = (values * rows, jnp.cumsum(summed, 1), grouped @ h.T, looped, branch, moved, jnp.prod(h[:, :2], 1))
        return sum(jnp.square(part - 0.1).mean() for part in parts)

    random = np.random.default_rng(4)
    normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
    batches = [(normal(4, 6), random.integers(0, 4, 4).astype(np.int32)) for _ in range(STEPS)]
    params = {"a": jnp.asarray(normal(6, 5)), "b": jnp.float32(0.3)}
    return Trial(loss, params, batches, ("x", "ids"), optax.lion(1e-3, weight_decay=0.01))


# -- libraries ----------------------------------------------------------------------------------------------------


def linen_gpt() -> Trial:
    import flax.linen as nn

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x):
            mask = nn.make_causal_mask(jnp.ones(x.shape[:2]))
            x = x + nn.SelfAttention(HEADS, dropout_rate=0.0, deterministic=False)(nn.LayerNorm()(x), mask=mask)
            h = nn.gelu(nn.Dense(4 * WIDTH)(nn.LayerNorm()(x)))
            return x + nn.Dropout(0.0, deterministic=False)(nn.Dense(WIDTH)(h))

    class GPT(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            table = nn.Embed(VOCAB, WIDTH, name="table")
            x = table(tokens) + self.param("places", nn.initializers.normal(0.1), (LENGTH, WIDTH))
            for i in range(LAYERS):
                x = Block(name=f"h_{i}")(x)
            return table.attend(nn.LayerNorm()(x))

    model = GPT()
    variables = model.init(jax.random.key(0), tokens()[0][0])
    loss = lambda params, tokens, targets: cross_entropy(model.apply(params, tokens), targets)
    return Trial(loss, variables, tokens(), ("tokens", "targets"), ops=GPT_OPS)


def nnx_llama() -> Trial:
    from flax import nnx

    class Layer(nnx.Module):
        def __init__(self, rngs):
            linear = lambda a, b: nnx.Linear(a, b, use_bias=False, rngs=rngs)
            self.norm1, self.norm2 = nnx.RMSNorm(WIDTH, rngs=rngs), nnx.RMSNorm(WIDTH, rngs=rngs)
            self.q, self.kv, self.out = linear(WIDTH, WIDTH), linear(WIDTH, WIDTH), linear(WIDTH, WIDTH)
            self.gate, self.up, self.down = linear(WIDTH, 24), linear(WIDTH, 24), linear(24, WIDTH)

        def __call__(self, x):
            h, size = self.norm1(x), WIDTH // HEADS
            q = rotated(self.q(h).reshape(*x.shape[:2], HEADS, size))
            k, v = jnp.split(self.kv(h).reshape(*x.shape[:2], 2, size), 2, axis=2)
            y = jax.nn.dot_product_attention(q, rotated(k), v, is_causal=True)
            x = x + self.out(y.reshape(x.shape))
            h = self.norm2(x)
            return x + self.down(nnx.silu(self.gate(h)) * self.up(h))

    class Llama(nnx.Module):
        def __init__(self, rngs):
            self.table = nnx.Embed(VOCAB, WIDTH, rngs=rngs)
            self.layers = nnx.List([Layer(rngs) for _ in range(LAYERS)])
            self.norm, self.head = nnx.RMSNorm(WIDTH, rngs=rngs), nnx.Linear(WIDTH, VOCAB, use_bias=False, rngs=rngs)

        def __call__(self, tokens):
            x = self.table(tokens)
            for layer in self.layers:
                x = layer(x)
            return self.head(self.norm(x))

    definition, params = nnx.split(Llama(nnx.Rngs(0)), nnx.Param)
    loss = lambda params, tokens, targets: cross_entropy(nnx.merge(definition, params)(tokens), targets)
    return Trial(loss, params, tokens(), ("tokens", "targets"), ops=("rms_norm", "softmax", "cross_entropy"))


def rotated(x: jax.Array) -> jax.Array:
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[1])[:, None] * 10000.0 ** (-jnp.arange(half) / half)[None]
    cos, sin = jnp.cos(angles)[None, :, None], jnp.sin(angles)[None, :, None]
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def equinox_mixer() -> Trial:
    import equinox as eqx

    class Mixer(eqx.Module):
        norm: eqx.nn.LayerNorm
        mlp: eqx.nn.MLP
        attention: eqx.nn.MultiheadAttention
        head: eqx.nn.Linear

        def __init__(self):
            a, b, c = jax.random.split(jax.random.key(1), 3)
            self.norm, self.mlp = eqx.nn.LayerNorm(12), eqx.nn.MLP(12, 12, 20, 2, key=a)
            self.attention = eqx.nn.MultiheadAttention(2, 12, key=b)
            self.head = eqx.nn.Linear(12, 5, key=c)

        def __call__(self, x):
            x = x.reshape(16, 12)
            h = jax.vmap(self.norm)(x)
            x = x + self.attention(h, h, h)
            return self.head((x + jax.vmap(self.mlp)(x)).mean(0))

    params, static = eqx.partition(Mixer(), eqx.is_inexact_array)
    loss = lambda params, x, labels: cross_entropy(jax.vmap(eqx.combine(params, static))(x), labels)
    return Trial(loss, params, images(), ("x", "labels"), optax.adam(2e-3, eps=1e-5), ("layer_norm", "attention"))


def linen_convnet() -> Trial:
    import flax.linen as nn

    class ConvNet(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.relu(nn.Conv(8, (3, 3), strides=2)(x))
            x = nn.max_pool(x, (2, 2), (1, 1), "SAME")
            x = x + nn.GroupNorm(4)(nn.Conv(8, (3, 3), feature_group_count=8, kernel_dilation=2)(x))
            x = nn.avg_pool(nn.ConvTranspose(6, (3, 3), strides=(2, 2))(x), (2, 2), (2, 2))
            return nn.Dense(5)(x.reshape(x.shape[0], -1))

    model = ConvNet()
    params = model.init(jax.random.key(5), images()[0][0])["params"]
    loss = lambda params, x, labels: cross_entropy(model.apply({"params": params}, x), labels)
    return Trial(loss, params, images(), ("x", "labels"), ops=("conv", "max_pool"))


TRIALS: dict[str, Callable[[], Trial]] = {
    "gpt": gpt,
    "remat gpt": remat_gpt,
    "scanned gpt": scanned_gpt,
    "bf16 gpt": bf16_gpt,
    "custom derivatives": custom_derivatives,
    "indexing": indexing,
    "linen gpt": linen_gpt,
    "nnx llama": nnx_llama,
    "equinox mixer": equinox_mixer,
    "linen convnet": linen_convnet,
}
