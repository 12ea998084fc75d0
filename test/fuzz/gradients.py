"""Moves that only graphs before autodiff may hold, or whose gradient goes to the largest elements.

Gradients must be those of finite differences. So values are moved apart before they are compared (`separated`), and
gradients that are given, not derived, are the right ones.
"""

from __future__ import annotations

from graphs import Value, tensor
from windows import WindowMoves


class GradientMoves(WindowMoves):
    """Each move picks values made before and returns a new one, or nothing where it does not fit."""

    def separated(self, value: Value) -> Value:
        """A value whose elements differ by more than rounding or a finite difference moves them."""
        angle = None
        for dim in range(len(value.shape)):
            part = self.scale(self.counter(dim, value.shape, "f32"), 1.7 + 0.6 * dim)
            angle = self.map("add", angle, part) if angle else part
        return self.map("add", self.scale(self.map("tanh", value), 0.05), self.scale(self.map("sin", angle), 2.0))

    def move_largest(self) -> Value | None:
        """The maxima of windows, or elements of lines in order."""
        value = self.pick(lambda value: value.shape and 0 not in value.shape)
        if not value:
            return None
        value = self.separated(value)
        if len(value.shape) in (3, 4) and self.random.random() < 0.7:
            return self.max_pool(value)
        return self.ordered(value)

    def move_mode(self) -> Value | None:
        value = self.pick()
        if not value:
            return None
        other = self.pick_like(value.shape)
        return self.emit(f"select_mode training {value} evaluation {other}", [value, other], value.shape, value.type)

    def move_custom_gradient(self) -> Value | None:
        value = self.pick(lambda value: value.shape and 0 not in value.shape)
        if not value:
            return None
        kind = self.random.choice((self.custom_tanh, self.custom_product, self.custom_angle, self.custom_sum))
        return kind(value)

    def custom(self, values: list[Value], inputs: list[Value], saved: list[Value], body: list[str]) -> list[Value]:
        """The op; in `body`, g0, g1 ... are the gradients of the values and s0, s1 ... what is saved, and the last
        line yields."""
        results = [Value(self.fresh(), value.shape) for value in values]
        listed = lambda these: f"{', '.join(map(str, these))} : {', '.join(value.type for value in these)}"
        arguments = [f"%g{number}: {value.type}" for number, value in enumerate(values)]
        arguments += [f"%s{number}: {value.type}" for number, value in enumerate(saved)]
        kept = f" saved({listed(saved)})" if saved else ""
        lines = [f"{', '.join(map(str, results))} = hone.custom_gradient values({listed(values)}) "
                 f"inputs({listed(inputs)}){kept} {{", f"^bb0({', '.join(arguments)}):", *body, "}"]
        self.lines.append("\n    ".join(lines))
        self.used.update(value.name for value in (*values, *inputs, *saved))
        return results

    def custom_tanh(self, x: Value) -> Value:
        y, t = self.map("tanh", x), x.type
        body = [f"%one = hone.constant dense<1.0> : {t}", f"%q = hone.mul %s0, %s0 : {t}",
                f"%d = hone.sub %one, %q : {t}", f"%r = hone.mul %g0, %d : {t}", f"hone.yield %r : {t}"]
        return self.custom([y], [x], [y], body)[0]

    def custom_product(self, x: Value) -> Value:
        x, y, t = self.map("tanh", x), self.map("tanh", self.pick_like(x.shape)), x.type
        body = [f"%a = hone.mul %g0, %s1 : {t}", f"%b = hone.mul %g0, %s0 : {t}", f"hone.yield %a, %b : {t}, {t}"]
        return self.custom([self.map("mul", x, y)], [x, y], [x, y], body)[0]

    def custom_angle(self, x: Value) -> Value:
        """Two results, of which one may stay unread."""
        x, t = self.map("tanh", x), x.type
        sine, cosine = self.map("sin", x), self.map("cos", x)
        body = [f"%a = hone.mul %g0, %s1 : {t}", f"%b = hone.mul %g1, %s0 : {t}", f"%r = hone.sub %a, %b : {t}",
                f"hone.yield %r : {t}"]
        first, second = self.custom([sine, cosine], [x], [sine, cosine], body)
        return self.map("add", first, second) if self.random.random() < 0.6 else self.random.choice((first, second))

    def custom_sum(self, x: Value) -> Value:
        """Nothing is saved."""
        dims = list(range(len(x.shape) - 1))
        inner = self.map("tanh", x)
        total = self.reduce("sum", inner, [len(x.shape) - 1])
        body = [f"%r = hone.broadcast %g0 dims {dims} : {tensor(total.shape)} -> {x.type}", f"hone.yield %r : {x.type}"]
        result = self.custom([total], [inner], [], body)[0]
        return self.scale(result, round(x.shape[-1] ** -0.5, 6))

    EXPORTED_MOVES = {move_largest: 2, move_mode: 1, move_custom_gradient: 2}
