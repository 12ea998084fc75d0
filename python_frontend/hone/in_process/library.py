"""The functions of runtime/include/honert/trainer.h in a shared object of `honec --emit=so`."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_double, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p

from ..errors import HoneError


class Tensor(ctypes.Structure):
    """honert_tensor, which is DLPack's DLTensor."""

    _fields_ = [
        ("data", c_void_p),
        ("device", c_int32),
        ("device_number", c_int32),
        ("rank", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("dims", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class NamedTensor(ctypes.Structure):
    """honert_named_tensor."""

    _fields_ = [("name", c_char_p), ("aliases", c_char_p), ("kind", c_int64), ("tensor", Tensor)]


class Options(ctypes.Structure):
    """honert_trainer_options."""

    _fields_ = [
        ("init", c_char_p),
        ("fresh", c_int64),
        ("seed", c_int64),
        ("threads", c_int64),
        ("deterministic", c_int64),
        ("checkpoints", c_char_p),
        ("resume", c_int64),
    ]


class Facts(ctypes.Structure):
    """honert_step."""

    _fields_ = [
        ("step", c_int64),
        ("loss", c_double),
        ("grad_norm", c_double),
        ("lr", c_double),
        ("loss_scale", c_double),
        ("skipped", c_int64),
    ]


_FUNCTIONS = {
    "hone_program": (None, [c_void_p]),
    "honert_program_new": (c_void_p, []),
    "honert_trainer_open": (c_void_p, [c_void_p, POINTER(Options)]),
    "honert_trainer_close": (None, [c_void_p]),
    "honert_trainer_error": (c_char_p, [c_void_p]),
    "honert_trainer_tensors": (POINTER(NamedTensor), [c_void_p, POINTER(c_int64)]),
    "honert_trainer_steps": (c_int64, [c_void_p]),
    "honert_trainer_info": (c_char_p, [c_void_p]),
    "honert_trainer_step": (c_int, [c_void_p, c_void_p, c_int64, POINTER(Facts)]),
    "honert_trainer_evaluate": (c_int, [c_void_p, c_void_p, c_int64, POINTER(c_double)]),
    "honert_trainer_set": (c_int, [c_void_p, c_char_p, c_double]),
    "honert_trainer_get": (c_int, [c_void_p, c_char_p, POINTER(c_double)]),
    "honert_trainer_fetch": (c_int, [c_void_p, c_int64]),
    "honert_trainer_publish": (c_int, [c_void_p, c_int64]),
    "honert_trainer_load": (c_int, [c_void_p, c_char_p]),
    "honert_trainer_save": (c_int, [c_void_p, c_char_p]),
    "honert_trainer_checkpoint": (c_int, [c_void_p]),
}


class Trainer:
    """A honert_trainer; its memory lives as long as this object, which views of it hold."""

    def __init__(self, path: str, options: Options) -> None:
        """Opens the program in the shared object `path`. Raises HoneError with the runtime's line."""
        self.handle = None
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            raise HoneError(f"{path}: cannot be loaded: {error}") from None
        for name, (result, parameters) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, parameters
        self.library = library
        # The description is never freed: the library, which it points to, is not unloaded either.
        program = library.honert_program_new()
        if not program:
            raise MemoryError
        library.hone_program(program)
        self.handle = library.honert_trainer_open(program, ctypes.byref(options))
        if not self.handle:
            raise MemoryError
        self.check(len(self.error))

    def __del__(self) -> None:
        if self.handle:
            self.library.honert_trainer_close(self.handle)

    @property
    def error(self) -> str:
        return self.library.honert_trainer_error(self.handle).decode(errors="replace")

    def check(self, code: int) -> None:
        """Raises what the call that returned `code` says of its error."""
        if code:
            raise HoneError(self.error)

    def tensors(self) -> list[NamedTensor]:
        count = c_int64()
        entries = self.library.honert_trainer_tensors(self.handle, ctypes.byref(count))
        return entries[: count.value]
