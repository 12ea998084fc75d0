"""Models of JAX: by hand on dictionaries, of flax (linen and nnx) and of equinox, with losses of optax."""

from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
import optax

from .base import BATCH, CLASSES, LENGTH, VOCABULARY, Draw, Entries, JaxTrial, classes, ids, noise

WIDTH, HEADS, LAYERS = 32, 4, 2

entries = Entries(__name__)


def key(number: int = 0) -> jax.Array:
    return jax.random.key(number)


def cross_entropy(logits: jax.Array, targets: jax.Array) -> jax.Array:
    return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()


def pictures(size: int = 16, channels: int = 3) -> Draw:
    return noise(BATCH, size, size, channels)


def linen(name: str, inputs: tuple[Draw, ...], example: tuple[int, ...], dtype: Any = jnp.float32) -> Callable:
    """Decorator of a function that makes a flax.linen module of one input, which gives logits."""

    def add(make: Callable[[], Any]) -> Callable:
        def trial() -> JaxTrial:
            module = make()
            variables = module.init(key(), jnp.zeros(example, dtype))
            return JaxTrial(variables, lambda params, x, labels: cross_entropy(module.apply(params, x), labels), inputs)

        entries.add(name, trial)
        return make

    return add


def language(name: str) -> Callable:
    """The same for models of tokens."""
    return linen(name, (ids(), ids()), (BATCH, LENGTH), jnp.int32)


def vision(name: str, size: int = 16) -> Callable:
    """The same for models of images."""
    return linen(name, (pictures(size), classes()), (BATCH, size, size, 3))


# By hand


def layer_norm(x: jax.Array, p: dict) -> jax.Array:
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5) * p["scale"] + p["bias"]


def block(x: jax.Array, p: dict) -> jax.Array:
    q, k, v = (y.reshape(*x.shape[:2], HEADS, -1) for y in jnp.split(layer_norm(x, p["norm1"]) @ p["qkv"], 3, -1))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (WIDTH // HEADS) ** -0.5
    places = jnp.arange(x.shape[1])
    weights = jax.nn.softmax(jnp.where(places[:, None] >= places, scores, -1e9))
    x = x + jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape) @ p["out"]
    return x + jax.nn.gelu(layer_norm(x, p["norm2"]) @ p["up"]) @ p["down"]


def block_params(keys: Any) -> dict:
    normal = lambda *shape: 0.1 * jax.random.normal(next(keys), shape)
    norm = lambda: {"scale": jnp.ones(WIDTH), "bias": jnp.zeros(WIDTH)}
    return {"norm1": norm(), "qkv": normal(WIDTH, 3 * WIDTH), "out": normal(WIDTH, WIDTH), "norm2": norm(),
            "up": normal(WIDTH, 4 * WIDTH), "down": normal(4 * WIDTH, WIDTH)}


def gpt_params() -> dict:
    keys = iter(jax.random.split(key(), 32))
    normal = lambda *shape: 0.1 * jax.random.normal(next(keys), shape)
    return {"table": normal(VOCABULARY, WIDTH), "places": normal(LENGTH, WIDTH),
            "blocks": [block_params(keys) for _ in range(LAYERS)]}


def stacked(params: dict) -> dict:
    return params | {"blocks": jax.tree.map(lambda *leaves: jnp.stack(leaves), *params["blocks"])}


def gpt_loss(through: Callable) -> Callable:
    def loss(params, tokens, targets):
        x = through(params["table"][tokens] + params["places"], params["blocks"])
        return cross_entropy(x @ params["table"].T, targets)

    return loss


def add_gpt(name: str, through: Callable, arrange: Callable = lambda params: params) -> None:
    entries.add(name, lambda: JaxTrial(arrange(gpt_params()), gpt_loss(through), (ids(), ids())))


def in_turn(x, blocks, each=block):
    for p in blocks:
        x = each(x, p)
    return x


def in_scan(x, blocks, each=block):
    return jax.lax.scan(lambda x, p: (each(x, p), None), x, blocks)[0]


add_gpt("jax_gpt", in_turn)
add_gpt("jax_gpt_scan", in_scan, stacked)
add_gpt("jax_gpt_scan_remat", lambda x, blocks: in_scan(x, blocks, jax.checkpoint(block)), stacked)


@entries.entry("jax_mixture_of_experts")
def mixture_of_experts() -> JaxTrial:
    """Two of four experts for each row, by weights of a softmax over the chosen."""

    def loss(params, x, y):
        scores, chosen = jax.lax.top_k(x @ params["router"], 2)
        share = jax.nn.softmax(scores)[..., None] * jax.nn.one_hot(chosen, 4)
        hidden = jax.nn.silu(jnp.einsum("bi,eij->ebj", x, params["up"]))
        return jnp.square(jnp.einsum("ebj,eji,bke->bi", hidden, params["down"], share) - y).mean()

    a, b, c = jax.random.split(key(), 3)
    params = {"router": jax.random.normal(a, (16, 4)), "up": 0.3 * jax.random.normal(b, (4, 16, 32)),
              "down": 0.3 * jax.random.normal(c, (4, 32, 16))}
    return JaxTrial(params, loss, (noise(24, 16), noise(24, 16)))


@entries.entry("jax_graph_network")
def graph_network() -> JaxTrial:
    """Messages along edges, summed at each node."""

    def loss(params, nodes, senders, receivers, labels):
        for p in params["layers"]:
            messages = jax.nn.relu(nodes[senders] @ p["message"])
            nodes = jnp.tanh(nodes @ p["own"] + jax.ops.segment_sum(messages, receivers, nodes.shape[0]))
        return cross_entropy(nodes @ params["head"], labels)

    keys = iter(jax.random.split(key(), 5))
    normal = lambda *shape: 0.3 * jax.random.normal(next(keys), shape)
    params = {"layers": [{"message": normal(16, 16), "own": normal(16, 16)} for _ in range(2)],
              "head": normal(16, CLASSES)}
    edges = ids(40, below=12, first=0)
    return JaxTrial(params, loss, (noise(12, 16), edges, edges, classes(12)))


@entries.entry("jax_neural_ode")
def neural_ode() -> JaxTrial:
    """Four steps of Runge and Kutta."""

    def loss(params, x, y):
        field = lambda z: jnp.tanh(z @ params["a"] + params["b"]) @ params["c"]

        def step(_, z):
            k1 = field(z)
            k2 = field(z + 0.125 * k1)
            k3 = field(z + 0.125 * k2)
            return z + 0.25 / 6 * (k1 + 2 * k2 + 2 * k3 + field(z + 0.25 * k3))

        return jnp.square(jax.lax.fori_loop(0, 4, step, x) - y).mean()

    a, c = jax.random.split(key())
    params = {"a": 0.5 * jax.random.normal(a, (4, 32)), "b": jnp.zeros(32), "c": 0.5 * jax.random.normal(c, (32, 4))}
    return JaxTrial(params, loss, (noise(8, 4), noise(8, 4)))


@entries.entry("jax_linear_recurrence")
def linear_recurrence() -> JaxTrial:
    """A gated linear recurrence by an associative scan."""

    def loss(params, tokens, targets):
        x = params["table"][tokens]
        gate = jax.nn.sigmoid(x @ params["gate"])
        join = lambda left, right: (left[0] * right[0], left[1] * right[0] + right[1])
        _, h = jax.lax.associative_scan(join, (gate, (1 - gate) * (x @ params["value"])), axis=1)
        return cross_entropy(jnp.tanh(h) @ params["table"].T, targets)

    a, b, c = jax.random.split(key(), 3)
    normal = lambda k, *shape: 0.3 * jax.random.normal(k, shape)
    params = {"table": normal(a, VOCABULARY, WIDTH), "gate": normal(b, WIDTH, WIDTH), "value": normal(c, WIDTH, WIDTH)}
    return JaxTrial(params, loss, (ids(), ids()))


@entries.entry("jax_contrastive")
def contrastive() -> JaxTrial:
    """Two towers and the loss of CLIP over the pairs of a batch."""

    def loss(params, left, right):
        unit = lambda x: x / jnp.linalg.norm(x, axis=-1, keepdims=True)
        a = unit(jax.nn.relu(left @ params["first"]) @ params["shared"])
        b = unit(jax.nn.relu(right @ params["second"]) @ params["shared"])
        scores, own = a @ b.T * jnp.exp(params["scale"]), jnp.arange(a.shape[0])
        return (cross_entropy(scores, own) + cross_entropy(scores.T, own)) / 2

    a, b, c = jax.random.split(key(), 3)
    normal = lambda k, *shape: 0.3 * jax.random.normal(k, shape)
    params = {"first": normal(a, 12, 32), "second": normal(b, 20, 32), "shared": normal(c, 32, 16),
              "scale": jnp.float32(1.0)}
    return JaxTrial(params, loss, (noise(8, 12), noise(8, 20)))


# flax.linen


@language("linen_gpt")
def linen_gpt() -> Any:
    import flax.linen as nn

    class GPT(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            table = nn.Embed(VOCABULARY, WIDTH)
            x = table(tokens) + self.param("places", nn.initializers.normal(0.1), (LENGTH, WIDTH))
            mask = nn.make_causal_mask(tokens)
            for _ in range(LAYERS):
                x = x + nn.SelfAttention(HEADS)(nn.LayerNorm()(x), mask=mask)
                x = x + nn.Dense(WIDTH)(nn.gelu(nn.Dense(4 * WIDTH)(nn.LayerNorm()(x))))
            return table.attend(nn.LayerNorm()(x))

    return GPT()


@language("linen_lstm")
def linen_lstm() -> Any:
    import flax.linen as nn

    return nn.Sequential([nn.Embed(VOCABULARY, WIDTH), nn.RNN(nn.LSTMCell(WIDTH)), nn.Dense(VOCABULARY)])


@language("linen_gru")
def linen_gru() -> Any:
    import flax.linen as nn

    return nn.Sequential([nn.Embed(VOCABULARY, WIDTH), nn.RNN(nn.GRUCell(WIDTH)), nn.Dense(VOCABULARY)])


@vision("linen_convnet")
def linen_convnet() -> Any:
    import flax.linen as nn

    class ConvNet(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.max_pool(nn.relu(nn.Conv(16, (3, 3))(x)), (2, 2), (2, 2))
            x = nn.avg_pool(nn.relu(nn.Conv(32, (3, 3))(x)), (2, 2), (2, 2))
            return nn.Dense(CLASSES)(nn.relu(nn.Dense(32)(x.reshape(x.shape[0], -1))))

    return ConvNet()


@vision("linen_resnet")
def linen_resnet() -> Any:
    import flax.linen as nn

    class ResNet(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.Conv(16, (3, 3), use_bias=False)(x)
            for width, stride in ((16, 1), (32, 2)):
                y = nn.Conv(width, (3, 3), stride, use_bias=False)(nn.relu(nn.GroupNorm(4)(x)))
                y = nn.Conv(width, (3, 3), use_bias=False)(nn.relu(nn.GroupNorm(4)(y)))
                x = y + (x if stride == 1 else nn.Conv(width, (1, 1), stride, use_bias=False)(x))
            return nn.Dense(CLASSES)(nn.relu(x).mean((1, 2)))

    return ResNet()


@vision("linen_vit")
def linen_vit() -> Any:
    import flax.linen as nn

    class ViT(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.Conv(WIDTH, (4, 4), (4, 4), padding="VALID")(x).reshape(x.shape[0], -1, WIDTH)
            first = self.param("first", nn.initializers.normal(0.1), (1, 1, WIDTH))
            x = jnp.concatenate([jnp.broadcast_to(first, (x.shape[0], 1, WIDTH)), x], 1)
            x = x + self.param("places", nn.initializers.normal(0.1), x.shape[1:])
            for _ in range(LAYERS):
                x = x + nn.MultiHeadDotProductAttention(HEADS)(nn.LayerNorm()(x))
                x = x + nn.Dense(WIDTH)(nn.gelu(nn.Dense(2 * WIDTH)(nn.LayerNorm()(x))))
            return nn.Dense(CLASSES)(nn.LayerNorm()(x[:, 0]))

    return ViT()


# flax.nnx


def nnx_trial(model: Any, loss: Callable, inputs: tuple[Draw, ...]) -> JaxTrial:
    """loss(model, *inputs) of a module of nnx, whose parameters are trained."""
    from flax import nnx

    definition, params = nnx.split(model, nnx.Param)
    return JaxTrial(params, lambda params, x, y: loss(nnx.merge(definition, params), x, y), inputs)


@entries.entry("nnx_llama")
def nnx_llama() -> JaxTrial:
    from flax import nnx

    def rotated(x):
        half = x.shape[-1] // 2
        angles = jnp.arange(x.shape[1])[:, None] * 1e4 ** (-jnp.arange(half) / half)
        cos, sin = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]
        a, b = jnp.split(x, 2, -1)
        return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    class Layer(nnx.Module):
        def __init__(self, rngs):
            linear = lambda a, b: nnx.Linear(a, b, use_bias=False, rngs=rngs)
            self.norm1, self.norm2 = nnx.RMSNorm(WIDTH, rngs=rngs), nnx.RMSNorm(WIDTH, rngs=rngs)
            self.q, self.o = linear(WIDTH, WIDTH), linear(WIDTH, WIDTH)
            self.k, self.v = linear(WIDTH, 16), linear(WIDTH, 16)
            self.gate, self.up, self.down = linear(WIDTH, 48), linear(WIDTH, 48), linear(48, WIDTH)

        def __call__(self, x):
            h = self.norm1(x)
            q, k, v = (f(h).reshape(*x.shape[:2], -1, WIDTH // HEADS) for f in (self.q, self.k, self.v))
            y = jax.nn.dot_product_attention(rotated(q), rotated(k), v, is_causal=True)
            x = x + self.o(y.reshape(x.shape))
            h = self.norm2(x)
            return x + self.down(nnx.silu(self.gate(h)) * self.up(h))

    class Llama(nnx.Module):
        def __init__(self, rngs):
            self.table, self.norm = nnx.Embed(VOCABULARY, WIDTH, rngs=rngs), nnx.RMSNorm(WIDTH, rngs=rngs)
            self.layers = nnx.List([Layer(rngs) for _ in range(LAYERS)])
            self.head = nnx.Linear(WIDTH, VOCABULARY, use_bias=False, rngs=rngs)

        def __call__(self, tokens):
            x = self.table(tokens)
            for layer in self.layers:
                x = layer(x)
            return self.head(self.norm(x))

    loss = lambda model, tokens, targets: cross_entropy(model(tokens), targets)
    return nnx_trial(Llama(nnx.Rngs(0)), loss, (ids(), ids()))


@entries.entry("nnx_autoencoder")
def nnx_autoencoder() -> JaxTrial:
    """A variational one, whose noise is an input."""
    from flax import nnx

    class Autoencoder(nnx.Module):
        def __init__(self, rngs):
            self.encode, self.parts = nnx.Linear(24, 32, rngs=rngs), nnx.Linear(32, 8, rngs=rngs)
            self.widen, self.decode = nnx.Linear(4, 32, rngs=rngs), nnx.Linear(32, 24, rngs=rngs)

        def __call__(self, x, e):
            mean, log_variance = jnp.split(self.parts(nnx.elu(self.encode(x))), 2, -1)
            y = self.decode(nnx.elu(self.widen(mean + jnp.exp(0.5 * log_variance) * e)))
            return y, -0.5 * (1 + log_variance - mean**2 - jnp.exp(log_variance)).sum(-1).mean()

    def loss(model, x, e):
        y, divergence = model(x, e)
        return optax.huber_loss(y, x).sum(-1).mean() + 0.1 * divergence

    return nnx_trial(Autoencoder(nnx.Rngs(0)), loss, (noise(8, 24), noise(8, 4)))


# equinox


def equinox_trial(model: Any, loss: Callable, inputs: tuple[Draw, ...]) -> JaxTrial:
    """loss(model, x, y) of a module of equinox for single examples, averaged over the batch."""
    import equinox as eqx

    params, static = eqx.partition(model, eqx.is_inexact_array)
    each = lambda params, x, y: loss(eqx.combine(params, static), x, y)
    return JaxTrial(params, lambda params, x, y: jax.vmap(each, (None, 0, 0))(params, x, y).mean(), inputs)


@entries.entry("equinox_mlp")
def equinox_mlp() -> JaxTrial:
    import equinox as eqx

    model = eqx.nn.MLP(12, 6, 32, 2, activation=jax.nn.softplus, key=key())
    return equinox_trial(model, lambda m, x, y: jnp.square(m(x) - y).mean(), (noise(8, 12), noise(8, 6)))


@entries.entry("equinox_convnet")
def equinox_convnet() -> JaxTrial:
    import equinox as eqx

    a, b, c = jax.random.split(key(), 3)
    model = eqx.nn.Sequential([
        eqx.nn.Conv2d(3, 12, 3, padding=1, key=a), eqx.nn.GroupNorm(3, 12), eqx.nn.Lambda(jax.nn.relu),
        eqx.nn.MaxPool2d(2, 2), eqx.nn.Conv2d(12, 16, 3, groups=2, key=b), eqx.nn.AvgPool2d(2, 2),
        eqx.nn.Lambda(jnp.ravel), eqx.nn.Linear(144, CLASSES, key=c)])
    return equinox_trial(model, lambda m, x, y: cross_entropy(m(x), y), (noise(BATCH, 3, 16, 16), classes()))


@entries.entry("equinox_gru")
def equinox_gru() -> JaxTrial:
    import equinox as eqx

    class Tagger(eqx.Module):
        table: eqx.nn.Embedding
        cell: eqx.nn.GRUCell
        head: eqx.nn.Linear

        def __call__(self, tokens):
            step = lambda h, x: (self.cell(x, h),) * 2
            _, hidden = jax.lax.scan(step, jnp.zeros(WIDTH), jax.vmap(self.table)(tokens))
            return jax.vmap(self.head)(hidden)

    a, b, c = jax.random.split(key(), 3)
    model = Tagger(eqx.nn.Embedding(VOCABULARY, WIDTH, key=a), eqx.nn.GRUCell(WIDTH, WIDTH, key=b),
                   eqx.nn.Linear(WIDTH, CLASSES, key=c))
    return equinox_trial(model, lambda m, x, y: cross_entropy(m(x), y), (ids(), classes(BATCH, LENGTH)))


@entries.entry("equinox_transformer")
def equinox_transformer() -> JaxTrial:
    import equinox as eqx

    class Encoder(eqx.Module):
        table: eqx.nn.Embedding
        attention: eqx.nn.MultiheadAttention
        norm: eqx.nn.LayerNorm
        mlp: eqx.nn.MLP
        head: eqx.nn.Linear

        def __call__(self, tokens):
            x = jax.vmap(self.table)(tokens)
            x = jax.vmap(self.norm)(x + self.attention(x, x, x))
            return self.head((x + jax.vmap(self.mlp)(x)).mean(0))

    a, b, c, d = jax.random.split(key(), 4)
    model = Encoder(eqx.nn.Embedding(VOCABULARY, WIDTH, key=a), eqx.nn.MultiheadAttention(HEADS, WIDTH, key=b),
                    eqx.nn.LayerNorm(WIDTH), eqx.nn.MLP(WIDTH, WIDTH, 64, 1, key=c),
                    eqx.nn.Linear(WIDTH, CLASSES, key=d))
    return equinox_trial(model, lambda m, x, y: cross_entropy(m(x), y), (ids(), classes()))
