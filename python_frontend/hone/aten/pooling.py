"""ATen average pooling: a linear map along each spatial dimension."""

from __future__ import annotations

from typing import Sequence

from ..builder import Builder
from ..graph import Type, Value
from .nn import along
from .registry import emits
from .windows import pool_window


def _mean_matrix(
    b: Builder, dtype: str, size: int, count: int, window: tuple[int, int, int], counts_padding: bool, divides: bool
) -> Value:
    """[count, size]: row o averages the positions o * stride - low to o * stride - low + taps - 1 that exist.

    It is made of counters, so that the graph holds no table. `divides` is off where the caller divides.
    """
    taps, stride, low = window
    shape = Type("i64", (count, size))
    start = b.binary("sub", b.scale(b.iota(0, shape), stride), b.splat(low, shape))
    offset = b.binary("sub", b.iota(1, shape), start)
    inside = b.binary("and", b.compare("ge", offset, b.splat(0, shape)), b.compare("lt", offset, b.splat(taps, shape)))
    ones = b.cast(inside, dtype)
    if not divides:
        return ones
    # The positions that count: those of the input, or with its padding of `low` on both sides.
    first = b.splat(-low if counts_padding else 0, shape)
    last = b.splat(size + low if counts_padding else size, shape)
    end = b.binary("add", start, b.splat(taps, shape))
    number = b.binary("sub", b.binary("min", end, last), b.binary("max", start, first))
    return b.binary("div", ones, b.cast(number, dtype))


def _avg_pool(rank: int) -> None:
    @emits(f"avg_pool{rank}d.default")
    def avg_pool(
        b: Builder,
        self: Value,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Value:
        """[..., C, S...] -> [..., C, R...]."""
        first, spatial = self.rank - rank, self.shape[self.rank - rank :]
        window = pool_window(spatial, kernel_size, stride, padding, 1, ceil_mode)
        if window.strides == window.sizes and not any(window.low) and not any(window.high) and divisor_override is None:
            if all(size % taps == 0 for size, taps in zip(spatial, window.sizes)):
                return _blocks(b, self, first, window.sizes)
        x = self
        for d, size in enumerate(spatial):
            taps = (window.sizes[d], window.strides[d], window.low[d])
            count = window.output_size(d, size)
            divides = divisor_override is None
            x = along(b, x, first + d, _mean_matrix(b, x.dtype, size, count, taps, count_include_pad, divides))
        return x if divisor_override is None else b.scale(x, 1 / divisor_override)


def _blocks(b: Builder, x: Value, first: int, sizes: Sequence[int]) -> Value:
    """Means of blocks that tile the spatial dimensions, which begin at `first`."""
    split, dims = list(x.shape[:first]), []
    for size, taps in zip(x.shape[first:], sizes):
        split += [size // taps, taps]
        dims.append(len(split) - 1)
    blocks = b.reshape(x, split)
    total = b.reduce("sum", blocks, dims)
    return b.scale(total, total.type.numel / max(1, x.type.numel))


def _adaptive_matrix(b: Builder, dtype: str, size: int, count: int) -> Value:
    """[count, size]: row o averages the positions from o * size / count, rounded down, to the next row's, rounded up."""
    shape = Type("i64", (count, size))
    row, number = b.iota(0, shape), b.splat(count, shape)
    first = b.binary("div", b.scale(row, size), number)
    next_first = b.scale(b.binary("add", row, b.splat(1, shape)), size)
    last = b.binary("div", b.binary("add", next_first, b.splat(count - 1, shape)), number)
    place = b.iota(1, shape)
    inside = b.binary("and", b.compare("ge", place, first), b.compare("lt", place, last))
    return b.binary("div", b.cast(inside, dtype), b.cast(b.binary("sub", last, first), dtype))


def _adaptive_avg_pool(rank: int) -> None:
    @emits(f"adaptive_avg_pool{rank}d.default", *([f"_adaptive_avg_pool{rank}d.default"] if rank > 1 else []))
    def adaptive_avg_pool(b: Builder, self: Value, output_size: int | Sequence[int]) -> Value:
        """[..., C, S...] -> [..., C, output_size...]."""
        first, spatial = self.rank - rank, self.shape[self.rank - rank :]
        counts = [output_size] * rank if isinstance(output_size, int) else list(output_size)
        counts = [size if count is None else count for count, size in zip(counts, spatial)]
        if all(size % count == 0 for size, count in zip(spatial, counts)):
            return _blocks(b, self, first, [size // count for size, count in zip(spatial, counts)])
        x = self
        for d, (size, count) in enumerate(zip(spatial, counts)):
            x = along(b, x, first + d, _adaptive_matrix(b, x.dtype, size, count))
        return x


for _rank in (1, 2, 3):
    _avg_pool(_rank)
    _adaptive_avg_pool(_rank)
