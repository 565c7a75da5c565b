"""A table as it was found: bundled, a file, or a frame; and a fingerprint of its values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from meritnas.data.bundled import BUNDLED, bundled_names, load_bundled
from meritnas.data.columns.names import unique_names
from meritnas.data.files.plain_file import given_path
from meritnas.data.files.table import read_table
from meritnas.errors import DataError
from meritnas.settings.reading import MAX_UNPACKED_MB
from meritnas.wording import did_you_mean, listed


@dataclass(frozen=True)
class Loaded:
    """A table as it was found.

    Attributes:
        name: Short name for reports.
        frame: All rows and columns, with unique text names and rows counted from 0.
        location: Absolute path of a file, the name of bundled data, None for a frame.
        own_target: The target of bundled data, None elsewhere.
    """

    name: str
    frame: pd.DataFrame
    location: str | None
    own_target: str | None

    def target(self, asked: str | None) -> str | None:
        """Returns the column to predict: what was asked for, or the own target.

        Raises:
            DataError: There is no such column.
        """
        where = self.name if self.location is None else Path(self.location).name
        return chosen_target(asked, tuple(self.frame.columns), where) or self.own_target


def chosen_target(asked: str | None, columns: Sequence[str], where: str) -> str | None:
    """The column that a user has asked for; None where none was.

    Args:
        asked: its name.
        columns: that there are.
        where: for the message.

    Raises:
        DataError: There is no such column.
    """
    if asked is None or str(asked) in columns:
        return None if asked is None else str(asked)
    raise DataError(
        f"no column '{asked}' in {where};{did_you_mean(str(asked), columns)} "
        f"columns: {listed(columns)}"
    )


def load_table(
    data: str | Path | pd.DataFrame,
    skip_bad_rows: bool = False,
    max_unpacked_mb: int = MAX_UNPACKED_MB,
) -> Loaded:
    """Loads bundled data by name, a table file by path, or takes a frame as it is."""
    location: str | None = None
    own_target: str | None = None
    if isinstance(data, pd.DataFrame):
        name, frame = "frame", data
    elif str(data) in BUNDLED:
        name = location = str(data)
        frame, own_target = load_bundled(name)
    else:
        path = given_path(data)
        if not path.exists():
            raise DataError(
                f"no file {path} and no bundled data of this name;{bundled_names(str(data))}"
            )
        frame = read_table(path, skip_bad_rows, max_unpacked_mb=max_unpacked_mb)
        name, location = Path(path.name.removesuffix(".gz")).stem, str(path.resolve())
    return Loaded(name, _plain(frame, name), location, own_target)


def fingerprint(frame: pd.DataFrame) -> str:
    """Returns the SHA-256 in hex over names, order and values of a frame's columns."""
    digest = hashlib.sha256(json.dumps([str(name) for name in frame.columns]).encode())
    for _, values in frame.items():
        digest.update(_hashes(values).tobytes())
    return digest.hexdigest()


def _hashes(values: pd.Series) -> np.ndarray:
    """Returns a hash of each value, uint64 [n]."""
    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "biuf":
        # What `hash_pandas_object` does, without its overhead in tables of many columns.
        return pd.util.hash_array(values.to_numpy())
    try:
        return pd.util.hash_pandas_object(values, index=False).to_numpy()
    except TypeError:
        # Lists and other values that Python cannot hash.
        return pd.util.hash_pandas_object(values.map(repr), index=False).to_numpy()


def _plain(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Returns the frame with unique text names and rows counted from 0.

    Later changes to the frame do not reach the result, although pandas copies only what changes.
    """
    if len(frame) == 0:
        raise DataError(f"'{name}' has zero rows; give a table with data")
    return frame.reset_index(drop=True).set_axis(unique_names(frame.columns), axis=1)
