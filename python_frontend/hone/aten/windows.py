"""ATen overloads over windows of spatial dimensions: convolutions and maximum pooling.

ATen has channels second, [N, C, S...], and hone last; transposes stand between.
"""

from __future__ import annotations

from typing import Sequence

from ..builder import Builder, Window
from ..errors import HoneError
from ..graph import Type, Value
from .registry import emits
from .shape import unsqueeze


def _channels_last(b: Builder, x: Value) -> Value:
    """[N, C, S...] -> [N, S..., C]."""
    return b.transpose(x, [0, *range(2, x.rank), 1])


def _channels_second(b: Builder, x: Value) -> Value:
    """[N, S..., C] -> [N, C, S...]."""
    return b.transpose(x, [0, x.rank - 1, *range(1, x.rank - 1)])


def per_dim(given: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """One entry per spatial dimension; a single entry stands for all."""
    entries = [given] if isinstance(given, int) else list(given)
    return tuple(entries * rank if len(entries) == 1 else entries)


def _batched(b: Builder, x: Value, rank: int) -> Value:
    """[C, S...] -> [1, C, S...]; what has a batch dimension stays."""
    return x if x.rank == rank + 2 else unsqueeze(b, x, 0)


def _like_input(b: Builder, result: Value, input: Value) -> Value:
    """Drops the batch dimension that the input did not have."""
    return result if result.rank == input.rank else b.reshape(result, result.shape[1:])


def _with_bias(b: Builder, x: Value, bias: Value | None) -> Value:
    return x if bias is None else b.binary("add", x, bias)


# -- convolutions -------------------------------------------------------------------------------------------------


def _kernel_sizes(weight: Value) -> tuple[int, ...]:
    return weight.shape[2:]


def _padding_of(padding: str | int | Sequence[int], sizes: Sequence[int], dilations: Sequence[int]) -> tuple:
    """Low and high padding. 'same' puts the odd position after the input, as PyTorch does."""
    if padding == "valid":
        return (0,) * len(sizes), (0,) * len(sizes)
    if padding == "same":
        total = [(size - 1) * dilation for size, dilation in zip(sizes, dilations)]
        return tuple(n // 2 for n in total), tuple(n - n // 2 for n in total)
    if isinstance(padding, str):
        raise HoneError(f"a convolution with padding '{padding}' is not supported, only 'valid', 'same' and numbers")
    low = per_dim(padding, len(sizes))
    return low, low


@emits(
    *("conv1d.default", "conv2d.default", "conv3d.default", "conv1d.padding", "conv2d.padding", "conv3d.padding"),
)
def conv(
    b: Builder,
    input: Value,
    weight: Value,
    bias: Value | None = None,
    stride: int | Sequence[int] = 1,
    padding: str | int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Value:
    """input [N, C, S...] or [C, S...], weight [O, C / groups, K...] -> [N, O, R...]; the groups show in the shapes."""
    sizes = _kernel_sizes(weight)
    strides, dilations = per_dim(stride, len(sizes)), per_dim(dilation, len(sizes))
    low, high = _padding_of(padding, sizes, dilations)
    x = _channels_last(b, _batched(b, input, len(sizes)))
    kernel = b.transpose(weight, [*range(2, weight.rank), 1, 0])
    result = _with_bias(b, b.conv(x, kernel, Window(sizes, strides, low, high, dilations)), bias)
    return _like_input(b, _channels_second(b, result), input)


@emits("conv_transpose1d.default", "conv_transpose2d.input", "conv_transpose3d.input")
def conv_transpose(
    b: Builder,
    input: Value,
    weight: Value,
    bias: Value | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Value:
    """input [N, C, S...] or [C, S...], weight [C, O / groups, K...] -> [N, O, R...]: the gradient of a convolution."""
    sizes = _kernel_sizes(weight)
    rank = len(sizes)
    strides, dilations, low, extra = (per_dim(x, rank) for x in (stride, dilation, padding, output_padding))
    high = tuple(max(0, p - e) for p, e in zip(low, extra))
    window = Window(sizes, strides, low, high, dilations)
    y = _channels_last(b, _batched(b, input, rank))
    kernel = b.transpose(weight, [*range(2, weight.rank), 1, 0])
    made = [(n - 1) * strides[d] - 2 * low[d] + window.extent(d) + extra[d] for d, n in enumerate(y.shape[1:-1])]
    result = _with_bias(b, b.conv_transposed(y, kernel, window, made, groups), bias)
    return _like_input(b, _channels_second(b, result), input)


@emits("convolution.default")
def convolution(
    b: Builder,
    input: Value,
    weight: Value,
    bias: Value | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Value:
    if transposed:
        return conv_transpose(b, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return conv(b, input, weight, bias, stride, padding, dilation, groups)


# -- pooling ------------------------------------------------------------------------------------------------------


def pool_window(
    spatial: Sequence[int],
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int],
    padding: int | Sequence[int],
    dilation: int | Sequence[int],
    ceil_mode: bool,
) -> Window:
    """`ceil_mode` takes windows that reach beyond the input too, if they begin in it or in the padding before it."""
    rank = len(spatial)
    sizes, low, dilations = (per_dim(x, rank) for x in (kernel_size, padding, dilation))
    strides = per_dim(stride, rank) if stride or isinstance(stride, int) else sizes
    high = list(low)
    if ceil_mode:
        for d, size in enumerate(spatial):
            extent = (sizes[d] - 1) * dilations[d] + 1
            count = -(-(size + 2 * low[d] - extent) // strides[d]) + 1
            if (count - 1) * strides[d] >= size + low[d]:
                count -= 1
            high[d] = max(0, (count - 1) * strides[d] + extent - size - low[d])
    return Window(sizes, strides, low, tuple(high), dilations)


def _pooled(b: Builder, input: Value, rank: int, window_of) -> tuple[Value, Value]:
    """The maxima, and their places in the input, row-major over its spatial dimensions."""
    x = _channels_last(b, _batched(b, input, rank))
    window = window_of(x.shape[1:-1])
    result, taps = b.max_pool(x, window)
    places = _places(b, taps, window, x.shape[1:-1])
    return tuple(_like_input(b, _channels_second(b, y), input) for y in (result, places))


def _places(b: Builder, taps: Value, window: Window, spatial: Sequence[int]) -> Value:
    """Numbers of taps [N, R..., C] -> numbers of the positions that they are in the input."""
    tap = b.cast(taps, "i64")
    place = b.splat(0, tap.type)
    number = lambda n: b.splat(n, tap.type)
    for d in range(len(spatial)):
        rest = 1
        for size in window.sizes[d + 1 :]:
            rest *= size
        own = b.binary("div", tap, number(rest))
        tap = b.binary("sub", tap, b.binary("mul", own, number(rest)))
        start = b.binary("mul", b.iota(d + 1, tap.type), number(window.strides[d]))
        at = b.binary("add", start, b.binary("mul", own, number(window.dilations[d])))
        at = b.binary("sub", at, number(window.low[d]))
        place = b.binary("add", b.binary("mul", place, number(spatial[d])), at)
    return place


def _max_pool(rank: int) -> None:
    def pooled(b, self, kernel_size, stride, padding, dilation, ceil_mode):
        return _pooled(
            b,
            self,
            rank,
            lambda spatial: pool_window(spatial, kernel_size, stride, padding, dilation, ceil_mode),
        )

    @emits(f"max_pool{rank}d.default")
    def max_pool(
        b: Builder,
        self: Value,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
    ) -> Value:
        return pooled(b, self, kernel_size, stride, padding, dilation, ceil_mode)[0]

    @emits(f"max_pool{rank}d_with_indices.default")
    def max_pool_with_indices(
        b: Builder,
        self: Value,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
    ) -> list[Value]:
        return list(pooled(b, self, kernel_size, stride, padding, dilation, ceil_mode))

    @emits(f"adaptive_max_pool{rank}d.default")
    def adaptive_max_pool(b: Builder, self: Value, output_size: int | Sequence[int]) -> list[Value]:
        wanted = per_dim(output_size, rank)
        spatial = self.shape[-rank:]
        if any(size % count for size, count in zip(spatial, wanted)):
            raise HoneError(
                f"adaptive maximum pooling of {list(spatial)} to {list(wanted)} is not supported: expected sizes that "
                "divide"
            )
        sizes = tuple(size // count for size, count in zip(spatial, wanted))
        none, one = (0,) * rank, (1,) * rank
        return list(_pooled(b, self, rank, lambda _: Window(sizes, sizes, none, none, one)))


for _rank in (1, 2, 3):
    _max_pool(_rank)
