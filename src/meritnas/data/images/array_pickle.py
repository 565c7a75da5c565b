"""CIFAR's Python batches, read without running what a pickle says."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from meritnas.data.files.plain_file import read_plain_file
from meritnas.data.images.plain_pickle import ForeignError, StandIn, read_plain_pickle
from meritnas.errors import DataError

_NUMBERS = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
"""Types that are nothing but numbers: bytes of other types may be taken for addresses."""
_ORDERS = ("|", "=", "<", ">")


def read_array_pickle(path: Path) -> Any:
    """Returns what a pickle of plain values and arrays holds, without running any of its code.

    A pickle may ask for any function to be called, with any arguments: what rebuilds arrays would
    read or write wherever it is told. So nothing of a pickle reaches NumPy but bytes that are in
    the file and a type of numbers. Text that Python 2 wrote comes as bytes.

    Raises:
        DataError: The pickle asks for something else, or is damaged.
    """
    content = read_plain_file(path)
    try:
        found = read_plain_pickle(content, _known(len(content)))
    except ForeignError as error:
        raise DataError(
            f"{path} asks {error}, which files of images have no need of; it was not run: "
            "do not trust this file"
        ) from error
    except Exception as error:  # damaged pickles fail in many ways
        raise DataError(
            f"{path} is damaged or no pickle ({error or type(error).__name__}); "
            "copy or load it again"
        ) from error
    if not isinstance(found, dict):
        return found
    return {key: _value(value) for key, value in found.items()}


def _value(value: Any) -> Any:
    return value.array if isinstance(value, _Array) else value


def _known(size: int) -> Mapping[str, Callable[..., Any]]:
    """What a file of this size gets for the names that rebuild arrays and text."""
    room = _Room(2 * size)  # bytes may be text first, and then an array
    encode = _Encode(room)

    def reconstruct(kind: Any, shape: tuple[int, ...], code: bytes) -> _Array:
        del shape, code  # of an empty array, which the state fills
        if kind is not _no_array:
            raise ForeignError("for the constructor of another array")
        return _Array(room)

    def from_buffer(
        content: bytes,
        dtype: _Dtype,
        shape: tuple[int, ...],
        order: str,
        axes: tuple[int, ...] | None = None,
    ) -> _Array:
        found, kept = _Array(room), _text(order)
        found.fill(content, dtype, shape, "F" if kept == "F" else "C")
        if kept == "K" and axes is not None:
            found.array = found.array.transpose(axes)
        return found

    return {
        "numpy.core.multiarray._reconstruct": reconstruct,
        "numpy._core.multiarray._reconstruct": reconstruct,
        "numpy.core.numeric._frombuffer": from_buffer,
        "numpy._core.numeric._frombuffer": from_buffer,
        "numpy.ndarray": _no_array,
        "numpy.dtype": _Dtype.named,
        "_codecs.encode": encode,
        "__builtin__.bytes": _no_bytes,
        "builtins.bytes": _no_bytes,
    }


class _Room:
    """How many bytes may still be made of a file's; what is named again is not made again."""

    def __init__(self, left: int) -> None:
        self._left = left

    def take(self, size: int) -> None:
        """Complain where a file makes more of its bytes than it has."""
        self._left -= size
        if self._left < 0:
            raise ValueError("it uses its bytes again and again")


class _Encode:
    """Bytes that were pickled as text; other codecs than this one could unpack bombs."""

    def __init__(self, room: _Room) -> None:
        self._room = room

    def __call__(self, text: str, encoding: str) -> bytes:
        if not isinstance(text, str) or _text(encoding) != "latin1":
            raise ForeignError(f"to run _codecs.encode with {_text(encoding)[:40]!r}")
        self._room.take(len(text))
        return text.encode("latin1")


def _no_array(*given: Any) -> NoReturn:
    """Stands for the class of arrays, which is named but never to be called."""
    del given
    raise ForeignError("to run numpy.ndarray")


def _no_bytes() -> bytes:
    """How early protocols write bytes where there are none."""
    return b""


class _Dtype(StandIn):
    """A type of plain numbers."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._order = "="

    @staticmethod
    def named(name: str | bytes, align: Any = None, copy: Any = None) -> _Dtype:
        """What `numpy.dtype` is in a pickle."""
        del align, copy
        found = _text(name)
        if found not in _NUMBERS:
            raise ForeignError(f"to run numpy.dtype with {found[:40]!r}")
        return _Dtype(found)

    def build(self, state: Any) -> None:
        """Takes the order of bytes; whatever else a state may say is not for plain numbers."""
        _, order, subtype, names, fields, size, alignment, *_ = state
        told = (subtype, names, fields, size, alignment)
        if told != (None, None, None, -1, -1) or _text(order) not in _ORDERS:
            raise ForeignError("for a numpy.dtype with a state of its own")
        self._order = _text(order)

    @property
    def numpy(self) -> np.dtype[Any]:
        """NumPy's type."""
        return np.dtype(self._order + self._name)


class _Array(StandIn):
    """An array of plain numbers."""

    def __init__(self, room: _Room) -> None:
        self._room = room
        self.array = np.empty(0, dtype=np.uint8)

    def build(self, state: Any) -> None:
        """Takes shape, type, order and bytes."""
        _, shape, dtype, fortran, content = state
        self.fill(content, dtype, shape, "F" if fortran else "C")

    def fill(self, content: Any, dtype: Any, shape: Any, order: Any) -> None:
        """Makes the array of bytes, if they are as many as it needs."""
        if not isinstance(dtype, _Dtype) or not isinstance(content, bytes):
            raise ForeignError("for an array of something else than numbers")
        sides = [side for side in shape if isinstance(side, int) and side >= 0]
        kind = dtype.numpy
        if len(sides) != len(shape) or math.prod(sides) * kind.itemsize != len(content):
            raise ValueError(f"an array of another size than its {len(content):,} bytes")
        self._room.take(len(content))
        if not content:
            self.array = np.empty(sides, dtype=kind)
        elif kind.kind == "b":  # any byte but 0 is true
            self.array = np.frombuffer(content, np.uint8).reshape(sides, order=order) != 0
        else:
            found = np.frombuffer(content, kind).reshape(sides, order=order)
            self.array = found.astype(kind.newbyteorder("="), copy=False)


def _text(value: Any) -> str:
    """Text of Python 2 or 3; anything else could take forever to be written as text."""
    if not isinstance(value, str | bytes):
        raise ForeignError(f"for a {type(value).__name__} as a name")
    return value.decode("latin1") if isinstance(value, bytes) else value
