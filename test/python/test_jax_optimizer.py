"""What hone.jax reads of optax optimizers, and what it refuses of them."""

from __future__ import annotations

import pytest

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")

import jax.numpy as jnp  # noqa: E402
from hone.errors import HoneError  # noqa: E402
from hone.jax.optax_reader import read_optimizer  # noqa: E402

PARAMS = {"a": jnp.ones((4, 3)), "b": jnp.ones(3), "c": {"d": jnp.ones((2, 5))}}
LABELS = {"a": "fast", "b": "slow", "c": {"d": "slow"}}


def read(optimizer, clip=None):
    return read_optimizer(optimizer, PARAMS, clip)


def test_adamw_with_a_mask_and_clipping() -> None:
    mask = lambda params: jax.tree.map(lambda x: x.ndim > 1, params)
    spec = read(optax.chain(optax.clip_by_global_norm(0.5), optax.adamw(2e-3, b1=0.8, weight_decay=0.1, mask=mask)))
    assert spec.attribute == {
        "name": "adamw", "lr": 2e-3, "weight_decay": 0.1, "beta1": 0.8, "beta2": 0.999, "eps": 1e-8, "clip": 0.5,
        "groups": [{"lr_scale": 1.0, "decay_scale": 1.0}, {"lr_scale": 1.0, "decay_scale": 0.0}],
    }
    assert spec.group_of == {"a": 0, "b": 1, "c.d": 0}


@pytest.mark.parametrize(
    "optimizer, name, options",
    [
        (optax.adam(1e-2), "adamw", {"lr": 1e-2, "weight_decay": 0.0}),
        (optax.sgd(0.1), "sgd", {"lr": 0.1, "momentum": 0.0}),
        (optax.sgd(0.1, momentum=0.9, nesterov=True), "sgd", {"momentum": 0.9, "nesterov": True}),
        (optax.chain(optax.add_decayed_weights(0.2), optax.sgd(0.1, 0.5)), "sgd", {"weight_decay": 0.2}),
        (optax.lion(1e-3, weight_decay=0.3), "lion", {"lr": 1e-3, "weight_decay": 0.3, "beta2": 0.99}),
        (optax.adamw(optax.constant_schedule(3e-4)), "adamw", {"lr": 3e-4}),
        (optax.chain(optax.scale_by_adam(), optax.scale(0.5), optax.scale(-1e-2)), "adamw", {"lr": 5e-3}),
    ],
)
def test_reads(optimizer, name: str, options: dict) -> None:
    attribute = read(optimizer).attribute
    assert attribute["name"] == name
    assert {k: attribute[k] for k in options} == pytest.approx(options)


def test_partition_gives_groups() -> None:
    spec = read(optax.partition({"fast": optax.adamw(1e-2), "slow": optax.adamw(1e-3, weight_decay=0)}, LABELS))
    assert spec.attribute["groups"] == [
        {"lr_scale": 1.0, "decay_scale": 1.0}, {"lr_scale": pytest.approx(0.1), "decay_scale": 0.0}
    ]
    assert spec.group_of == {"a": 0, "b": 1, "c.d": 1}


def test_partition_may_mix_optimizers() -> None:
    spec = read(optax.partition({"fast": optax.sgd(0.1, momentum=0.9), "slow": optax.adam(1e-2)}, LABELS))
    assert [group.get("name") for group in spec.attribute["groups"]] == [None, "adamw"]
    assert spec.attribute["name"] == "sgd" and spec.attribute["groups"][1]["lr_scale"] == pytest.approx(0.1)


def test_what_is_set_to_zero_is_not_trained_but_counted_by_a_norm() -> None:
    frozen = optax.partition({"fast": optax.adam(1e-2), "slow": optax.set_to_zero()}, LABELS)
    assert read(frozen).group_of == {"a": 0}
    spec = read(optax.chain(optax.clip_by_global_norm(1.0), frozen))
    assert spec.group_of == {"a": 0, "b": 1, "c.d": 1} and spec.attribute["groups"][1]["lr_scale"] == 0


def test_a_clip_beside_the_optimizer() -> None:
    assert read(optax.adam(1e-2), clip=2.0).attribute["clip"] == 2.0


@pytest.mark.parametrize(
    "schedule, rate, flags",
    [
        (optax.warmup_cosine_decay_schedule(0, 1e-2, 10, 110, 1e-3), 1e-2,
         "--warmup 10 --schedule cosine --min-lr 0.001 --steps 110"),
        (optax.cosine_decay_schedule(2e-3, 500), 2e-3, "--schedule cosine --min-lr 0 --steps 500"),
        (optax.linear_schedule(0, 1e-3, 20), 1e-3, "--warmup 20"),
    ],
)
def test_schedules_become_flags(schedule, rate: float, flags: str, capsys) -> None:
    assert read(optax.adamw(schedule)).attribute["lr"] == pytest.approx(rate)
    assert f"./train {flags} makes it, one step ahead" in capsys.readouterr().err


@pytest.mark.parametrize(
    "optimizer, message",
    [
        (optax.adagrad(0.1), "optimizer: optax's scale_by_rss is not supported; expected adamw, adam"),
        (optax.nadam(0.1), "optimizer: adam with nesterov=True is not supported, only False"),
        (optax.adam(0.1, eps_root=1e-8), "optimizer: scale_by_adam has eps_root=1e-08, which is not supported, only 0"),
        (optax.MultiSteps(optax.sgd(0.1), 2), "expected the optimizer in it, and honec --micro-batches=K"),
        ({"name": "muon"}, "parameter 'b' has rank 1, but muon updates matrices; expected adamw, sgd or lion"),
        (optax.inject_hyperparams(optax.adam)(1e-3), "optimizer: inject_hyperparams is not supported"),
        (optax.chain(optax.add_decayed_weights(0.1), optax.adam(1e-3)), "add_decayed_weights stands where"),
        (optax.chain(optax.adam(1e-3), optax.clip_by_global_norm(1.0)), "clip_by_global_norm is not supported at this"),
        (optax.masked(optax.clip_by_global_norm(1.0), {"a": True, "b": False, "c": {"d": True}}),
         "optimizer: clips the norm of some parameters alone"),
        (optax.partition({"fast": optax.adam(optax.linear_schedule(0, 1.0, 9)), "slow": optax.adam(1.0)}, LABELS),
         "optimizer: parameters have different schedules; expected one schedule for all"),
        (optax.partition({k: optax.chain(optax.clip_by_global_norm(9.0), optax.adam(1.0)) for k in ("fast", "slow")},
                         LABELS), "differ from what was read of it"),
        (optax.sgd(-0.1), "optimizer: its updates go up the gradient"),
        (optax.adam(optax.exponential_decay(1e-2, 100, 0.9)), "its schedule is none that the program makes; expected"),
        (optax.set_to_zero(), "optimizer: sets the updates of all parameters to zero"),
        ("adam", "optimizer: is a str, expected an optax optimizer or a dictionary"),
        ({"name": "adamm"}, "optimizer: name is 'adamm', expected one of adamw, sgd, lion, adafactor"),
    ],
)
def test_refuses(optimizer, message: str) -> None:
    with pytest.raises(HoneError) as error:
        read(optimizer)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_transformation_that_only_looks_like_one_is_refused() -> None:
    """The check of updates sees what names do not tell."""

    def other():
        def update_fn(updates, state, params=None):
            return jax.tree.map(lambda g: g * jnp.abs(g), updates), state

        update_fn.__qualname__ = "identity.<locals>.update_fn"
        return optax.GradientTransformation(lambda params: (), update_fn)

    with pytest.raises(HoneError, match="differ from what was read of it"):
        read(optax.chain(other(), optax.sgd(0.1)))
