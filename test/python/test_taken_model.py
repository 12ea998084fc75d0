"""What export takes from a model as PyTorch takes it, and what it refuses by name: element types, modes, buffers and
other state, embeddings, parameters, hooks, wrappers.

What a program does with its model: test_taken_program.py. The optimizer's values: test_optimizer.py.
"""

from __future__ import annotations

from typing import Callable

import pytest

torch = pytest.importorskip("torch")

import hone  # noqa: E402
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from evaluate import evaluate  # noqa: E402
from hone import api  # noqa: E402
from hone.capture import capture  # noqa: E402
from hone.errors import HoneError  # noqa: E402
from taken_cases import Case, Cases, Net, calling, check_refused, check_taken, ids, loss  # noqa: E402
from torch.nn.utils import parametrizations, parametrize, prune  # noqa: E402

CASES = Cases()
changed, with_hidden, with_loss = CASES.changed, CASES.with_hidden, CASES.with_loss

# -- element types, modes -----------------------------------------------------------------------------------------

changed("parameters in f64", lambda m: m.double())
changed("parameters in f16", lambda m: m.half())
changed("parameters in bf16", lambda m: m.bfloat16())
changed("parameters in two types", lambda m: m.head.double() and None, hidden=lambda m, x: x.double())
changed("an integer parameter", lambda m: setattr(m, "q", nn.Parameter(torch.arange(6), False)),
        hidden=lambda m, x: x * m.q)
changed("a complex parameter", lambda m: setattr(m, "q", nn.Parameter(torch.ones(6, dtype=torch.complex64))),
        "^q: complex tensors are not supported")
changed("a parameter in f8", lambda m: setattr(m, "q", nn.Parameter(torch.ones(6).to(torch.float8_e4m3fn), False)),
        "^parameter 'q': element type torch.float8_e4m3fn is not supported")


@CASES.function()
def part_in_evaluation_mode() -> Case:
    model = Net(lambda m, x: m.drop(x))
    model.drop = nn.Dropout(0.4)
    model.train().drop.eval()
    return Case(model)


class Warming(nn.Module):
    """A loss with a weight that grows with each call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, model, tokens, targets):
        self.calls += 1
        return loss(model, tokens, targets) * self.calls


@CASES.function("reads and changes '_loss_fn.calls'")
def counting_loss() -> Case:
    return Case(Net(), Warming())


@CASES.function()
def frozen_batch_norm() -> Case:
    model = Net(lambda m, x: m.norm(x.flatten(0, 1)).view(2, 5, 6))
    model.norm = nn.BatchNorm1d(6)
    model.train().norm.eval()
    return Case(model)


@CASES.function()
def batch_norm() -> Case:
    model = Net(lambda m, x: m.norm(x.flatten(0, 1)).view(2, 5, 6))
    model.norm = nn.BatchNorm1d(6, momentum=0.3)
    model.norm.running_mean.normal_()
    return Case(model)


@CASES.function()
def batch_norm_used_twice() -> Case:
    model = Net(lambda m, x: m.norm(m.norm(x.mT).tanh()).mT)
    model.norm = nn.BatchNorm1d(6, affine=False)
    return Case(model)


@CASES.function()
def batch_norm_without_running_statistics() -> Case:
    model = Net(lambda m, x: m.norm(x.mT).mT)
    model.norm = nn.BatchNorm1d(6, track_running_stats=False)
    return Case(model)


@CASES.function()
def instance_norm() -> Case:
    model = Net(lambda m, x: m.norm(x.mT).mT)
    model.norm = nn.InstanceNorm1d(6, affine=True, track_running_stats=True)
    return Case(model)


# -- buffers and other state --------------------------------------------------------------------------------------


def holding(name: str, function: Callable, message: str | None = None, **buffer) -> None:
    """A Net with a buffer `held`, [6] drawn values; `function` is its hidden."""

    def make() -> Case:
        model = Net(function)
        model.register_buffer("held", torch.randn(6), **buffer)
        return Case(model)

    CASES.add(name, make, message)


def add_to_held(model, x):
    model.held += 1
    return x * model.held


def add_unread(model, x):
    model.held += 1
    return x


def assign_held(model, x):
    model.held = model.held + 1
    return x * model.held


def average(model, x):
    with torch.no_grad():
        model.held.mul_(0.9).add_(x.mean((0, 1)), alpha=0.1)
    return x - model.held


def count(model, x):
    model.steps += 1
    return x * model.steps


def count_unread(model, x):
    model.steps += 1
    return x


holding("a buffer", lambda m, x: x * m.held)
holding("a buffer that is not saved", lambda m, x: x * m.held, persistent=False)
holding("a buffer changed in place", add_to_held)
holding("a buffer changed and not read", add_unread)
holding("a part of a buffer changed", lambda m, x: m.held[1:4].mul_(2.0) is None or x * m.held)
holding("a buffer assigned", assign_held, "reads and changes 'held'")
holding("a running average", average)
changed("a tensor attribute", lambda m: setattr(m, "held", torch.randn(6)), hidden=lambda m, x: x * m.held)
changed("a tensor attribute assigned", lambda m: setattr(m, "held", torch.randn(6)), "reads and changes 'held'",
        hidden=assign_held)
changed("a tensor attribute changed in place", lambda m: setattr(m, "held", torch.randn(6)),
        "changes the tensor 'held', .* in place", hidden=add_to_held)
changed("a tensor attribute with a gradient", lambda m: setattr(m, "held", torch.randn(6, requires_grad=True)),
        "a tensor that requires a gradient of shape .6. is not part of the model: register it as a parameter",
        hidden=lambda m, x: x * m.held)
changed("a tensor made from a parameter before", lambda m: setattr(m, "held", m.mix.weight * 2),
        "a tensor that requires a gradient of shape .6, 6. is not part of the model", hidden=lambda m, x: x @ m.held)
changed("a counter that the loss depends on", lambda m: setattr(m, "steps", 0), "reads and changes 'steps'",
        hidden=count)
changed("a counter", lambda m: setattr(m, "steps", 0), hidden=count_unread)
changed("a buffer that is a view of a parameter", lambda m: m.register_buffer("view", m.mix.weight.detach().T),
        "^buffer 'view': shares memory with parameter 'mix.weight'", hidden=lambda m, x: x @ m.view)

# -- embeddings ---------------------------------------------------------------------------------------------------

changed("padding_idx", lambda m: m, padding_idx=3)
changed("padding_idx from the end", lambda m: m, padding_idx=-1)
changed("padding_idx of a tied table", lambda m: setattr(m.head, "weight", m.table.weight), padding_idx=3)
changed("max_norm", lambda m: m, "aten.embedding_renorm_.default", max_norm=1.0)
changed("scale_grad_by_freq", lambda m: m, "scale_grad_by_freq or sparse gradients", scale_grad_by_freq=True)
changed("sparse gradients", lambda m: m, "scale_grad_by_freq or sparse gradients", sparse=True)

# -- parameters ---------------------------------------------------------------------------------------------------


class Named(nn.Parameter):
    pass


class Doubled(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        result = super().__torch_function__(function, types, args, kwargs or {})
        return result * 2 if function is F.linear else result


def set_weight(weight: Callable) -> Callable:
    return lambda m: setattr(m.mix, "weight", nn.Parameter(weight(m)))


def replace_parameter(model, x):
    model.mix.weight = nn.Parameter(model.mix.weight * 2)
    return model.mix(x)


def freeze_in_forward(model, x):
    model.mix.weight.requires_grad_(False)
    return model.mix(x)


def clamp_data(model, x):
    model.mix.weight.data.clamp_(-0.1, 0.1)
    return model.mix(x)


def assign_data(model, x):
    model.mix.weight.data = model.mix.weight.data * 2
    return model.mix(x)


def broken_weight(model):
    model.mix.weight.data[0, 0] = float("nan")


changed("tied weights", lambda m: setattr(m.head, "weight", m.table.weight))
changed("frozen weights", lambda m: m.mix.weight.requires_grad_(False))
changed("weights with strides", set_weight(lambda m: torch.randn(6, 6).T))
changed("a subclass of Parameter", lambda m: setattr(m.mix, "weight", Named(m.mix.weight.data)))
changed("a list of parameters", lambda m: setattr(m, "list", nn.ParameterList([torch.randn(6), torch.randn(6)])),
        hidden=lambda m, x: x * m.list[0] + m.list[1])
changed("a tensor class", lambda m: setattr(m.mix, "weight", nn.Parameter(torch.randn(6, 6).as_subclass(Doubled))),
        "^parameter 'mix.weight': is a Doubled, a tensor class with operators of its own")
changed("two parameters in one memory", lambda m: setattr(m.head, "weight", nn.Parameter(m.table.weight.data)),
        r"^parameter 'head.weight': shares memory with parameter 'table.weight'.*tie them")
changed("an expanded parameter", set_weight(lambda m: torch.randn(6).expand(6, 6)),
        "^parameter 'mix.weight': is expanded")
changed("a weight that is no number", broken_weight, "parameter 'mix.weight' holds values that are not finite")
changed("weights without values", lambda m: m.to("meta"), "^parameter 'table.weight': has no values .meta device., and")
changed("a lazy module", lambda m: setattr(m, "lazy", nn.LazyLinear(6)), "^parameter 'lazy.weight': has no shape yet",
        hidden=lambda m, x: m.lazy(x))
with_hidden("a parameter made in forward", replace_parameter, "reads and changes 'mix.weight'")
with_hidden("a parameter frozen in forward", freeze_in_forward, "changes requires_grad of a parameter")
with_hidden("a parameter's data changed", clamp_data, "aten.clamp_.default changes parameter 'mix.weight' in place")
with_hidden("a parameter's data assigned", assign_data, "assigns a tensor's data")

# -- hooks --------------------------------------------------------------------------------------------------------


def hook_on(choose: Callable) -> Callable:
    def hidden(model, x):
        choose(x).register_hook(lambda gradient: gradient * 2)
        return x

    return hidden


def hook_on_node(model, x):
    x.grad_fn.register_prehook(lambda gradients: tuple(2 * g for g in gradients))
    return x


def hook_on_loss(model, tokens, targets):
    result = loss(model, tokens, targets)
    result.register_hook(lambda gradient: gradient * 2)
    return result


double = lambda module, gradients, *rest: tuple(2 * g for g in gradients)
BACKWARD = "^module 'mix': has a backward hook"
changed("a forward hook", lambda m: m.mix.register_forward_hook(lambda module, x, y: y * 2) and None)
changed("a forward pre-hook", lambda m: m.mix.register_forward_pre_hook(lambda module, x: (x[0] * 2,)) and None)
changed("a hook on a parameter", lambda m: m.mix.weight.register_hook(lambda g: g * 2),
        "^parameter 'mix.weight': has a gradient hook")
changed("a hook after backward", lambda m: m.mix.weight.register_post_accumulate_grad_hook(lambda p: None),
        "^parameter 'mix.weight': has a gradient hook after backward")
changed("a full backward hook", lambda m: m.mix.register_full_backward_hook(double), BACKWARD)
changed("a backward pre-hook", lambda m: m.mix.register_full_backward_pre_hook(double), BACKWARD)
changed("a backward hook of old", lambda m: m.mix.register_backward_hook(double), BACKWARD)
with_hidden("a hook on an activation", hook_on(lambda x: x), r"test_taken_model.py:\d+: .*registers a gradient hook")
with_hidden("a hook on a node", hook_on_node, r"test_taken_model.py:\d+: .*reads grad_fn")
with_loss("a hook on the loss", hook_on_loss, r"test_taken_model.py:\d+: .*registers a gradient hook")

# -- parametrizations and wrappers --------------------------------------------------------------------------------


class Square(nn.Module):
    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        return weight * weight


changed("a parametrization", lambda m: parametrize.register_parametrization(m.mix, "weight", Square()) and None)
changed("pruning", lambda m: prune.l1_unstructured(m.mix, "weight", amount=0.3) and None)
changed("weight_norm", lambda m: parametrizations.weight_norm(m.mix) and None)
changed("weight_norm of old", lambda m: nn.utils.weight_norm(m.mix) and None)
changed("spectral_norm", lambda m: parametrizations.spectral_norm(m.mix) and None)
changed("spectral_norm of old", lambda m: nn.utils.spectral_norm(m.mix) and None)
changed("orthogonal", lambda m: parametrizations.orthogonal(m.mix) and None, "not supported .*'mix.parametrizations")
changed("a compiled model", lambda m: torch.compile(m, backend="eager"))
changed("a compiled part", lambda m: setattr(m, "mix", torch.compile(m.mix, backend="eager")))
changed("a model compiled in place", lambda m: m.compile(backend="eager"))
changed("data parallel", lambda m: nn.DataParallel(m))
changed("TorchScript", lambda m: torch.jit.script(nn.Sequential(m.table, m.mix)), "^model: is TorchScript")
changed("a quantised model",
        lambda m: torch.ao.quantization.quantize_dynamic(m, {nn.Linear}, dtype=torch.qint8),
        "^module 'mix': is quantised")


# -- tests --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES.taken)
def test_taken_as_pytorch_takes_it(name: str) -> None:
    check_taken(CASES.taken[name])


@pytest.mark.parametrize("name", CASES.refused)
def test_refused_by_name(name: str, tmp_path, capfd) -> None:
    check_refused(*CASES.refused[name], tmp_path)


def dropout_of(model: nn.Module) -> list[float]:
    captured = capture(model, loss, ids())
    graph, _ = api.build_graph(model, captured, ids(), None, {}, {}, "case")
    return [op.attribute("p") for op in graph.ops if op.name == "dropout"]


def test_each_dropout_has_its_own_probability_and_mode() -> None:
    model = Net(lambda m, x: m.b(m.a(F.dropout(x, 0.3))))
    model.a, model.b = nn.Dropout(0.1), nn.Dropout(0.2)
    assert dropout_of(model) == [0.3, 0.1, 0.2]
    model.a.eval()
    assert dropout_of(model) == [0.3, 0.2]
    assert dropout_of(model.eval()) == [0.3, 0.1, 0.2]  # a model in evaluation mode is taken for training


def test_a_model_in_evaluation_mode_is_said_to_be_exported_with_dropout(tmp_path, capsys) -> None:
    model = Net(lambda m, x: F.dropout(x, 0.3, m.training)).eval()
    hone.export(model, loss, ids(), out=str(tmp_path / "m.hone"))
    assert "model: is in evaluation mode, exported in training mode, with its dropout" in capsys.readouterr().err
    hone.export(model.train(), loss, ids(), out=str(tmp_path / "m.hone"))
    assert "evaluation mode" not in capsys.readouterr().err


@pytest.fixture
def process_group(tmp_path):
    import torch.distributed as distributed

    distributed.init_process_group("gloo", init_method=f"file://{tmp_path / 'ranks'}", rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


def test_distributed_data_parallel_is_taken_off(tmp_path, process_group) -> None:
    path = hone.export(nn.parallel.DistributedDataParallel(Net()), loss, ids(), out=str(tmp_path / "m.hone"))
    with open(f"{path}/graph.mlir") as file:
        assert 'hone.fqn = "mix.weight"' in file.read()


def test_sharded_parameters_are_refused(tmp_path, process_group) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model = fully_shard(Net(), mesh=init_device_mesh("cpu", (1,)))
    with pytest.raises(HoneError, match="^model: is sharded by FSDP"):
        hone.export(model, loss, ids(), out=str(tmp_path / "m.hone"))


def test_a_forward_hook_of_all_modules_is_taken() -> None:
    twice = lambda module, x, y: y * 2 if isinstance(module, nn.Linear) else None
    model, plain = Net(), ids()
    hook = torch.nn.modules.module.register_module_forward_hook(twice)
    try:
        expected = loss(model, *plain).item()
        captured = capture(model, loss, plain)
    finally:
        hook.remove()
    graph, _ = api.build_graph(model, captured, plain, None, {}, {}, "case")
    values = {n: p.detach().double() for n, p in model.named_parameters()} | dict(zip(captured.inputs, plain))
    assert evaluate(graph, values).item() == pytest.approx(expected, rel=1e-5)
    assert loss(model, *plain).item() != pytest.approx(expected, rel=1e-3)


def test_a_backward_hook_of_all_modules_is_refused(tmp_path) -> None:
    hook = torch.nn.modules.module.register_module_full_backward_hook(lambda *gradients: None)
    try:
        with pytest.raises(HoneError, match="^model: a backward hook of all modules"):
            hone.export(Net(), loss, ids(), out=str(tmp_path / "m.hone"))
    finally:
        hook.remove()


WRAPPERS = {"compile": lambda m: torch.compile(m, backend="eager"), "parallel": nn.DataParallel}


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
def test_wrapped_models_keep_their_names(wrap, tmp_path) -> None:
    model = Net()
    path = hone.export(wrap(model), loss, ids(), out=str(tmp_path / "m.hone"), weights=True)
    twin = Net()
    hone.load(wrap(twin), f"{path}/model.safetensors")
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), twin.parameters()))
    model.mix = torch.compile(model.mix, backend="eager")
    path = hone.export(model, loss, ids(), out=str(tmp_path / "m.hone"), golden=1)
    hone.load(wrap(model), f"{path}/model.safetensors")
    hone.load(twin, f"{path}/model.safetensors")


def test_export_leaves_attributes_as_they_were(tmp_path) -> None:
    model = Net(count_unread)
    model.steps = 7
    hone.export(model, calling(lambda m, x: setattr(m, "last", x)), ids(), out=str(tmp_path / "m.hone"))
    assert model.steps == 7 and not isinstance(getattr(model, "last", None), torch._subclasses.FakeTensor)
