"""Names of the leaves of a pytree, and element types."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from ..errors import HoneError
from ..graph import Type

_DTYPES = {
    "float64": "f64",
    "float32": "f32",
    "bfloat16": "bf16",
    "float16": "f16",
    "int64": "i64",
    "int32": "i32",
    "int8": "i8",
    "bool": "i1",
}
# Inside a program only, where no arithmetic that would wrap around is accepted.
_INNER_DTYPES = {"uint32": "i64", "uint16": "i32", "uint8": "i32", "int16": "i32"}


def type_of(x: Any, where: str) -> Type:
    """The type of an array that crosses the border of a program. Raises HoneError for one that no file holds."""
    dtype = str(x.dtype)
    if dtype not in _DTYPES:
        raise HoneError(f"{where}: has element type {dtype}, expected one of {', '.join(_DTYPES)}")
    return Type(_DTYPES[dtype], tuple(x.shape))


def inner_dtype(dtype: Any) -> str:
    """The element type of a value inside a program."""
    name = str(dtype)
    found = _DTYPES.get(name) or _INNER_DTYPES.get(name)
    if found is None:
        raise HoneError(f"element type {name} is not supported, expected one of {', '.join(_DTYPES)}")
    return found


def is_key(x: Any) -> bool:
    """Whether an array holds random keys: typed ones, or the pairs of uint32 that jax.random.PRNGKey makes."""
    if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
        return True
    return str(x.dtype) == "uint32" and x.shape[-1:] == (2,)


def leaves(tree: Any, prefix: str = "") -> dict[str, Any]:
    """The leaves of a pytree by path: {"params.h_0.attn.kernel": ...}. flax's `.value` of a variable is left out.
    Raises HoneError where two leaves have one name."""
    found: dict[str, Any] = {}
    for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
        parts = [_part(key) for key in path]
        if len(parts) > 1 and isinstance(path[-1], jax.tree_util.GetAttrKey) and parts[-1] == "value":
            parts.pop()
        name = ".".join([prefix] * bool(prefix) + parts)
        if name in found:
            raise HoneError(f"params: two leaves are called '{name}'; expected keys whose paths differ")
        found[name] = leaf
    return found


def _part(key: Any) -> str:
    for field in ("key", "name", "idx"):
        if hasattr(key, field):
            return str(getattr(key, field))
    return str(key)


def array_of(x: Any) -> np.ndarray:
    return np.asarray(x, order="C")
