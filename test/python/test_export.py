"""hone.export as a whole: fixtures, names, roles, ties, golden files, weights, source lines.

Models of Hugging Face: test_export_hugging_face.py. What is refused: test_export_refused.py.
"""

from __future__ import annotations

import json
import os
import re

import pytest
from conftest import FIXTURES

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")

import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from bigram import IDS, Net, export, loss  # noqa: E402
from evaluate import evaluate  # noqa: E402
from hone import api  # noqa: E402
from hone.capture import capture  # noqa: E402
from hone.errors import HoneError  # noqa: E402
from hone.optimizer import read_optimizer  # noqa: E402

import make  # noqa: E402  (test/fixtures/make.py)


def test_one_tensor_given_twice_is_two_inputs(tmp_path) -> None:
    model = Net()  # one model: what its initialisation is taken for depends on the values drawn
    once = export(tmp_path, model, batch=(IDS, IDS))
    twice = export(tmp_path, model, batch=(IDS, IDS.clone()))
    assert once == twice


# -- fixtures -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", make.SMALL)
def test_fixture_is_what_make_makes(name: str, tmp_path) -> None:
    if name.startswith("hf_"):
        pytest.importorskip("transformers")
    made = make.make(name, str(tmp_path))
    committed = os.path.join(FIXTURES, f"{name}.hone")

    def read(folder: str) -> str:
        text = open(os.path.join(folder, "graph.mlir")).read()
        return re.sub(r'("transformers/[^"]*"):\d+:0', r"\1", text)  # lines move between its releases

    assert read(made) == read(committed)
    assert sorted(os.listdir(made)) == sorted(os.listdir(committed))


@pytest.mark.parametrize("name", make.SMALL)
def test_fixture_verifies(name: str, verified) -> None:
    verified(open(os.path.join(FIXTURES, f"{name}.hone", "graph.mlir")).read())


@pytest.mark.parametrize("name", [name for name in make.SMALL if "dropout" not in name])
def test_imported_graph_gives_the_golden_loss_and_gradients(name: str) -> None:
    """In double precision from the committed weights: only the order of summation differs."""
    if name.startswith("hf_"):
        pytest.importorskip("transformers")
    training = make.SMALL[name]()
    captured = capture(training.model, training.loss_fn, training.example_batch)
    spec = read_optimizer(training.optimizer, captured.parameters, training.clip)
    graph, constants = api.build_graph(training.model, captured, training.example_batch, spec, {}, None, name)
    golden = safetensors.load_file(os.path.join(FIXTURES, f"{name}.hone", "golden.safetensors"))
    weights = safetensors.load_file(os.path.join(FIXTURES, f"{name}.hone", "model.safetensors"))
    parameters = {fqn: w.double().requires_grad_() for fqn, w in weights.items()}
    size = training.example_batch[0].numel()
    ids = [golden["tokens"][k : k + size].long().reshape(training.example_batch[0].shape) for k in (0, 1)]
    state = {fqn: x.double() for fqn, x in constants.items()}
    seen = evaluate(graph, parameters | state | dict(zip(captured.inputs, ids)))
    # The graph holds the f32 tables (rotary angles) that the f64 run of the model recomputes or widens alike.
    torch.testing.assert_close(seen, golden["loss_f64"][0], rtol=1e-12, atol=0)
    for fqn, gradient in zip(parameters, torch.autograd.grad(seen, parameters.values(), allow_unused=True)):
        torch.testing.assert_close(
            gradient, golden[f"grad_f64.{fqn}"], rtol=1e-10, atol=1e-13, msg=lambda m: f"{fqn}: {m}"
        )


@pytest.mark.parametrize("name", [name for name in make.SMALL if "dropout" not in name])
def test_golden_file_is_consistent(name: str) -> None:
    golden = safetensors.load_file(os.path.join(FIXTURES, f"{name}.hone", "golden.safetensors"))
    arguments = json.load(open(os.path.join(FIXTURES, f"{name}.hone", "manifest.json")))["arguments"]
    tokens = next(a for a in arguments if a.get("role") == "tokens")
    assert (
        golden["tokens"].dtype == torch.int32
        and golden["tokens"].numel() == 10 * torch.Size(tokens["shape"]).numel() + 1
    )
    assert 0 <= golden["tokens"].min() and golden["tokens"].max() < tokens["vocab"]
    assert golden["loss"].shape == golden["loss_f64"].shape == (10,)
    assert golden["loss_f64"].dtype == torch.float64
    assert (golden["loss"].double() - golden["loss_f64"]).abs().max() < 1e-5
    for a in arguments:
        if a["kind"] == "param":
            for key in ("param.", "grad.", "grad_f64."):
                assert list(golden[key + a["fqn"]].shape) == a["shape"]


# -- arguments ----------------------------------------------------------------------------------------------------


def test_tied_weights_are_one_argument(tmp_path, verified) -> None:
    manifest, text = export(tmp_path, Net(), name="net")
    assert manifest["arguments"] == [
        {"fqn": "table.weight", "kind": "param", "dtype": "f32", "shape": [11, 6], "aliases": ["head.weight"]},
        {"fqn": "mix.weight", "kind": "param", "dtype": "f32", "shape": [6, 6]},
        {"fqn": "mix.bias", "kind": "param", "dtype": "f32", "shape": [6]},
        {"fqn": "tokens", "kind": "input", "dtype": "i64", "shape": [2, 5], "role": "tokens", "vocab": 11},
        {"fqn": "targets", "kind": "input", "dtype": "i64", "shape": [2, 5], "role": "targets", "vocab": 11},
    ]
    assert text.count("hone.embedding") == 1 and manifest["optimizer"] is None
    verified(text)


def test_frozen_unused_and_unheld_parameters_are_not_trained(tmp_path) -> None:
    class Partly(Net):
        def __init__(self) -> None:
            super().__init__()
            self.unused = nn.Linear(3, 2)
            self.detached = nn.Parameter(torch.ones(6))
            self.free = nn.Parameter(torch.ones(6))
            self.mix.bias.requires_grad_(False)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return self.head(self.mix(self.table(tokens)) * self.detached.detach() + self.free)

    model = Partly()
    held = [p for name, p in model.named_parameters() if name != "free"]
    _, text = export(tmp_path, model, optimizer=torch.optim.SGD(held, lr=0.1))
    trained = re.findall(r'hone.fqn = "([\w.]+)"[^\n]*hone.requires_grad', text)
    assert trained == ["table.weight", "mix.weight"]
    assert re.findall(r'kind = "param", hone.fqn = "([\w.]+)"', text) == [n for n, _ in model.named_parameters()]


def test_a_bound_of_the_norm_counts_what_the_optimizer_holds(tmp_path) -> None:
    """clip_grad_norm_(model.parameters()) also counts parameters that no optimizer holds."""
    model = Net()
    options = dict(optimizer=torch.optim.SGD(model.table.parameters(), lr=0.1), clip=1.0)
    with pytest.raises(HoneError, match="^clip: parameter 'mix.weight' gets a gradient, and the optimizer does not"):
        export(tmp_path, model, **options)
    assert not list(tmp_path.iterdir())
    model.mix.requires_grad_(False)
    export(tmp_path, model, **options)
    model.mix.requires_grad_(True)
    options["optimizer"].add_param_group({"params": model.mix.parameters(), "lr": 0.0})
    export(tmp_path, model, **options)


def test_buffers_that_follow_a_rule_are_not_stored(tmp_path, verified) -> None:
    class Masked(Net):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mask", torch.tril(torch.ones(5, 5)).view(1, 1, 5, 5))
            self.register_buffer("future", torch.ones(5, 5).triu(1).bool())
            self.register_buffer("positions", torch.arange(9))
            self.register_buffer("fill", torch.full((30,), -1e9))
            self.register_buffer("noise", torch.arange(40.0).sin().view(5, 8)[:, :5].contiguous())
            self.register_buffer("cos", torch.arange(15.0).cos().view(5, 3).repeat(1, 2))

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            scores = (
                torch.zeros(1, 1, 5, 5).masked_fill(self.mask == 0, float("-inf"))
                + self.noise
                + self.fill[:25].view(5, 5)
            )
            x = self.table(tokens + self.positions[:5]) * self.cos
            return self.head(scores.masked_fill(self.future, -1e4).softmax(-1)[0, 0] @ x)

    model = Masked()
    manifest, text = export(tmp_path, model)
    verified(text)
    buffers = {a["fqn"]: a["shape"] for a in manifest["arguments"] if a["kind"] == "buffer"}
    assert buffers == {"noise": [5, 5], "cos": [5, 3]}
    stored = safetensors.load_file(str(tmp_path / "m.hone" / "consts.safetensors"))
    assert torch.equal(stored["noise"], model.noise) and torch.equal(stored["cos"], model.cos[:, :3])
    assert text.count("hone.iota") >= 3


def test_large_constants_are_no_text(tmp_path) -> None:
    class Large(Net):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("rows", torch.rand(70000, 6))
            self.plain = torch.rand(70000, 6)  # no buffer of the module

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return self.head(self.table(tokens) + self.rows[tokens] + self.plain[tokens])

    manifest, text = export(tmp_path, Large())
    assert [a["fqn"] for a in manifest["arguments"] if a["kind"] == "buffer"] == ["rows", "plain"]
    assert len(text) < 50_000
    assert os.path.getsize(tmp_path / "m.hone" / "consts.safetensors") > 2 * 70000 * 6 * 4


def test_single_input_is_tokens_and_roles_can_be_given(tmp_path) -> None:
    shifted = lambda model, ids: F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    manifest, _ = export(tmp_path, Net(), shifted, (IDS,))
    assert [(a["fqn"], a["role"], a["vocab"]) for a in manifest["arguments"] if a["kind"] == "input"] == [
        ("ids", "tokens", 11)
    ]
    swapped = lambda model, labels, tokens: loss(model, tokens, labels)
    manifest, _ = export(tmp_path, Net(), swapped, roles={"tokens": "tokens", "labels": "targets"})
    assert [(a["fqn"], a["role"]) for a in manifest["arguments"] if a["kind"] == "input"] == [
        ("labels", "targets"),
        ("tokens", "tokens"),
    ]
    manifest, _ = export(tmp_path, Net(), swapped, roles={"tokens": "", "labels": ""})
    assert all("role" not in a for a in manifest["arguments"])


def test_input_names_do_not_collide_with_state(tmp_path, verified) -> None:
    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.x = nn.Parameter(torch.ones(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (self.x * x).sum()

    manifest, text = export(tmp_path, Named(), None, (torch.zeros(2, 3),))
    assert [a["fqn"] for a in manifest["arguments"]] == ["x", "input.x"]
    verified(text)


def test_golden_with_named_inputs_keeps_the_example(tmp_path) -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 1))
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    export(tmp_path, model, lambda m, x, y: F.mse_loss(m(x), y), (x, y), golden=3, optimizer={"name": "sgd", "lr": 0.1})
    golden = safetensors.load_file(str(tmp_path / "m.hone" / "golden.safetensors"))
    assert torch.equal(golden["input.x"], x) and torch.equal(golden["input.y"], y) and "tokens" not in golden
    assert golden["loss"][0] > golden["loss"][2]


def test_clip_changes_the_golden_run_only_after_the_first_loss(tmp_path) -> None:
    torch.manual_seed(0)
    model, runs = Net(), []
    for clip in (None, 1e-3):
        export(tmp_path, model, optimizer={"name": "sgd", "lr": 1.0}, clip=clip, golden=2)
        runs.append(safetensors.load_file(str(tmp_path / "m.hone" / "golden.safetensors")))
    assert runs[0]["loss"][0] == runs[1]["loss"][0] and runs[0]["loss"][1] != runs[1]["loss"][1]
    assert torch.equal(runs[0]["grad.mix.weight"], runs[1]["grad.mix.weight"])
    moved = torch.cat([(runs[1][f"param.{n}"] - p).flatten() for n, p in model.named_parameters()])
    assert moved.norm() < 2.1e-3


def test_export_leaves_the_model_alone(tmp_path) -> None:
    model = Net().eval()
    before = {name: p.clone() for name, p in model.state_dict().items()}
    export(tmp_path, model, optimizer=torch.optim.AdamW(model.parameters()), golden=2)
    assert not model.training and all(p.grad is None for p in model.parameters())
    assert all(torch.equal(p, before[name]) for name, p in model.state_dict().items())


def test_evaluation_mode_model_is_exported_for_training(tmp_path) -> None:
    class Dropped(Net):
        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return super().forward(tokens) + F.dropout(torch.ones(11), 0.5, self.training)

    _, text = export(tmp_path, Dropped().eval())
    assert "hone.dropout" in text


def test_given_init_is_written(tmp_path) -> None:
    _, text = export(
        tmp_path, Net(), init={"mix.*": {"dist": "file"}, "table.*": {"dist": "uniform", "low": -1, "high": 1}}
    )
    assert text.count('hone.init = {dist = "file"}') == 2 and 'dist = "uniform", low = -1.0 : f64' in text
    assert os.path.exists(tmp_path / "m.hone" / "model.safetensors")


class Pretrained(Net):
    """What from_pretrained leaves on a model."""

    def __init__(self, name: str = "tuned") -> None:
        super().__init__()
        self.config = type("Config", (), {"_name_or_path": name})()


class Wrapped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.base = Pretrained()

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.base(tokens)


LEFT_OUT = "weights: left out, runs start from random values"
MIX = {"mix.*": {"dist": "file"}}
FRESH = "to start from random values: ./train --fresh, or fresh=true of hone train"
NAMED = (  # a model made from_config of such a configuration looks the same, and is random
    f"weights: kept (the configuration names 'tuned'; 3 tensors); {FRESH}, if the model was only configured from it"
)
KEPT = {  # model, options -> the parameters that the package holds, and what export says
    "plain": (Net, {}, [], f"{LEFT_OUT}; --weights keeps them"),
    "asked for": (Net, {"weights": True}, "all", f"weights: kept (3 tensors); {FRESH}"),
    "golden": (Net, {"golden": 1}, "all", f"weights: kept (3 tensors); {FRESH}"),
    "pretrained": (Pretrained, {}, "all", NAMED),
    "wrapped": (Wrapped, {}, "all", NAMED),
    "without a name": (lambda: Pretrained(""), {}, [], f"{LEFT_OUT}; --weights keeps them"),
    "pretrained, refused": (Pretrained, {"weights": False}, [], LEFT_OUT),
    "some of them": (Net, {"init": MIX}, ["mix.bias", "mix.weight"], "weights: kept for init 'file' (2 of 3 tensors)"),
    "more than some": (Net, {"init": MIX, "weights": True}, "all", "weights: kept (3 tensors)"),
}


@pytest.mark.parametrize("case", KEPT)
def test_weights_that_a_package_holds(case: str, tmp_path, capfd) -> None:
    make_model, options, expected, said = KEPT[case]
    model = make_model()
    export(tmp_path, model, **options)
    path = tmp_path / "m.hone" / "model.safetensors"
    held = safetensors.load_file(path) if path.exists() else {}
    parameters = dict(model.named_parameters())
    assert sorted(held) == (sorted(parameters) if expected == "all" else expected)
    assert all(torch.equal(tensor, parameters[name]) for name, tensor in held.items())
    lines = capfd.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith("weights:")] == [said]


def test_the_header_of_weights_tells_values_apart(tmp_path) -> None:
    headers = []
    for value in (0.0, 1.0, 1.0):
        model = Net()
        for parameter in model.parameters():
            nn.init.constant_(parameter, value)
        export(tmp_path, model, weights=True)
        data = (tmp_path / "m.hone" / "model.safetensors").read_bytes()
        headers.append(data[8 : 8 + int.from_bytes(data[:8], "little")])
    assert headers[0] != headers[1] == headers[2]


CONTRADICTIONS = {
    "weights: is False, but golden steps start from them": {"golden": 1},
    "weights: is False, but init says dist 'file' for 'mix.weight'": {"init": MIX},
}


@pytest.mark.parametrize("message", CONTRADICTIONS)
def test_weights_left_out_and_needed(message: str, tmp_path) -> None:
    with pytest.raises(HoneError, match=message):
        export(tmp_path, Net(), weights=False, **CONTRADICTIONS[message])
    assert not (tmp_path / "m.hone").exists()


def test_locations_name_the_users_lines_and_modules(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(os.path.dirname(os.path.abspath(__file__)))
    _, text = export(tmp_path, Net())
    source = enumerate(open("bigram.py"), 1)
    line = next(number for number, text in source if "self.head(self.mix(self.table(tokens)))" in text)
    number = re.search(rf'(#loc\d+) = loc\("bigram.py":{line}:0\)', text)[1]
    for module in ("table", "mix", "head"):
        assert f'loc("{module}"({number}))' in text
    assert not re.search(r'loc\("[^"]*torch/', text) and "unknown" not in text
