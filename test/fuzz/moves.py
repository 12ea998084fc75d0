"""Moves that append one simple op or idiom in fp32 to a random graph: maps, shapes, reductions and products."""

from __future__ import annotations

from graphs import MAX_ELEMENTS, Graph, Value, count


class SimpleMoves(Graph):
    """Each move picks values made before and returns a new one, or nothing where it does not fit."""

    def move_unary(self) -> Value | None:
        value = self.pick()
        ops = ["tanh", "logistic", "neg", "gelu tanh", "gelu erf", "sin", "cos", "erf", "atan"]
        if not self.smooth:
            ops += ["abs", "sign", "floor"]
        op = self.random.choice(ops)
        if value and op in ("sin", "cos"):  # of a large angle, nothing is left in fp32
            value = self.bounded(value)
        return value and self.map(op, value)

    def bounded(self, value: Value) -> Value:
        """x / sqrt(1 + x^2): like tanh, but with a derivative that does not cancel."""
        return self.map("mul", value, self.map("rsqrt", self.shift(self.map("mul", value, value), 1.0)))

    def move_positive(self) -> Value | None:
        """log, sqrt, rsqrt, powers and quotients of 1 + x^2."""
        value = self.pick()
        if not value:
            return None
        positive = self.shift(self.map("mul", value, value), 1.0)
        way = self.random.random()
        if way < 0.3:
            return self.map("div", self.pick_like(value.shape), positive)
        if way < 0.4:
            return self.map("pow", positive, self.constant(value.shape, self.random.choice((-0.75, 0.5, 1.5))))
        if way < 0.5:
            return self.map("pow", positive, self.scale(self.bounded(self.pick_like(value.shape)), 0.5))
        return self.map(self.random.choice(("log", "sqrt", "rsqrt", "log1p")), positive)

    def move_exp(self) -> Value | None:
        value = self.pick()
        return value and self.map(self.random.choice(("exp", "expm1")), self.map("tanh", value))

    def move_binary(self) -> Value | None:
        value = self.pick()
        if not value:
            return None
        operands = [value, self.pick_like(value.shape)]
        self.random.shuffle(operands)
        ops = ("add", "sub", "add", "mul") + (() if self.smooth else ("max", "min"))
        op = self.random.choice(ops)
        if op == "mul":
            operands[0] = self.map("tanh", operands[0])
        return self.map(op, *operands)

    def move_select(self) -> Value | None:
        """A causal or one-hot mask from counters, or a comparison of values."""
        value = self.pick(lambda value: len(value.shape) >= 2)
        if not value:
            return None
        shape = value.shape
        if self.random.random() < 0.35:
            target = self.per_row(self.ids(shape[:-1], max(1, shape[-1])), shape)
            mask = self.compare("eq", self.counter(len(shape) - 1, shape), target)
        elif self.smooth or self.random.random() < 0.6:
            first, second = self.random.sample(range(len(shape)), 2)
            predicate = self.random.choice(("lt", "le", "ge", "ne"))
            mask = self.compare(predicate, self.counter(first, shape), self.counter(second, shape))
            if self.random.random() < 0.3:  # a band
                other = self.compare("le", self.counter(second, shape), self.counter(first, shape))
                mask = self.map(self.random.choice(("and", "or")), mask, other)
            if self.random.random() < 0.2:
                mask = self.map("not", mask)
        else:
            mask = self.compare(self.random.choice(("gt", "le")), value, self.pick_like(shape))
        return self.select(mask, value, self.pick_like(shape))

    def move_counter(self) -> Value | None:
        """A table of positions, scaled, through a function: free of data."""
        shape = self.shape(self.random.choice((1, 2, 3)))
        counter = self.counter(self.random.randrange(len(shape)), shape, "f32")
        return self.map(self.random.choice(("sin", "cos", "tanh")), self.scale(counter, 0.125))

    def move_mean(self) -> Value | None:
        value = self.pick(lambda value: len(value.shape) >= 1)
        if not value:
            return None
        rank = len(value.shape)
        some = sorted(self.random.sample(range(rank), self.random.randint(1, rank)))
        dims = self.random.choice(([rank - 1], list(range(rank - 1)) or [0], list(range(rank)), some))
        return self.mean(value, dims)

    def move_extreme(self) -> Value | None:
        """A row maximum, used as in a softmax: subtracted."""
        value = self.pick(lambda value: len(value.shape) >= 1 and 0 not in value.shape)
        if not value:
            return None
        last = len(value.shape) - 1
        extreme = self.reduce(self.random.choice(("max", "min")), value, [last])
        return self.map("sub", value, self.broadcast(extreme, tuple(range(last)), value.shape))

    def move_reduce_broadcast(self) -> Value | None:
        """A statistic per row or column, spread again: what norms are made of."""
        value = self.pick(lambda value: len(value.shape) >= 2)
        if not value:
            return None
        dims = self.random.choice(([len(value.shape) - 1], list(range(len(value.shape) - 1))))
        kept = tuple(dim for dim in range(len(value.shape)) if dim not in dims)
        spread = self.broadcast(self.keep(self.mean(value, dims)), kept, value.shape)
        return self.map(self.random.choice(("add", "sub")), value, spread)

    def move_reshape(self) -> Value | None:
        value = self.pick()
        if not value:
            return None
        shape = list(value.shape)
        for _ in range(self.random.randint(1, 2)):
            way = self.random.random()
            if way < 0.4 and len(shape) >= 2:  # merge
                dim = self.random.randrange(len(shape) - 1)
                shape[dim:dim + 2] = [shape[dim] * shape[dim + 1]]
            elif way < 0.8 and shape:  # split
                dim = self.random.randrange(len(shape))
                factors = [size for size in range(1, shape[dim] + 1) if shape[dim] % size == 0] or [1]
                factor = self.random.choice(factors)
                shape[dim:dim + 1] = [factor, shape[dim] // factor]
            else:
                shape.insert(self.random.randint(0, len(shape)), 1)
        return self.reshape(value, tuple(shape)) if len(shape) <= 5 else None

    def move_transpose(self) -> Value | None:
        value = self.pick(lambda value: len(value.shape) >= 2)
        if not value:
            return None
        order = list(range(len(value.shape)))
        self.random.shuffle(order)
        return self.transpose(value, order)

    def move_slice(self) -> Value | None:
        value = self.pick(lambda value: len(value.shape) >= 1)
        if not value:
            return None
        starts, limits, strides = [], [], []
        for size in value.shape:
            whole = self.random.random() < 0.5
            start = 0 if whole else self.random.randint(0, size)
            starts.append(start)
            limits.append(size if whole else self.random.randint(start, size))
            strides.append(self.random.choice((1, 1, 1, 2, 3)))
        if any(start == limit for start, limit in zip(starts, limits)) and self.random.random() < 0.9:
            return None  # empty slices are rare
        return self.slice(value, starts, limits, strides)

    def move_split(self) -> Value | None:
        """The parts of a dimension, each through a function, joined or summed after padding."""
        value = self.pick(lambda value: value.shape and max(value.shape) >= 2)
        if not value:
            return None
        dim = self.random.choice([dim for dim, size in enumerate(value.shape) if size >= 2])
        count_of_cuts = min(self.random.randint(1, 2), value.shape[dim] - 1)
        cuts = sorted(self.random.sample(range(1, value.shape[dim]), count_of_cuts))
        bounds = [0, *cuts, value.shape[dim]]
        parts = []
        for begin, end in zip(bounds, bounds[1:]):
            part = self.part(value, dim, begin, end)
            parts.append(self.map("tanh", part) if self.random.random() < 0.6 else part)
        if self.random.random() < 0.5:
            self.random.shuffle(parts)
            return self.concat(parts, dim)
        padded = [self.pad(part, dim, begin, value.shape[dim] - end)
                  for part, begin, end in zip(parts, bounds, bounds[1:])]
        self.random.shuffle(padded)
        total = padded[0]
        for part in padded[1:]:
            total = self.map("add", total, part)
        return total

    def move_pad(self) -> Value | None:
        value = self.pick(lambda value: len(value.shape) >= 1)
        if not value:
            return None
        dim = self.random.randrange(len(value.shape))
        return self.pad(value, dim, self.random.randint(0, 3), self.random.randint(0, 3), self.random.choice((0, 0, 1)))

    def move_concat(self) -> Value | None:
        value = self.pick(lambda value: len(value.shape) >= 1)
        if not value:
            return None
        dim = self.random.randrange(len(value.shape))
        parts = [value]
        for _ in range(self.random.randint(0, 2)):
            shape = list(value.shape)
            shape[dim] = self.random.choice(self.sizes)
            parts.append(self.pick_like(tuple(shape)))
        return self.concat(parts, dim)

    def move_linear(self) -> Value | None:
        """x W (+ bias) (+ residual), the sums in any order."""
        value = self.pick(lambda value: len(value.shape) >= 1)
        if not value:
            return None
        product = self.linear(value, self.random.choice(self.sizes))
        if self.random.random() < 0.15:
            self.keep(product)  # another reader may follow
        if self.random.random() < 0.6:
            bias = self.broadcast(self.argument(product.shape[-1:]), (len(product.shape) - 1,), product.shape)
            product = self.map("add", product, bias)
        if self.random.random() < 0.5:
            product = self.map("add", product, self.pick_like(product.shape))
        return product

    def move_batched_dot(self) -> Value | None:
        """A product with batch and contracting dimensions anywhere."""
        lhs = self.pick(lambda value: len(value.shape) >= 2)
        if not lhs:
            return None
        dims = list(range(len(lhs.shape)))
        self.random.shuffle(dims)
        batch = dims[:self.random.randint(0, len(dims) - 1)]
        contract = dims[len(batch):len(batch) + self.random.randint(1, min(2, len(dims) - len(batch)))]
        sizes = [(lhs.shape[dim], ("batch", number)) for number, dim in enumerate(batch)]
        sizes += [(lhs.shape[dim], ("contract", number)) for number, dim in enumerate(contract)]
        sizes += [(self.random.choice(self.sizes), ("free", 0)) for _ in range(self.random.randint(0, 2))]
        self.random.shuffle(sizes)
        shape = tuple(size for size, _ in sizes)
        places = {label: dim for dim, (_, label) in enumerate(sizes)}
        product_size = count(lhs.shape) * count(tuple(size for size, label in sizes if label[0] == "free"))
        if count(shape) > MAX_ELEMENTS or product_size > 60 * MAX_ELEMENTS:
            return None
        rhs = self.pick_like(shape)
        product = self.dot(lhs, rhs, (batch, [places["batch", n] for n in range(len(batch))]),
                           (contract, [places["contract", n] for n in range(len(contract))]))
        terms = max(1, count(tuple(lhs.shape[dim] for dim in contract)))
        return self.scale(product, round(terms**-0.5, 6)) if count(product.shape) <= MAX_ELEMENTS else None

    def move_cumsum(self) -> Value | None:
        value = self.pick(lambda value: len(value.shape) >= 1)
        if not value:
            return None
        dim = self.random.randrange(len(value.shape))
        reverse = " reverse" if self.random.random() < 0.5 else ""
        total = self.emit(f"cumsum {value} dim {dim}{reverse}", [value], value.shape, value.type)
        return self.scale(total, round(max(1, value.shape[dim]) ** -0.5, 6))

    MOVES = {
        move_unary: 6, move_positive: 3, move_exp: 2, move_binary: 10, move_select: 3, move_counter: 2, move_mean: 6,
        move_reduce_broadcast: 4, move_reshape: 5, move_transpose: 4, move_slice: 3, move_split: 3, move_pad: 2,
        move_concat: 3, move_linear: 6, move_batched_dot: 4, move_cumsum: 1,
    }
    ROUGH_MOVES = {move_extreme: 2}
