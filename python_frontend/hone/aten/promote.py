"""Element types of mixed operands, by PyTorch's rule: a higher category wins, and within one, tensors with dimensions
win over tensors without, and those over Python numbers."""

from __future__ import annotations

from typing import Union

from ..builder import Builder, broadcast_shape
from ..graph import DTYPE_BYTES, Type, Value, is_float

Operand = Union[Value, int, float, bool]

_DEFAULT_FLOAT = "f32"


def promote_types(x: str, y: str) -> str:
    """The smallest element type both convert to; `f32` for the two half precisions."""
    if x == y:
        return x
    if is_float(x) and is_float(y):
        return "f32" if {x, y} == {"bf16", "f16"} else max(x, y, key=DTYPE_BYTES.__getitem__)
    if is_float(x) or is_float(y):
        return x if is_float(x) else y
    if "i1" in (x, y):
        return x if y == "i1" else y
    return max(x, y, key=DTYPE_BYTES.__getitem__)


def scalar_dtype(number: Union[int, float, bool]) -> str:
    if isinstance(number, bool):
        return "i1"
    return "i64" if isinstance(number, int) else _DEFAULT_FLOAT


def common_dtype(*operands: Operand) -> str:
    ranks: list[str | None] = [None, None, None]  # tensors with dimensions, without, numbers
    for x in operands:
        place = 2 if not isinstance(x, Value) else 0 if x.rank else 1
        dtype = x.dtype if isinstance(x, Value) else scalar_dtype(x)
        ranks[place] = dtype if ranks[place] is None else promote_types(ranks[place], dtype)
    return _combine(ranks[0], _combine(ranks[1], ranks[2]))


def _combine(higher: str | None, lower: str | None) -> str | None:
    if higher is None or lower is None:
        return higher or lower
    if not is_float(higher) and (higher == "i1" or is_float(lower)):
        return promote_types(higher, lower)
    return higher


def as_tensors(b: Builder, *operands: Operand, dtype: str | None = None) -> list[Value]:
    """The operands as tensors of one element type; numbers take the shape the tensors broadcast to."""
    dtype = dtype or common_dtype(*operands)
    shape: tuple[int, ...] = ()
    for x in operands:
        if isinstance(x, Value):
            shape = broadcast_shape(shape, x.shape)
    return [b.cast(x, dtype) if isinstance(x, Value) else b.splat(x, Type(dtype, shape)) for x in operands]


def as_float(b: Builder, x: Value) -> Value:
    """Integers and booleans become the default float type, as in PyTorch's transcendental functions."""
    return x if is_float(x.dtype) else b.cast(x, _DEFAULT_FLOAT)
