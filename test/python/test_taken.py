"""Every value that export takes from a model, a loss or a batch: taken as PyTorch takes it, or refused by name.

The optimizer's values are in test_optimizer.py. A taken case is compared with eager PyTorch in training mode: the loss
and the gradient of each parameter, from the exported graph evaluated by `evaluate`.
"""

from __future__ import annotations

import random
import re
import runpy
from dataclasses import dataclass
from typing import Callable

import pytest

torch = pytest.importorskip("torch")

import hone  # noqa: E402
import numpy as np  # noqa: E402
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from evaluate import evaluate  # noqa: E402
from hone import api  # noqa: E402
from hone.capture import capture  # noqa: E402
from hone.errors import HoneError  # noqa: E402
from hone.guards import plain_name, unwrapped  # noqa: E402
from torch._subclasses import FakeTensorMode  # noqa: E402
from torch.nn.utils import parametrizations, parametrize, prune  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402


class Net(nn.Module):
    """[2, 5] tokens -> [2, 5, 11] logits; `hidden` is applied to the activations [2, 5, 6] between."""

    def __init__(self, hidden=lambda net, x: x, **embedding) -> None:
        super().__init__()
        self.table, self.mix = nn.Embedding(11, 6, **embedding), nn.Linear(6, 6)
        self.head = nn.Linear(6, 11, bias=False)
        self.function = hidden

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.function(self, self.mix(self.table(tokens))))


def loss(model, tokens, targets, **options):
    return F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), **options)


def ids() -> tuple[torch.Tensor, torch.Tensor]:
    tokens = torch.tensor([[1, 3, 2, 0, 10], [3, 3, 5, 7, 2]])
    return tokens, (tokens * 3 + 1) % 11


@dataclass
class Case:
    model: nn.Module
    loss: Callable = loss
    batch: tuple = None

    def __post_init__(self) -> None:
        self.batch = ids() if self.batch is None else self.batch


TAKEN: dict[str, Callable[[], Case]] = {}
REFUSED: dict[str, tuple[Callable[[], Case], str]] = {}


def taken(function: Callable[[], Case]) -> Callable:
    TAKEN[function.__name__] = function
    return function


def refused(message: str) -> Callable:
    def register(function: Callable[[], Case]) -> Callable:
        REFUSED[function.__name__] = (function, message)
        return function

    return register


def with_loss(name: str, function: Callable, message: str | None = None) -> None:
    make = lambda: Case(Net(), function)
    TAKEN.update({name: make} if message is None else {})
    REFUSED.update({} if message is None else {name: (make, message)})


def with_hidden(name: str, function: Callable, message: str | None = None) -> None:
    make = lambda: Case(Net(function))
    TAKEN.update({name: make} if message is None else {})
    REFUSED.update({} if message is None else {name: (make, message)})


def changed(name: str, change: Callable[[Net], object], message: str | None = None, **options) -> None:
    """A Net after `change`, which may return another module."""

    def make() -> Case:
        model = Net(**options)
        result = change(model)
        return Case(result if isinstance(result, nn.Module) else model)

    TAKEN.update({name: make} if message is None else {})
    REFUSED.update({} if message is None else {name: (make, message)})


def with_input(name: str, x: Callable, function: Callable, message: str | None = None, y=lambda: torch.randn(4, 1)):
    make = lambda: Case(nn.Linear(3, 1), function, (x(), y()))
    TAKEN.update({name: make} if message is None else {})
    REFUSED.update({} if message is None else {name: (make, message)})


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


@taken
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


@refused("reads and changes '_loss_fn.calls'")
def counting_loss() -> Case:
    return Case(Net(), Warming())


@refused("operator aten.batch_norm.default is not supported .in module 'norm'")
def frozen_batch_norm() -> Case:
    model = Net(lambda m, x: m.norm(x.flatten(0, 1)).view(2, 5, 6))
    model.norm = nn.BatchNorm1d(6)
    model.train().norm.eval()
    return Case(model)


@refused("aten.add_.Tensor changes buffer 'norm.num_batches_tracked' in place")
def batch_norm() -> Case:
    model = Net(lambda m, x: m.norm(x.flatten(0, 1)).view(2, 5, 6))
    model.norm = nn.BatchNorm1d(6)
    return Case(model)


# -- buffers and other state --------------------------------------------------------------------------------------


def holding(name: str, function: Callable, message: str | None = None, **buffer) -> None:
    """A Net with a buffer `held`, [6] drawn values; `function` is its hidden."""

    def make() -> Case:
        model = Net(function)
        model.register_buffer("held", torch.randn(6), **buffer)
        return Case(model)

    TAKEN.update({name: make} if message is None else {})
    REFUSED.update({} if message is None else {name: (make, message)})


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
holding("a buffer changed in place", add_to_held, "aten.add_.Tensor changes buffer 'held' in place")
holding("a buffer changed and not read", add_unread, "aten.add_.Tensor changes buffer 'held' in place")
holding("a buffer assigned", assign_held, "reads and changes 'held'")
holding("a running average", average, r"aten.mul_.Tensor changes .* in place")
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

# -- random numbers -----------------------------------------------------------------------------------------------


def seeded(model, x):
    torch.manual_seed(0)
    return x * torch.rand(6)


def forked(model, x):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return x * torch.rand(6)


SEEDED = r"^.*test_taken.py:\d+: the program seeds the random numbers"
with_hidden("seed in forward", seeded, SEEDED)
with_hidden("seed in a fork", forked, SEEDED)
with_hidden("bernoulli", lambda m, x: x * torch.bernoulli(torch.full_like(x, 0.5)), "aten.bernoulli.default")
with_hidden("Python's random numbers", lambda m, x: x * random.random(), "draws from Python's or NumPy's random")
with_hidden("NumPy's random numbers", lambda m, x: x * float(np.random.rand()), "draws from Python's or NumPy's random")
changed("a generator", lambda m: setattr(m, "generator", torch.Generator()), "a torch.Generator",
        hidden=lambda m, x: x * torch.rand(6, generator=m.generator))

# -- embeddings ---------------------------------------------------------------------------------------------------

changed("padding_idx", lambda m: m, padding_idx=3)
changed("padding_idx from the end", lambda m: m, padding_idx=-1)
changed("padding_idx of a tied table", lambda m: setattr(m.head, "weight", m.table.weight), padding_idx=3)
changed("max_norm", lambda m: m, "aten.embedding_renorm_.default", max_norm=1.0)
changed("scale_grad_by_freq", lambda m: m, "scale_grad_by_freq or sparse gradients", scale_grad_by_freq=True)
changed("sparse gradients", lambda m: m, "scale_grad_by_freq or sparse gradients", sparse=True)

# -- ties ---------------------------------------------------------------------------------------------------------


def tie(bias: float) -> Callable:
    """Makes four of six activations equal, and larger or smaller than the others."""

    def change(model) -> None:
        model.mix.weight.data[:4] = model.mix.weight.data[0].clone()
        model.mix.bias.data[:4] = bias

    return change


changed("a tie of max: the first gets the gradient", tie(3), hidden=lambda m, x: x * x.max(-1, keepdim=True).values)
changed("a tie of min: the first gets the gradient", tie(-3), hidden=lambda m, x: x * x.min(-1, keepdim=True).values)
changed("a tie of amax: all share the gradient", tie(3), hidden=lambda m, x: x * x.amax(-1, keepdim=True))

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
with_hidden("a hook on an activation", hook_on(lambda x: x), r"test_taken.py:\d+: .*registers a gradient hook")
with_hidden("a hook on a node", hook_on_node, r"test_taken.py:\d+: .*reads grad_fn")
with_loss("a hook on the loss", hook_on_loss, r"test_taken.py:\d+: .*registers a gradient hook")


# -- parametrizations and wrappers --------------------------------------------------------------------------------


class Square(nn.Module):
    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        return weight * weight


changed("a parametrization", lambda m: parametrize.register_parametrization(m.mix, "weight", Square()) and None)
changed("pruning", lambda m: prune.l1_unstructured(m.mix, "weight", amount=0.3) and None)
changed("weight_norm", lambda m: parametrizations.weight_norm(m.mix) and None, "aten._weight_norm.default .*'mix.param")
changed("weight_norm of old", lambda m: nn.utils.weight_norm(m.mix) and None, "aten._weight_norm.default .*'mix'")
changed("spectral_norm", lambda m: parametrizations.spectral_norm(m.mix) and None, "not supported .*'mix.parametriz")
changed("spectral_norm of old", lambda m: nn.utils.spectral_norm(m.mix) and None, "not supported .*'mix'")
changed("orthogonal", lambda m: parametrizations.orthogonal(m.mix) and None, "not supported .*'mix.parametrizations")
changed("a compiled model", lambda m: torch.compile(m, backend="eager"))
changed("a compiled part", lambda m: setattr(m, "mix", torch.compile(m.mix, backend="eager")))
changed("a model compiled in place", lambda m: m.compile(backend="eager"))
changed("data parallel", lambda m: nn.DataParallel(m))
changed("TorchScript", lambda m: torch.jit.script(nn.Sequential(m.table, m.mix)), "^model: is TorchScript")
changed("a quantised model",
        lambda m: torch.ao.quantization.quantize_dynamic(m, {nn.Linear}, dtype=torch.qint8),
        "^module 'mix': is quantised")


# -- losses -------------------------------------------------------------------------------------------------------


def options(**given) -> Callable:
    return lambda model, tokens, targets: loss(model, tokens, targets, **given)


def averaged(**given) -> Callable:
    return lambda model, tokens, targets: loss(model, tokens, targets, reduction="none", **given).mean()


def log_likelihood(model, tokens, targets):
    return F.nll_loss(model(tokens).flatten(0, 1).log_softmax(-1), targets.flatten(), ignore_index=2)


def soft(model, tokens, targets):
    return F.cross_entropy(model(tokens).flatten(0, 1), F.one_hot(targets.flatten(), 11).float())


def calling(function: Callable) -> Callable:
    """A loss that calls `function(model, loss)` and returns the loss."""

    def compute(model, tokens, targets):
        result = loss(model, tokens, targets)
        function(model, result)
        return result

    return compute


def penalised(model, tokens, targets):
    result = loss(model, tokens, targets)
    return result + torch.autograd.grad(result, model.mix.weight, create_graph=True)[0].square().sum()


def step(model, result):
    torch.optim.SGD(model.parameters(), 0.1).step()


GRADIENTS = r"^.*test_taken.py:\d+: the program computes gradients itself; return the loss alone"
with_loss("sum", options(reduction="sum"))
with_loss("mean of none", averaged())
with_loss("ignore_index", options(ignore_index=2))
with_loss("ignore_index, mean of none", averaged(ignore_index=2))
with_loss("ignore_index, sum over count", lambda m, x, y: loss(m, x, y, ignore_index=2, reduction="sum") / y.numel())
with_loss("label smoothing", options(label_smoothing=0.1))
with_loss("label smoothing and ignore_index", options(label_smoothing=0.1, ignore_index=2))
with_loss("nll_loss", log_likelihood)
with_loss("loss over steps of accumulation", lambda m, x, y: loss(m, x, y) / 4)
with_loss("loss in half precision", lambda m, x, y: loss(m, x, y).half())
with_loss("loss kept for logging", calling(lambda m, x: setattr(m, "last", x.detach())))
with_loss("gradients set to none", calling(lambda m, x: m.zero_grad()))
with_loss("class weights", options(weight=torch.arange(11.0)), "cross entropy with class weights is not supported")
with_loss("class probabilities", soft, "class probabilities as targets is not supported")
with_loss("backward in the loss", calling(lambda m, x: x.backward()), GRADIENTS)
with_loss("torch.autograd.backward in the loss", calling(lambda m, x: torch.autograd.backward(x)), GRADIENTS)
with_loss("gradient penalty", penalised, GRADIENTS)
with_loss("optimizer step in the loss", calling(step), r"test_taken.py:\d+: .*calls optimizer.step")
with_loss("loss of shape [1]", lambda m, x, y: loss(m, x, y)[None], "^loss_fn: returns tensor<1xf32>, expected")


# -- regions ------------------------------------------------------------------------------------------------------


def no_gradient(model, x):
    with torch.no_grad():
        scale = x.abs().mean()
    return x / scale


def gradient_in_no_gradient(model, x):
    with torch.no_grad():
        y = x.sin()
        with torch.enable_grad():
            z = x.cos()
    return x * y + z


def inference(model, x):
    with torch.inference_mode():
        scale = x.abs().mean()
    return x / scale


@torch.inference_mode()
def decorated(x):
    return x.abs().mean()


def autocast(enabled: bool) -> Callable:
    def hidden(model, x):
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            return model.mix(x).float()

    return hidden


class Negated(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return -gradient


with_hidden("no_grad", no_gradient)
with_hidden("enable_grad in no_grad", gradient_in_no_gradient)
with_hidden("detach", lambda m, x: x * x.detach())
with_hidden("data", lambda m, x: x * x.data)
with_hidden("a gradient scaled in forward", lambda m, x: x * 0.1 + x.detach() * 0.9)
with_hidden("checkpoint", lambda m, x: checkpoint(m.mix, x, use_reentrant=False))
with_hidden("autocast switched off", autocast(False))
with_hidden("inference_mode", inference, r"test_taken.py:\d+: the program enters inference_mode; write torch.no_grad")
with_hidden("inference_mode as decorator", lambda m, x: x / decorated(x), "the program enters inference_mode")
with_hidden("autocast", autocast(True), r"test_taken.py:\d+: a torch.autocast region is not supported")
with_hidden("reentrant checkpoint", lambda m, x: checkpoint(m.mix, x, use_reentrant=True),
            r"test_taken.py:\d+: custom autograd.Function 'CheckpointFunction'")
with_hidden("custom function", lambda m, x: Negated.apply(x), r"test_taken.py:\d+: custom autograd.Function 'Negated'")

# -- the batch ----------------------------------------------------------------------------------------------------

squared = lambda model, x, y: F.mse_loss(model(x), y)
dense = lambda model, x, y: F.mse_loss(model(x.to_dense()), y)
ragged = lambda **kind: torch.nested.nested_tensor([torch.randn(2, 3), torch.randn(4, 3)], **kind)


def doubled_input(model, x, y):
    return F.mse_loss(model(x.mul_(2)), y)


@taken
def one_tensor_and_a_view_of_it() -> Case:
    x = torch.randn(4, 3)
    return Case(nn.Linear(3, 1), squared, (x, x[:, :1]))


with_input("an input with a gradient", lambda: torch.randn(4, 3, requires_grad=True), squared)
with_input("an input with strides", lambda: torch.randn(3, 4).T, squared)
with_input("an expanded input", lambda: torch.randn(1, 3).expand(4, 3), squared)
with_input("an input without dimensions", lambda: torch.randn(4, 3), squared, y=lambda: torch.tensor(1.5))
with_input("a boolean input", lambda: torch.randn(4, 3), lambda m, x, y: (m(x) * y).mean(),
           y=lambda: torch.tensor([[True], [False], [True], [True]]))
with_input("a sparse input", lambda: torch.eye(4, 3).to_sparse(), dense, "^example_batch: item 0: is torch.sparse_coo")
with_input("a sparse input by rows", lambda: torch.eye(4, 3).to_sparse_csr(), dense, "item 0: is torch.sparse_csr")
with_input("a nested input", ragged, squared, "^example_batch: item 0: is nested, expected a dense tensor")
with_input("a jagged input", lambda: ragged(layout=torch.jagged), squared, "^example_batch: item 0: is nested")
with_input("a quantised input", lambda: torch.quantize_per_tensor(torch.randn(4, 3), 0.1, 0, torch.qint8), squared,
           "^example_batch: item 0: element type torch.qint8 is not supported")
with_input("a complex input", lambda: torch.randn(4, 3, dtype=torch.complex64), lambda m, x, y: squared(m, x.real, y),
           "^example_batch: item 0: element type torch.complex64 is not supported")
with_input("a number", lambda: torch.randn(4, 3), squared, "^example_batch: item 1 is a float, expected a tensor",
           y=lambda: 1.5)
with_input("an input changed in place", lambda: torch.randn(4, 3), doubled_input, "changes an input in place")

fake = FakeTensorMode()
with_input("a fake input", lambda: fake.from_tensor(torch.randn(4, 3)), squared,
           "^example_batch: item 0: is a FakeTensor, a tensor class with operators of its own")

# -- values that decide -------------------------------------------------------------------------------------------

HERE = r"^(test/python/)?test_taken.py:\d+: "
BRANCH, NUMBER = HERE + "the branch depends on tensor values; use torch.where", HERE + "a number is read from a tensor"
SHAPE = HERE + "the shape depends on tensor values; use torch.where"
with_hidden("branch", lambda m, x: x if x.sum() > 0 else -x, BRANCH)
with_hidden("branch on a drawn number", lambda m, x: x if torch.rand([]) < 0.5 else -x, BRANCH)
with_loss("branch on ids", lambda m, x, y: loss(m, x, y) if (x == 0).any() else 2 * loss(m, x, y), BRANCH)
with_hidden("item", lambda m, x: x * x.max().item(), NUMBER)
with_hidden("float", lambda m, x: x * float(x.mean()), NUMBER)
with_hidden("numpy", lambda m, x: x * torch.from_numpy(x.detach().numpy()), NUMBER)
with_loss("tolist", lambda m, x, y: loss(m, x, y) * sum(x.flatten().tolist()), NUMBER)
with_loss("range", lambda m, x, y: sum(loss(m, x, y) for _ in range(x.max())), NUMBER)
with_loss("nonzero", lambda m, x, y: loss(m, x, y) * (y != 2).nonzero().shape[0], SHAPE)
with_loss("masked_select", lambda m, x, y: m(x).masked_select((y > 3)[..., None]).mean(), SHAPE)
with_loss("boolean index", lambda m, x, y: F.cross_entropy(m(x)[y != 2], y[y != 2]), SHAPE)


# -- tests --------------------------------------------------------------------------------------------------------


def made(make: Callable[[], Case]) -> Case:
    torch.manual_seed(0)
    return make()


@pytest.mark.parametrize("name", TAKEN)
def test_taken_as_pytorch_takes_it(name: str) -> None:
    case, twin = made(TAKEN[name]), made(TAKEN[name])
    model = unwrapped(case.model)
    captured = capture(model, case.loss, api._checked_batch(case.batch))
    graph, constants = api.build_graph(model, captured, case.batch, None, {}, {}, name)

    result = twin.loss(twin.model.train() if not twin.model.training else twin.model, *twin.batch)
    result.backward()
    wide = lambda x: x.detach().double() if x.is_floating_point() else x
    parameters = {fqn: wide(p).requires_grad_(p.is_floating_point()) for fqn, p in captured.parameters.items()}
    inputs = [a.fqn for a in graph.arguments if a.kind == "input"]
    batch = dict(zip(inputs, map(wide, case.batch), strict=True))
    seen = evaluate(graph, parameters | {n: wide(x) for n, x in constants.items()} | batch)

    coarse = {torch.float16: 2e-3, torch.bfloat16: 2e-2}
    least = max([coarse.get(p.dtype, 1e-5) for p in captured.parameters.values()] + [coarse.get(result.dtype, 1e-5)])
    torch.testing.assert_close(seen, result.detach().double(), rtol=least, atol=least)
    trained = {a.fqn for a in graph.arguments if a.requires_grad}
    gradients = torch.autograd.grad(seen, [parameters[fqn] for fqn in trained])
    expected = {plain_name(n): p.grad for n, p in unwrapped(twin.model).named_parameters() if p.grad is not None}
    assert trained == set(expected)
    for fqn, gradient in zip(trained, gradients):
        torch.testing.assert_close(
            gradient, expected[fqn].double(), rtol=least, atol=least, msg=lambda m: f"{fqn}: {m}"
        )


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name(name: str, tmp_path, capfd) -> None:
    make, message = REFUSED[name]
    case = made(make)
    with pytest.raises(HoneError) as error:
        hone.export(case.model, case.loss, case.batch, out=str(tmp_path / "m.hone"))
    text = str(error.value)
    assert re.search(message, text), text
    assert "\n" not in text and not list(tmp_path.iterdir())


def test_a_folder_of_the_users_is_not_torch(tmp_path) -> None:
    path = tmp_path / "torch" / "train.py"
    path.parent.mkdir()
    path.write_text("import torch\n\ndef seeded(m, x):\n    torch.manual_seed(0)\n    return x * torch.rand(6)\n")
    seeded = runpy.run_path(str(path))["seeded"]
    with pytest.raises(HoneError, match=r"^train.py:4: the program seeds the random numbers"):
        hone.export(Net(seeded), loss, ids(), out=str(tmp_path / "m.hone"))


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
    assert "model: is in evaluation mode, exported in training mode, with dropout" in capsys.readouterr().err
    hone.export(model.train(), loss, ids(), out=str(tmp_path / "m.hone"))
    assert "evaluation mode" not in capsys.readouterr().err


@pytest.mark.parametrize("mode", (torch.no_grad, torch.inference_mode), ids=lambda m: m.__name__)
def test_export_under_no_grad_is_export(mode, tmp_path) -> None:
    model = Net()
    with mode():
        path = hone.export(model, loss, ids(), out=str(tmp_path / "m.hone"), golden=1)
    with open(f"{path}/graph.mlir") as file:
        assert file.read().count("hone.requires_grad") == 4


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


def test_sharded_parameters_are_refused(tmp_path, process_group) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model = fully_shard(Net(), mesh=init_device_mesh("cpu", (1,)))
    with pytest.raises(HoneError, match="^model: is sharded by FSDP"):
        hone.export(model, loss, ids(), out=str(tmp_path / "m.hone"))


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
