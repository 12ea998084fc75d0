"""Products of groups of rows with a matrix each: what mixtures of experts are made of."""

from __future__ import annotations

from ..builder import Builder
from ..errors import HoneError
from ..graph import Value
from .registry import emits


@emits("_grouped_mm.default")
def grouped_mm(
    b: Builder,
    self: Value,
    mat2: Value,
    offs: Value | None = None,
    bias: Value | None = None,
    out_dtype: str | None = None,
) -> Value:
    """self [R, H], mat2 [E, H, F], offs [E], where the rows of each group end -> [R, F]."""
    if self.rank != 2 or mat2.rank != 3 or offs is None:
        raise HoneError(
            f"grouped_mm of {list(self.shape)} and {list(mat2.shape)} is not supported: expected rows [R, H], matrices "
            "[E, H, F] and offs"
        )
    result = b.grouped_dot(self, mat2, offs)
    if bias is not None:
        raise HoneError("grouped_mm with a bias is not supported: add it to the result")
    return b.cast(result, out_dtype or result.dtype)


@emits("transformers.grouped_mm_fallback.default")
def grouped_mm_of_transformers(b: Builder, input: Value, weight: Value, offs: Value) -> Value:
    """The operator that the library transformers writes with a loop, for CPUs and types that torch's has not."""
    return grouped_mm(b, input, weight, offs)
