"""Models that the fixtures do not contain, from PyTorch to ten steps in the interpreter, in double precision."""

from __future__ import annotations

import json
import math
import os
import subprocess

import pytest
from conftest import ROOT

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")
numpy = pytest.importorskip("numpy")

import gpt2  # noqa: E402
import hone  # noqa: E402
import llama  # noqa: E402
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402

HONE_RUN = os.environ.get("HONE_RUN", os.path.join(ROOT, "build", "bin", "hone-run"))
pytestmark = pytest.mark.skipif(not os.path.exists(HONE_RUN), reason="hone-run is not built")

# Both sides compute in double precision; constants that the graph holds in single precision (an epsilon, rotary angles)
# differ from the model's own by 6e-8 of themselves.
TOLERANCE = 1e-9


def ids(batch: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.zeros(batch, length, dtype=torch.long), torch.zeros(batch, length, dtype=torch.long)


def last(model: nn.Module, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The loss of a model that returns logits, loss."""
    return model(tokens, targets)[1]


class EagerAttention(nn.Module):
    """Attention op by op under a causal buffer, logits and loss from one call, a frozen table and an unused layer."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.place = nn.Embedding(29, 15), nn.Embedding(12, 15)
        self.qkv, self.out = nn.Linear(15, 45), nn.Linear(15, 15)
        self.norm = nn.LayerNorm(15)
        self.unused = nn.Linear(3, 2)
        self.register_buffer("bias", torch.tril(torch.ones(12, 12)).view(1, 1, 12, 12))
        self.place.weight.requires_grad_(False)

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor):
        batch, length = tokens.shape
        x = self.norm(self.table(tokens) + self.place(torch.arange(length)))
        q, k, v = (y.view(batch, length, 3, 5).transpose(1, 2) for y in self.qkv(x).split(15, dim=2))
        scores = q @ k.transpose(-2, -1) * (1.0 / math.sqrt(5))
        scores = scores.masked_fill(self.bias[:, :, :length, :length] == 0, float("-inf"))
        y = (F.softmax(scores, dim=-1) @ v).transpose(1, 2).contiguous().view(batch, length, 15)
        logits = (x + self.out(y)) @ self.table.weight.T
        return logits, F.cross_entropy(logits.view(-1, 29), targets.view(-1), ignore_index=-1)


class HandWritten(nn.Module):
    """A loss by gather, a norm and GELU by formula, einsum attention, squared ReLU, a learned temperature."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(23, 8)
        self.gain = nn.Parameter(torch.full((8,), 0.9))
        self.temperature = nn.Parameter(torch.tensor(1.3))
        self.up, self.down = nn.Linear(8, 20), nn.Linear(20, 23)

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        x = self.table(tokens)
        x = x / (x.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt() * self.gain
        future = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), diagonal=1)
        scores = torch.einsum("btd,bsd->bts", x, x).masked_fill(future, -1e9)
        x = x + torch.einsum("bts,bsd->btd", scores.softmax(-1), x)
        h = self.up(x)
        h = 0.5 * h * (1 + torch.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h**3))) + F.relu(h).square() * 0.1
        logp = F.log_softmax(self.down(h) / self.temperature.clamp(min=0.1), dim=-1)
        return -logp.gather(-1, targets.unsqueeze(-1)).mean()


def hand_written() -> hone.Training:
    optimizer = {"name": "sgd", "lr": 0.2, "momentum": 0.8, "weight_decay": 0.01, "clip": 0.5}
    return hone.Training(HandWritten(), None, ids(4, 5), optimizer)


def eager_attention() -> hone.Training:
    model = EagerAttention()
    return hone.Training(model, last, ids(2, 9), torch.optim.AdamW(model.parameters(), lr=3e-3, eps=1e-6))


def transformers_llama() -> hone.Training:
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=23,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=12,
        tie_word_embeddings=True,
    )
    model = transformers.LlamaForCausalLM(config)
    loss = lambda model, tokens: model(input_ids=tokens, labels=tokens).loss
    return hone.Training(model, loss, ids(2, 7)[:1], torch.optim.Adam(model.parameters(), lr=1e-3))


def small_gpt2(clip: float | None = 1.0, **sizes) -> hone.Training:
    return gpt2.training(gpt2.Config(**sizes), 3, 7, clip=clip)


MODELS = {
    "gpt2 untied, no bias": lambda: small_gpt2(
        vocab=41, context=9, layers=1, heads=1, width=10, tied=False, bias=False
    ),
    "gpt2 tied, tanh": lambda: small_gpt2(vocab=300, context=7, layers=3, heads=5, width=20, gelu="tanh"),
    "gpt2 without clipping": lambda: small_gpt2(clip=None, vocab=17, context=8, layers=1, heads=2, width=36),
    "llama without grouping": lambda: llama.training(
        llama.Config(vocab=33, context=8, layers=1, heads=3, key_heads=3, width=18, hidden=25), 1, 8
    ),
    "llama with one key head": lambda: llama.training(
        llama.Config(vocab=33, context=12, layers=1, heads=4, key_heads=1, width=16, hidden=8), 2, 5
    ),
    "eager attention": eager_attention,
    "hand-written formulas": hand_written,
    "transformers llama": transformers_llama,
}


@pytest.mark.parametrize("raised", [True, False], ids=["raised", "as exported"])
@pytest.mark.parametrize("name", MODELS)
def test_interpreter_trains_as_pytorch_does(name: str, raised: bool, tmp_path) -> None:
    torch.manual_seed(11)
    t = MODELS[name]()
    out = str(tmp_path / "m.hone")
    hone.export(t.model, t.loss_fn, t.example_batch, t.optimizer, out=out, clip=t.clip, golden=10)
    golden = safetensors.load_file(os.path.join(out, "golden.safetensors"))
    numpy.save(tmp_path / "tokens.npy", golden["tokens"].numpy())
    command = [HONE_RUN, out, "--f64", "--steps", "10", "--data", str(tmp_path / "tokens.npy"), "--quiet"]
    command += ["--init", os.path.join(out, "model.safetensors"), "--log", str(tmp_path / "run.jsonl")]
    done = subprocess.run(command + ([] if raised else ["--no-raise"]), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in open(tmp_path / "run.jsonl")]
    losses = torch.tensor([line["loss"] for line in lines if "loss" in line], dtype=torch.float64)
    # transformers casts logits to single precision itself.
    tolerance = 1e-6 if "transformers" in name else TOLERANCE
    torch.testing.assert_close(losses, golden["loss_f64"], rtol=tolerance, atol=tolerance)


def test_trained_weights_load_into_the_model(tmp_path) -> None:
    """Ten steps in the interpreter, saved, loaded: the parameters PyTorch has after its own ten."""
    t = MODELS["gpt2 tied, tanh"]()
    out, saved = str(tmp_path / "m.hone"), str(tmp_path / "trained.safetensors")
    hone.export(t.model, t.loss_fn, t.example_batch, t.optimizer, out=out, clip=t.clip, golden=10)
    golden = safetensors.load_file(os.path.join(out, "golden.safetensors"))
    numpy.save(tmp_path / "tokens.npy", golden["tokens"].numpy())
    command = [HONE_RUN, out, "--steps", "10", "--data", str(tmp_path / "tokens.npy"), "--quiet", "--save", saved]
    command += ["--init", os.path.join(out, "model.safetensors")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    hone.load(t.model, saved)
    assert t.model.head.weight is t.model.wte.weight
    for name, parameter in t.model.named_parameters():
        # Single precision, and an optimizer that divides by small second moments in its first steps.
        torch.testing.assert_close(parameter.detach(), golden[f"param.{name}"], rtol=1e-3, atol=2e-5, msg=name)


# -- what a run starts from ---------------------------------------------------------------------------------------


def start(package: str, folder, *flags: object) -> tuple[subprocess.CompletedProcess, dict]:
    """A run without a step, and the weights it starts from."""
    numpy.save(folder / "tokens.npy", numpy.zeros(100, numpy.uint16))
    saved = folder / "start.safetensors"
    saved.unlink(missing_ok=True)
    words = [HONE_RUN, package, "--data", folder / "tokens.npy", "--steps", "0", "--save", saved, *flags]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    return done, safetensors.load_file(saved) if saved.exists() else {}


def equal(values: dict, model: torch.nn.Module) -> dict[str, bool]:
    return {name: torch.equal(values[name], parameter) for name, parameter in model.named_parameters()}


def test_a_run_starts_from_the_weights_of_its_package(tmp_path) -> None:
    t, out = small_gpt2(vocab=17, context=8, layers=1, heads=2, width=8), str(tmp_path / "m.hone")
    count = len(list(t.model.parameters()))
    hone.export(t.model, t.loss_fn, t.example_batch, t.optimizer, out=out, weights=True)
    done, values = start(out, tmp_path)
    assert all(equal(values, t.model).values())
    assert f"weights: {out}/model.safetensors ({count} tensors)\n" in done.stdout
    done, values = start(out, tmp_path, "--fresh", "--seed", 7)
    assert not any(same for name, same in equal(values, t.model).items() if name.endswith("e.weight"))
    assert "weights: fresh, seed 7\n" in done.stdout
    other = tmp_path / "other.safetensors"
    safetensors.save_file({name: value + 1 for name, value in values.items()}, other)
    done, started = start(out, tmp_path, "--init", other)
    assert all(torch.equal(started[name], value + 1) for name, value in values.items())
    assert f"weights: {other} ({count} tensors)\n" in done.stdout


def test_a_package_without_weights_starts_fresh(tmp_path) -> None:
    t, out = small_gpt2(vocab=17, context=8, layers=1, heads=2, width=8), str(tmp_path / "m.hone")
    hone.export(t.model, t.loss_fn, t.example_batch, t.optimizer, out=out)
    for flags in ((), ("--fresh",)):
        assert "weights: fresh, seed 0\n" in start(out, tmp_path, *flags)[0].stdout


def test_some_weights_come_from_the_package(tmp_path) -> None:
    t, out = small_gpt2(vocab=17, context=8, layers=1, heads=2, width=8), str(tmp_path / "m.hone")
    init = {"wte.*": {"dist": "file"}, "*": {"dist": "constant", "value": 0.5}}
    hone.export(t.model, t.loss_fn, t.example_batch, t.optimizer, out=out, init=init)
    done, values = start(out, tmp_path, "--seed", 3)
    assert f"weights: {out}/model.safetensors (1 tensor), fresh, seed 3\n" in done.stdout
    for name, value in values.items():
        assert torch.equal(value, t.model.wte.weight if name == "wte.weight" else torch.full_like(value, 0.5)), name
    done, _ = start(out, tmp_path, "--fresh")
    assert (done.returncode, done.stderr) == (
        1,
        "error: param 'wte.weight' has no initial value but the package's, which --fresh leaves out: expected a file "
        "that holds it (--init)\n",
    )


def test_a_file_with_some_of_the_weights_is_refused(tmp_path) -> None:
    t, out = small_gpt2(vocab=17, context=8, layers=1, heads=2, width=8), str(tmp_path / "m.hone")
    hone.export(t.model, t.loss_fn, t.example_batch, t.optimizer, out=out, weights=True)
    path = os.path.join(out, "model.safetensors")
    weights = safetensors.load_file(path)
    safetensors.save_file({name: value for name, value in weights.items() if name != "wpe.weight"}, path)
    done, _ = start(out, tmp_path)
    assert done.returncode == 1 and f"{path}: tensor 'wpe.weight' is missing (F32 of shape [8, 8])" in done.stderr
    weights["wpe.weight"] = weights["wpe.weight"][:, :4].contiguous()
    safetensors.save_file(weights, path)
    done, _ = start(out, tmp_path)
    assert done.returncode == 1 and f"{path}: tensor 'wpe.weight' has shape [8, 4]" in done.stderr
