"""Models written with torch.nn alone, as users write them: recurrences, convolutions, transformers, small nets."""

from __future__ import annotations

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from .base import (BATCH, CLASSES, LENGTH, VOCABULARY, Entries, Trial, classes, classification, ids, image, noise,
                   regression, token_classification, uniform)

entries = Entries(__name__)
WIDTH = 32


def on_tokens(model: nn.Module) -> Trial:
    return Trial(model, token_classification, (ids(), ids()))


def on_images(model: nn.Module, size: int = 16) -> Trial:
    return Trial(model, classification, (image(size), classes()))


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.RNNBase], **options) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.body = kind(WIDTH, WIDTH, batch_first=True, **options)
        self.head = nn.Linear(WIDTH * (2 if options.get("bidirectional") else 1), VOCABULARY)

    def forward(self, tokens):
        return self.head(self.body(self.embed(tokens))[0])


entries.add("lstm", lambda: on_tokens(Recurrent(nn.LSTM)))
entries.add("lstm-2-bidirectional", lambda: on_tokens(Recurrent(nn.LSTM, num_layers=2, bidirectional=True)))
entries.add("gru", lambda: on_tokens(Recurrent(nn.GRU)))
entries.add("gru-2", lambda: on_tokens(Recurrent(nn.GRU, num_layers=2)))
entries.add("rnn-tanh", lambda: on_tokens(Recurrent(nn.RNN)))


class Cells(nn.Module):
    """A recurrence as a loop in Python."""

    def __init__(self, cell: type[nn.Module]) -> None:
        super().__init__()
        self.embed, self.cell = nn.Embedding(VOCABULARY, WIDTH), cell(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        state, outputs = None, []
        for x in self.embed(tokens).unbind(1):
            state = self.cell(x, state)
            outputs.append(state[0] if isinstance(state, tuple) else state)
        return self.head(torch.stack(outputs, 1))


entries.add("lstm-cell", lambda: on_tokens(Cells(nn.LSTMCell)))
entries.add("gru-cell", lambda: on_tokens(Cells(nn.GRUCell)))


class Seq2Seq(nn.Module):
    """nn.Transformer with learned positions."""

    def __init__(self, norm_first: bool) -> None:
        super().__init__()
        self.embed, self.place = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.body = nn.Transformer(WIDTH, 4, 1, 1, 48, dropout=0.0, batch_first=True, norm_first=norm_first)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, source, target):
        place = self.place(torch.arange(target.shape[1]))
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        return self.head(self.body(self.embed(source) + place, self.embed(target) + place, tgt_mask=mask))


def translate(model, source, target, labels):
    return F.cross_entropy(model(source, target).flatten(0, 1), labels.flatten())


entries.add("transformer", lambda: Trial(Seq2Seq(False), translate, (ids(), ids(), ids())))
entries.add("transformer-norm-first", lambda: Trial(Seq2Seq(True), translate, (ids(), ids(), ids())))


class Encoder(nn.Module):
    """nn.TransformerEncoder; sinusoidal positions in a buffer, padding masked if it is told to."""

    def __init__(self, pads: bool = False) -> None:
        super().__init__()
        self.embed, self.pads = nn.Embedding(VOCABULARY, WIDTH, padding_idx=0), pads
        angle = torch.arange(LENGTH)[:, None] / 10000 ** (torch.arange(0, WIDTH, 2) / WIDTH)
        self.register_buffer("places", torch.stack((angle.sin(), angle.cos()), -1).flatten(1))
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 48, dropout=0.0, batch_first=True, activation="gelu")
        self.body, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(WIDTH, CLASSES)

    def forward(self, tokens):
        mask = tokens == 0 if self.pads else None
        return self.head(self.body(self.embed(tokens) + self.places, src_key_padding_mask=mask).mean(1))


entries.add("transformer-encoder", lambda: Trial(Encoder(), classification, (ids(), classes())))
entries.add("transformer-encoder-padded",
            lambda: Trial(Encoder(True), classification, (ids(BATCH, LENGTH, below=9, first=0), classes())))


class AttentionPool(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(1, 1, WIDTH))
        self.embed, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, CLASSES)
        self.attend = nn.MultiheadAttention(WIDTH, 4, batch_first=True)

    def forward(self, tokens):
        x = self.embed(tokens)
        return self.head(self.attend(self.query.expand(len(x), -1, -1), x, x)[0][:, 0])


entries.add("multihead-attention-pool", lambda: Trial(AttentionPool(), classification, (ids(), classes())))


def perceptron(*between: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Linear(20, WIDTH), *between, nn.Linear(WIDTH, 1))


def on_rows(model: nn.Module) -> Trial:
    return Trial(model, regression, (noise(16, 20), noise(16, 1)))


entries.add("mlp", lambda: on_rows(perceptron(nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU())))
for act in (nn.CELU, nn.ELU, nn.GELU, nn.Hardshrink, nn.Hardsigmoid, nn.Hardswish, nn.Hardtanh, nn.LeakyReLU,
            nn.LogSigmoid, nn.Mish, nn.PReLU, nn.ReLU6, nn.SELU, nn.SiLU, nn.Sigmoid, nn.Softplus, nn.Softshrink,
            nn.Softsign, nn.Tanhshrink):
    entries.add(f"mlp-{act.__name__}", lambda act=act: on_rows(perceptron(act())))
for norm in (nn.BatchNorm1d, nn.LayerNorm, nn.RMSNorm):
    entries.add(f"mlp-{norm.__name__}", lambda norm=norm: on_rows(perceptron(norm(WIDTH), nn.ReLU())))
entries.add("mlp-GroupNorm", lambda: on_rows(perceptron(nn.GroupNorm(4, WIDTH), nn.ReLU())))
entries.add("autoencoder", lambda: Trial(
    nn.Sequential(nn.Linear(64, 24), nn.ReLU(), nn.Linear(24, 6), nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 64)),
    lambda model, x: F.mse_loss(model(x), x), (uniform(8, 64),)))
entries.add("bilinear", lambda: Trial(nn.Bilinear(12, 10, 3), lambda model, a, b: model(a, b).square().mean(),
                                      (noise(8, 12), noise(8, 10))))


class Variational(nn.Module):
    """The noise of the latent is an input, so that runs can be compared."""

    def __init__(self) -> None:
        super().__init__()
        self.into, self.outof = nn.Linear(64, 2 * 6), nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 64))

    def forward(self, x, draw):
        mean, log_variance = self.into(x).chunk(2, -1)
        return self.outof(mean + draw * (0.5 * log_variance).exp()), mean, log_variance


def evidence(model, x, draw):
    y, mean, log_variance = model(x, draw)
    divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum(-1)
    return F.binary_cross_entropy_with_logits(y, x, reduction="none").sum(-1).mean() + divergence.mean()


entries.add("variational-autoencoder", lambda: Trial(Variational(), evidence, (uniform(8, 64), noise(8, 6))))


def convolutions(*layers: nn.Module, features: int) -> nn.Module:
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(features, CLASSES))


entries.add("cnn", lambda: on_images(convolutions(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2), features=8 * 7 * 7)))
entries.add("cnn-batch-norm", lambda: on_images(convolutions(
    nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.AvgPool2d(4), features=8 * 4 * 4)))
entries.add("cnn-group-norm", lambda: on_images(convolutions(
    nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.GroupNorm(2, 8), nn.SiLU(), nn.AdaptiveAvgPool2d(1), features=8)))
entries.add("cnn-instance-norm", lambda: on_images(convolutions(
    nn.Conv2d(3, 8, 5, stride=2), nn.InstanceNorm2d(8, affine=True), nn.ReLU(), nn.AdaptiveMaxPool2d(2), features=32)))
entries.add("cnn-separable", lambda: on_images(convolutions(
    nn.Conv2d(3, 8, 1), nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=8), nn.ReLU(), nn.Conv2d(8, 4, 1),
    nn.AvgPool2d(8), features=4 * 2 * 2)))
entries.add("cnn-1d", lambda: Trial(
    convolutions(nn.Conv1d(4, 8, 5, padding=2), nn.GELU(), nn.MaxPool1d(2), nn.Conv1d(8, 8, 3, stride=2), nn.ReLU(),
                 nn.AdaptiveAvgPool1d(1), features=8), classification, (noise(BATCH, 4, 40), classes())))
entries.add("cnn-3d", lambda: Trial(
    convolutions(nn.Conv3d(1, 4, 3), nn.ReLU(), nn.MaxPool3d(2), features=4 * 3 * 3 * 3), classification,
    (noise(BATCH, 1, 8, 8, 8), classes())))
entries.add("cnn-transposed", lambda: Trial(
    nn.Sequential(nn.Conv2d(3, 8, 4, stride=2, padding=1), nn.ReLU(), nn.ConvTranspose2d(8, 3, 4, stride=2, padding=1)),
    lambda model, x: F.mse_loss(model(x), x), (image(16),)))
entries.add("patches-by-unfold", lambda: on_images(nn.Sequential(
    nn.Unfold(4, stride=4), nn.Linear(16, WIDTH), nn.ReLU(), nn.Flatten(), nn.Linear(48 * WIDTH, CLASSES))))
entries.add("pixel-shuffle", lambda: Trial(
    nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.PixelShuffle(2)),
    lambda model, x, y: F.l1_loss(model(x), y), (image(8), image(16))))


class Residual(nn.Module):
    def __init__(self, into: int, out: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(into, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU(),
                                  nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out))
        self.skip = nn.Sequential(nn.Conv2d(into, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x))


entries.add("resnet-by-hand", lambda: on_images(nn.Sequential(
    nn.Conv2d(3, 8, 3, 1, 1), Residual(8, 8, 1), Residual(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
    nn.Linear(16, CLASSES))))


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down, self.middle = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
        self.up, self.out = nn.Conv2d(24, 8, 3, padding=1), nn.Conv2d(8, 3, 1)

    def forward(self, x):
        skip = F.silu(self.down(x))
        deep = F.silu(self.middle(F.max_pool2d(skip, 2)))
        wide = F.interpolate(deep, scale_factor=2, mode="nearest")
        return self.out(F.silu(self.up(torch.cat((skip, wide), 1))))


entries.add("unet-by-hand", lambda: Trial(UNet(), regression, (image(16), image(16))))


class MixerBlock(nn.Module):
    def __init__(self, places: int) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.mix = nn.Sequential(nn.Linear(places, 24), nn.GELU(), nn.Linear(24, places))
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 48), nn.GELU(), nn.Linear(48, WIDTH))

    def forward(self, x):
        x = x + self.mix(self.norm_1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.mlp(self.norm_2(x))


entries.add("mlp-mixer", lambda: on_tokens(nn.Sequential(
    nn.Embedding(VOCABULARY, WIDTH), MixerBlock(LENGTH), MixerBlock(LENGTH), nn.Linear(WIDTH, VOCABULARY))))


class EmbeddingBags(nn.Module):
    """A recommender: a table for each column of ids, their sums, products of pairs."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(20, 8) for _ in range(4))
        self.bottom, self.top = nn.Linear(6, 8), nn.Linear(8 + 10, 1)

    def forward(self, ids, numbers):
        rows = torch.stack([table(ids[:, i]) for i, table in enumerate(self.tables)] + [self.bottom(numbers)], 1)
        first, second = torch.tril_indices(5, 5, -1)
        pairs = (rows @ rows.transpose(1, 2))[:, first, second]
        return self.top(torch.cat((rows[:, -1], pairs), 1)).squeeze(1)


entries.add("recommender", lambda: Trial(
    EmbeddingBags(), lambda model, rows, numbers, y: F.binary_cross_entropy_with_logits(model(rows, numbers), y),
    (ids(16, 4, below=20), noise(16, 6), uniform(16))))


class GraphNet(nn.Module):
    """Two rounds of messages along edges that are given as pairs of nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, WIDTH), nn.Linear(WIDTH, CLASSES)

    def forward(self, x, edges):
        for layer in (self.first, self.second):
            message = layer(x)[edges[0]]
            x = torch.zeros(x.shape[0], message.shape[1]).index_add(0, edges[1], message).tanh()
        return x


class GraphAttention(nn.Module):
    """Attention over the neighbours in a dense adjacency matrix."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.score = nn.Linear(8, WIDTH), nn.Linear(2 * WIDTH, 1)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x, near):
        h = self.body(x)
        n = len(h)
        pairs = torch.cat((h[:, None].expand(n, n, -1), h[None].expand(n, n, -1)), -1)
        scores = F.leaky_relu(self.score(pairs).squeeze(-1), 0.2).masked_fill(near < 0.5, -1e9)
        return self.head(F.elu(scores.softmax(-1) @ h))


def node_classes(model, x, graph, labels):
    return F.cross_entropy(model(x, graph), labels)


entries.add("graph-convolution", lambda: Trial(
    GraphNet(), node_classes, (noise(12, 8), ids(2, 30, below=12, first=0), classes(12))))
entries.add("graph-attention", lambda: Trial(
    GraphAttention(), node_classes, (noise(12, 8), uniform(12, 12), classes(12))))


class StraightThrough(nn.Module):
    """Weights of one bit whose gradient passes the sign."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.head = nn.Parameter(torch.randn(WIDTH, 20) / math.sqrt(20)), nn.Linear(WIDTH, 1)

    def forward(self, x):
        binary = self.weight + (self.weight.sign() * self.weight.abs().mean() - self.weight).detach()
        return self.head(F.linear(x, binary).relu())


entries.add("straight-through", lambda: on_rows(StraightThrough()))
for norm in ("weight_norm", "spectral_norm"):
    parametrization = getattr(nn.utils.parametrizations, norm)
    entries.add(norm.replace("_", "-"),
                lambda of=parametrization: on_rows(perceptron(of(nn.Linear(WIDTH, WIDTH)))))


class Fourier(nn.Module):
    """A layer of products in the frequency domain."""

    def __init__(self) -> None:
        super().__init__()
        self.lift, self.drop = nn.Linear(1, 8), nn.Linear(8, 1)
        self.weight = nn.Parameter(torch.randn(8, 8, 6, 2) * 0.1)

    def forward(self, x):
        x = self.lift(x).transpose(1, 2)
        spectrum = torch.fft.rfft(x)
        kept = torch.einsum("bix,iox->box", spectrum[..., :6], torch.view_as_complex(self.weight))
        return self.drop(torch.fft.irfft(F.pad(kept, (0, spectrum.shape[-1] - 6)), n=x.shape[-1]).transpose(1, 2))


entries.add("fourier-operator", lambda: Trial(Fourier(), regression, (noise(BATCH, 24, 1), noise(BATCH, 24, 1))))
