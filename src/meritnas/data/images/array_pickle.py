"""CIFAR's Python batches, read without running what a pickle says."""

from __future__ import annotations

import pickle
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import numpy as np

from meritnas.errors import DataError


def read_array_pickle(path: Path) -> Any:
    """Returns what a pickle of plain values and arrays holds, without running any of its code.

    A pickle may ask for any function to be called. Here it gets those that rebuild arrays and
    text, and nothing else. Text that Python 2 wrote comes as bytes.

    Raises:
        DataError: The pickle asks for something else, or is damaged.
    """
    try:
        return _ArrayUnpickler(BytesIO(path.read_bytes()), encoding="bytes").load()
    except _ForeignError as error:
        raise DataError(
            f"{path} asks to run {error}, which files of images have no need of; it was not run: "
            "do not trust this file"
        ) from error
    except Exception as error:  # damaged pickles fail in many ways
        raise DataError(
            f"{path} is damaged or no pickle ({error or type(error).__name__}); "
            "copy or load it again"
        ) from error


class _ForeignError(pickle.UnpicklingError):
    """A pickle asks for a name it must not have; the message is that name."""


class _ArrayUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        reconstruct = np.empty(0).__reduce__()[0]  # numpy's own, wherever this version has it
        known = {
            "numpy.core.multiarray._reconstruct": reconstruct,
            "numpy._core.multiarray._reconstruct": reconstruct,
            "numpy.core.numeric._frombuffer": _from_buffer,
            "numpy._core.numeric._frombuffer": _from_buffer,
            "numpy.ndarray": np.ndarray,
            "numpy.dtype": np.dtype,
            "_codecs.encode": _encode,
        }
        asked = f"{module}.{name}"
        if asked not in known:
            raise _ForeignError(asked)
        return known[asked]


def _encode(text: str, encoding: str = "latin1") -> bytes:
    """Returns bytes that were pickled as text; other codecs than this one could unpack bombs."""
    if not isinstance(text, str) or encoding != "latin1":
        raise _ForeignError(f"_codecs.encode with {encoding!r}")
    return text.encode("latin1")


def _from_buffer(
    buffer: bytes, dtype: np.dtype, shape: tuple[int, ...], order: Literal["C", "F"]
) -> np.ndarray:
    """Returns an array that was pickled by protocol 5."""
    return np.frombuffer(buffer, dtype=dtype).reshape(shape, order=order)
