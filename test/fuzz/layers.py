"""Moves that append a named op: norms, softmax, losses, embeddings, dropout, rotations and attention."""

from __future__ import annotations

from typing import Sequence

from graphs import AROUND_ONE, MAX_ELEMENTS, Graph, Shape, Value, count, tensor


class LayerMoves(Graph):
    """Each move picks values made before and returns a new one, or nothing where it does not fit."""

    def norm(self, op: str, value: Value, scale: Value | None, bias: Value | None) -> list[Value]:
        """The normalised value, then the statistics that the op keeps."""
        rows, name = value.shape[:-1], self.fresh()
        operands, types, text = [value], [value.type], ""
        for word, vector in (("scale", scale), ("bias", bias)):
            if vector:
                operands.append(vector)
                types.append(vector.type)
                text += f" {word} {vector}"
        kept = ["mean", "rstd"] if op == "layer_norm" else ["rstd"]
        element = "f32" if value.element in ("bf16", "f16") else value.element
        results = [Value(name, value.shape, value.element)] + [Value(f"{name}_{word}", rows, element) for word in kept]
        self.lines.append(f"{', '.join(map(str, results))} = hone.{op} {value}{text} eps 0.0078125 : "
                          f"({', '.join(types)}) -> ({', '.join(result.type for result in results)})")
        self.used.update(operand.name for operand in operands)
        return results

    def move_norm(self) -> Value | None:
        value = self.pick(lambda value: value.shape and value.shape[-1] >= 2 and count(value.shape) > 0)
        if not value:
            return None
        op = self.random.choice(("layer_norm", "layer_norm", "rms_norm"))
        vectors = [self.argument(value.shape[-1:], AROUND_ONE) if self.random.random() < 0.7 else None
                   for _ in range(2 if op == "layer_norm" else 1)]
        result, *kept = self.norm(op, value, vectors[0], vectors[1] if len(vectors) > 1 else None)
        if not self.smooth and self.random.random() < 0.3:  # no gradient flows through a statistic
            self.keep(kept[-1])
        return result

    def move_softmax(self) -> Value | None:
        value = self.pick(lambda value: value.shape and count(value.shape) > 0)
        return value and self.map("softmax", value)

    def cross_entropy(self, logits: Value, targets: Value, reduction: str, ignored: int = -100,
                      smoothing: float = 0.0) -> Value:
        rows, name = logits.shape[:-1], self.fresh()
        shape = rows if reduction == "none" else ()
        types = f"{logits.type}, {targets.type} -> {tensor(shape)}, {tensor(rows)}"
        self.lines.append(f"%{name}, %{name}_lse = hone.cross_entropy {reduction} {logits}, {targets} "
                          f"ignore_index {ignored} label_smoothing {smoothing} : {types}")
        self.used.update((logits.name, targets.name))
        return Value(name, shape)

    def move_cross_entropy(self) -> Value | None:
        value = self.pick(lambda value: value.shape and count(value.shape) > 0 and value.shape[-1] >= 2)
        if not value:
            return None
        reduction, rows = self.random.choice(("none", "sum", "mean")), value.shape[:-1]
        ignored = self.random.choice((-100, 1))
        if reduction == "mean" and count(rows) < 4:
            ignored = -100  # all rows ignored would give NaN
        targets = self.ids(rows, value.shape[-1])
        return self.cross_entropy(value, targets, reduction, ignored, self.random.choice((0.0, 0.0, 0.125)))

    def embedding(self, table: Value, ids: Value) -> Value:
        shape = ids.shape + table.shape[1:]
        types = f"{table.type}, {ids.type} -> {tensor(shape)}"
        return self.emit(f"embedding {table}, {ids}", [table, ids], shape, types)

    def move_embedding(self) -> Value | None:
        rows = self.random.choice([size for size in self.sizes if size > 0])
        table = self.pick(lambda value: len(value.shape) == 2 and value.shape[0] > 0)
        if not table or self.random.random() < 0.4:
            table = self.argument((rows, self.random.choice(self.sizes)))
        shape = self.shape(self.random.choice((1, 2)))
        if count(shape + table.shape[1:]) > MAX_ELEMENTS:
            return None
        return self.embedding(table, self.ids(shape, table.shape[0]))

    def dropout(self, value: Value, p: float) -> Value:
        key = self.rng()
        text = f"dropout {value}, {key} p {p} salt {self.random.randint(1, 99)}"
        return self.emit(text, [value], value.shape, f"{value.type}, {key.type}")

    def move_dropout(self) -> Value | None:
        value = self.pick()
        return value and self.dropout(value, self.random.choice((0.125, 0.5)))

    def move_random(self) -> Value | None:
        """Noise, bounded, added to a value."""
        value = self.pick()
        if not value:
            return None
        key, salt = self.rng(), self.random.randint(100, 199)
        text = f"random {self.random.choice(('uniform', 'normal'))}({key}) salt {salt}"
        noise = self.emit(text, [], value.shape, f"{key.type} -> {value.type}")
        return self.map("add", value, self.map("tanh", noise))

    def rope(self, value: Value, style: str, cos: Value, sin: Value) -> Value:
        text = f"rope {style} {value}, {cos}, {sin}"
        return self.emit(text, [value, cos, sin], value.shape, f"{value.type}, {cos.type}")

    def angles(self, time: int, half: int) -> tuple[Value, Value]:
        """Cosine and sine of position times frequency, computed in the graph."""
        shape = (time, half)
        position = self.scale(self.counter(0, shape, "f32"), 0.5)
        frequency = self.map("exp", self.scale(self.counter(1, shape, "f32"), -0.7))
        angle = self.map("mul", position, frequency)
        return self.map("cos", angle), self.map("sin", angle)

    def move_rope(self) -> Value | None:
        value = self.pick(lambda value: len(value.shape) == 4 and value.shape[-1] % 2 == 0 and 0 not in value.shape)
        if not value:  # the heads of a projection
            flat = self.pick(lambda value: len(value.shape) == 3 and 0 not in value.shape)
            if not flat:
                return None
            heads, width = self.random.choice((1, 3)), self.random.choice((2, 6))
            value = self.reshape(self.linear(flat, heads * width), flat.shape[:2] + (heads, width))
        cos, sin = self.angles(value.shape[1], value.shape[3] // 2)
        return self.rope(value, self.random.choice(("half", "interleaved")), cos, sin)

    def attention(self, q: Value, k: Value, v: Value, causal: bool, masks: Sequence[Value] = (),
                  dropout: float = 0.0) -> Value:
        """[batch, time, heads, width] of each."""
        (batch, time, heads, width), name = q.shape, self.fresh()
        result, operands = Value(name, q.shape[:3] + v.shape[3:], q.element), [q, k, v, *masks]
        text, tail = f" mask {', '.join(map(str, masks))}" if masks else "", ""
        if dropout:
            operands.append(self.rng())
            text += f" rng {self.rng()}"
            tail = f" dropout {dropout} salt {self.random.randint(200, 299)}"
        text += " causal" if causal else ""
        lse = tensor((batch, heads, time))
        types = ", ".join(operand.type for operand in operands)
        text += f" scale {width ** -0.5:.6f}{tail}"
        self.lines.append(f"%{name}, %{name}_lse = hone.attention {q}, {k}, {v}{text} : ({types}) -> "
                          f"({result.type}, {lse})")
        self.used.update(operand.name for operand in operands)
        return result

    def heads_of(self, value: Value, widths: list[int], width: int, packed: bool) -> list[Value]:
        """Projections of [batch, time, hidden] to heads, each its own or all as parts of one."""
        batch, time, _ = value.shape
        if packed:
            whole = self.linear(value, sum(widths))
            starts = [sum(widths[:number]) for number in range(len(widths))]
            parts = [self.part(whole, 2, start, start + size) for start, size in zip(starts, widths)]
        else:
            parts = [self.linear(value, size) for size in widths]
        return [self.reshape(part, (batch, time, size // width, width)) for part, size in zip(parts, widths)]

    def pair_mask(self, shape: Shape) -> Value:
        """0 or a large negative number per pair of positions; the diagonal is open."""
        rows, cols = self.counter(0, shape), self.counter(1, shape)
        closed = self.compare(self.random.choice(("gt", "lt")), rows, cols)
        return self.select(closed, self.constant(shape, -10000.0), self.constant(shape, 0.0))

    def documents(self, batch: int, time: int) -> Value:
        """Ids of each position, in any order."""
        rows = [[self.random.randrange(3) for _ in range(time)] for _ in range(batch)]
        return self.emit(f"constant dense<{rows}>", [], (batch, time), tensor((batch, time), "i64"), "i64")

    def move_attention(self) -> Value | None:
        """Heads from slices of a packed projection, or from three of their own."""
        value = self.pick(lambda value: len(value.shape) == 3 and 0 not in value.shape)
        if not value:
            return None
        batch, time, _ = value.shape
        groups, repeat, width = self.random.choice((1, 2, 3)), self.random.choice((1, 2)), self.random.choice((2, 5, 8))
        heads = groups * repeat
        widths = [heads * width, groups * width, groups * width]
        if batch * time * sum(widths) > MAX_ELEMENTS or batch * heads * time * time > 4 * MAX_ELEMENTS:
            return None
        q, k, v = self.heads_of(value, widths, width, packed=self.random.random() < 0.6)
        masks = []
        if self.random.random() < 0.2:
            masks.append(self.reshape(self.pair_mask((time, time)), (1, 1, time, time)))
        if self.random.random() < 0.2:
            masks.append(self.documents(batch, time))
        dropout = 0.25 if self.random.random() < 0.15 else 0.0
        result = self.attention(q, k, v, self.random.random() < 0.6, masks, dropout)
        return self.reshape(result, (batch, time, heads * width))

    MOVES = {
        move_norm: 4, move_softmax: 3, move_cross_entropy: 1, move_embedding: 2, move_dropout: 2, move_random: 1,
        move_rope: 1, move_attention: 2,
    }
