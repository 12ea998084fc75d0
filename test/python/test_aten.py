"""Each family of ATen overloads: a small function is captured, imported, and compared with PyTorch in double precision,
values and gradients; the emitted text passes hone-opt's verifier."""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")

import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from evaluate import evaluate  # noqa: E402
from hone.api import build_graph  # noqa: E402
from hone.capture import capture  # noqa: E402
from hone.emit import emit  # noqa: E402
from hone.graph import Graph  # noqa: E402

# Both sides compute in double precision from the same numbers, in different orders.
TOLERANCE = 1e-10


class Case(nn.Module):
    """`function` over parameters x0, x1, ... of the given shapes; the loss weighs the elements of its results apart."""

    def __init__(self, function, *shapes: tuple[int, ...]) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(7)
        self.function = function
        for i, shape in enumerate(shapes):
            self.register_parameter(f"x{i}", nn.Parameter(torch.randn(shape, generator=generator)))

    def forward(self, *batch: torch.Tensor) -> torch.Tensor:
        results = self.function(*self.parameters(), *batch)
        results = results if isinstance(results, (tuple, list)) else (results,)
        total = sum(p.sum() for p in self.parameters()) * 0
        for result in results:
            weights = (torch.arange(result.numel()) * 0.37 + 0.5).sin().view(result.shape)
            total = total + (result.to(total.dtype) * weights.to(total.dtype)).sum()
        return total


def imported(model: nn.Module, *batch: torch.Tensor) -> tuple[Graph, dict[str, torch.Tensor]]:
    captured = capture(model, None, batch or (torch.zeros(1),))
    return build_graph(model, captured, batch or (torch.zeros(1),), None, {}, {}, "case")


def check(model: nn.Module, *batch: torch.Tensor, tolerance: float = TOLERANCE) -> Graph:
    """Compares loss and gradients of the imported graph with the module's own."""
    batch = batch or (torch.zeros(1),)
    graph, constants = imported(model, *batch)
    twin = copy.deepcopy(model).double().train()
    wide = [x.double() if x.is_floating_point() else x for x in batch]
    torch.set_default_dtype(torch.float64)  # of tensors the function makes itself
    try:
        expected = twin(*wide)
    finally:
        torch.set_default_dtype(torch.float32)
    parameters = dict(twin.named_parameters())
    gradients = torch.autograd.grad(expected, parameters.values(), allow_unused=True)
    inputs = dict(zip([a.fqn for a in graph.arguments if a.kind == "input"], wide))
    state = {name: x.double() if x.is_floating_point() else x for name, x in constants.items()}
    copies = {name: p.detach().clone().requires_grad_(p.requires_grad) for name, p in parameters.items()}
    seen = evaluate(graph, copies | inputs | state)
    torch.testing.assert_close(seen, expected, rtol=tolerance, atol=tolerance, check_dtype=False)
    got = torch.autograd.grad(seen, copies.values(), allow_unused=True)
    for name, a, b in zip(parameters, got, gradients):
        a, b = (torch.zeros_like(copies[name]) if g is None else g for g in (a, b))
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance, msg=lambda m: f"gradient of {name}: {m}")
    return graph


def _every_third_written(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Strided slices, also one of a single element, replaced through views of what is read later."""
    z = x * 1
    first = z[0]
    for row in (1, 2):
        first[..., row:8:3] = z[row, ..., row:8:3] * 2
    first[7:8:4] = y
    return first


def _written_views(x: torch.Tensor) -> torch.Tensor:
    """Writes through overlapping views."""
    y = x * 2
    y[1:3] = x[2:4] * x.detach().abs().mean()
    y[0].mul_(x[1])
    y[:, 2] += y[:, 1]
    return y


def no_input(function):
    """The dummy input is dropped: these functions take parameters only."""
    return lambda *tensors: function(*tensors[:-1])


M, R, V = (5, 7), (3, 5, 7), (7,)
IDS = torch.tensor([[0, 3, 1, 4], [2, 2, 0, 1], [4, 1, 3, 3]])

ELEMENTWISE = {
    "add broadcast": (lambda x, y: x + y, R, V),
    "add alpha": (lambda x, y: torch.add(x, y, alpha=0.3), M, M),
    "sub size 1": (lambda x, y: x - y, (5, 1), (1, 7)),
    "rsub": (lambda x: 3 - x, M),
    "rsub alpha": (lambda x, y: torch.rsub(x, y, alpha=2), M, M),
    "mul scalar": (lambda x: x * 2.5 * 3, M),
    "div": (lambda x, y: x / (y * y + 1), R, M),
    "div by number": (lambda x: x / 3, M),
    "pow": (lambda x: x.pow(2) + x**3 + (x * x + 1) ** 0.5 + (x.abs() + 0.1) ** -1.5, M),
    "number to the power": (lambda x: 2.0**x, M),
    "square reciprocal": (lambda x: x.square() + (x.square() + 1).reciprocal(), M),
    "exp log sqrt rsqrt": (lambda x: (x.exp().log() + (x * x + 1).sqrt() + (x * x + 1).rsqrt()), M),
    "sin cos tanh erf": (lambda x: x.sin() + x.cos() * x.tanh() + x.erf(), M),
    "sigmoid exp2": (lambda x: x.sigmoid() + torch.exp2(x), M),
    "neg abs sign": (lambda x: -x.abs() + x.sign(), M),
    "gelu": (lambda x: F.gelu(x) + F.gelu(x, approximate="tanh"), M),
    "silu relu leaky": (lambda x: F.silu(x) + F.relu(x) + F.leaky_relu(x, 0.1), M),
    "relu at zero": (lambda x: F.relu(x * 0), M),
    "softplus": (lambda x: F.softplus(x * 15) + F.softplus(x, beta=2), M),
    "elu selu": (lambda x: F.elu(x * 30) + F.elu(x, 0.7) + F.selu(x), M),
    "relu6 hardtanh": (lambda x: F.relu6(x * 9) + F.hardtanh(x) + F.hardtanh(x * 0, 0, 1), M),
    "mish logsigmoid": (lambda x: F.mish(x * 3) + F.logsigmoid(x * 15), M),
    "clamp": (lambda x: x.clamp(-0.5, 0.7) + x.clamp_min(0.1) + x.clamp_max(0.2), M),
    "clamp at bound": (lambda x: (x * 0).clamp(0, 1), M),
    "maximum minimum": (lambda x, y: torch.maximum(x, y) - torch.minimum(x, y) * 2, M, M),
    "addcmul addcdiv": (lambda x, y: torch.addcmul(x, y, y, value=0.3) + torch.addcdiv(x, y, y * y + 1), M, M),
    "lerp": (lambda x, y: torch.lerp(x, y, 0.3), M, M),
    "where": (lambda x, y: torch.where(x > y, x, y * 2) + torch.where(x > 0, x, 1.0), M, M),
    "masked_fill": (lambda x: x.masked_fill(x > 0.5, 3.0), M),
    "tril triu": (lambda x: torch.tril(x) + torch.triu(x, 2) * 3 + torch.tril(x, -1), M),
    "comparisons": (lambda x, y: ((x < y) | (x >= 0.5) & ~(y > 1)) * x + (x == y) + (x != 0) + (x <= y), M, M),
    "logic": (
        lambda x: torch.logical_and(x > 0, x < 1) * x + torch.logical_or(x > 1, x < -1) + torch.logical_not(x),
        M,
    ),
    "detach": (lambda x: x * x.detach(), M),
    "in place": (lambda x: x.mul(2).add_(1).mul_(x).relu_(), M),
    "in place fill": (lambda x: (x * 1).masked_fill_(x > 0, 0.0).clamp_(min=-1), M),
    "in place on a view": (lambda x: _written_views(x), M),
    "every third in place": (lambda x, y: _every_third_written(x, y), (3, 8, 9), (9,)),
    "conversion": (lambda x: x.type_as(x) + x.contiguous().clone() + (x > 0).to(x.dtype) + (x * 3).long(), M),
}

SHAPE = {
    "view reshape flatten": (lambda x: (x.view(15, 7) + x.reshape(-1, 7) + x.flatten(0, 1)).unflatten(0, (3, -1)), R),
    "flatten all": (lambda x: x.flatten(), R),
    "unsqueeze squeeze": (lambda x: x.unsqueeze(1).squeeze(1).unsqueeze(-1).squeeze() + 0 * x, R),
    "permute transpose": (lambda x: x.permute(2, 0, 1) * x.transpose(0, 2).transpose(1, 2).transpose(-1, -2).mT, R),
    "t": (lambda x: x.t() * x.T, M),
    "movedim swapaxes": (lambda x: [x.movedim(0, 2), x.movedim((0, 1), (1, 2)), x.swapaxes(0, -1)], R),
    "expand": (lambda x, y: x.expand(2, 5, 7) + y.expand(-1, 5, 7).expand_as(y.expand(2, 5, 7)), V, (2, 1, 1)),
    "repeat": (lambda x: x.repeat(2, 1, 3), M),
    "repeat_interleave": (lambda x: x.repeat_interleave(3, dim=1), M),
    "slice": (lambda x: x[1:, ::2, -3:] * x[:-1, ::2, :3], R),
    "select": (lambda x: x[0] * x[-1] + x.select(0, 1), R),
    "narrow": (lambda x: x.narrow(1, 2, 3), R),
    "roll": (lambda x: x.roll(2, 1) + x.roll((-1, 5), (0, -1)) * 2 + x.roll(3) * 3 + x.roll(5, 1) * 4, R),
    "split chunk unbind": (lambda x: [*x.split(2, dim=1), *x.split([1, 6], dim=-1), *x.chunk(2, 2), *x.unbind(0)], R),
    "cat stack": (lambda x, y: [torch.cat([x, y, x], 1), torch.stack([x, y], -1)], M, M),
    "pad": (lambda x: [F.pad(x, (1, 2, 3, 0)), F.pad(x, (-1, 2)), F.pad(x, (1, 1), value=2.5)], M),
    "creation": (
        lambda x: x
        + torch.arange(7) * 0.1
        + torch.arange(1, 8)
        + torch.arange(0, 14, 2)
        + torch.full((7,), 0.3)
        + torch.zeros(7)
        + torch.ones_like(x)
        + torch.full_like(x, 2.0)
        + x.new_zeros(7)
        + torch.arange(0.0, 0.7, 0.1),
        M,
    ),
    "eye": (lambda x: x @ torch.eye(7), M),
    "size 0": (lambda x: [x[:, :0], torch.cat([x[:, :0], x], 1)], M),
    "size 1": (lambda x: x.squeeze(0).expand(4, 7) * x, (1, 7)),
}

REDUCE = {
    "sum": (lambda x: [x.sum(), x.sum(1), x.sum((0, 2), keepdim=True)], R),
    "mean": (lambda x: [x.mean(), x.mean(-1, keepdim=True), x.mean((0, 1))], R),
    "amax amin": (lambda x: [x.amax(1), x.amin((0, 2), keepdim=True), x.max(), x.min()], R),
    "max with index": (lambda x: [*x.max(1), *x.min(-1, keepdim=True)], R),
    "var std": (lambda x: [x.var(-1), x.var((0, 1), correction=0, keepdim=True), x.std(1)], R),
    "argmax": (lambda x: [x.argmax(1), x.argmax(), x.argmin(-1, keepdim=True)], R),
    "any all": (lambda x: [(x > 1).any(1), (x > -1).all(-1), (x > 5).any()], R),
    "cumsum": (lambda x: x.cumsum(1), R),
    "logsumexp": (lambda x: [x.logsumexp(-1), x.logsumexp((0, 1), keepdim=True)], R),
    "softmax": (lambda x: [x.softmax(-1), F.softmax(x, dim=1)], R),
    "log_softmax": (lambda x: [F.log_softmax(x, -1), x.log_softmax(0)], R),
    "norm": (lambda x: [x.norm(), torch.linalg.vector_norm(x, dim=-1, keepdim=True)], R),
}

CONTRACT = {
    "linear": (lambda x, w, b: F.linear(x, w, b), R, (4, 7), (4,)),
    "linear without bias": (lambda x, w: F.linear(x, w), M, (4, 7)),
    "mm": (lambda x, y: torch.mm(x, y), M, (7, 4)),
    "bmm": (lambda x, y: torch.bmm(x, y), R, (3, 7, 4)),
    "addmm": (lambda c, x, y: torch.addmm(c, x, y, beta=0.5, alpha=2), (4,), M, (7, 4)),
    "baddbmm": (lambda c, x, y: torch.baddbmm(c, x, y, alpha=0.3), (3, 5, 4), R, (3, 7, 4)),
    "matmul vectors": (lambda x, y: [x @ y, torch.dot(x, y)], V, V),
    "matmul matrix vector": (lambda x, y, z: [x @ y, z @ x, x.mv(y)], M, V, (5,)),
    "matmul vector batch": (lambda x, y: x @ y, V, (3, 7, 4)),
    "matmul batch matrix": (lambda x, y: x @ y, R, (7, 4)),
    "matmul matrix batch": (lambda x, y: x @ y, M, (3, 7, 4)),
    "matmul broadcast batch": (lambda x, y: x @ y, (2, 1, 5, 7), (3, 7, 4)),
    "einsum attention": (lambda q, k: torch.einsum("bthd,bshd->bhts", q, k), (2, 5, 3, 4), (2, 6, 3, 4)),
    "einsum sums and order": (lambda x, y: torch.einsum("abc,cd->da", x, y), R, (7, 4)),
    "einsum one operand": (lambda x: torch.einsum("abc->ca", x), R),
}


class _NormNet(nn.Module):
    """A norm over the last two dimensions, its parameters being the module's own."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm((5, 7))
        self.rms = nn.RMSNorm(7, eps=1e-5)
        self.x = nn.Parameter(torch.randn(R, generator=torch.Generator().manual_seed(1)))

    def forward(self, _: torch.Tensor) -> torch.Tensor:
        return (self.norm(self.x) * self.rms(self.x).sin()).sum()


NN = {
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (7,), w, b, 1e-3), R, V, V),
    "layer_norm bare": (lambda x: F.layer_norm(x, (7,)), R),
    "rms_norm": (lambda x, w: F.rms_norm(x, (7,), w, 1e-3), R, V),
    "attention": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v), (2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 7)),
    "attention causal": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3),
        (2, 3, 5, 4),
        (2, 3, 5, 4),
        (2, 3, 5, 4),
    ),
    "attention grouped": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True),
        (2, 6, 5, 4),
        (2, 2, 5, 4),
        (2, 2, 5, 4),
    ),
    "attention boolean mask": (
        lambda q, k, v: F.scaled_dot_product_attention(
            q, k, v, attn_mask=(torch.arange(6) != torch.arange(5).unsqueeze(1))
        ),
        (2, 3, 5, 4),
        (2, 3, 6, 4),
        (2, 3, 6, 4),
    ),
    "attention additive mask": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=(torch.arange(6) * -0.1).expand(2, 1, 5, 6)),
        (2, 3, 5, 4),
        (2, 3, 6, 4),
        (2, 3, 6, 4),
    ),
    "attention learned bias": (
        lambda q, k, v, b: F.scaled_dot_product_attention(q, k, v, attn_mask=b),
        (2, 3, 5, 4),
        (2, 3, 6, 4),
        (2, 3, 6, 4),
        (3, 5, 6),
    ),
    "attention rank 3": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v), R, R, R),
    "dropout of zero": (lambda x: F.dropout(x, 0.0, True) + F.dropout(x, 0.5, False), R),
    "mse l1": (
        lambda x, y: [F.mse_loss(x, y), F.l1_loss(x, y, reduction="sum"), F.mse_loss(x, y, reduction="none")],
        M,
        M,
    ),
}

TARGETS = torch.tensor([4, 0, 6, 2, 2])
WITH_IDS = {
    "embedding": (lambda w, i: F.embedding(i, w), (5, 7)),
    "embedding padding": (lambda w, i: F.embedding(i, w, padding_idx=1), (5, 7)),
    "index": (lambda w, i: w[i], (5, 7)),
    "index rank 3": (lambda w, i: w[i], (5, 2, 3)),
    "index second dimension": (lambda w, i: w[:, i], (4, 5, 3)),
    "index two dimensions": (lambda w, i: w[i, i[:, :1]], (5, 6, 2)),
    "index inner dimensions": (lambda w, i: w[:, i, i[:1]], (2, 5, 6, 3)),
    "index booleans": (lambda w, i: (w > 0)[i] * w[0], (5, 7)),
    "index from the end": (lambda w, i: w[[-2]] + w[:, [-1]], (5, 7)),
    "index_select": (lambda w, i: w.index_select(1, i[0]), (4, 5)),
    "gather many": (lambda w, i: w.gather(0, i), (5, 7)),
    "gather last": (lambda w, i: w.gather(-1, i[:2]), (3, 7)),
    "gather of a fill": (lambda w, i: w.sum() + torch.zeros(3, 5, dtype=torch.long).gather(1, i), (5, 7)),
    "one_hot": (lambda w, i: F.one_hot(i, 5).to(w.dtype) @ w, (5, 7)),
    "integer arithmetic": (
        lambda w, i: w.sum() + (i // 2) + (i - 3) // 2 + (i - 3) % 3 + i * i + i**2 + (i == 2),
        (5, 7),
    ),
    "padding positions": (
        lambda w, i: F.embedding((i != 1).cumsum(1) - (i == 4).int().amax(1, keepdim=True), w),
        (7, 2),
    ),
}

LOSSES = {
    "cross_entropy": (lambda x, t: F.cross_entropy(x, t), M),
    "cross_entropy sum": (lambda x, t: F.cross_entropy(x, t, reduction="sum", ignore_index=2), M),
    "cross_entropy none": (lambda x, t: F.cross_entropy(x, t, reduction="none", label_smoothing=0.2), M),
    "cross_entropy smoothing ignore": (lambda x, t: F.cross_entropy(x, t, ignore_index=2, label_smoothing=0.1), M),
    "nll_loss": (lambda x, t: F.nll_loss(F.log_softmax(x, -1), t), M),
    "nll_loss ignore": (lambda x, t: F.nll_loss(x, t, ignore_index=2), M),
    "nll_loss none": (lambda x, t: F.nll_loss(x, t, reduction="none"), M),
    "gather": (lambda x, t: -x.log_softmax(-1).gather(-1, t.unsqueeze(-1)).squeeze(-1).mean(), M),
}


@pytest.mark.parametrize("name", [*ELEMENTWISE, *SHAPE, *REDUCE, *CONTRACT, *NN])
def test_matches_pytorch(name: str, verified) -> None:
    function, *shapes = (ELEMENTWISE | SHAPE | REDUCE | CONTRACT | NN)[name]
    verified(emit(check(Case(no_input(function), *shapes))))


@pytest.mark.parametrize("name", WITH_IDS)
def test_ids_match_pytorch(name: str, verified) -> None:
    function, *shapes = WITH_IDS[name]
    verified(emit(check(Case(function, *shapes), IDS)))


@pytest.mark.parametrize("name", LOSSES)
def test_losses_match_pytorch(name: str, verified) -> None:
    function, *shapes = LOSSES[name]
    verified(emit(check(Case(function, *shapes), TARGETS)))


def test_classes_in_the_middle(verified) -> None:
    targets = torch.tensor([[1, 0, 4, 2, 3, 3, 0], [2, 2, 1, 0, 4, 0, 1], [3, 1, 0, 0, 2, 4, 4]])
    verified(emit(check(Case(lambda x, t: F.cross_entropy(x, t), R), targets)))


def test_norms_over_two_dimensions(verified) -> None:
    verified(emit(check(_NormNet())))


def test_no_grad_region_stops_the_gradient() -> None:
    def function(x):
        with torch.no_grad():
            scale = x.abs().mean()
        return x / scale

    graph = check(Case(no_input(function), M))
    assert any(op.name == "stop_gradient" for op in graph.ops)


def test_disabled_autocast_region_is_inlined() -> None:
    def function(x):
        with torch.autocast("cpu", enabled=False):
            y = x * 2
        return y + x

    check(Case(no_input(function), M))


def test_dropout_ops_have_distinct_salts(verified) -> None:
    graph, _ = imported(Case(no_input(lambda x: F.dropout(x, 0.1) + F.dropout(x * 1, 0.25, inplace=True)), M))
    drops = [op for op in graph.ops if op.name == "dropout"]
    assert [op.attribute("p") for op in drops] == [0.1, 0.25]
    assert len({op.attribute("salt") for op in drops}) == 2
    keys = [a for a in graph.arguments if a.kind == "rng"]
    assert [(k.fqn, k.value.shape, k.value.dtype) for k in keys] == [("rng", (3,), "i64")]
    assert graph.arguments[-1] is keys[0]
    verified(emit(graph))


def test_attention_dropout_has_key_and_salt(verified) -> None:
    graph, _ = imported(Case(no_input(lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.2)), (2, 3, 5, 4)))
    attention = next(op for op in graph.ops if op.name == "attention")
    assert attention.attribute("dropout") == 0.2 and attention.attribute("salt") > 0
    verified(emit(graph))


def test_random_tensors(verified) -> None:
    graph, _ = imported(Case(no_input(lambda x: x + torch.rand_like(x) + torch.randn(5, 7)), M))
    assert [op.attribute("dist").case for op in graph.ops if op.name == "random"] == ["uniform", "normal"]
    verified(emit(graph))


def test_bernoulli_draws_anew(verified) -> None:
    graph, _ = imported(Case(no_input(lambda x: x * torch.bernoulli(torch.full_like(x, 0.25))), M))
    assert [op.attribute("dist").case for op in graph.ops if op.name == "random"] == ["uniform"]
    verified(emit(graph))


DRAWS = {
    "in place": (lambda x: x + torch.empty(5, 7).uniform_(-1, 1) + torch.zeros(7).normal_(2, 0.5), ["uniform", "normal"]),
    "exponential": (lambda x: x + torch.empty(5, 7).exponential_(2), ["uniform"]),
    "bernoulli": (lambda x: x * torch.bernoulli(x.sigmoid()) + torch.zeros(7).bernoulli_(0.3), ["uniform"] * 2),
    "integers": (lambda x: x * torch.randint(2, 9, (7,)) + x[torch.randperm(5)], ["uniform"] * 2),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws(name: str, verified) -> None:
    function, expected = DRAWS[name]
    graph, _ = imported(Case(no_input(function), M))
    assert [op.attribute("dist").case for op in graph.ops if op.name == "random"] == expected
    verified(emit(graph))
