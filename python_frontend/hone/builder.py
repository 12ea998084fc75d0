"""Builds a graph op by op. Every method computes its result's type, so a graph that was built is well-typed.

Sizes are checked where the user's program could be wrong; the rest is the dialect verifier's business.
Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Callable, Iterable, Sequence

from .errors import HoneError
from .graph import Argument, Attribute, Body, Dense, Enum, Location, Op, Segments, Type, Value, is_float

# Ops that make no new elements.
_MOVES = {"reshape", "transpose", "broadcast", "slice", "concat"}


class Builder:
    def __init__(self) -> None:
        self.arguments: list[Argument] = []
        self.ops: list[Op] = []
        self.location = Location()
        self._values = 0
        self._salts = 0
        self._rng: Value | None = None
        self._differentiable: set[int] = set()
        self._fills: dict[int, object] = {}  # value id -> the element all of it is

    # -- values ---------------------------------------------------------------------------------------------------

    def _value(self, type: Type) -> Value:
        self._values += 1
        return Value(self._values - 1, type)

    def argument(self, type: Type, kind: str, fqn: str, **facts) -> Value:
        value = self._value(type)
        self.arguments.append(Argument(value, kind, fqn, **facts))
        if facts.get("requires_grad"):
            self._differentiable.add(value.id)
        return value

    def rng(self) -> Value:
        """The key of the random ops, an argument made when the first of them needs it."""
        if self._rng is None:
            self._rng = self.argument(Type("i64", (3,)), "rng", "rng")
        return self._rng

    def salt(self) -> int:
        """A number no other random op of this graph has."""
        self._salts += 1
        return self._salts

    def is_differentiable(self, value: Value) -> bool:
        """Whether the value depends on a parameter that wants a gradient."""
        return value.id in self._differentiable

    def origins(self, value: Value) -> tuple[list[Op], set[int]]:
        """The ops that a value is made by, the last first, and the ids of all that it is made from."""
        needed, found = {value.id}, []
        for op in reversed(self.ops):
            if any(result.id in needed for result in op.results):
                needed.update(operand.id for operand in op.operands)
                found.append(op)
        return found, needed

    def op(
        self, name: str, operands: Sequence[Value], results: Sequence[Type], **attributes: Attribute
    ) -> tuple[Value, ...]:
        values = tuple(self._value(type) for type in results)
        return self._added(Op(name, tuple(operands), values, tuple(attributes.items()), self.location))

    def _added(self, op: Op) -> tuple[Value, ...]:
        self.ops.append(op)
        name, operands, values = op.name, op.operands, op.results
        if any(operand.id in self._differentiable for operand in op.differentiated):
            self._differentiable.update(value.id for value in values if is_float(value.dtype))
        if name in _MOVES and all(operand.id in self._fills for operand in operands):
            if len(elements := {self._fills[operand.id] for operand in operands}) == 1:
                self._fills[values[0].id] = elements.pop()
        return values

    def fill_of(self, value: Value):
        """The element that all of a value is, where that is plain to see; None otherwise."""
        return self._fills.get(value.id)

    # -- creation -------------------------------------------------------------------------------------------------

    def constant(self, values: Iterable, type: Type) -> Value:
        values = tuple(values)
        value = self.op("constant", (), (type,), value=Dense(type, values))[0]
        if len(elements := set(values)) == 1:
            self._fills[value.id] = elements.pop()
        return value

    def splat(self, value, type: Type) -> Value:
        return self.constant((value,), type)

    def iota(self, dim: int, type: Type) -> Value:
        if type.dtype == "i1":
            return self.cast(self.iota(dim, Type("i64", type.shape)), "i1")
        return self.op("iota", (), (type,), dim=dim)[0]

    def random(self, dist: str, type: Type) -> Value:
        return self.op("random", (self.rng(),), (type,), dist=Enum("dist", dist), salt=self.salt())[0]

    # -- elementwise ----------------------------------------------------------------------------------------------

    def unary(self, name: str, x: Value) -> Value:
        return self.op(name, (x,), (x.type,))[0]

    def binary(self, name: str, x: Value, y: Value) -> Value:
        """Operands of one element type; shapes are broadcast as NumPy does."""
        shape = broadcast_shape(x.shape, y.shape)
        x, y = self.broadcast_to(x, shape), self.broadcast_to(y, shape)
        return self.op(name, (x, y), (x.type,))[0]

    def compare(self, predicate: str, x: Value, y: Value) -> Value:
        shape = broadcast_shape(x.shape, y.shape)
        x, y = self.broadcast_to(x, shape), self.broadcast_to(y, shape)
        return self.op("cmp", (x, y), (Type("i1", shape),), predicate=Enum("cmp", predicate))[0]

    def select(self, pred: Value, on_true: Value, on_false: Value) -> Value:
        shape = broadcast_shape(pred.shape, broadcast_shape(on_true.shape, on_false.shape))
        pred, on_true, on_false = (self.broadcast_to(v, shape) for v in (pred, on_true, on_false))
        return self.op("select", (pred, on_true, on_false), (on_true.type,))[0]

    def cast(self, x: Value, dtype: str) -> Value:
        return x if x.dtype == dtype else self.op("cast", (x,), (Type(dtype, x.shape),))[0]

    def scale(self, x: Value, factor: float) -> Value:
        """`x * factor`, and `x` itself for 1."""
        return x if factor == 1 else self.binary("mul", x, self.splat(factor, x.type))

    def gelu(self, x: Value, approximate: str) -> Value:
        return self.op("gelu", (x,), (x.type,), approximate=Enum("gelu", approximate))[0]

    def dropout(self, x: Value, p: float) -> Value:
        if p == 0:
            return x
        if p == 1:
            return self.splat(0, x.type)
        return self.op("dropout", (x, self.rng()), (x.type,), p=float(p), salt=self.salt())[0]

    def stop_gradient(self, x: Value) -> Value:
        return self.op("stop_gradient", (x,), (x.type,))[0] if self.is_differentiable(x) else x

    def select_mode(self, training: Value, evaluation: Value) -> Value:
        """`training`, and in evaluation the other."""
        return self.op("select_mode", (training, evaluation), (training.type,))[0]

    def custom_gradient(
        self,
        values: Sequence[Value],
        inputs: Sequence[Value],
        saved: Sequence[Value],
        backward: Callable[["Builder", list[Value], list[Value]], Sequence[Value]],
    ) -> tuple[Value, ...]:
        """`values`, with gradients of `inputs` that `backward(builder, cotangents, saved)` makes of those of the values
        of floating point, and of `saved`. Raises HoneError where `backward` draws random numbers."""
        body = Builder()
        body.location = self.location
        cotangents = [body.argument(x.type, "input", "cotangent") for x in values if is_float(x.dtype)]
        held = [body.argument(x.type, "input", "saved") for x in saved]
        results = tuple(backward(body, cotangents, held))
        if len(body.arguments) != len(cotangents) + len(held):
            raise HoneError("a backward of its own draws random numbers, which is not supported; save what it needs")
        if [x.type for x in results] != [x.type for x in inputs]:
            seen, wanted = (", ".join(str(x.type) for x in some) for some in (results, inputs))
            raise HoneError(f"a backward of its own gives gradients {seen}, expected {wanted}")
        operands = (*values, *inputs, *saved)
        sizes = Segments((len(values), len(inputs), len(saved)))
        arguments = tuple(argument.value for argument in body.arguments)
        op = Op(
            "custom_gradient",
            operands,
            tuple(self._value(x.type) for x in values),
            (("operandSegmentSizes", sizes),),
            self.location,
            Body(arguments, tuple(body.ops), results),
        )
        return self._added(op)

    # -- shape ----------------------------------------------------------------------------------------------------

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        shape = tuple(shape)
        if shape == x.shape:
            return x
        if prod(shape) != x.type.numel:
            raise HoneError(f"cannot reshape {list(x.shape)} to {list(shape)}")
        return self.op("reshape", (x,), (Type(x.dtype, shape),))[0]

    def transpose(self, x: Value, permutation: Sequence[int]) -> Value:
        permutation = tuple(permutation)
        if permutation == tuple(range(x.rank)):
            return x
        shape = tuple(x.shape[d] for d in permutation)
        return self.op("transpose", (x,), (Type(x.dtype, shape),), permutation=permutation)[0]

    def broadcast(self, x: Value, shape: Sequence[int], dims: Sequence[int]) -> Value:
        return self.op("broadcast", (x,), (Type(x.dtype, tuple(shape)),), dims=tuple(dims))[0]

    def broadcast_to(self, x: Value, shape: Sequence[int]) -> Value:
        """NumPy broadcasting: dimensions are matched from the last, size 1 is stretched."""
        shape = tuple(shape)
        if x.shape == shape:
            return x
        offset = len(shape) - x.rank
        kept = [d for d in range(x.rank) if x.shape[d] == shape[d + offset]]
        if offset < 0 or any(x.shape[d] != 1 for d in range(x.rank) if d not in kept):
            raise HoneError(f"cannot broadcast {list(x.shape)} to {list(shape)}")
        if len(kept) < x.rank:
            x = self.reshape(x, [x.shape[d] for d in kept])
        return self.broadcast(x, shape, [d + offset for d in kept]) if x.shape != shape else x

    def slice(self, x: Value, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int]) -> Value:
        shape = tuple(max(0, -(-(b - a) // s)) for a, b, s in zip(starts, limits, strides))
        if shape == x.shape:
            return x
        type = Type(x.dtype, shape)
        return self.op("slice", (x,), (type,), starts=tuple(starts), limits=tuple(limits), strides=tuple(strides))[0]

    def slice_dim(self, x: Value, dim: int, start: int, limit: int, stride: int = 1) -> Value:
        starts, limits, strides = [0] * x.rank, list(x.shape), [1] * x.rank
        starts[dim], limits[dim], strides[dim] = start, max(start, limit), stride
        return self.slice(x, starts, limits, strides)

    def pad(self, x: Value, low: Sequence[int], high: Sequence[int], interior: Sequence[int] = ()) -> Value:
        """Zeros before, after, and `interior` of them between neighbours of each dimension."""
        between = tuple(interior) or (0,) * x.rank
        if not any(low) and not any(high) and not any(between):
            return x
        shape = tuple(n + a + b + max(n - 1, 0) * c for n, a, b, c in zip(x.shape, low, high, between))
        return self.op("pad", (x,), (Type(x.dtype, shape),), low=tuple(low), high=tuple(high), interior=between)[0]

    def concat(self, inputs: Sequence[Value], dim: int) -> Value:
        if len(inputs) == 1:
            return inputs[0]
        shape = list(inputs[0].shape)
        shape[dim] = sum(x.shape[dim] for x in inputs)
        return self.op("concat", inputs, (Type(inputs[0].dtype, tuple(shape)),), dim=dim)[0]

    # -- reductions, contraction, index ---------------------------------------------------------------------------

    def reduce(self, kind: str, x: Value, dims: Iterable[int], keepdim: bool = False) -> Value:
        dims = tuple(sorted(set(dims)))
        kept = tuple(size for d, size in enumerate(x.shape) if d not in dims)
        if dims:
            shape = tuple(1 if d in dims else size for d, size in enumerate(x.shape))
            x = self.op("reduce", (x,), (Type(x.dtype, kept),), kind=Enum("reduce", kind), dims=dims)[0]
            return self.reshape(x, shape) if keepdim else x
        return x

    def argmax(self, x: Value, dim: int) -> Value:
        return self.op("argmax", (x,), (Type("i64", x.shape[:dim] + x.shape[dim + 1 :]),), dim=dim)[0]

    def cumsum(self, x: Value, dim: int) -> Value:
        return self.op("cumsum", (x,), (x.type,), dim=dim)[0]

    def dot_general(
        self,
        lhs: Value,
        rhs: Value,
        batch: tuple[Sequence[int], Sequence[int]],
        contract: tuple[Sequence[int], Sequence[int]],
    ) -> Value:
        """Result dimensions: batch, free of lhs, free of rhs."""
        for a, b in list(zip(*batch)) + list(zip(*contract)):
            if lhs.shape[a] != rhs.shape[b]:
                raise HoneError(f"cannot contract {list(lhs.shape)} with {list(rhs.shape)}")
        free = [
            [size for d, size in enumerate(x.shape) if d not in tuple(batch[i]) + tuple(contract[i])]
            for i, x in enumerate((lhs, rhs))
        ]
        shape = tuple([lhs.shape[d] for d in batch[0]] + free[0] + free[1])
        return self.op(
            "dot_general",
            (lhs, rhs),
            (Type(lhs.dtype, shape),),
            lhs_batch=tuple(batch[0]),
            rhs_batch=tuple(batch[1]),
            lhs_contract=tuple(contract[0]),
            rhs_contract=tuple(contract[1]),
        )[0]

    def grouped_dot(self, x: Value, weight: Value, ends: Value) -> Value:
        """x [R, H], weight [E, H, F], ends [E] -> [R, F]: each group of rows times its matrix."""
        type = Type(x.dtype, (x.shape[0], weight.shape[2]))
        return self.op("grouped_dot", (x, weight, ends), (type,), contract=1)[0]

    def embedding(self, table: Value, ids: Value) -> Value:
        return self.op("embedding", (table, ids), (Type(table.dtype, ids.shape + (table.shape[1],)),))[0]

    def embedding_bwd(self, grad: Value, ids: Value, count: int) -> Value:
        """grad [R..., W], ids [R...] -> the sums [count, W] of the rows of each id."""
        return self.op("embedding_bwd", (grad, ids), (Type(grad.dtype, (count, grad.shape[-1])),))[0]

    # -- order, elements picked by index --------------------------------------------------------------------------

    def argsort(self, x: Value, dim: int, descending: bool) -> Value:
        flag = {"descending": True} if descending else {}
        return self.op("argsort", (x,), (Type("i64", x.shape),), dim=dim, **flag)[0]

    def topk(self, x: Value, count: int, dim: int, smallest: bool = False) -> Value:
        """Indices of the largest elements along `dim`, the largest first."""
        flag = {"smallest": True} if smallest else {}
        shape = x.shape[:dim] + (count,) + x.shape[dim + 1 :]
        return self.op("topk", (x,), (Type("i64", shape),), dim=dim, **flag)[0]

    def take_along(self, x: Value, ids: Value, dim: int) -> Value:
        """x and ids of equal shape but for `dim` -> elements of x, with the shape of ids."""
        return self.op("take_along", (x, ids), (Type(x.dtype, ids.shape),), dim=dim)[0]

    def put_along(self, kind: str, updates: Value, ids: Value, size: int, dim: int) -> Value:
        """updates and ids of one shape -> that shape, with `size` elements along `dim`."""
        shape = updates.shape[:dim] + (size,) + updates.shape[dim + 1 :]
        types = (Type(updates.dtype, shape),)
        return self.op("put_along", (updates, ids), types, kind=Enum("reduce", kind), dim=dim)[0]

    # -- windows --------------------------------------------------------------------------------------------------

    def conv(self, x: Value, weight: Value, window: Window) -> Value:
        """x [N, S..., C], weight [K..., C / G, O] -> [N, R..., O]; a group per channel is a depthwise convolution."""
        sizes = [window.output_size(d, n) for d, n in enumerate(x.shape[1:-1])]
        shape = (x.shape[0], *sizes, weight.shape[-1])
        flags = _depthwise(x.shape[-1], weight)
        return self.op("conv", (x, weight), (Type(x.dtype, shape),), **window.placement(), **flags)[0]

    def conv_transposed(self, y: Value, weight: Value, window: Window, sizes: Sequence[int], groups: int) -> Value:
        """y [N, R..., O], weight [K..., C / groups, O] -> [N, S..., C] of spatial `sizes`."""
        type = Type(y.dtype, (y.shape[0], *sizes, weight.shape[-2] * groups))
        flags = _depthwise(type.shape[-1], weight)
        return self.op("conv_bwd_input", (y, weight), (type,), **window.placement(), **flags)[0]

    def max_pool(self, x: Value, window: Window) -> tuple[Value, Value]:
        """x [N, S..., C] -> the maxima [N, R..., C] and their places in the windows."""
        shape = (x.shape[0], *(window.output_size(d, n) for d, n in enumerate(x.shape[1:-1])), x.shape[-1])
        types = (Type(x.dtype, shape), Type("i32", shape))
        result, taps = self.op("max_pool", (x,), types, sizes=window.sizes, **window.placement())
        return result, taps

    def max_pool_bwd(self, grad: Value, taps: Value, window: Window, shape: Sequence[int]) -> Value:
        """The gradient of the input, of `shape`, of a max_pool that gave `taps`."""
        types = (Type(grad.dtype, tuple(shape)),)
        return self.op("max_pool_bwd", (grad, taps), types, sizes=window.sizes, **window.placement())[0]

    # -- rows -----------------------------------------------------------------------------------------------------

    def softmax(self, x: Value) -> Value:
        return self.op("softmax", (x,), (x.type,))[0]

    def layer_norm(self, x: Value, scale: Value | None, bias: Value | None, eps: float) -> Value:
        row = Type(x.dtype, x.shape[:-1])
        operands = [v for v in (x, scale, bias) if v is not None]
        segments = Segments((1, int(scale is not None), int(bias is not None)))
        return self.op("layer_norm", operands, (x.type, row, row), eps=float(eps), operandSegmentSizes=segments)[0]

    def rms_norm(self, x: Value, scale: Value | None, eps: float) -> Value:
        operands = (x,) if scale is None else (x, scale)
        return self.op("rms_norm", operands, (x.type, Type(x.dtype, x.shape[:-1])), eps=float(eps))[0]

    def cross_entropy(
        self, logits: Value, targets: Value, reduction: str, ignore_index: int, smoothing: float
    ) -> Value:
        loss = Type(logits.dtype, targets.shape if reduction == "none" else ())
        return self.op(
            "cross_entropy",
            (logits, targets),
            (loss, Type(logits.dtype, targets.shape)),
            reduction=Enum("reduction", reduction),
            ignore_index=ignore_index,
            label_smoothing=float(smoothing),
        )[0]

    def attention(
        self, query: Value, key: Value, value: Value, mask: Value | None, causal: bool, scale: float, dropout: float
    ) -> Value:
        """query [B, T, H, D], key [B, S, G, D], value [B, S, G, E], mask [B or 1, H or 1, T, S] -> [B, T, H, E]."""
        batch, length, heads, _ = query.shape
        operands, attributes = [query, key, value], {"scale": float(scale)}
        if mask is not None:
            operands.append(mask)
        if causal:
            attributes["causal"] = True
        if dropout:
            operands.append(self.rng())
            attributes |= {"dropout": float(dropout), "salt": self.salt()}
        segments = Segments((1, 1, 1, int(mask is not None), int(bool(dropout))))
        results = (Type(query.dtype, (batch, length, heads, value.shape[3])), Type(query.dtype, (batch, heads, length)))
        return self.op("attention", operands, results, **attributes, operandSegmentSizes=segments)[0]


@dataclass(frozen=True)
class Window:
    """The window of a convolution or of pooling, an entry per spatial dimension (HoneWindowOps.td)."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    dilations: tuple[int, ...]

    def extent(self, dim: int) -> int:
        return (self.sizes[dim] - 1) * self.dilations[dim] + 1

    def output_size(self, dim: int, size: int) -> int:
        return (size + self.low[dim] + self.high[dim] - self.extent(dim)) // self.strides[dim] + 1

    def placement(self) -> dict[str, tuple[int, ...]]:
        """The attributes besides the sizes."""
        return {"strides": self.strides, "low": self.low, "high": self.high, "dilations": self.dilations}


def _depthwise(channels: int, weight: Value) -> dict[str, bool]:
    """The attribute of a convolution of `channels` channels, each a group of its own."""
    return {"depthwise": True} if weight.shape[-2:] == (1, channels) and channels > 1 else {}


def broadcast_shape(x: Sequence[int], y: Sequence[int]) -> tuple[int, ...]:
    """The shape two shapes broadcast to, by NumPy's rule."""
    rank = max(len(x), len(y))
    pairs = list(zip((1,) * (rank - len(x)) + tuple(x), (1,) * (rank - len(y)) + tuple(y)))
    if any(a != b and 1 not in (a, b) for a, b in pairs):
        raise HoneError(f"cannot broadcast {list(x)} with {list(y)}")
    return tuple(b if a == 1 else a for a, b in pairs)
