"""What hone.jax refuses: one line that says where, what, and what to do."""

from __future__ import annotations

import os

import pytest

jax = pytest.importorskip("jax")
pytest.importorskip("optax")
np = pytest.importorskip("numpy")

import hone.jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from hone.errors import HoneError  # noqa: E402

PARAMS = {"w": jnp.ones((3, 4)), "b": jnp.ones(4)}
BATCH = (np.ones((2, 3), np.float32),)
HERE = os.path.join("test", "python", "test_jax_refused.py")


def plain(params, x):
    return jnp.square(x @ params["w"] + params["b"]).mean()


def export(tmp_path, loss=plain, params=PARAMS, batch=BATCH, **options) -> None:
    hone.jax.export(loss, params, batch, {"name": "sgd", "lr": 0.1}, out=str(tmp_path / "m.hone"), **options)


def random_bits(params, x, key):
    return plain(params, x) + jax.random.bits(key, (3,)).astype(jnp.float32).sum()


LOSSES = {
    "while": (
        lambda p, x: plain(p, x) + jax.lax.while_loop(lambda y: y < 3, lambda y: y + 1, x.sum()),
        "while: the data decides how often the loop runs; expected a fixed number of steps (lax.scan)",
    ),
    "linear algebra": (
        lambda p, x: jnp.linalg.inv(p["w"] @ p["w"].T).sum(),
        ": this primitive is not supported; expected the loss to do without it",
    ),
    "unsigned": (
        lambda p, x: plain(p, x) * (x.astype(jnp.uint32) * 3).sum().astype(jnp.float32),
        "mul: unsigned arithmetic, which wraps around, is not supported; expected int32",
    ),
    "callback": (
        lambda p, x: plain(p, jax.pure_callback(lambda y: y, jax.ShapeDtypeStruct(x.shape, x.dtype), x)),
        "pure_callback: this primitive is not supported",
    ),
    "integer product": (
        lambda p, x: plain(p, x) * (x.astype(jnp.int32) @ jnp.ones((3, 2), jnp.int32)).sum(),
        "dot_general: a product of integers is not supported",
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_refuses_a_primitive_with_its_line(name: str, tmp_path) -> None:
    loss, message = LOSSES[name]
    with pytest.raises(HoneError) as error:
        export(tmp_path, loss)
    text = str(error.value)
    assert message in text and text.startswith(f"{HERE}:") and "\n" not in text
    assert not (tmp_path / "m.hone").exists()


def test_refuses_random_bits(tmp_path) -> None:
    with pytest.raises(HoneError, match="random_bits: draws random bits, which is not supported; expected"):
        export(tmp_path, random_bits, batch=(*BATCH, jax.random.key(0)))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"loss": lambda p, x: (plain(p, x), x)}, "loss: returns float32[], float32[2, 3], expected one"),
        ({"loss": lambda p, x: x @ p["w"]}, "loss: returns float32[2, 4], expected one floating-point scalar"),
        ({"loss": lambda p, x: plain(p, x) if x.sum() > 0 else 0.0}, "loss: TracerBoolConversionError: "),
        ({"loss": lambda p, x: x.sum()}, "model: no parameter gets a gradient from the loss"),
        ({"loss": lambda p: 0.0}, "batch: does not fit the loss: too many positional arguments"),
        ({"batch": ()}, "batch: is a tuple, expected a tuple of arrays"),
        ({"batch": (np.ones((2, 3), np.uint8),)}, "input 'x': has element type uint8, expected one of float64"),
        ({"params": {}}, "params: has no arrays; expected a pytree of the parameters"),
        ({"params": jnp.ones(3)}, "params: is a single array; expected a pytree with names"),
        ({"params": {**PARAMS, "f": "text"}}, "params: leaf 'f' is a str, expected an array"),
        ({"params": {**PARAMS, "k": jax.random.key(0)}}, "params: leaf 'k' is a random key; expected keys in"),
        ({"params": {**PARAMS, "a.b": jnp.ones(1), "a": {"b": jnp.ones(1)}}}, "params: two leaves are called 'a.b'"),
        ({"init": {"w": {"dist": "cauchy"}}}, "init 'w': dist is 'cauchy', expected one of constant, normal"),
        ({"init": {"w": {"dist": "file"}}, "weights": False}, "weights: is False, but init says dist 'file' for 'w'"),
        ({"roles": {"y": "tokens"}}, "roles: no input is called 'y', expected one of x"),
    ],
)
def test_refuses(options: dict, message: str, tmp_path) -> None:
    with pytest.raises(HoneError) as error:
        export(tmp_path, **options)
    assert str(error.value).startswith(message) and "\n" not in str(error.value)


def test_load_is_strict(tmp_path) -> None:
    out = hone.jax.export(plain, PARAMS, BATCH, {"name": "sgd", "lr": 0.1}, out=str(tmp_path / "m.hone"))
    path = os.path.join(out, "model.safetensors")
    loaded = hone.jax.load(path, jax.eval_shape(lambda: PARAMS))
    jax.tree.map(np.testing.assert_array_equal, loaded, PARAMS)
    for params, message in (
        ({**PARAMS, "c": jnp.ones(1)}, f"{path}: has no tensor 'c', a leaf of the parameters"),
        ({"w": PARAMS["w"]}, f"{path}: tensor 'b' is no leaf of the parameters"),
        ({**PARAMS, "b": jnp.ones(5)}, f"{path}: tensor 'b' is F32 of shape [4], the leaf is F32 of [5]"),
        ({**PARAMS, "b": jnp.ones(4, "bfloat16")}, f"{path}: tensor 'b' is F32 of shape [4], the leaf is BF16 of [4]"),
    ):
        with pytest.raises(HoneError) as error:
            hone.jax.load(path, params)
        assert str(error.value) == message
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"12345678{")
    with pytest.raises(HoneError, match="cannot be read as safetensors"):
        hone.jax.load(str(broken), PARAMS)
    with pytest.raises(HoneError, match="cannot be read as safetensors: No such file"):
        hone.jax.load(str(tmp_path / "none"), PARAMS)
