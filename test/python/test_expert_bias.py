"""expert_bias=: the selection bias of routers moves once per step against the counts of selected experts.

Models of transformers are compiled and trained beside a loop in PyTorch whose hook counts the ids that routers return.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Callable, Sequence

import pytest
from conftest import ROOT

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
safetensors = pytest.importorskip("safetensors.torch")

sys.path += [os.path.join(ROOT, "test", "models"), os.path.join(ROOT, "test", "e2e")]

import hone  # noqa: E402
import torch.nn as nn  # noqa: E402
from hone.errors import HoneError  # noqa: E402
from programs import compared, compile_program, train_program, written_inputs  # noqa: E402
from ranks import MPI  # noqa: E402

HONEC = os.environ.get("HONEC", os.path.join(ROOT, "build", "bin", "honec"))
HONE_RUN = os.environ.get("HONE_RUN", os.path.join(ROOT, "build", "bin", "hone-run"))
STEPS, BATCH, LENGTH, VOCABULARY, EXPERTS = 10, 4, 8, 61, 8
RATE, LEARNING_RATE, EPS = 0.01, 1e-2, 1e-3

compiles = pytest.mark.skipif(not os.path.exists(HONEC), reason="honec is not built")

SIZES = {
    "vocab_size": VOCABULARY, "hidden_size": 16, "intermediate_size": 24, "moe_intermediate_size": 8,
    "num_attention_heads": 2, "num_key_value_heads": 2, "n_shared_experts": 1, "n_routed_experts": EXPERTS,
    "num_experts_per_tok": 2, "first_k_dense_replace": 1, "max_position_embeddings": 16, "use_cache": False,
}  # fmt: skip


def deepseek() -> nn.Module:
    """Two routers, which select two of four groups of experts first."""
    config = transformers.DeepseekV3Config(
        **SIZES, num_hidden_layers=3, n_group=4, topk_group=2, q_lora_rank=8, kv_lora_rank=8, qk_rope_head_dim=4,
        qk_nope_head_dim=4, v_head_dim=8,
    )  # fmt: skip
    return seeded_model(config)


def glm() -> nn.Module:
    """One router, whose only group has all experts: a second topk with as many elements reads its scores."""
    return seeded_model(transformers.Glm4MoeConfig(**SIZES, num_hidden_layers=2, head_dim=8, n_group=1, topk_group=1))


def seeded_model(config: transformers.PretrainedConfig) -> nn.Module:
    torch.manual_seed(5)
    model = transformers.AutoModelForCausalLM.from_config(config)
    for name, buffer in model.named_buffers():
        if is_bias(name):
            buffer.uniform_(-0.02, 0.02)  # as of a model that has been trained
    return model.train()


def is_bias(name: str) -> bool:
    return name.endswith("e_score_correction_bias")


def loss(model: nn.Module, ids: torch.Tensor) -> torch.Tensor:
    return model(input_ids=ids, labels=ids).loss


def batches(micro_batches: int) -> list[tuple[torch.Tensor, ...]]:
    """Those of all steps, one micro-batch after the other. Half of the ids are few, so that experts are uneven."""
    generator = torch.Generator().manual_seed(3)
    shape = (BATCH // micro_batches, LENGTH)
    return [
        (torch.randint(0, 9 if number % 2 else VOCABULARY, shape, generator=generator),)
        for number in range(STEPS * micro_batches)
    ]


def optimizer(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, eps=EPS)


def counting(count: torch.Tensor) -> Callable[..., None]:
    """A hook of a router, which returns logits, weights and ids."""

    def hook(router: nn.Module, inputs: tuple, result: tuple[torch.Tensor, ...]) -> None:
        count.add_(result[-1].flatten().bincount(minlength=EXPERTS))

    return hook


def eager(make: Callable[[], nn.Module], micro_batches: int) -> tuple[list[float], dict[str, torch.Tensor]]:
    """Losses of the steps, and the biases after them."""
    model = make()
    update, biases, counts = optimizer(model), {}, {}
    for name, buffer in model.named_buffers():
        if is_bias(name):
            biases[name], counts[name] = buffer, torch.zeros(EXPERTS, dtype=torch.long)
            model.get_submodule(name.rpartition(".")[0]).register_forward_hook(counting(counts[name]))
    losses, remaining = [], iter(batches(micro_batches))
    for _ in range(STEPS):
        update.zero_grad()
        total = 0.0
        for _ in range(micro_batches):
            share = loss(model, *next(remaining)) / micro_batches
            share.backward()
            total += share.item()
        update.step()
        losses.append(total)
        for name, bias in biases.items():
            assert counts[name].sum() == BATCH * LENGTH * 2
            bias += RATE * torch.sign(counts[name].float().mean() - counts[name])
            counts[name].zero_()
    return losses, {name: bias.clone() for name, bias in biases.items()}


def package(make: Callable[[], nn.Module], micro_batches: int, work: Path, weights: bool = True) -> Path:
    model = make()
    hone.export(model, loss, batches(micro_batches)[0], optimizer(model), str(work / "m.hone"), roles={"ids": ""},
                weights=weights, expert_bias=RATE)  # fmt: skip
    return work / "m.hone"


class Run:
    """A package, and programs made of it."""

    def __init__(self, make: Callable[[], nn.Module], micro_batches: int, work: Path) -> None:
        self.micro_batches, self.work = micro_batches, work
        self.package = package(make, micro_batches, work)
        self.inputs = written_inputs(["ids"], batches(micro_batches), work)

    def compiled(self, name: str, *options: str) -> Path:
        compile_program(HONEC, self.package, self.work / name, [f"--micro-batches={self.micro_batches}", *options])
        return self.work / name

    def train(self, words: Sequence[object], name: str, *flags: object) -> tuple[list[float], dict[str, torch.Tensor]]:
        """Losses of the log, and all tensors of the saved weights."""
        command = [*words, *self.inputs, "--save", self.work / f"{name}.safetensors", *flags]
        log = train_program(command, self.work / f"{name}.jsonl", os.environ | MPI)
        return [line["loss"] for line in log], safetensors.load_file(self.work / f"{name}.safetensors")


def check_biases(saved: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert {name for name in saved if is_bias(name)} == expected.keys()
    for name, bias in expected.items():
        assert torch.equal(saved[name], bias), name
        assert not saved[name + ".counts"].any(), "counts are those of a step"


@compiles
@pytest.mark.parametrize("micro_batches", [1, 2])
@pytest.mark.parametrize("make", [deepseek, glm])
def test_ten_steps_as_in_pytorch(make: Callable[[], nn.Module], micro_batches: int, tmp_path: Path) -> None:
    losses, biases = eager(make, micro_batches)
    run = Run(make, micro_batches, tmp_path)
    program = run.compiled("train")
    seen, saved = run.train([program, "--threads", 1], "whole", "--steps", STEPS)
    assert compared(seen, losses) <= 1e-5
    check_biases(saved, biases)
    start = {name: bias for name, bias in make().named_buffers() if is_bias(name)}
    assert all((biases[name] - bias).abs().max() > 1.5 * RATE for name, bias in start.items()), "steps move every bias"
    # A program that a break has ended goes on with the same bits.
    kept = ["--checkpoint-dir", tmp_path / "checkpoints"]
    run.train([program, "--threads", 2], "parts", "--steps", 4, *kept)
    parts, resumed = run.train([program, "--threads", 2], "parts", "--steps", STEPS, *kept, "--resume")
    assert parts == seen and all(torch.equal(value, saved[name]) for name, value in resumed.items())


@compiles
@pytest.mark.skipif(not shutil.which("mpirun"), reason="no mpirun")
@pytest.mark.parametrize("micro_batches", [1, 2])
def test_counts_are_those_of_all_ranks(micro_batches: int, tmp_path: Path) -> None:
    losses, biases = eager(deepseek, micro_batches)
    run = Run(deepseek, micro_batches, tmp_path)
    alone, saved = run.train([run.compiled("one", "--exact"), "--threads", 1], "one", "--steps", STEPS)
    divided = ["mpirun", "-np", 2, run.compiled("two", "--exact", "--mesh=dp=2"), "--threads", 1]
    seen, held = run.train(divided, "two", "--steps", STEPS, "--check-replicas", 1)
    assert compared(alone, losses) <= 1e-5 and seen == alone
    check_biases(held, biases)
    assert all(torch.equal(value, saved[name]) for name, value in held.items())


@pytest.mark.skipif(not os.path.exists(HONE_RUN), reason="hone-run is not built")
@pytest.mark.parametrize("micro_batches", [1, 2])
def test_interpreter_moves_and_saves_biases(micro_batches: int, tmp_path: Path) -> None:
    _, biases = eager(glm, micro_batches)
    run = Run(glm, micro_batches, tmp_path)
    words = [HONE_RUN, run.package, f"--micro-batches={micro_batches}"]
    check_biases(run.train(words, "interpreter", "--steps", STEPS)[1], biases)


def test_saved_weights_load(tmp_path: Path) -> None:
    model, expected = glm(), {name: torch.full_like(x, 0.5) for name, x in glm().state_dict().items()}
    counts = {name + ".counts": torch.zeros(EXPERTS, dtype=torch.long) for name in expected if is_bias(name)}
    safetensors.save_file(expected | counts, tmp_path / "w.safetensors")
    hone.load(model, str(tmp_path / "w.safetensors"))
    assert all(torch.equal(value, expected[name]) for name, value in model.state_dict().items())


class Router(nn.Module):
    """Some of six experts, which scale what the router reads."""

    def __init__(self, select: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], bias: torch.Tensor) -> None:
        super().__init__()
        self.gate, self.experts = nn.Linear(5, 6, bias=False), nn.Parameter(torch.rand(6, 5))
        self.select = select
        self.register_buffer("bias", bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.gate(x).sigmoid()
        ids = self.select(scores, self.bias)
        return (self.experts[ids] * scores.gather(-1, ids).unsqueeze(-1)).sum(1).square().mean()


def export_router(select: Callable, tmp_path: Path, bias: torch.Tensor = torch.zeros(6), rate: object = 0.1,
                  **more) -> str:  # fmt: skip
    model = Router(select, bias)
    path = str(tmp_path / "m.hone")
    hone.export(model, None, (torch.zeros(7, 5),), {"name": "sgd", "lr": 0.1}, path, expert_bias=rate, **more)
    return Path(path, "graph.mlir").read_text()


def plain(scores: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return (scores + bias).topk(2)[1]


def in_no_grad(scores: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return torch.topk(bias[None, :] + scores.detach(), 2, sorted=False).indices


def twice(scores: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.where(scores.sum() > 0, (scores + bias).topk(2)[1], (2 * scores + bias).topk(2)[1])


@pytest.mark.parametrize("select, topks", [(plain, 1), (in_no_grad, 1), (twice, 2)])
def test_routers_that_are_found(select: Callable, topks: int, tmp_path: Path, verified) -> None:
    text = export_router(select, tmp_path)
    verified(text)
    assert text.count("hone.balance") == 1 and text.count('"hone.topk"') == topks
    assert text.count("(tensor<7x2x6xi64>) -> tensor<6xi64>") == topks, "each topk is counted"


def test_without_the_option_the_bias_is_constant(tmp_path: Path) -> None:
    model = Router(plain, torch.zeros(6))
    hone.export(model, None, (torch.zeros(7, 5),), {"name": "sgd", "lr": 0.1}, str(tmp_path / "m.hone"))
    assert "buffer" not in (tmp_path / "m.hone" / "graph.mlir").read_text()


def changed_by_forward(scores: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    ids = plain(scores, bias)
    bias.add_(0.1)
    return ids


NOT_FOUND = "^expert_bias: no buffer of the model is added to scores that a topk reads; expected a router"


@pytest.mark.parametrize(
    "select, more, message",
    [
        (lambda scores, bias: scores.topk(2)[1] + 0 * bias.long()[:2], {}, NOT_FOUND),
        (lambda scores, bias: (scores * bias).topk(2)[1], {}, NOT_FOUND),
        (lambda scores, bias: (bias - (scores - bias)).topk(2)[1], {"bias": torch.zeros(1)}, NOT_FOUND),
        (lambda scores, bias: (scores - bias).topk(2)[1], {}, NOT_FOUND),
        (lambda scores, bias: (scores + bias).topk(2, largest=False)[1], {}, NOT_FOUND),
        (lambda scores, bias: (scores + bias).argsort(-1, descending=True)[:, :2], {}, NOT_FOUND),
        (plain, {"bias": torch.zeros(6, dtype=torch.bfloat16)}, NOT_FOUND),
        (plain, {"bias": torch.zeros(7, 6)}, NOT_FOUND),
        (changed_by_forward, {}, "^expert_bias: forward changes buffer 'bias' itself"),
        (plain, {"rate": 0}, "^expert_bias: is 0, expected a number above 0"),
        (plain, {"rate": float("nan")}, "^expert_bias: is nan, expected a number above 0"),
        (plain, {"rate": True}, "^expert_bias: is True, expected a number above 0"),
        (plain, {"golden": 2}, "^golden: its eager steps do not move the biases of expert_bias="),
    ],
)
def test_refused(select: Callable, more: dict, message: str, tmp_path: Path) -> None:
    with pytest.raises(HoneError, match=message):
        export_router(select, tmp_path, **more)
    assert not (tmp_path / "m.hone").exists()


def test_command_line_takes_it_from_training(tmp_path: Path) -> None:
    source = tmp_path / "model.py"
    source.write_text(
        "import hone, torch, torch.nn as nn\n"
        "class M(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.w = nn.Parameter(torch.rand(6))\n"
        "        self.register_buffer('bias', torch.zeros(6))\n"
        "    def forward(self, x):\n"
        "        scores = (x * self.w).sigmoid()\n"
        "        return scores.gather(-1, (scores + self.bias).topk(2)[1]).sum()\n"
        "def make():\n"
        "    return hone.Training(M(), None, (torch.zeros(7, 6),), {'name': 'sgd', 'lr': 0.1}, expert_bias=0.1)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "hone", "export", f"{source}:make", "-o", str(tmp_path / "m.hone")],
        capture_output=True, text=True, env=os.environ | {"PYTHONPATH": os.path.join(ROOT, "python_frontend")},
    )  # fmt: skip
    assert done.returncode == 0 and "expert_bias: bias\n" in done.stderr, done.stderr
