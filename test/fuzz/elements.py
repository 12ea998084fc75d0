"""Moves through other element types: short runs of ops in bf16, fp16 or double, and arithmetic on integers."""

from __future__ import annotations

from graphs import Graph, Value, count

FLOATS = ("bf16", "f16", "f64")
INTEGER_OPS = ("add", "sub", "mul", "max", "min", "div", "and", "or", "not", "neg", "abs", "cumsum")


class ElementMoves(Graph):
    """Each move starts from a value in fp32 and returns to fp32."""

    def move_low(self) -> Value | None:
        """A few ops in another type of floats."""
        value = self.pick(lambda value: len(value.shape) >= 1 and 0 not in value.shape)
        if not value:
            return None
        last = len(value.shape) - 1
        low = self.cast(self.map("tanh", value), self.random.choice(FLOATS))
        for _ in range(self.random.randint(1, 4)):
            way = self.random.randrange(6)
            if way == 0:
                low = self.map(self.random.choice(("tanh", "logistic", "exp", "gelu tanh")), self.map("tanh", low))
            elif way == 1:
                low = self.map("add", low, self.scale(low, 0.5))
            elif way == 2:
                low = self.map("softmax", low)
            elif way == 3:
                low = self.map("sub", low, self.scale(self.row("sum", low), 1.0 / low.shape[last]))
            elif way == 4 and low.shape[last] <= 64:
                weight = self.cast(self.argument((low.shape[last],) * 2), low.element)
                low = self.scale(self.dot(low, weight, ([], []), ([last], [0])), low.shape[last] ** -0.5)
            else:
                low = self.map("max", low, self.map("neg", low))
        return self.cast(low, "f32")

    def move_integers(self) -> Value | None:
        """A counter or some inputs through integer ops, as a mask or as numbers."""
        value = self.pick(lambda value: len(value.shape) >= 1 and count(value.shape) > 0)
        if not value:
            return None
        shape, last = value.shape, len(value.shape) - 1
        number = self.ids(shape, 9) if self.random.random() < 0.4 else self.counter(last, shape)
        number = self.cast(number, self.random.choice(("i64", "i32", "i8")))
        for _ in range(self.random.randint(1, 3)):
            op = self.random.choice(INTEGER_OPS)
            other = self.emit("constant dense<3>", [], shape, number.type, number.element)
            if op in ("not", "neg", "abs"):
                number = self.map(op, number)
            elif op == "cumsum":
                number = self.emit(f"cumsum {number} dim {last}", [number], shape, number.type, number.element)
            else:
                number = self.map(op, number, other)
        if self.random.random() < 0.5:
            zero = self.emit("constant dense<0>", [], shape, number.type, number.element)
            mask = self.compare(self.random.choice(("gt", "eq")), number, zero)
            return self.select(mask, value, self.map("neg", value))
        return self.map("add", value, self.map("sin", self.cast(number, "f32")))

    def move_argmax(self) -> Value | None:
        value = self.pick(lambda value: len(value.shape) >= 1 and 0 not in value.shape)
        if not value:
            return None
        dim = self.random.randrange(len(value.shape))
        # Among equal elements, what rounds their sums another way would choose.
        ramp = self.map("mul", self.counter(dim, value.shape, "f32"), self.constant(value.shape, 0.0078125))
        value = self.map("add", value, ramp)
        shape = value.shape[:dim] + value.shape[dim + 1:]
        types = f"{value.type} -> {Value('', shape, 'i64').type}"
        index = self.emit(f"argmax {value} dim {dim}", [value], shape, types, "i64")
        return self.scale(self.cast(index, "f32"), 0.125)

    def move_stop(self) -> Value | None:
        value = self.pick()
        return value and self.map("stop_gradient", value)

    MOVES = {move_low: 2, move_integers: 2, move_argmax: 1, move_stop: 1}
