"""hone.jax.export_step: whole steps of JAX, compiled and run beside jax.jit from the same state."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Callable

import pytest
from test_jax import HONEC, STEPS, compiled

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")
np = pytest.importorskip("numpy")

import hone.jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from hone.errors import HoneError  # noqa: E402
from jax_models import TRIALS  # noqa: E402
from jax_steps import Step, batch_norm_step, of_trial, pooled_convolutions, scanned_gpt  # noqa: E402

OPTIMIZERS = {
    "adamw": lambda: optax.chain(optax.clip_by_global_norm(0.5), optax.adamw(3e-3, eps=1e-5)),
    "momentum": lambda: optax.sgd(optax.warmup_cosine_decay_schedule(0.0, 0.1, 3, 10), momentum=0.9),
    "lion": lambda: optax.lion(1e-3),
    "adafactor": lambda: optax.adafactor(1e-2, min_dim_size_to_factor=8),
}

FORMS: dict[str, Callable[[Step], Any]] = {
    "function": lambda step: step.function,
    "lowered": lambda step: jax.jit(step.function).lower(step.state, *step.batches[0]),
    "text": lambda step: jax.jit(step.function, keep_unused=True).lower(step.state, *step.batches[0]).as_text(),
    "exported": lambda step: jax.export.export(jax.jit(step.function))(step.state, *step.batches[0]),
}


def by_jax(step: Step) -> tuple[list[dict[str, float]], Any]:
    """What each step returns, and the last state."""
    state, logged, run = step.state, [], jax.jit(step.function)
    for batch in step.batches:
        state, metrics = run(state, *batch)
        metrics = metrics if isinstance(metrics, dict) else {"loss": metrics}
        logged.append({name: float(x) for name, x in metrics.items()})
    return logged, state


def exported(step: Step, form: str, folder: Path, **more: Any) -> str:
    batch = dict(zip(step.names, step.batches[0]))
    roles = {name: "" for name in step.names if name != "key"}
    return hone.jax.export_step(
        FORMS[form](step), step.state, batch, out=str(folder / "m.hone"), roles=roles, **more
    )


def run(program: str, step: Step, folder: Path, *flags: str, steps: int = STEPS) -> list[dict[str, float]]:
    command = [program, "--steps", str(steps), "--log", str(folder / "log.jsonl"), "--quiet", "--threads", "1", *flags]
    for index, name in enumerate(step.names):
        np.save(folder / f"{name}.npy", np.stack([batch[index] for batch in step.batches]))
        command += ["--input", f"{name}={folder / name}.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = (folder / "log.jsonl").read_text().splitlines()
    return [entry for entry in map(json.loads, lines) if "loss" in entry]


def assert_equal(step: Step, form: str, tmp_path: Path, tolerance: float = 1e-5) -> None:
    expected, last = by_jax(step)
    program = compiled(exported(step, form, tmp_path), tmp_path)
    logged = run(program, step, tmp_path, "--save", str(tmp_path / "w.safetensors"))
    for name in expected[0]:
        np.testing.assert_allclose([x[name] for x in logged], [x[name] for x in expected], rtol=tolerance)
    assert ("grad_norm" in logged[0]) == ("grad_norm" in expected[0])
    assert abs(expected[-1]["loss"] - expected[0]["loss"]) > 1e-3  # it learns something
    loaded = hone.jax.load(str(tmp_path / "w.safetensors"), step.weights(last))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=2e-5), loaded, step.weights(last))


@pytest.mark.parametrize("form", FORMS)
def test_every_form_trains_as_jit_does(form: str, tmp_path) -> None:
    assert_equal(of_trial(TRIALS["gpt"](), OPTIMIZERS["adamw"]()), form, tmp_path)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name: str, tmp_path) -> None:
    assert_equal(of_trial(TRIALS["gpt"](), OPTIMIZERS[name]()), "lowered", tmp_path)


@pytest.mark.parametrize("form", ["function", "text"])
def test_running_statistics(form: str, tmp_path) -> None:
    assert_equal(batch_norm_step(), form, tmp_path)


@pytest.mark.parametrize("form", ["function", "text"])
def test_windows(form: str, tmp_path) -> None:
    assert_equal(pooled_convolutions(), form, tmp_path)
    assert "hone.max_pool_bwd" in Path(tmp_path, "m.hone", "graph.mlir").read_text()


@pytest.mark.parametrize("form", ["function", "text"])
def test_scanned_layers(form: str, tmp_path) -> None:
    step = scanned_gpt()
    assert_equal(step, form, tmp_path)
    text = Path(tmp_path, "m.hone", "graph.mlir").read_text()
    assert "hone.take_along" not in text


def test_dropout_draws_anew_with_keys_in_batch_and_state(tmp_path) -> None:
    """A key of the batch folded with the step's number, and one of the state that is split: no inputs, nothing saved."""

    def function(state, x, key):
        rng, own = jax.random.split(state["rng"])
        kept = jax.random.bernoulli(jax.random.fold_in(key, state["calls"]), 0.5, x.shape)
        other = jax.random.bernoulli(own, 0.5, x.shape)
        loss = (kept & other).mean() + 0 * state["w"]
        return {"w": state["w"] + 1, "rng": rng, "calls": state["calls"] + 1}, loss

    x = np.ones(4000, np.float32)
    state = {"w": jnp.zeros(()), "rng": jax.random.key(1), "calls": jnp.zeros((), jnp.int32)}
    step = Step(function, state, [(x, jax.random.key(0))] * STEPS, ("x", "key"))
    for form in ("function", "text"):
        package = exported(step, form, tmp_path, kinds={"calls": "buffer"})
        names = {a["fqn"]: a["kind"] for a in json.loads(Path(package, "manifest.json").read_text())["arguments"]}
        assert names == {"w": "param", "calls": "buffer", "x": "input", "rng": "rng"}
        plain = Step(function, state, [(x,)] * STEPS, ("x",))
        losses = [entry["loss"] for entry in run(compiled(package, tmp_path), plain, tmp_path)]
        assert len(set(losses)) == STEPS and all(abs(loss - 0.25) < 0.04 for loss in losses)


def test_resumes_by_names(tmp_path) -> None:
    """State of optax, counters and all, is in checkpoints; weights alone are loaded from them too."""
    step = of_trial(TRIALS["gpt"](), OPTIMIZERS["momentum"]())
    program = compiled(exported(step, "lowered", tmp_path), tmp_path)
    whole = run(program, step, tmp_path)
    folder = str(tmp_path / "checkpoints")
    run(program, step, tmp_path, "--checkpoint-dir", folder, steps=4)
    (saved,) = Path(folder).glob("**/*.safetensors")
    first = run(program, step, tmp_path, "--init", str(saved), steps=1)[0]["loss"]
    state = step.state
    for batch in step.batches[:4]:
        state, _ = jax.jit(step.function)(state, *batch)
    np.testing.assert_allclose(first, jax.jit(step.function)(state, *step.batches[0])[1]["loss"], rtol=1e-5)
    assert run(program, step, tmp_path, "--checkpoint-dir", folder, "--resume")[-1]["loss"] == whole[-1]["loss"]


def test_state_that_begins_elsewhere_comes_with_the_package(tmp_path) -> None:
    """A step continues from the state at export, with averages and counters that are no constants."""
    step = of_trial(TRIALS["gpt"](), OPTIMIZERS["adamw"]())
    losses, state = [x["loss"] for x in by_jax(step)[0]], step.state
    for batch in step.batches[:3]:
        state, _ = jax.jit(step.function)(state, *batch)
    later = Step(step.function, state, step.batches[3:], step.names)
    logged = run(compiled(exported(later, "function", tmp_path), tmp_path), later, tmp_path, steps=STEPS - 3)
    np.testing.assert_allclose([x["loss"] for x in logged], losses[3:], rtol=1e-5)


# -- refusals -----------------------------------------------------------------------------------------------------

PLAIN = {"w": jnp.ones((3, 4)), "calls": jnp.zeros((), jnp.int32)}
BATCH = (np.ones((2, 3), np.float32),)
MODULE = """module {{
  func.func @main(%calls: tensor<i32>, %w: tensor<3x4xf32>, %x: tensor<2x3xf32>)
      -> (tensor<i32>, tensor<3x4xf32>, tensor<f32>) {{
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    {op}
    return %calls, %new, %zero : tensor<i32>, tensor<3x4xf32>, tensor<f32>
  }}
}}"""


def refused(tmp_path, step, message: str, state=PLAIN, batch=BATCH, **more) -> None:
    with pytest.raises(HoneError) as error:
        hone.jax.export_step(step, state, batch, out=str(tmp_path / "m.hone"), **more)
    assert message in str(error.value) and "\n" not in str(error.value)
    assert not (tmp_path / "m.hone").exists()


FUNCTIONS = {
    "loss alone": (lambda s, x: x.sum(), "step: returns a ShapeDtypeStruct, expected (new state, loss)"),
    "loss first": (lambda s, x: (x.sum(), s), "step: returns another tree than state as its first result"),
    "no change": (lambda s, x: (s, x.sum()), "step: changes no weights"),
    "no loss": (lambda s, x: ({**s, "w": s["w"] + 1}, {"a": x.sum(), "b": x.sum()}),
                'step: returns a, b behind the state, expected the loss, or metrics with the name "loss"'),
    "other type": (lambda s, x: ({**s, "w": s["w"][0]}, x.sum()),
                   "step: state 'w' comes back as tensor<4xf32>, expected tensor<3x4xf32> as it went in"),
    "fails": (lambda s, x: (s, x @ x), "step: TypeError: "),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_refuses_a_function(name: str, tmp_path) -> None:
    refused(tmp_path, *FUNCTIONS[name])


MODULES = {
    "op": ("%new = chlo.bessel_i1e %w : tensor<3x4xf32> -> tensor<3x4xf32>",
           "module.mlir:5: chlo.bessel_i1e: this op is not supported; expected the step to do without it"),
    "call": (f'%new = stablehlo.custom_call @Qr(%w) : (tensor<3x4xf32>) -> tensor<3x4xf32>',
             "module.mlir:5: stablehlo.custom_call: calls @Qr, which is not supported"),
    "unsigned": ("%a = stablehlo.convert %w : (tensor<3x4xf32>) -> tensor<3x4xui32>\n"
                 "%b = stablehlo.multiply %a, %a : tensor<3x4xui32>\n"
                 "%new = stablehlo.convert %b : (tensor<3x4xui32>) -> tensor<3x4xf32>",
                 "module.mlir:6: mul: unsigned arithmetic, which wraps around, is not supported; expected int32"),
    "bits": ("%s = stablehlo.constant dense<1> : tensor<2xui64>\n"
             "%t, %new = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : "
             "(tensor<2xui64>) -> (tensor<2xui64>, tensor<3x4xf32>)", "draws random bits"),
    "type": ("%a = stablehlo.constant dense<(1.0, 0.0)> : tensor<3x4xcomplex<f32>>\n"
             "%new = stablehlo.real %a : (tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32>", "complex<f32>> is not supp"),
    "loop": ("%new = stablehlo.while(%a = %w) : tensor<3x4xf32> cond {\n"
             "%v = stablehlo.slice %a [0:1, 0:1] : (tensor<3x4xf32>) -> tensor<1x1xf32>\n"
             "%r = stablehlo.reshape %v : (tensor<1x1xf32>) -> tensor<f32>\n"
             "%c = stablehlo.compare LT, %r, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
             "stablehlo.return %c : tensor<i1> } do { stablehlo.return %a : tensor<3x4xf32> }",
             "module.mlir:5: stablehlo.while: the data decides how often the loop runs"),
    "syntax": ("%new = stablehlo.add %w", "step: is no StableHLO module: module.mlir:"),
}


@pytest.mark.parametrize("name", MODULES)
def test_refuses_a_module_with_its_line(name: str, tmp_path) -> None:
    op, message = MODULES[name]
    refused(tmp_path, MODULE.format(op=op), message)


def test_refuses_what_does_not_fit(tmp_path) -> None:
    moved = "%new = stablehlo.add %w, %w : tensor<3x4xf32>"
    text = MODULE.format(op=moved)
    refused(tmp_path, text, "argument 2 of @main is float32[2, 3], expected float32[3, 3]", batch=(np.ones((3, 3), 'f'),))
    refused(tmp_path, text, "@main has 3 arguments, expected 4, the leaves of state and batch", batch=BATCH * 2)
    refused(tmp_path, text.replace("@main", "@other"), "the module has no function @main")
    refused(tmp_path, lambda s, x: (s, x), "state: has no weights", state={"calls": PLAIN["calls"]})
    refused(tmp_path, lambda s, x: (s, x), "kinds: 'w' has kind 'moment', expected one of param", kinds={"w": "moment"})
    refused(tmp_path, lambda s, x: (s, x), "state: leaf 'w': has element type complex64", state={"w": jnp.ones(2, "F")})
    refused(tmp_path, lambda s, x: (s, x), "has no values (ShapeDtypeStruct)", state=jax.eval_shape(lambda: PLAIN))


def test_honec_refuses_options_that_need_the_loss(tmp_path) -> None:
    step = of_trial(TRIALS["gpt"](), optax.sgd(0.1))
    package = exported(step, "function", tmp_path)
    for option in ("--optimizer=lion", "--micro-batches=2", "--clip=1", "--precision=bf16", "--lr=0.1"):
        done = subprocess.run([HONEC, package, "-o", str(tmp_path / "t"), option], capture_output=True, text=True)
        name = option[2:].split("=")[0]
        assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
        assert f"the package holds a whole step, which option '{name}' cannot change" in done.stderr
