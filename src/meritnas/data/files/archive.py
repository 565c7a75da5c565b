"""NumPy archives (.npz), never read by unpickling."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from meritnas.errors import DataError

T = TypeVar("T")


@dataclass(frozen=True)
class Archive:
    """An open archive.

    Attributes:
        path: Of its file.
        types: Of arrays, as an error recommends them.
        arrays: What NumPy opened: name -> array, read when asked for.
    """

    path: Path
    types: str
    arrays: Any

    @property
    def names(self) -> list[str]:
        """Of the arrays."""
        return list(self.arrays.files)

    def array(self, name: str) -> np.ndarray:
        """One of the arrays.

        Raises:
            DataError: It is damaged, or holds Python objects.
        """
        what = f"'{name}' of {self.path}"
        return np.asarray(_loading(what, self.types, lambda: self.arrays[name]))


@contextmanager
def opened_archive(path: Path, types: str) -> Iterator[Archive]:
    """Opens an archive.

    Args:
        path: The file.
        types: Of arrays, as an error recommends them, such as "float32, uint8, U".

    Raises:
        DataError: The file is damaged.
    """
    if not zipfile.is_zipfile(path):  # else NumPy takes it for a pickle
        raise DataError(f"{path} is damaged or not made by numpy.savez; save or copy it again")
    with _loading(str(path), types, lambda: np.load(path, allow_pickle=False)) as arrays:
        yield Archive(path, types, arrays)


def _loading(what: str, types: str, load: Callable[[], T]) -> T:
    try:
        return load()
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        if "allow_pickle" in str(error):
            raise DataError(
                f"{what} holds Python objects, which could run code when read; save plain arrays "
                f"of numbers or text (dtype {types})"
            ) from error
        raise DataError(f"{what} is damaged ({error}); save or copy the file again") from error
