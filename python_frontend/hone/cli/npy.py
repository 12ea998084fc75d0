"""Token ids and labels in .npy files of one dimension, by pieces and without numpy."""

from __future__ import annotations

import ast
import os
import struct
import sys
from array import array
from pathlib import Path
from typing import BinaryIO, Iterator, Sequence

from ..errors import HoneError

# Codes of the array module, by what a .npy header calls a type.
CODES = {"<u2": "H", "<u4": "I", "<i4": "i", "<i8": "q"}
_MAGIC = b"\x93NUMPY\x01\x00"
_PIECE = 1 << 20  # ids


class Reader:
    """A file of one dimension."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        try:
            with open(path, "rb") as file:
                head = file.read(10)
                if head[:6] != _MAGIC[:6] or len(head) < 10:
                    raise HoneError(f"{path}: is no .npy file, expected one of hone tokens")
                (length,) = struct.unpack("<H", head[8:])
                facts = ast.literal_eval(file.read(length).decode("latin-1"))
                self.type, shape = facts["descr"], facts["shape"]
        except OSError as error:
            raise HoneError(f"{path}: {error.strerror}") from None
        except (ValueError, SyntaxError, KeyError, TypeError):
            raise HoneError(f"{path}: its .npy header cannot be read, expected a file of hone tokens") from None
        if self.type not in CODES or len(shape) != 1:
            raise HoneError(f"{path}: holds {self.type} of shape {list(shape)}, expected one dimension of ids")
        self.size, self.begin = shape[0], 10 + length

    def pieces(self, begin: int = 0, end: int | None = None) -> Iterator[array]:
        end = self.size if end is None else end
        width = array(CODES[self.type]).itemsize
        with open(self.path, "rb") as file:
            file.seek(self.begin + begin * width)
            while begin < end:
                piece = array(CODES[self.type])
                piece.fromfile(file, min(_PIECE, end - begin))
                if sys.byteorder == "big":
                    piece.byteswap()
                begin += len(piece)
                yield piece


class Writer:
    """Writes ids of a type; the shape is known at the end."""

    def __init__(self, file: BinaryIO, type: str) -> None:
        self.file, self.type, self.size = file, type, 0
        self.file.write(_header(type, (0,)))

    def write(self, ids: Sequence[int] | array) -> None:
        code = CODES[self.type]
        # By an iterator: array takes bytes for its memory.
        piece = ids if isinstance(ids, array) and ids.typecode == code else array(code, iter(ids))
        if sys.byteorder == "big":
            piece = array(code, piece)
            piece.byteswap()
        piece.tofile(self.file)
        self.size += len(ids)

    def finish(self, shape: Sequence[int] | None = None) -> None:
        self.file.seek(0)
        self.file.write(_header(self.type, shape or (self.size,)))
        self.file.seek(0, os.SEEK_END)


def narrowest(vocab: int) -> str:
    """The type of the ids below `vocab`."""
    return "<u2" if vocab <= 1 << 16 else "<u4"


def _header(type: str, shape: Sequence[int]) -> bytes:
    """Of 128 bytes, so that a later one takes its place."""
    sizes = "(" + "".join(f"{size}, " for size in shape) + ")"
    text = f"{{'descr': '{type}', 'fortran_order': False, 'shape': {sizes}, }}"
    return _MAGIC + struct.pack("<H", 118) + text.ljust(117).encode() + b"\n"
