"""Moves that append convolutions and pooling, orders, and elements picked and placed by index."""

from __future__ import annotations

from graphs import MAX_ELEMENTS, Graph, Shape, Value, count, normal, tensor


def spatial(value: Value) -> bool:
    """[batch, space..., channels] with elements, of at most two spatial dimensions."""
    return len(value.shape) in (3, 4) and 0 not in value.shape


class WindowMoves(Graph):
    """Each move picks values made before and returns a new one, or nothing where it does not fit."""

    def window(self, sizes: Shape) -> tuple[list[tuple[int, int, int, int, int]], Shape]:
        """Size, stride, low and high padding and dilation per dimension that fit it, and the sizes of the result."""
        entries, made = [], []
        for size in sizes:
            dilation = self.random.choice((1, 1, 2))
            taps = self.random.randint(1, max(1, min(3, (size + dilation - 1) // dilation)))
            low, high = self.random.randint(0, taps - 1), self.random.randint(0, taps - 1)
            stride = self.random.choice((1, 1, 2, taps))
            entries.append((taps, stride, low, high, dilation))
            made.append((size + low + high - (taps - 1) * dilation - 1) // stride + 1)
        return entries, tuple(made)

    @staticmethod
    def placement(entries: list[tuple[int, int, int, int, int]]) -> str:
        _, strides, low, high, dilations = zip(*entries)
        return f"strides {list(strides)} low {list(low)} high {list(high)} dilations {list(dilations)}"

    def move_conv(self) -> Value | None:
        """A plain, grouped or depthwise convolution, or a transposed one back to the sizes of its input."""
        value = self.pick(spatial)
        if not value:
            return None
        batch, *sizes, channels = value.shape
        entries, made = self.window(tuple(sizes))
        groups = self.random.choice([n for n in (1, 1, 2, 3, channels) if channels % n == 0])
        outputs = groups * self.random.choice((1, 2))
        shape = (batch, *made, outputs)
        if count(shape) > MAX_ELEMENTS:
            return None
        kernel = self.argument((*(entry[0] for entry in entries), channels // groups, outputs))
        flag = "depthwise " if groups == outputs == channels and self.random.random() < 0.7 else ""
        text = f"{flag}{value}, {kernel} {self.placement(entries)}"
        result = self.emit(f"conv {text}", [value, kernel], shape, f"{value.type}, {kernel.type} -> {tensor(shape)}")
        draw = self.random.random()
        if draw < 0.3:  # as PyTorch has them: channels second
            order = [0, len(shape) - 1, *range(1, len(shape) - 1)]
            shape = tuple(shape[dim] for dim in order)
            return self.emit(f"transpose {result} {order}", [result], shape, f"{result.type} -> {tensor(shape)}")
        if draw < 0.7:
            return result
        text = f"conv_bwd_input {flag}{result}, {kernel} {self.placement(entries)}"
        return self.emit(text, [result, kernel], value.shape, f"{result.type}, {kernel.type} -> {value.type}")

    def move_max_pool(self) -> Value | None:
        value = self.pick(spatial)
        return value and self.max_pool(value)

    def max_pool(self, value: Value) -> Value | None:
        entries, made = self.window(value.shape[1:-1])
        if any(low + dilation > size or (out - 1) * stride - low >= size
               for (_, stride, low, _, dilation), size, out in zip(entries, value.shape[1:-1], made)):
            return None  # a window of padding alone
        shape, name = (value.shape[0], *made, value.shape[-1]), self.fresh()
        self.lines.append(
            f"%{name}, %{name}_taps = hone.max_pool {value} sizes {[entry[0] for entry in entries]} "
            f"{self.placement(entries)} : {value.type} -> {tensor(shape)}, {tensor(shape, 'i32')}")
        self.used.add(value.name)
        return Value(name, shape)

    def along(self, op: str, operands: list[Value], dim: int, shape: Shape) -> Value:
        types = f"{', '.join(operand.type for operand in operands)} -> {tensor(shape)}"
        return self.emit(f"{op} {', '.join(map(str, operands))} dim {dim}", operands, shape, types)

    def resized(self, shape: Shape, dim: int, size: int) -> Shape:
        return shape[:dim] + (size,) + shape[dim + 1:]

    def move_take_along(self) -> Value | None:
        value = self.pick(lambda value: value.shape and 0 not in value.shape)
        if not value:
            return None
        dim = self.random.randrange(len(value.shape))
        shape = self.resized(value.shape, dim, self.random.randint(1, 2 * value.shape[dim]))
        return self.along("take_along", [value, self.ids(shape, value.shape[dim])], dim, shape)

    def move_put_along(self) -> Value | None:
        value = self.pick(lambda value: value.shape and 0 not in value.shape)
        if not value:
            return None
        dim, size = self.random.randrange(len(value.shape)), self.random.choice((1, 3, 6))
        return self.along("put_along sum", [value, self.ids(value.shape, size)], dim,
                          self.resized(value.shape, dim, size))

    def move_put_extreme(self) -> Value | None:
        """Maxima or minima of what meets in a place; where nothing does, a bound in place of infinity."""
        value = self.pick(lambda value: value.shape and 0 not in value.shape)
        if not value:
            return None
        dim, size = self.random.randrange(len(value.shape)), self.random.choice((1, 3, 6))
        kind, bounding, bound = self.random.choice((("max", "max", -4.0), ("min", "min", 4.0)))
        shape = self.resized(value.shape, dim, size)
        placed = self.along(f"put_along {kind}", [value, self.ids(value.shape, size)], dim, shape)
        return self.map(bounding, placed, self.constant(shape, bound))

    def move_grouped_dot(self) -> Value | None:
        """Rows in two groups, the bounds of which are constants: ids of files are no bounds."""
        value = self.pick(lambda value: len(value.shape) == 2 and 0 not in value.shape)
        if not value:
            return None
        (rows, width), made = value.shape, self.random.choice((1, 4))
        contract = self.random.choice((1, 2))
        matrix = self.argument((2, width, made) if contract == 1 else (2, made, width))
        first = self.random.randint(0, rows)
        bounds = [first, self.random.randint(first, rows)]
        ends = self.emit(f"constant dense<{bounds}>", [], (2,), tensor((2,), "i64"), "i64")
        return self.emit(f"grouped_dot {value}, {matrix}, {ends} contract {contract}", [value, matrix, ends],
                         (rows, made), f"{value.type}, {matrix.type}, {ends.type} -> {tensor((rows, made))}")

    def move_dequantize(self) -> Value | None:
        """A product with a matrix in codes."""
        value = self.pick(lambda value: value.shape and 0 not in value.shape)
        if not value:
            return None
        (*_, width), rows = value.shape, self.random.choice((1, 2, 5))
        code, block = self.random.choice(("int8", "nf4")), self.random.choice((1, 4, 7, 16, 64))
        codes = self.cast(self.ids((rows, width if code == "int8" else (width + 1) // 2), 256), "i8")
        scales = self.buffer((rows, -(-width // block)), normal(0.0, 0.007 if code == "int8" else 0.7))
        shape = (rows, width)
        weight = self.emit(f"dequantize {code} {codes} scales {scales} block {block}", [codes, scales], shape,
                           f"{codes.type}, {scales.type} -> {tensor(shape)}")
        return self.dot(value, weight, ([], []), ([len(value.shape) - 1], [1]))

    def move_order(self) -> Value | None:
        value = self.pick(lambda value: value.shape and 0 not in value.shape)
        return value and self.ordered(value)

    def ordered(self, value: Value) -> Value:
        """The largest elements of each line, or all in order."""
        dim = self.random.randrange(len(value.shape))
        if self.random.random() < 0.5:
            op, shape = "argsort", value.shape
            flag = self.random.choice(("", " descending"))
        else:
            op, shape = "topk", self.resized(value.shape, dim, self.random.randint(1, value.shape[dim]))
            flag = self.random.choice(("", " smallest"))
        ids = self.emit(f"{op} {value} dim {dim}{flag}", [value], shape, f"{value.type} -> {tensor(shape, 'i64')}",
                        "i64")
        return self.along("take_along", [value, ids], dim, shape)

    MOVES = {move_conv: 2, move_take_along: 1, move_put_along: 1, move_grouped_dot: 1, move_dequantize: 2}
    ROUGH_MOVES = {move_max_pool: 1, move_order: 1, move_put_extreme: 1}
