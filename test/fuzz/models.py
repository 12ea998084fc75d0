"""Random small transformers as @forward: what the passes on whole training steps look for, in odd sizes.

Embedding (and positions), blocks of attention and MLP with either norm before or after, tied or own head, cross entropy
with any of its settings; GELU or a gate; rotations; dropout; packed or separate projections; grouped heads; bias or
none. `spelled` writes named ops as exporters do, in one of the forms that hone-raise knows.
"""

from __future__ import annotations

import math
import random

from graphs import AROUND_ONE, Argument, Shape, Value, function, normal
from layers import LayerMoves


class Spelled(LayerMoves):
    """Named ops as the primitives that exporters write."""

    def spelled_norm(self, op: str, x: Value, scale: Value | None, bias: Value | None) -> Value:
        width, last = x.shape[-1], len(x.shape) - 1
        rows = x.shape[:-1]

        def mean(value: Value) -> Value:
            total = self.reduce("sum", value, [last])
            return self.map("div", total, self.constant(rows, float(width)))

        if op == "layer_norm":
            x = self.map("sub", x, self.per_row(mean(x), x.shape))
        if self.random.random() < 0.5:
            square = self.map("mul", x, x)
        else:
            square = self.map("pow", x, self.constant(x.shape, 2.0))
        variance = self.shift(mean(square), 0.0078125)
        if self.random.random() < 0.7:
            y = self.map("mul", x, self.per_row(self.map("rsqrt", variance), x.shape))
        else:
            y = self.map("div", x, self.per_row(self.map("sqrt", variance), x.shape))
        if scale:
            y = self.map("mul", y, self.per_column(scale, y.shape))
        return self.map("add", y, self.per_column(bias, y.shape)) if bias else y

    def spelled_gelu(self, kind: str, x: Value) -> Value:
        if kind == "erf":
            inner = self.map("erf", self.scale(x, 0.7071067811865476))
        else:
            cube = self.map("mul", self.map("mul", x, x), x)
            inner = self.scale(self.map("add", x, self.scale(cube, 0.044715)), math.sqrt(2 / math.pi))
            inner = self.map("tanh", inner)
        if self.random.random() < 0.5:
            return self.map("mul", self.scale(x, 0.5), self.shift(inner, 1.0))
        return self.scale(self.map("mul", x, self.shift(inner, 1.0)), 0.5)

    def spelled_rope(self, x: Value, cos: Value, sin: Value) -> Value:
        half, dim = x.shape[3] // 2, 3
        a, b = self.part(x, dim, 0, half), self.part(x, dim, half, 2 * half)
        if self.random.random() < 0.5:
            turned = self.concat([self.map("neg", b), a], dim)
            cos, sin = (self.broadcast(self.concat([table, table], 1), (1, 3), x.shape) for table in (cos, sin))
            return self.map("add", self.map("mul", x, cos), self.map("mul", turned, sin))
        cos, sin = (self.broadcast(table, (1, 3), a.shape) for table in (cos, sin))
        first = self.map("sub", self.map("mul", a, cos), self.map("mul", b, sin))
        second = self.map("add", self.map("mul", b, cos), self.map("mul", a, sin))
        return self.concat([first, second], dim)

    def spelled_attention(self, q: Value, k: Value, v: Value, causal: bool, dropout: float) -> Value:
        heads, groups = q.shape[2], k.shape[2]
        if groups != heads:  # repeat_kv
            k, v = (self.reshape(self.broadcast(value, (0, 1, 2, 4),
                                                value.shape[:3] + (heads // groups, value.shape[3])),
                                 value.shape[:2] + (heads, value.shape[3])) for value in (k, v))
        q, k, v = (self.transpose(value, [0, 2, 1, 3]) for value in (q, k, v))
        scores = self.dot(q, k, ([0, 1], [0, 1]), ([3], [3]))
        scores = self.scale(scores, round(q.shape[3] ** -0.5, 6))
        if causal:
            pair = scores.shape[2:]
            closed = self.compare("gt", self.counter(1, pair), self.counter(0, pair))
            lowest = -3.4028234663852886e38
            if self.random.random() < 0.5:
                mask = self.select(closed, self.constant(pair, lowest), self.constant(pair, 0.0))
                scores = self.map("add", scores, self.broadcast(mask, (2, 3), scores.shape))
            else:
                closed = self.broadcast(closed, (2, 3), scores.shape)
                scores = self.select(closed, self.constant(scores.shape, lowest), scores)
        weights = self.map("softmax", scores)
        if dropout:
            weights = self.dropout(weights, dropout)
        return self.transpose(self.dot(weights, v, ([0, 1], [0, 1]), ([3], [2])), [0, 2, 1, 3])

    def spelled_loss(self, logits: Value, targets: Value, ignored: int) -> Value:
        """Mean cross entropy over the rows that are not ignored."""
        rows, shape = logits.shape[:-1], logits.shape
        largest = self.map("stop_gradient", self.reduce("max", logits, [1]))
        shifted = self.map("sub", logits, self.per_row(largest, shape))
        total = self.reduce("sum", self.map("exp", shifted), [1])
        log = self.map("add", self.map("log", total), largest)
        chances = self.map("sub", logits, self.per_row(log, shape))
        hit = self.compare("eq", self.counter(1, shape), self.per_row(targets, shape))
        picked = self.reduce("sum", self.select(hit, chances, self.constant(shape, 0.0)), [1])
        bound = self.emit(f"constant dense<{ignored}>", [], rows, targets.type, "i64")
        kept = self.compare("ne", targets, bound)
        losses = self.select(kept, self.map("neg", picked), self.constant(rows, 0.0))
        number = self.reduce("sum", self.cast(kept, "f32"), [0])
        return self.map("div", self.reduce("sum", losses, [0]), number)


class Transformer(Spelled):
    """One model; `spelled` is the share of named ops that are written out."""

    def __init__(self, seed: int, spelled: float):
        pick = random.Random(seed)
        super().__init__(pick, sizes=(3,))
        self.spelled = spelled
        self.batch, self.time = pick.choice((1, 2, 3)), pick.choice((2, 5, 8, 9))
        self.width, self.groups = pick.choice((2, 4, 6)), pick.choice((1, 2))
        self.heads = self.groups * pick.choice((1, 2, 3))
        self.hidden = self.heads * self.width if pick.random() < 0.7 else pick.choice((7, 12, 17))
        self.vocab = pick.choice((5, 19, 37, 64, 67))
        self.norms = pick.choice(("layer_norm", "rms_norm"))
        self.before, self.biased, self.packed = pick.random() < 0.8, pick.random() < 0.6, pick.random() < 0.5
        self.rotates, self.drops = pick.random() < 0.4, 0.125 if pick.random() < 0.3 else 0.0
        self.causal, self.gated = pick.random() < 0.7, pick.random() < 0.4
        self.activation = pick.choice(("tanh", "erf"))

    def spells(self) -> bool:
        return self.random.random() < self.spelled

    def project(self, x: Value, width: int) -> Value:
        y = self.linear(x, width)
        return self.map("add", y, self.per_column(self.argument((width,)), y.shape)) if self.biased else y

    def drop(self, x: Value) -> Value:
        return self.dropout(x, self.drops) if self.drops else x

    def normalise(self, x: Value) -> Value:
        scale = self.argument(x.shape[-1:], AROUND_ONE)
        bias = self.argument(x.shape[-1:]) if self.norms == "layer_norm" else None
        if self.spells():
            return self.spelled_norm(self.norms, x, scale, bias)
        return self.norm(self.norms, x, scale, bias)[0]

    def attend(self, x: Value) -> Value:
        widths = [self.heads * self.width, self.groups * self.width, self.groups * self.width]
        q, k, v = self.heads_of(x, widths, self.width, self.packed)
        if self.rotates:
            cos, sin = self.angles(self.time, self.width // 2)
            q, k = (self.spelled_rope(value, cos, sin) if self.spells() else self.rope(value, "half", cos, sin)
                    for value in (q, k))
        if self.spells():
            y = self.spelled_attention(q, k, v, self.causal, self.drops)
        else:
            y = self.attention(q, k, v, self.causal, dropout=self.drops)
        return self.drop(self.project(self.reshape(y, x.shape[:2] + (widths[0],)), self.hidden))

    def mix(self, x: Value) -> Value:
        wide = 2 * self.hidden + 1
        y = self.project(x, wide)
        if self.gated:
            gate = self.project(x, wide)
            y = self.map("mul", self.map("mul", gate, self.map("logistic", gate)), y)
        elif self.spells():
            y = self.spelled_gelu(self.activation, y)
        else:
            y = self.map(f"gelu {self.activation}", y)
        return self.drop(self.project(y, self.hidden))

    def block(self, x: Value) -> Value:
        for layer in (self.attend, self.mix):
            if self.before:
                x = self.map("add", x, layer(self.normalise(x)))
            else:
                x = self.normalise(self.map("add", x, layer(x)))
        return x

    def loss(self, x: Value, table: Value) -> Value:
        rows: Shape = (self.batch * self.time,)
        flat = self.reshape(x, rows + (self.hidden,))
        if self.random.random() < 0.5:
            logits = self.dot(flat, table, ([], []), ([1], [1]))  # tied
        else:
            logits = self.project(flat, self.vocab)
        targets = self.ids((self.batch, self.time), self.vocab)
        ignored = self.random.choice((-100, 1))
        targets = self.reshape(targets, rows)
        if self.spells():
            return self.spelled_loss(logits, targets, ignored)
        reduction = self.random.choice(("mean", "mean", "sum", "none"))
        smoothing = self.random.choice((0.0, 0.0, 0.125))
        loss = self.cross_entropy(logits, targets, reduction, ignored, smoothing)
        return self.mean(loss, [0]) if reduction == "none" else loss

    def build(self) -> tuple[list[Argument], str]:
        tokens = self.ids((self.batch, self.time), self.vocab)
        table = self.argument((self.vocab, self.hidden), normal(0.0, 0.4))
        x = self.embedding(table, tokens)
        if not self.rotates:
            positions = self.argument((self.time, self.hidden), normal(0.0, 0.2))
            x = self.map("add", x, self.broadcast(positions, (1, 2), x.shape))
        x = self.drop(x)
        for _ in range(self.random.choice((1, 1, 2))):
            x = self.block(x)
        if self.before:
            x = self.normalise(x)
        result = self.loss(x, table)
        arguments = self.parameters()
        return arguments, function("forward", arguments, self.lines, [result], ' {hone.kind = "loss"}')


def random_model(seed: int, spelled: float = 0.0) -> tuple[list[Argument], str]:
    """Arguments and text of a @forward."""
    return Transformer(seed, spelled).build()
