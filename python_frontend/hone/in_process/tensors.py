"""Tensors by DLPack: those of a user as the runtime reads them, those of the runtime as a user reads them."""

from __future__ import annotations

import ctypes
from collections.abc import MutableMapping
from typing import Any, Iterator

import torch

from ..errors import HoneError
from .library import NamedTensor, Tensor, Trainer

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]

# A versioned capsule begins with two uint32, two pointers and a uint64 of flags.
_VERSIONED_HEADER = 32


def exported(tensor: Any, name: str) -> tuple[Any, int]:
    """A capsule of the input `name`, and the address of the DLTensor in it, which lives as long."""
    try:
        capsule = tensor.__dlpack__()
        return capsule, _pointer(capsule, b"dltensor")
    except AttributeError:
        raise HoneError(
            f"input '{name}': is a {type(tensor).__name__}, expected a tensor of PyTorch or NumPy, or of what else has "
            "__dlpack__"
        ) from None
    except (BufferError, RuntimeError) as error:
        first = error
    try:  # arrays that are only read have no older form
        capsule = tensor.__dlpack__(max_version=(1, 0))
        return capsule, _pointer(capsule, b"dltensor_versioned") + _VERSIONED_HEADER
    except (BufferError, RuntimeError, TypeError, ValueError):
        raise HoneError(f"input '{name}': {first}") from None


# By DLPack's code and bits.
_TYPES = {
    (0, 8): torch.int8,
    (0, 32): torch.int32,
    (0, 64): torch.int64,
    (2, 16): torch.float16,
    (2, 32): torch.float32,
    (2, 64): torch.float64,
    (4, 16): torch.bfloat16,
    (6, 8): torch.bool,
}

_GPU = 2


def view(trainer: Trainer, tensor: Tensor) -> torch.Tensor:
    """The memory of a tensor of the trainer's state, which it keeps alive."""
    dtype = _TYPES[tensor.code, tensor.bits]
    dims, strides = tensor.dims[: tensor.rank], tensor.strides[: tensor.rank]
    if 0 in dims:
        return torch.empty(dims, dtype=dtype)
    count = 1 + sum((dim - 1) * stride for dim, stride in zip(dims, strides))
    memory = (ctypes.c_char * (count * tensor.bits // 8)).from_address(tensor.data + tensor.byte_offset)
    memory.owner = trainer
    return torch.frombuffer(memory, dtype=dtype).as_strided(dims, strides)


class StateTensors(MutableMapping):
    """Tensors of one kind of the state, by name; a tied weight has each of its names.

    Reading gives a view that shows what training does (on a GPU, a copy of the moment). Assigning sets the values:
    the program's copies in low precision follow, as they do not follow what is written into a view.
    """

    def __init__(self, trainer: Trainer, entries: dict[int, NamedTensor]) -> None:
        self._trainer = trainer
        self._entries = entries
        self._indices = {entry.name.decode(): index for index, entry in entries.items()}
        self._aliases = {
            alias: index for index, entry in entries.items() for alias in entry.aliases.decode().split("\n")[:-1]
        }

    def _fetched(self, name: str) -> tuple[int, torch.Tensor]:
        index = self._indices.get(name, self._aliases.get(name))
        if index is None:
            raise KeyError(name)
        self._trainer.check(self._trainer.library.honert_trainer_fetch(self._trainer.handle, index))
        return index, view(self._trainer, self._entries[index].tensor)

    def __getitem__(self, name: str) -> torch.Tensor:
        index, tensor = self._fetched(name)
        return tensor.clone() if self._entries[index].tensor.device == _GPU else tensor

    def __setitem__(self, name: str, value: Any) -> None:
        index, tensor = self._fetched(name)
        value = torch.as_tensor(value)
        if value.shape != tensor.shape:
            raise HoneError(f"'{name}': is of shape {list(value.shape)}, expected {list(tensor.shape)}")
        tensor.copy_(value.detach())
        self._trainer.check(self._trainer.library.honert_trainer_publish(self._trainer.handle, index))

    def __delitem__(self, name: str) -> None:
        raise HoneError(f"'{name}': cannot be deleted, expected an assignment")

    def __contains__(self, name: object) -> bool:
        return name in self._indices or name in self._aliases

    def __iter__(self) -> Iterator[str]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)
