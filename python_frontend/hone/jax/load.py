"""hone.jax.load: a trained result back into the pytree it came from."""

from __future__ import annotations

import json
import struct
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import HoneError
from ..package import SAFETENSORS_DTYPES
from .names import leaves, type_of


def load(path: str, params: Any) -> Any:
    """A pytree like `params` with the values of the safetensors file `path`, which ./train --save wrote.

    Strict: every leaf must be in the file under its path, with its shape and element type, and nothing else may be
    there but constants of the program ("const0", ...). `params` may be the arrays, or jax.eval_shape's description of
    them. Raises HoneError where the two do not fit.
    """
    tensors = _read(path)
    found = []
    named = leaves(params)
    for name, leaf in named.items():
        if name not in tensors:
            raise HoneError(f"{path}: has no tensor '{name}', a leaf of the parameters")
        dtype, shape, data = tensors[name]
        wanted = SAFETENSORS_DTYPES[type_of(leaf, name).dtype]
        if (dtype, shape) != (wanted, tuple(leaf.shape)):
            raise HoneError(
                f"{path}: tensor '{name}' is {dtype} of shape {list(shape)}, the leaf is {wanted} of {list(leaf.shape)}"
            )
        found.append(jnp.asarray(np.frombuffer(data, leaf.dtype).reshape(shape)))
    extra = sorted(n for n in set(tensors) - set(named) if not (n.startswith("const") and n[5:].isdigit()))
    if extra:
        raise HoneError(f"{path}: tensor '{extra[0]}' is no leaf of the parameters")
    return jax.tree.unflatten(jax.tree.structure(params), found)


def _read(path: str) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Element type, shape and bytes of each tensor."""
    try:
        with open(path, "rb") as file:
            content = file.read()
        (size,) = struct.unpack("<Q", content[:8])
        header = json.loads(content[8 : 8 + size])
        header.pop("__metadata__", None)
        data = content[8 + size :]
        return {
            name: (entry["dtype"], tuple(entry["shape"]), data[slice(*entry["data_offsets"])])
            for name, entry in header.items()
        }
    except OSError as error:
        raise HoneError(f"{path}: cannot be read as safetensors: {error.strerror}") from None
    except (ValueError, struct.error, KeyError, TypeError, AttributeError) as error:
        raise HoneError(f"{path}: cannot be read as safetensors: {error}") from None
