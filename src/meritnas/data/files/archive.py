"""NumPy archives (.npz), never read by unpickling, and never larger than allowed."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from meritnas.data.files.plain_file import check_plain_file
from meritnas.data.files.unpacking import most_unpacked, too_much
from meritnas.errors import DataError
from meritnas.settings.reading import MAX_UNPACKED_MB

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
"""By version; the third is for names of columns, which plain arrays have not."""
_ENDING = ".npy"
_PLAIN = "biufcSUmM"
"""Kinds of types that have neither columns nor objects."""
_PIECE = 1 << 20
_LAST_LETTER = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)
_DAMAGES = (OSError, EOFError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error)
"""How archives fail: also by passwords and ways of packing that Python has not."""


@dataclass
class Archive:
    """An open archive.

    Attributes:
        path: Of its file.
        types: Of arrays, as an error recommends them.
        max_unpacked_mb: How many megabytes all arrays that are read may have.
        members: Name of an array -> where it is; of a name that occurs twice, the last.
    """

    path: Path
    types: str
    max_unpacked_mb: int
    members: dict[str, zipfile.ZipInfo]
    _file: zipfile.ZipFile
    _unpacked: int = field(default=0, init=False)

    @property
    def names(self) -> list[str]:
        """Of the arrays."""
        return list(self.members)

    def array(self, name: str) -> np.ndarray:
        """One of the arrays, with bytes in the order of this machine.

        Raises:
            DataError: It is damaged, holds Python objects, or is too large.
        """
        what, member = f"'{name}' of {self.path}", self.members[name]
        self._unpacked += member.file_size
        if self._unpacked > most_unpacked(self.path, self.max_unpacked_mb):
            raise too_much(self.path, self.max_unpacked_mb)
        try:
            with self._file.open(member) as stream:
                found = _read(stream, member.file_size, what, self.types)
        except MemoryError as error:
            raise DataError(f"there is not enough memory for {what}; give less data") from error
        except DataError:
            raise
        except _DAMAGES as error:
            raise _damaged(what, error) from error
        if found.dtype.kind == "U":
            _check_letters(found, what)
        return found


@contextmanager
def opened_archive(
    path: Path, types: str, max_unpacked_mb: int = MAX_UNPACKED_MB
) -> Iterator[Archive]:
    """Opens an archive.

    Args:
        path: The file.
        types: Of arrays, as an error recommends them, such as "float32, uint8, U".
        max_unpacked_mb: How many megabytes its arrays may have.

    Raises:
        DataError: The file is damaged.
    """
    check_plain_file(path)
    try:
        file = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise DataError(
            f"{path} is damaged or not made by numpy.savez; save or copy it again"
        ) from error
    except _DAMAGES as error:
        raise _damaged(str(path), error) from error
    with file:
        members = {info.filename.removesuffix(_ENDING): info for info in file.infolist()}
        yield Archive(path, types, max_unpacked_mb, members, file)


def _read(stream: IO[bytes], size: int, what: str, types: str) -> np.ndarray:
    """Reads an array whose file in the archive has so many bytes, no more than it claims."""
    version = npy.read_magic(stream)
    if version not in _HEADERS:
        raise DataError(f"{what} has columns of its own; save plain arrays (dtype {types})")
    shape, fortran, kind = _HEADERS[version](stream)
    if kind.hasobject:
        raise DataError(
            f"{what} holds Python objects, which could run code when read; save plain arrays "
            f"of numbers or text (dtype {types})"
        )
    if kind.kind not in _PLAIN or kind.subdtype is not None:
        raise DataError(f"{what} has the type {kind}; save plain arrays (dtype {types})")
    count, left = math.prod(shape), size - stream.tell()
    if min(shape, default=0) < 0 or count * kind.itemsize != left:
        raise DataError(
            f"{what} says it is {kind} {list(shape)} but has {left:,} bytes; save or copy the file "
            "again"
        )
    found = np.empty(count, dtype=kind)
    if left:
        _fill(found.view(np.uint8), stream)
    native = found.astype(kind.newbyteorder("="), copy=False)
    return native.reshape(shape, order="F" if fortran else "C")


def _fill(room: np.ndarray, stream: IO[bytes]) -> None:
    """Reads as many bytes as there is room for."""
    place = 0
    while place < len(room):
        piece = stream.read(min(_PIECE, len(room) - place))
        if not piece:
            raise EOFError("it ends too early")
        room[place : place + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
        place += len(piece)
    stream.read(1)  # the end, where the archive's check sum is looked at


def _check_letters(array: np.ndarray, what: str) -> None:
    """Complains about text that is no Unicode, of which Python can make no text."""
    if not array.size or not array.dtype.itemsize:
        return
    letters = np.ascontiguousarray(array).reshape(-1).view(np.uint32)
    low, high = _SURROGATES
    if letters.max() > _LAST_LETTER or ((letters >= low) & (letters <= high)).any():
        raise DataError(f"{what} holds text that is no Unicode; save or copy the file again")


def _damaged(what: str, error: Any) -> DataError:
    return DataError(f"{what} is damaged ({error}); save or copy the file again")
