"""What people write out by hand in PyTorch is found by hone-raise, and the raised graph computes the same numbers.

Each case is a layer between an embedding and a head; it names the ops that must be there after the pass.
"""

from __future__ import annotations

import math
import os
import re
import subprocess

import pytest
from conftest import ROOT

torch = pytest.importorskip("torch")

import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from hone.api import build_graph  # noqa: E402
from hone.capture import capture  # noqa: E402
from hone.emit import emit  # noqa: E402

HONE_OPT, HONE_RUN = (os.path.join(ROOT, "build", "bin", tool) for tool in ("hone-opt", "hone-run"))
pytestmark = pytest.mark.skipif(not (os.path.exists(HONE_OPT) and os.path.exists(HONE_RUN)),
                                reason="the tools are not built")

BATCH, LENGTH, WIDTH, HEADS, VOCAB = 2, 8, 24, 4, 31
HEAD = WIDTH // HEADS


class Model(nn.Module):
    def __init__(self, layer) -> None:
        super().__init__()
        self.layer = layer
        self.table, self.head = nn.Embedding(VOCAB, WIDTH), nn.Linear(WIDTH, VOCAB)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.weight, self.shift = nn.Parameter(torch.ones(WIDTH)), nn.Parameter(torch.zeros(WIDTH))
        self.register_buffer("triangle", torch.tril(torch.ones(16, 16)).view(1, 1, 16, 16))
        angles = torch.arange(16).float()[:, None] * 10000 ** (-torch.arange(0, HEAD, 2).float() / HEAD)[None]
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.layer(self, self.table(tokens)))

    def heads(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [y.view(BATCH, LENGTH, HEADS, HEAD).transpose(1, 2) for y in self.qkv(x).chunk(3, -1)]

    def joined(self, y: torch.Tensor) -> torch.Tensor:
        return self.out(y.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH))


def _attention(scores):
    """softmax(scores(q, k)) v"""

    def layer(m: Model, x: torch.Tensor) -> torch.Tensor:
        q, k, v = m.heads(x)
        return m.joined(scores(m, q, k).softmax(-1) @ v)

    return layer


def _dots(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return q @ k.transpose(-2, -1) / math.sqrt(HEAD)


def _before() -> torch.Tensor:
    """[T, T]: the key is not after the query."""
    i = torch.arange(LENGTH)
    return i[None, :] <= i[:, None]


def _triangle_buffer(m: Model, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return _dots(q, k).masked_fill(m.triangle[:, :, :LENGTH, :LENGTH] == 0, float("-inf"))


def _tril_of_ones(m: Model, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return _dots(q, k).masked_fill(torch.tril(torch.ones(LENGTH, LENGTH)) == 0, -1e9)


def _triu_added(m: Model, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return _dots(q, k) + torch.triu(torch.full((LENGTH, LENGTH), float("-inf")), 1)


def _where_of_positions(m: Model, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return torch.where(_before(), (q * 0.4) @ k.transpose(-2, -1), torch.finfo(q.dtype).min)


def _window(m: Model, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return _dots(q, k).masked_fill(torch.ones(LENGTH, LENGTH).tril().triu(-3) == 0, float("-inf"))


def _expanded(y: torch.Tensor) -> torch.Tensor:
    """[B, 2, T, D] -> [B, 4, T, D], each head twice."""
    return y[:, :, None].expand(BATCH, 2, 2, LENGTH, HEAD).reshape(BATCH, HEADS, LENGTH, HEAD)


def _einsum(m: Model, x: torch.Tensor) -> torch.Tensor:
    q, k, v = m.qkv(x).view(BATCH, LENGTH, 3, HEADS, HEAD).unbind(2)
    scores = (torch.einsum("bthd,bshd->bhts", q, k) * 0.4).masked_fill(~_before(), float("-inf"))
    return m.out(torch.einsum("bhts,bshd->bthd", scores.softmax(-1), v).reshape(BATCH, LENGTH, WIDTH))


def _batched(m: Model, x: torch.Tensor) -> torch.Tensor:
    """Batch and head as one dimension, the mask added between two views."""
    q, k, v = (y.reshape(BATCH * HEADS, LENGTH, HEAD) for y in m.heads(x))
    scores = torch.bmm(q * HEAD**-0.5, k.transpose(1, 2)).view(BATCH, HEADS, LENGTH, LENGTH)
    scores = scores + torch.triu(torch.full((LENGTH, LENGTH), float("-inf")), 1)[None, None].expand(BATCH, 1, -1, -1)
    weights = scores.view(BATCH * HEADS, LENGTH, LENGTH).softmax(-1)
    return m.joined(torch.bmm(F.dropout(weights, 0.25), v).view(BATCH, HEADS, LENGTH, HEAD))


def _one_head(m: Model, x: torch.Tensor) -> torch.Tensor:
    q, k, v = m.qkv(x).chunk(3, -1)
    scores = (q @ k.transpose(-2, -1) * WIDTH**-0.5).masked_fill(m.triangle[0, 0, :LENGTH, :LENGTH] == 0, float("-inf"))
    return scores.softmax(-1) @ v


def _grouped(repeat):
    def layer(m: Model, x: torch.Tensor) -> torch.Tensor:
        q, k, v = m.heads(x)
        k, v = repeat(k[:, :2]), repeat(v[:, :2])
        return m.joined(F.scaled_dot_product_attention(q, k, v, is_causal=True))

    return layer


def _rotated(rotate):
    def layer(m: Model, x: torch.Tensor) -> torch.Tensor:
        q, k, v = m.heads(x)
        c, s = m.cos[:LENGTH], m.sin[:LENGTH]
        return m.joined(F.scaled_dot_product_attention(rotate(q, c, s), rotate(k, c, s), v, is_causal=True))

    return layer


def _rotate_half(x, c, s):
    a, b = x.chunk(2, -1)
    return x * torch.cat((c, c), -1) + torch.cat((-b, a), -1) * torch.cat((s, s), -1)


def _rotate_parts(x, c, s):
    a, b = x.chunk(2, -1)
    return torch.cat((a * c - b * s, b * c + a * s), -1)


def _rotate_every_other(x, c, s):
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack((a * c - b * s, b * c + a * s), -1).flatten(-2)


def _rotate_pairs(x, c, s):
    a, b = x.reshape(*x.shape[:-1], -1, 2).unbind(-1)
    return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(3)


def _rotate_every_two(x, c, s):
    c, s = c.repeat_interleave(2, -1), s.repeat_interleave(2, -1)
    return x * c + torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2) * s


def _norm(x: torch.Tensor) -> torch.Tensor:
    mean = x.mean(-1, keepdim=True)
    return (x - mean) * torch.rsqrt(((x - mean) ** 2).mean(-1, keepdim=True) + 1e-5)


def _gelu_new(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


LAYERS = {
    # attention: name -> layer, ops that must be there, words that must be there
    "triangle buffer": (_attention(_triangle_buffer), {"attention": 1}, ["causal"]),
    "tril of ones": (_attention(_tril_of_ones), {"attention": 1}, ["causal"]),
    "triu added": (_attention(_triu_added), {"attention": 1}, ["causal"]),
    "where of positions": (_attention(_where_of_positions), {"attention": 1}, ["causal"]),
    "window": (_attention(_window), {"attention": 1}, ["mask"]),
    "einsum": (_einsum, {"attention": 1}, ["causal"]),
    "batched": (_batched, {"attention": 1, "transpose": 0}, ["causal", "dropout"]),
    "one head": (_one_head, {"attention": 1}, ["causal"]),
    "expanded heads": (_grouped(_expanded), {"attention": 1}, ["tensor<2x8x2x6xf32>, tensor<2x8x2x6xf32>)"]),
    "interleaved heads": (_grouped(lambda y: y.repeat_interleave(2, dim=1)),
                          {"attention": 1}, ["tensor<2x8x2x6xf32>, tensor<2x8x2x6xf32>)"]),
    # rotations
    "rotated half": (_rotated(_rotate_half), {"rope": 2, "attention": 1}, ["half"]),
    "rotated parts": (_rotated(_rotate_parts), {"rope": 2}, ["half"]),
    "every other": (_rotated(_rotate_every_other), {"rope": 2}, ["interleaved"]),
    "every two": (_rotated(_rotate_every_two), {"rope": 2}, ["interleaved"]),
    "pairs": (_rotated(_rotate_pairs), {"rope": 2}, ["interleaved"]),
    # norms
    "layer norm": (lambda m, x: _norm(x) * m.weight + m.shift, {"layer_norm": 1}, ["scale", "bias"]),
    "layer norm, scale first": (lambda m, x: m.weight * (x - x.mean(-1, keepdim=True)) / torch.sqrt(
        x.var(-1, keepdim=True, unbiased=False) + 1e-5) + m.shift, {"layer_norm": 1}, ["scale", "bias"]),
    "rms norm": (lambda m, x: m.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)), {"rms_norm": 1},
                 ["scale"]),
    "rms norm, offset scale": (lambda m, x: x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6) * (1 + m.weight),
                               {"rms_norm": 1}, ["scale"]),
    # activations
    "gelu new": (lambda m, x: _gelu_new(x), {"gelu": 1}, ["tanh"]),
    "gelu fast": (lambda m, x: 0.5 * x * (1.0 + torch.tanh(x * 0.7978845608 * (1.0 + 0.044715 * x * x))), {"gelu": 1},
                  ["tanh"]),
    "gelu erf": (lambda m, x: x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0))), {"gelu": 1}, ["erf"]),
}


def _cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits.view(-1, VOCAB), targets.view(-1))


LOSSES = {
    "nll of log softmax": lambda l, t: F.nll_loss(F.log_softmax(l, -1).view(-1, VOCAB), t.view(-1)),
    "nll, ignored": lambda l, t: F.nll_loss(F.log_softmax(l, -1).view(-1, VOCAB), t.view(-1), ignore_index=3),
    "gathered": lambda l, t: -l.log_softmax(-1).gather(-1, t[..., None]).squeeze(-1).mean(),
}


def raised(layer, loss, tmp_path) -> str:
    """The text after hone-raise, which computes what the text before it does."""
    torch.manual_seed(0)
    model, ids = Model(layer), torch.zeros(BATCH, LENGTH, dtype=torch.long)
    batch = (ids, ids.clone())
    loss_of = lambda module, tokens, targets: loss(module(tokens), targets)
    graph, _ = build_graph(model, capture(model, loss_of, batch), batch, None, {}, {}, "case")
    before, after = tmp_path / "before.mlir", tmp_path / "after.mlir"
    before.write_text(emit(graph))
    cleanup = ["--canonicalize", "--cse"]
    subprocess.run([HONE_OPT, before, *cleanup, "--hone-raise", *cleanup, "--hone-verify-raise", "-o", after],
                   check=True)
    compared = subprocess.run([HONE_RUN, "--compare", before, after, "--entry", "forward", "--f64", "--args", "3",
                               "--rtol", "1e-6"],
                              capture_output=True, text=True)
    assert compared.returncode == 0, compared.stdout + compared.stderr
    return after.read_text()


def count(text: str, op: str) -> int:
    return len(re.findall(rf"= hone\.{op}\b", text))


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name: str, tmp_path) -> None:
    layer, ops, words = LAYERS[name]
    text = raised(layer, _cross_entropy, tmp_path)
    assert {op: count(text, op) for op in ops} == ops
    op_lines = "\n".join(line for line in text.splitlines() if any(f"= hone.{op} " in line for op in ops))
    for word in words:
        assert word in op_lines


@pytest.mark.parametrize("name", LOSSES)
def test_loss(name: str, tmp_path) -> None:
    text = raised(lambda m, x: x, LOSSES[name], tmp_path)
    assert count(text, "cross_entropy") == 1
    assert count(text, "exp") == 0


def test_soft_cap_is_left_alone(tmp_path) -> None:
    """Scores through a tanh are no plain attention."""
    text = raised(_attention(lambda m, q, k: 5 * torch.tanh(_dots(q, k) / 5)), _cross_entropy, tmp_path)
    assert count(text, "attention") == 0 and count(text, "softmax") == 1
