"""Random small transformers for random meshes: a model, and how ranks share it.

A plan has up to five axes, a recipe, micro-batches, a schedule, and may be exact or within a memory budget. A model is
one of models.py, with mixtures of experts and losses that balance them now and then, and with sizes that the plan's
axes divide, but for one in sixteen.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from graphs import Argument, Value, function, normal, tensor
from models import Transformer

AXES = ("pp", "dp", "fs", "ep", "cp", "tp")  # in the order of a mesh
SCHEDULES = ("gpipe", "1f1b", "zb-h1")
FULLY_SHARDED = ("zero1", "zero2", "zero3", "zero3-keep")
MAX_RANKS = 32


@dataclass(frozen=True)
class Plan:
    mesh: dict[str, int]
    words: tuple[str, ...]  # of the recipe
    micro: int
    schedule: str
    is_exact: bool
    has_budget: bool

    @staticmethod
    def draw(pick: random.Random) -> Plan:
        axes = sorted(pick.sample(AXES, pick.choice((1, 2, 2, 3, 3, 4, 5))), key=AXES.index)
        mesh: dict[str, int] = {}
        for axis in axes:
            sizes = [size for size in (2, 2, 2, 3, 4) if size * math.prod(mesh.values()) <= MAX_RANKS]
            if sizes:
                mesh[axis] = pick.choice(sizes)
        words = [pick.choice(FULLY_SHARDED)] if "fs" in mesh else []
        words += ["ep"] if "ep" in mesh else []
        words += ["sp"] if "tp" in mesh and pick.random() < 0.4 else []
        words += [pick.choice(("cp-gather", "cp-heads"))] if "cp" in mesh else []
        micro = pick.choice((1, 2, 3, 4, 5) if "pp" in mesh else (1, 1, 2))
        schedule = pick.choice(SCHEDULES) if "pp" in mesh else ""
        return Plan(mesh, tuple(words), micro, schedule, pick.random() < 0.25, pick.random() < 0.2)

    def size(self, *axes: str) -> int:
        return math.prod(self.mesh.get(axis, 1) for axis in axes)

    def has(self, word: str) -> bool:
        return word in self.words

    def options(self) -> list[str]:
        """Those of --hone-pipeline."""
        mesh = ",".join(f"{axis}={size}" for axis, size in self.mesh.items())
        return [f"mesh={mesh}", *([f"recipe={','.join(self.words)}"] if self.words else []),
                *([f"schedule={self.schedule}"] if self.schedule else [])]

    def text(self) -> str:
        kinds = ["exact"] * self.is_exact + ["budget"] * self.has_budget
        return " ".join([*self.options(), f"micro-batches={self.micro}", *kinds])


class MeshTransformer(Transformer):
    """A transformer that `plan` can divide."""

    def __init__(self, seed: int, plan: Plan):
        super().__init__(seed, spelled=0.0)
        pick = self.random
        is_odd = pick.random() < 1 / 16

        def multiple(of: int, *times: int) -> int:
            return pick.choice(times) * (1 if is_odd else of)

        tp, context = plan.size("tp"), plan.size("cp")
        self.batch = multiple(plan.size("dp", "fs", "ep"), 1, 1, 2)
        self.time = multiple(2 * context * (tp if plan.has("sp") else 1) if context > 1 else tp, 1, 2, 3)
        self.width = pick.choice((2, 4))
        of_heads = context * tp if plan.has("cp-heads") else tp
        # Fewer key heads than ranks now and then.
        has_few = not plan.has("cp-heads") and pick.random() < 0.2
        self.groups = pick.choice((1, 2)) if has_few else multiple(of_heads, 1, 2)
        self.heads = self.groups * pick.choice((1, 2)) * (of_heads if self.groups % of_heads and not is_odd else 1)
        self.hidden = multiple(tp, 4, 6, 8)
        self.vocab = multiple(tp, 5, 8, 11)
        self.layers = max(pick.choice((1, 2, 2, 3)), (plan.size("pp") + 1) // 2)
        self.experts = multiple(plan.size("ep"), 1, 2, 3) if plan.has("ep") or pick.random() < 0.2 else 0
        self.chosen = pick.randint(1, min(3, self.experts)) if self.experts else 0
        self.expert_width = multiple(tp, 3, 4)
        self.balances = pick.random() < 0.4
        self.losses: list[Value] = []
        self.has_mixture = False

    def block(self, x: Value) -> Value:
        is_mixture = self.experts and (not self.has_mixture or self.random.random() < 0.7)
        self.has_mixture |= bool(is_mixture)
        layers = (self.attend, self.route if is_mixture else self.mix)
        for layer in layers:
            if self.before:
                x = self.map("add", x, layer(self.normalise(x)))
            else:
                x = self.normalise(self.map("add", x, layer(x)))
        return x

    # -- experts ------------------------------------------------------------------------------------------------

    def integers(self, number: int, rows: int) -> Value:
        return self.emit(f"constant dense<{number}>", [], (rows,), tensor((rows,), "i64"), "i64")

    def grouped(self, rows: Value, ends: Value, width: int) -> Value:
        depth = rows.shape[1]
        matrix = self.argument((self.experts, depth, width), normal(0.0, depth**-0.5))
        types = f"{rows.type}, {matrix.type}, {ends.type} -> {tensor((rows.shape[0], width))}"
        return self.emit(f"grouped_dot {rows}, {matrix}, {ends} contract 1", [rows, matrix, ends],
                         (rows.shape[0], width), types)

    def route(self, x: Value) -> Value:
        """A mixture of experts: each token's chosen ones, weighted by their scores."""
        tokens, chosen, experts = x.shape[0] * x.shape[1], self.chosen, self.experts
        slots, flat = tokens * chosen, self.reshape(x, (tokens, self.hidden))
        chances = self.map("softmax", self.linear(flat, experts))
        ids = self.emit(f"topk {chances} dim 1", [chances], (tokens, chosen),
                        f"{chances.type} -> {tensor((tokens, chosen), 'i64')}", "i64")
        weights = self.emit(f"take_along {chances}, {ids} dim 1", [chances, ids], (tokens, chosen),
                            f"{chances.type}, {ids.type} -> {tensor((tokens, chosen))}")
        line = self.reshape(ids, (slots,))
        whole = tensor((slots,), "i64")
        order = self.emit(f"argsort {line} dim 0", [line], (slots,), f"{whole} -> {whole}", "i64")
        line = self.emit(f"take_along {line}, {order} dim 0", [line, order], (slots,), f"{whole}, {whole} -> {whole}",
                         "i64")
        counts = self.emit(f"put_along sum {self.integers(1, slots)}, {line} dim 0", [line], (experts,),
                           f"{whole}, {whole} -> {tensor((experts,), 'i64')}", "i64")
        ends = self.emit(f"cumsum {counts} dim 0", [counts], (experts,), counts.type, "i64")
        token = self.map("div", order, self.integers(chosen, slots))
        rows = self.embedding(flat, token)
        inner = self.grouped(rows, ends, self.expert_width)
        inner = self.map("mul", inner, self.map("logistic", inner))
        outer = self.grouped(inner, ends, self.hidden)
        own = self.reshape(self.embedding(self.reshape(weights, (slots, 1)), order), (slots,))
        outer = self.map("mul", outer, self.per_row(own, outer.shape))
        places = self.emit(f"put_along sum {self.counter(0, (slots,))}, {order} dim 0", [order], (slots,),
                           f"{whole}, {whole} -> {whole}", "i64")
        back = self.reshape(self.embedding(outer, places), (tokens, chosen, self.hidden))
        if self.balances:
            self.balance(chances, counts)
        return self.drop(self.reshape(self.reduce("sum", back, [1]), x.shape))

    def balance(self, chances: Value, counts: Value) -> None:
        """A term of the loss: the mean chance of each expert, times its share of the tokens."""
        tokens, experts = chances.shape
        mean = self.scale(self.reduce("sum", chances, [0]), 1 / tokens)
        share = self.scale(self.cast(counts, "f32"), experts / tokens)
        self.losses.append(self.reduce("sum", self.map("mul", mean, share), [0]))

    # -- the whole ----------------------------------------------------------------------------------------------

    def build(self) -> tuple[list[Argument], str]:
        tokens = self.ids((self.batch, self.time), self.vocab)
        table = self.argument((self.vocab, self.hidden), normal(0.0, 0.4))
        x = self.embedding(table, tokens)
        if not self.rotates:
            positions = self.argument((self.time, self.hidden), normal(0.0, 0.2))
            x = self.map("add", x, self.broadcast(positions, (1, 2), x.shape))
        x = self.drop(x)
        for _ in range(self.layers):
            x = self.block(x)
        if self.before:
            x = self.normalise(x)
        result = self.loss(x, table)
        for term in self.losses:
            result = self.map("add", result, self.scale(term, 0.01))
        arguments = self.parameters()
        return arguments, function("forward", arguments, self.lines, [result], ' {hone.kind = "loss"}')
