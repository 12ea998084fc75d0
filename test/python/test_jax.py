"""hone.jax: models of JAX, compiled and trained beside JAX and optax from the same weights."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")
pytest.importorskip("flax")
pytest.importorskip("equinox")
np = pytest.importorskip("numpy")

import hone.jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax_models import STEPS, TRIALS, Trial  # noqa: E402

HONEC, HONE_OPT = (os.path.join(ROOT, "build", "bin", tool) for tool in ("honec", "hone-opt"))
pytestmark = pytest.mark.skipif(not os.path.exists(HONEC), reason="honec is not built")

# Losses of ten steps in single precision; both sides sum in orders of their own, 2e-7 to 2e-6 here.
TOLERANCE = 1e-5
# XLA may keep the results of bf16 ops that it fuses in fp32, where the program rounds each as the jaxpr says.
TOLERANCES = {"bf16 gpt": 2e-3}


def trained_by_jax(trial: Trial) -> tuple[list[float], object]:
    params, state = trial.params, trial.optimizer.init(trial.params)

    @jax.jit
    def step(params, state, *batch):
        loss, gradients = jax.value_and_grad(trial.loss)(params, *batch)
        updates, state = trial.optimizer.update(gradients, state, params)
        return loss, optax.apply_updates(params, updates), state

    losses = []
    for batch in trial.batches:
        loss, params, state = step(params, state, *batch)
        losses.append(float(loss))
    return losses, params


def compiled(package: str, folder: Path) -> str:
    out = str(folder / "train")
    done = subprocess.run([HONEC, package, "-o", out], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


def trained(program: str, trial: Trial, folder: Path, *flags: str) -> list[float]:
    command = [program, "--steps", str(STEPS), "--log", str(folder / "log.jsonl"), "--quiet", "--threads", "1", *flags]
    for index, name in enumerate(trial.names):
        np.save(folder / f"{name}.npy", np.stack([batch[index] for batch in trial.batches]))
        command += ["--input", f"{name}={folder / name}.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = (folder / "log.jsonl").read_text().splitlines()
    return [entry["loss"] for entry in map(json.loads, lines) if "loss" in entry]


def exported(trial: Trial, folder: Path) -> str:
    roles = dict.fromkeys(trial.names, "")
    return hone.jax.export(
        trial.loss, trial.params, trial.batches[-1], trial.optimizer, out=str(folder / "m.hone"), roles=roles
    )


@pytest.mark.parametrize("name", TRIALS)
def test_trains_as_jax_does(name: str, tmp_path) -> None:
    trial = TRIALS[name]()
    package = exported(trial, tmp_path)
    losses = trained(compiled(package, tmp_path), trial, tmp_path, "--save", str(tmp_path / "w.safetensors"))
    expected, params = trained_by_jax(trial)
    np.testing.assert_allclose(losses, expected, rtol=TOLERANCES.get(name, TOLERANCE))
    assert abs(expected[-1] - expected[0]) > 1e-3  # it learns something
    text = Path(package, "graph.mlir").read_text()
    command = [HONE_OPT, f"{package}/graph.mlir", "--hone-verify-import", "--hone-raise", "-o", "-"]
    raised = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    missing = [op for op in trial.ops if not re.search(rf"hone\.{op}\b", raised)]
    assert not missing, (missing, text)
    loaded = hone.jax.load(str(tmp_path / "w.safetensors"), trial.params)
    assert jax.tree.structure(loaded) == jax.tree.structure(params)
    if name not in TOLERANCES and name != "indexing":  # lion's steps are signs: one that differs moves by 2 lr
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=2e-5), loaded, params)


def test_names_are_paths(tmp_path) -> None:
    names = lambda trial: {
        a["fqn"] for a in json.loads(Path(exported(trial, tmp_path), "manifest.json").read_text())["arguments"]
    }
    assert {"params.h_0.SelfAttention_0.query.kernel", "params.table.embedding"} <= names(TRIALS["linen gpt"]())
    assert {"layers.1.gate.kernel", "norm.scale"} <= names(TRIALS["nnx llama"]())
    assert {"mlp.layers.0.weight", "attention.query_proj.weight"} <= names(TRIALS["equinox mixer"]())
    assert {"blocks.1.norm1.scale", "tokens"} <= names(TRIALS["gpt"]())


def test_needs_no_torch() -> None:
    code = "import sys, hone.jax; sys.exit('torch' in sys.modules)"
    environment = os.environ | {"PYTHONPATH": os.path.join(ROOT, "python_frontend")}
    assert subprocess.run([sys.executable, "-c", code], env=environment).returncode == 0


def drawn(loss, tmp_path: Path, size: int = 4000) -> list[float]:
    """Losses of ten steps that move nothing."""
    params, batch = {"w": jnp.ones(())}, (jnp.ones((size,)), jax.random.key(0))
    trial = Trial(loss, params, [(np.ones(size, np.float32),)] * STEPS, ("x",), optax.sgd(1e-30))
    package = hone.jax.export(loss, params, batch, trial.optimizer, out=str(tmp_path / "m.hone"))
    return trained(compiled(package, tmp_path), trial, tmp_path)


def test_dropout_keeps_its_share_and_draws_anew(tmp_path) -> None:
    def loss(params, x, key):
        kept = jax.random.bernoulli(key, 0.7, x.shape)
        return params["w"] * jnp.where(kept, x / 0.7, 0).mean()

    losses = drawn(loss, tmp_path)
    # The mean of 4000 draws of variance 0.3 / 0.7: a standard error of 0.0104.
    assert all(abs(x - 1) < 5 * 0.0104 for x in losses) and len(set(losses)) == STEPS


def test_equal_keys_draw_equal_numbers(tmp_path) -> None:
    def loss(params, x, key):
        a, b = jax.random.split(key)
        normal = lambda k: jax.random.normal(k, x.shape)
        same = jnp.square(normal(a) - normal(a)).mean()
        return params["w"] * (jnp.square(normal(a) - normal(b)).mean() + 1000 * same)

    losses = drawn(loss, tmp_path)
    # Of 4000 draws of 2 chi-squared: a standard error of 0.0447.
    assert all(abs(x - 2) < 5 * 0.0447 for x in losses)


def test_a_key_made_in_the_loss_draws_what_jax_draws(tmp_path) -> None:
    def loss(params, x, key):
        return params["w"] * (jax.random.uniform(jax.random.key(7), x.shape) * x).mean()

    wanted = float(loss({"w": 1.0}, jnp.ones(4000), None))
    assert drawn(loss, tmp_path) == pytest.approx([wanted] * STEPS, rel=1e-6)
