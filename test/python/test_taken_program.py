"""What export takes from a program as PyTorch takes it, and what it refuses by name: random numbers, ties, losses,
regions without gradients and the like, batches, values that decide what is computed.

What a model holds: test_taken_model.py.
"""

from __future__ import annotations

import random
import runpy
from typing import Callable

import pytest

torch = pytest.importorskip("torch")

import hone  # noqa: E402
import numpy as np  # noqa: E402
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from hone.errors import HoneError  # noqa: E402
from taken_cases import Case, Cases, Net, calling, check_refused, check_taken, ids, loss  # noqa: E402
from torch._subclasses import FakeTensorMode  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

CASES = Cases()
changed, with_hidden, with_loss = CASES.changed, CASES.with_hidden, CASES.with_loss

# -- random numbers -----------------------------------------------------------------------------------------------


def seeded(model, x):
    torch.manual_seed(0)
    return x * torch.rand(6)


def forked(model, x):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return x * torch.rand(6)


SEEDED = r"^.*test_taken_program.py:\d+: the program seeds the random numbers"
with_hidden("seed in forward", seeded, SEEDED)
with_hidden("seed in a fork", forked, SEEDED)
with_hidden("Python's random numbers", lambda m, x: x * random.random(), "draws from Python's or NumPy's random")
with_hidden("NumPy's random numbers", lambda m, x: x * float(np.random.rand()), "draws from Python's or NumPy's random")
changed("a generator", lambda m: setattr(m, "generator", torch.Generator()), "a torch.Generator",
        hidden=lambda m, x: x * torch.rand(6, generator=m.generator))

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

# -- losses -------------------------------------------------------------------------------------------------------


def options(**given) -> Callable:
    return lambda model, tokens, targets: loss(model, tokens, targets, **given)


def averaged(**given) -> Callable:
    return lambda model, tokens, targets: loss(model, tokens, targets, reduction="none", **given).mean()


def log_likelihood(model, tokens, targets):
    return F.nll_loss(model(tokens).flatten(0, 1).log_softmax(-1), targets.flatten(), ignore_index=2)


def soft(model, tokens, targets):
    return F.cross_entropy(model(tokens).flatten(0, 1), F.one_hot(targets.flatten(), 11).float())


def penalised(model, tokens, targets):
    result = loss(model, tokens, targets)
    return result + torch.autograd.grad(result, model.mix.weight, create_graph=True)[0].square().sum()


def step(model, result):
    torch.optim.SGD(model.parameters(), 0.1).step()


GRADIENTS = r"^.*test_taken_program.py:\d+: the program computes gradients itself; return the loss alone"
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
with_loss("class weights", options(weight=torch.arange(11.0)))
with_loss("class probabilities", soft)
with_loss("backward in the loss", calling(lambda m, x: x.backward()), GRADIENTS)
with_loss("torch.autograd.backward in the loss", calling(lambda m, x: torch.autograd.backward(x)), GRADIENTS)
with_loss("gradient penalty", penalised, GRADIENTS)
with_loss("optimizer step in the loss", calling(step), r"test_taken_program.py:\d+: .*calls optimizer.step")
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


class Gated(torch.autograd.Function):
    """Two results, the second without gradient; an argument that is no tensor; a gradient unlike the derivative."""

    @staticmethod
    def forward(x, weight, scale):
        return (x * weight * scale).exp(), x > 0

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, weight, ctx.scale = inputs
        ctx.save_for_backward(x, weight, *output)
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, gradient, _):
        x, weight, result, positive = ctx.saved_tensors
        assert ctx.needs_input_grad == (True, True, False)
        shared = torch.where(positive, gradient * ctx.scale, 0.1 * gradient).clamp(-0.02, 0.02)
        return shared * weight, (shared * x + 0.01 * result).sum((0, 1)), None


class Unused(torch.autograd.Function):
    """A result that the loss does not read, a saved attribute, and no gradient for the second argument."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.kept = torch.cumsum(x, 1)
        return x + y, x - y

    @staticmethod
    def backward(ctx, first, second):
        return first * ctx.kept.sign() + second, None


class Dirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Nested(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return Negated.apply(gradient)


class Short(Negated):
    @staticmethod
    def forward(ctx, x, y):
        return x + y


class Random(Negated):
    @staticmethod
    def backward(ctx, gradient):
        return F.dropout(gradient, 0.5)


def custom_op(name: str, function: Callable, backward: Callable | None = None, **options):
    """An operator of torch.library, with a backward made of (gradient, saved argument)."""
    op = torch.library.custom_op(f"hone_test::{name}", function, mutates_args=options.get("mutates_args", ()))
    op.register_fake(lambda x: torch.empty_like(x))
    if backward:
        op.register_autograd(
            lambda ctx, g: backward(g, *ctx.saved_tensors),
            setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
        )
    return op


def cubed(x: torch.Tensor) -> torch.Tensor:
    return x.sin() * x * x


def in_numpy(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(x.numpy() ** 2)


def in_place(x: torch.Tensor) -> None:
    x.mul_(2)


CUBED = custom_op("cubed", cubed, lambda g, x: g * (x + 2))
CONSTANT = custom_op("constant", cubed)
IN_NUMPY = custom_op("in_numpy", in_numpy, lambda g, x: g * 2 * x)
IN_PLACE = torch.library.custom_op("hone_test::in_place", in_place, mutates_args=("x",))
torch.library.define("hone_test::opaque", "(Tensor x) -> Tensor")
torch.library.impl("hone_test::opaque", "cpu")(lambda x: x + 1)
torch.library.register_fake("hone_test::opaque")(lambda x: torch.empty_like(x))


def changed(x: torch.Tensor) -> torch.Tensor:
    x = x.detach() * 1
    IN_PLACE(x)
    return x


def gated(model, x):
    result, positive = Gated.apply(x, model.mix.bias, 0.3)
    return torch.where(positive, result, x)


with_hidden("no_grad", no_gradient)
with_hidden("enable_grad in no_grad", gradient_in_no_gradient)
with_hidden("detach", lambda m, x: x * x.detach())
with_hidden("data", lambda m, x: x * x.data)
with_hidden("a gradient scaled in forward", lambda m, x: x * 0.1 + x.detach() * 0.9)
with_hidden("checkpoint", lambda m, x: checkpoint(m.mix, x, use_reentrant=False))
with_hidden("autocast switched off", autocast(False))
with_hidden("inference_mode", inference,
            r"test_taken_program.py:\d+: the program enters inference_mode; write torch.no_grad")
with_hidden("inference_mode as decorator", lambda m, x: x / decorated(x), "the program enters inference_mode")
with_hidden("autocast", autocast(True), r"test_taken_program.py:\d+: a torch.autocast region is not supported")
with_hidden("reentrant checkpoint", lambda m, x: checkpoint(m.mix, x, use_reentrant=True))
with_hidden("custom function", lambda m, x: Negated.apply(x))
with_hidden("custom function of two results", gated)
with_hidden("custom function twice", lambda m, x: gated(m, gated(m, x)))
with_hidden("custom function with a result unused", lambda m, x: Unused.apply(x, m.mix.weight[0])[0])
with_hidden("custom function of a constant", lambda m, x: x * Negated.apply(torch.ones(6)))
with_hidden("custom function that writes", lambda m, x: Dirty.apply(x * 1),
            "autograd.Function changes its input in place .mark_dirty., which is not supported")
with_hidden("custom function in a backward", lambda m, x: Nested.apply(x),
            "autograd.Function 'Nested' is not supported: its backward calls another one, 'Negated'")
with_hidden("custom function with a gradient too few", lambda m, x: Short.apply(x, x),
            "autograd.Function 'Short' is not supported: backward returns 1 gradient.s., expected one for each of 2")
with_hidden("custom function that draws", lambda m, x: Random.apply(x), "draws random numbers, which is not supported")
with_hidden("custom operator", lambda m, x: CUBED(x))
with_hidden("custom operator twice", lambda m, x: CUBED(CUBED(x) * m.mix.bias))
with_hidden("custom operator without gradient", lambda m, x: x * CONSTANT(x.detach()))
with_hidden("custom operator whose gradient is missing", lambda m, x: CONSTANT(x),
            "operator hone_test.constant.default has no gradient; give it one with register_autograd")
with_hidden("custom operator in NumPy", lambda m, x: IN_NUMPY(x),
            "operator hone_test.in_numpy.default with these arguments is not supported")
with_hidden("custom operator that writes", lambda m, x: x * changed(x),
            "operator hone_test.in_place.default changes its arguments, which is not supported; return new ones")
with_hidden("custom operator without Python", lambda m, x: x * torch.ops.hone_test.opaque(x.detach()),
            "operator hone_test.opaque.default is not supported: it has no implementation in Python to trace; give it")

# -- the batch ----------------------------------------------------------------------------------------------------

squared = lambda model, x, y: F.mse_loss(model(x), y)
dense = lambda model, x, y: F.mse_loss(model(x.to_dense()), y)
ragged = lambda **kind: torch.nested.nested_tensor([torch.randn(2, 3), torch.randn(4, 3)], **kind)


def doubled_input(model, x, y):
    return F.mse_loss(model(x.mul_(2)), y)


def with_input(name: str, x: Callable, function: Callable, message: str | None = None, y=lambda: torch.randn(4, 1)):
    CASES.add(name, lambda: Case(nn.Linear(3, 1), function, (x(), y())), message)


@CASES.function()
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
with_input("an input changed in place", lambda: torch.randn(4, 3), doubled_input)

fake = FakeTensorMode()
with_input("a fake input", lambda: fake.from_tensor(torch.randn(4, 3)), squared,
           "^example_batch: item 0: is a FakeTensor, a tensor class with operators of its own")

# -- values that decide -------------------------------------------------------------------------------------------

HERE = r"^(test/python/)?test_taken_program.py:\d+: "
BRANCH, NUMBER = HERE + "the branch depends on tensor values; use torch.where", HERE + "a number is read from a tensor"
SHAPE = HERE + "the shape depends on tensor values; use torch.where"
with_hidden("branch", lambda m, x: x if x.sum() > 0 else -x)
with_hidden("branch on a drawn number", lambda m, x: x if torch.rand([]) < 0.5 else -x, BRANCH)
with_loss("branch on ids", lambda m, x, y: loss(m, x, y) if (x == 0).any() else 2 * loss(m, x, y))
with_hidden("item", lambda m, x: x * x.max().item(), NUMBER)
with_hidden("float", lambda m, x: x * float(x.mean()), NUMBER)
with_hidden("numpy", lambda m, x: x * torch.from_numpy(x.detach().numpy()), NUMBER)
with_loss("tolist", lambda m, x, y: loss(m, x, y) * sum(x.flatten().tolist()), NUMBER)
with_loss("range", lambda m, x, y: sum(loss(m, x, y) for _ in range(x.max())))
with_loss("nonzero", lambda m, x, y: loss(m, x, y) * (y != 2).nonzero().shape[0], SHAPE)
with_loss("masked_select", lambda m, x, y: m(x).masked_select((y > 3)[..., None]).mean(), SHAPE)
with_loss("boolean index", lambda m, x, y: F.cross_entropy(m(x)[y != 2], y[y != 2]), SHAPE)


# -- tests --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES.taken)
def test_taken_as_pytorch_takes_it(name: str) -> None:
    check_taken(CASES.taken[name])


@pytest.mark.parametrize("name", CASES.refused)
def test_refused_by_name(name: str, tmp_path, capfd) -> None:
    check_refused(*CASES.refused[name], tmp_path)


def test_a_folder_of_the_users_is_not_torch(tmp_path) -> None:
    path = tmp_path / "torch" / "train.py"
    path.parent.mkdir()
    path.write_text("import torch\n\ndef seeded(m, x):\n    torch.manual_seed(0)\n    return x * torch.rand(6)\n")
    seeded = runpy.run_path(str(path))["seeded"]
    with pytest.raises(HoneError, match=r"^train.py:4: the program seeds the random numbers"):
        hone.export(Net(seeded), loss, ids(), out=str(tmp_path / "m.hone"))


@pytest.mark.parametrize("mode", (torch.no_grad, torch.inference_mode), ids=lambda m: m.__name__)
def test_export_under_no_grad_is_export(mode, tmp_path) -> None:
    model = Net()
    with mode():
        path = hone.export(model, loss, ids(), out=str(tmp_path / "m.hone"), golden=1)
    with open(f"{path}/graph.mlir") as file:
        assert file.read().count("hone.requires_grad") == 4
