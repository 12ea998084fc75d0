"""Muon beside AdamW on a tiny GPT, compiled and interpreted, against torch.optim.Muon, step by step.

Muon's iteration is rounded in bf16 by definition, so two orders of a sum may round an element of an iterate to
neighbours, 2^-8 apart for elements near 1. The polynomial's slope at zero, 3.4445, amplifies what small singular values
get of that in the steps that follow. So a run is compared step by step, each from the state that it really had: the
momentum in fp32's precision, and the step within a few of these ulps, far below the errors of a wrong coefficient, rate
or transposition.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")
numpy = pytest.importorskip("numpy")

import gpt2  # noqa: E402
import hone  # noqa: E402

BIN = os.path.join(ROOT, "build", "bin")
ENV = os.environ | {"PATH": BIN + os.pathsep + os.environ["PATH"]}
pytestmark = [
    pytest.mark.skipif(not os.path.exists(os.path.join(BIN, "honec")), reason="honec is not built"),
    pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="this PyTorch has no Muon"),
]

CLIP = 0.5  # below the norms of the first steps
STEPS = 10
RATE, DECAY = 0.02, 0.1
ELEMENT = 0.04  # ten ulps of the largest element of a step
MEAN = 0.02  # root mean square of the difference, of that of the step
Tensors = dict[str, torch.Tensor]


def run(*command: object) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=ENV)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def muon(matrices, **options) -> torch.optim.Optimizer:
    return torch.optim.Muon(matrices, lr=RATE, weight_decay=DECAY, **options)


def matrices_of(model: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    return {n: p for n, p in model.named_parameters() if n.startswith("blocks.") and p.dim() == 2}


def package(folder: Path, **options) -> Path:
    """Matrices of 36x36, 108x36, 144x36 and 36x144: square, tall and wide, and no multiple of a tile."""
    torch.manual_seed(5)
    t = gpt2.training(gpt2.Config(vocab=61, context=8, layers=1, heads=3, width=36), 2, 8, clip=CLIP)
    matrices = list(matrices_of(t.model).values())
    held = {id(p) for p in matrices}
    rest = [p for p in t.model.parameters() if id(p) not in held]
    optimizers = [muon(matrices, **options), torch.optim.AdamW(rest, lr=2e-3, betas=(0.9, 0.95))]
    out = folder / "m.hone"
    hone.export(t.model, t.loss_fn, t.example_batch, optimizers, out=str(out), clip=CLIP, golden=STEPS)
    golden = safetensors.load_file(out / "golden.safetensors")
    numpy.save(folder / "tokens.npy", golden["tokens"].numpy())
    return out


def trainer(engine: str, folder: Path, *options: str, **muon_options) -> list:
    made = package(folder, **muon_options)
    if engine == "hone-run":
        start = [Path(BIN) / "hone-run", made, *options]
    else:
        run(Path(BIN) / "honec", made, "-o", folder / "train", "--keep-gradients", *options)
        start = [folder / "train"]
    return [*start, "--data", folder / "tokens.npy", "--init", made / "model.safetensors", "--quiet"]


def checkpoint(folder: Path) -> Tensors:
    return safetensors.load_file(folder / (folder / "latest").read_text().strip() / "state.safetensors")


def step_of(param: torch.Tensor, buffer: torch.Tensor, grad: torch.Tensor, options: dict) -> tuple:
    """PyTorch's new parameter and momentum."""
    p = torch.nn.Parameter(param.clone())
    p.grad = grad
    optimizer = muon([p], **options)
    optimizer.state[p] = {"momentum_buffer": buffer.clone()}
    optimizer.step()
    return p.detach(), optimizer.state[p]["momentum_buffer"]


def is_near(step: torch.Tensor, expected: torch.Tensor) -> bool:
    rms = lambda x: float(x.double().square().mean().sqrt())
    error = step - expected
    return rms(error) <= MEAN * rms(expected) and bool(error.abs().max() <= ELEMENT * expected.abs().max())


def expect_step(name: str, before: Tensors, after: Tensors, grad: torch.Tensor, options: dict, padded: bool) -> None:
    old = before[name], before[f"momentum.{name}"], grad
    param, buffer = step_of(*old, options)
    torch.testing.assert_close(after[f"momentum.{name}"], buffer, rtol=1e-5, atol=1e-7)
    kept = before[name] * (1 - RATE * DECAY)
    near = is_near(after[name] - kept, param - kept)
    if padded and not near and param.shape[0] == param.shape[1]:
        # Padding of its rows makes a square matrix tall: the iteration is that of its transpose, whose rounding in the
        # directions that have no gradient is other noise, which five slopes of 3.4445 amplify.
        param = step_of(*(x.T.contiguous() for x in old), options)[0].T
        near = is_near(after[name] - kept, param - kept)
    assert near, name


CASES = {
    "plain": ("honec", (), {}),
    "padded": ("honec", ("--pad=80",), {}),
    "not padded": ("honec", ("--pad=off",), {}),
    "match": ("honec", (), {"adjust_lr_fn": "match_rms_adamw", "nesterov": False, "momentum": 0.9}),
    "bf16": ("honec", ("--precision=bf16",), {}),
    "micro-batches": ("honec", ("--micro-batches=2",), {}),
    "interpreter": ("hone-run", (), {}),
    "emulated": ("honec", ("--target=cuda", "--arch=sm_90", "--emulate"), {}),
}


@pytest.mark.parametrize("case", [case for case in CASES if case != "micro-batches"])
def test_every_step_is_that_of_pytorch(case: str, tmp_path) -> None:
    engine, options, muon_options = CASES[case]
    train = trainer(engine, tmp_path, *options, **muon_options)
    folder, before = tmp_path / "c", safetensors.load_file(tmp_path / "m.hone" / "model.safetensors")
    steps = 3 if case in ("interpreter", "emulated") else STEPS
    clipped = 0
    for step in range(1, steps + 1):
        dump = tmp_path / f"dump{step}"
        more = ["--resume"] if step > 1 else []
        run(*train, "--steps", step, "--checkpoint-dir", folder, "--checkpoint-every", 1, "--dump", dump, *more)
        (dumped,) = dump.iterdir()
        grads = {k[5:]: v for k, v in safetensors.load_file(dumped).items() if k.startswith("grad.")}
        norm = math.sqrt(sum(float((g.double() ** 2).sum()) for g in grads.values()))
        factor = min(1.0, CLIP / (norm + 1e-6))
        clipped += factor < 1
        after = checkpoint(folder)
        matrices = [key[9:] for key in after if key.startswith("momentum.")]
        assert len(matrices) == 4
        for key, tensor in after.items():  # state begins at zero
            before.setdefault(key, torch.zeros_like(tensor))
        for name in matrices:
            expect_step(name, before, after, grads[name] * factor, muon_options, case == "padded")
        before = after
    assert clipped > 0


@pytest.mark.parametrize("case", CASES)
def test_resuming_changes_no_bit(case: str, tmp_path) -> None:
    engine, options, muon_options = CASES[case]
    train = trainer(engine, tmp_path, *options, **muon_options)
    run(*train, "--steps", 3, "--checkpoint-dir", tmp_path / "whole", "--checkpoint-every", 3)
    for steps, more in ((2, []), (3, ["--resume"])):
        run(*train, "--steps", steps, "--checkpoint-dir", tmp_path / "parts", "--checkpoint-every", 1, *more)
    whole, parts = checkpoint(tmp_path / "whole"), checkpoint(tmp_path / "parts")
    assert whole.keys() == parts.keys()
    for key in whole:
        assert torch.equal(whole[key], parts[key]), key


def test_ten_losses_are_those_of_pytorch(tmp_path) -> None:
    """Rounding of the iteration moves a weight by RATE * 2^-8 per step, which a loss of a tiny model hardly shows."""
    train = trainer("honec", tmp_path)
    run(*train, "--steps", STEPS, "--log", tmp_path / "log")
    log = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    losses = torch.tensor([line["loss"] for line in log if "loss" in line])
    golden = safetensors.load_file(tmp_path / "m.hone" / "golden.safetensors")
    assert losses[0] - losses[-1] > 0.1 or golden["loss"][0] - golden["loss"][-1] < 0.1
    torch.testing.assert_close(losses, golden["loss"], rtol=1e-3, atol=0)


@pytest.mark.skipif(not shutil.which("mpirun"), reason="needs mpirun")
def test_meshes_have_the_bits_of_one_rank(tmp_path) -> None:
    """In the exact mode; the iteration of a matrix that ranks divide is divided by its products."""
    made = package(tmp_path)
    cases = ["dp=2", "fs=2:zero1", "fs=2", "tp=2"]
    ranks = [sys.executable, os.path.join(ROOT, "test", "e2e", "ranks.py"), "--exact", made]
    printed = run(*ranks, tmp_path / "w", "interpreter", *cases)
    assert printed.count("equal, numbers 0, weights 0") == len(cases), printed
    printed = run(*ranks, tmp_path / "m", "mpi", *cases)
    assert printed.count("equal, numbers 0, weights 0") == len(cases), printed
