"""Groups with rules of their own, and lists of optimizers: a tiny GPT, compiled, beside PyTorch and on meshes."""

from __future__ import annotations

import json
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
E2E = os.path.join(ROOT, "test", "e2e")
ENV = os.environ | {"PATH": BIN + os.pathsep + os.environ["PATH"]}
pytestmark = pytest.mark.skipif(not os.path.exists(os.path.join(BIN, "honec")), reason="honec is not built")

CLIP = 0.5  # below the norms of the first steps


def run(*command: object) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=ENV)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def split(model: torch.nn.Module) -> tuple[list, list]:
    """Matrices of the blocks, and the rest: tables, biases and gains."""
    matrix = lambda name, p: name.startswith("blocks.") and p.dim() == 2
    named = list(model.named_parameters())
    return [p for n, p in named if matrix(n, p)], [p for n, p in named if not matrix(n, p)]


def differing_betas(model: torch.nn.Module):
    matrices, rest = split(model)
    groups = [
        {"params": matrices, "betas": (0.8, 0.9), "lr": 2e-3},
        {"params": rest, "betas": (0.9, 0.99), "eps": 1e-6, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=1e-3, weight_decay=0.1)


def adamw_and_sgd(model: torch.nn.Module):
    matrices, rest = split(model)
    return [
        torch.optim.AdamW(matrices, lr=2e-3, betas=(0.9, 0.95), weight_decay=0.1),
        torch.optim.SGD(rest, lr=0.05, momentum=0.9, nesterov=True),
    ]


OPTIMIZERS = {"betas": differing_betas, "adamw and sgd": adamw_and_sgd}
STATE = {"betas": {"exp_avg", "exp_avg_sq"}, "adamw and sgd": {"exp_avg", "exp_avg_sq", "momentum"}}


def package(make, folder: Path, **options) -> Path:
    """A GPT whose width is no multiple of what `--pad=auto` rounds to, with ten eager steps."""
    torch.manual_seed(5)
    t = gpt2.training(gpt2.Config(vocab=61, context=8, layers=1, heads=3, width=36), 2, 8, clip=CLIP)
    out = folder / "m.hone"
    hone.export(t.model, t.loss_fn, t.example_batch, make(t.model), out=str(out), clip=CLIP, golden=10, **options)
    return out


@pytest.mark.parametrize("pad", ["off", "80"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_ten_steps_are_those_of_pytorch(name: str, pad: str, tmp_path) -> None:
    """With the tolerances of golden.py: losses, gradients and every parameter after ten steps."""
    made = package(OPTIMIZERS[name], tmp_path)
    printed = run(sys.executable, Path(E2E) / "golden.py", made, tmp_path / "w", f"--pad={pad}")
    assert "losses      10 steps" in printed and "equal with 1 and 2 threads" in printed


def trainer(name: str, folder: Path, *options: str) -> list:
    """A command that trains on random tokens from the package's weights."""
    made = package(OPTIMIZERS[name], folder)
    numpy.save(folder / "tokens.npy", numpy.random.default_rng(3).integers(0, 61, 2000).astype(numpy.uint16))
    run(os.path.join(BIN, "honec"), made, "-o", folder / "train", *options)
    return [folder / "train", "--data", folder / "tokens.npy", "--init", made / "model.safetensors", "--quiet"]


def checkpoint(folder: Path) -> dict:
    return safetensors.load_file(folder / (folder / "latest").read_text().strip() / "state.safetensors")


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_resuming_changes_no_bit(name: str, tmp_path) -> None:
    train = trainer(name, tmp_path)
    run(*train, "--steps", 4, "--checkpoint-dir", tmp_path / "whole", "--checkpoint-every", 4)
    for steps, more in ((2, []), (4, ["--resume"])):
        run(*train, "--steps", steps, "--checkpoint-dir", tmp_path / "parts", "--checkpoint-every", 2, *more)
    whole, parts = checkpoint(tmp_path / "whole"), checkpoint(tmp_path / "parts")
    assert whole.keys() == parts.keys()
    prefixes = {key.split(".")[0] for key in whole}
    assert prefixes - {"blocks", "wte", "wpe", "ln_f"} == STATE[name]
    for key in whole:
        assert torch.equal(whole[key], parts[key]), key


def test_moments_option_holds_for_every_group(tmp_path) -> None:
    train = trainer("adamw and sgd", tmp_path, "--moments=bf16")
    run(*train, "--steps", 2, "--checkpoint-dir", tmp_path / "c", "--checkpoint-every", 2)
    state = checkpoint(tmp_path / "c")
    kept = {tensor.dtype for key, tensor in state.items() if key.split(".")[0] in STATE["adamw and sgd"]}
    assert kept == {torch.bfloat16}


def test_option_of_honec_replaces_all(tmp_path) -> None:
    train = trainer("adamw and sgd", tmp_path, "--optimizer=lion")
    run(*train, "--steps", 1, "--checkpoint-dir", tmp_path / "c", "--checkpoint-every", 1)
    state = checkpoint(tmp_path / "c")
    assert {key.split(".")[0] for key in state if "exp_avg" in key or "momentum" in key} == {"exp_avg"}


@pytest.mark.skipif(not shutil.which("mpirun"), reason="needs mpirun")
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_meshes_have_the_bits_of_one_rank(name: str, tmp_path) -> None:
    """In the exact mode: replicas, sharded state (zero1), sharded parameters, and products over two ranks."""
    made = package(OPTIMIZERS[name], tmp_path)
    cases = ["dp=2", "fs=2:zero1", "fs=2", "tp=2"]
    printed = run(sys.executable, Path(E2E) / "ranks.py", "--exact", made, tmp_path / "w", "interpreter", *cases)
    assert printed.count("equal, numbers 0, weights 0") == len(cases), printed
    printed = run(sys.executable, Path(E2E) / "ranks.py", "--exact", made, tmp_path / "m", "mpi", "dp=2", "fs=2")
    assert printed.count("equal, numbers 0, weights 0") == 2, printed


def test_graph_and_manifest_agree(tmp_path) -> None:
    """Of a group that has a rule of its own, too: honec refuses a package in which they differ."""
    made = package(OPTIMIZERS["adamw and sgd"], tmp_path)
    manifest = json.loads((made / "manifest.json").read_text())
    assert [group.get("name") for group in manifest["optimizer"]["groups"]] == [None, "sgd"]
    manifest["optimizer"]["groups"][1]["momentum"] = 0.5
    (made / "manifest.json").write_text(json.dumps(manifest))
    done = subprocess.run([os.path.join(BIN, "honec"), made, "--dry-run"], capture_output=True, text=True)
    assert done.returncode != 0 and "optimizer differs from the one in graph.mlir" in done.stderr
