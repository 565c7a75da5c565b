from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from meritnas.data.bundled import BUNDLED, load_bundled
from meritnas.data.suggest import did_you_mean, listed
from meritnas.data.table import read_table
from meritnas.errors import DataError


@dataclass(frozen=True)
class Source:
    """A table and the column to predict, before anything is learned from it.

    Attributes:
        name: Short name for reports.
        frame: All rows, including the target column.
        target: Name of the column to predict.
        fingerprint: SHA-256 over the column names and values, in hex.
        location: Absolute path of a file, the name of bundled data, None for a frame.
    """

    name: str
    frame: pd.DataFrame
    target: str
    fingerprint: str
    location: str | None


def load_source(data: str | Path | pd.DataFrame, target: str | None) -> Source:
    """Loads bundled data by name, a table file by path, or takes a frame as it is.

    Args:
        data: A bundled name, a path, or a frame. A bundled name wins over a file of that name;
            write ./digits for the file.
        target: The column to predict; None for the own target of bundled data.

    Raises:
        DataError: The data or the target cannot be found or used.
    """
    location: str | None = None
    own_target: str | None = None
    if isinstance(data, pd.DataFrame):
        name, frame = "frame", data
    elif str(data) in BUNDLED:
        name = location = str(data)
        frame, own_target = load_bundled(name)
    else:
        path = Path(data).expanduser()
        if not path.exists():
            raise DataError(
                f"no file {path} and no bundled data of this name;"
                f"{did_you_mean(str(data), BUNDLED)} bundled: {', '.join(BUNDLED)}"
            )
        frame = read_table(path)
        name, location = Path(path.name.removesuffix(".gz")).stem, str(path.resolve())
    frame = _plain(frame, name)
    chosen = str(target) if target is not None else own_target
    chosen = _check_target(frame, chosen, name if location is None else Path(location).name)
    return Source(name, frame, chosen, fingerprint(frame), location)


def fingerprint(frame: pd.DataFrame) -> str:
    """Returns the SHA-256 in hex over names, order and values of a frame's columns."""
    digest = hashlib.sha256(json.dumps([str(name) for name in frame.columns]).encode())
    for position in range(frame.shape[1]):
        values = frame.iloc[:, position]
        try:
            hashes = pd.util.hash_pandas_object(values, index=False)
        except TypeError:
            # Lists and other values that Python cannot hash.
            hashes = pd.util.hash_pandas_object(values.map(repr), index=False)
        digest.update(hashes.to_numpy().tobytes())
    return digest.hexdigest()


def _plain(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Returns a copy with text column names and rows counted from 0."""
    if len(frame) == 0:
        raise DataError(f"'{name}' has zero rows; give a table with data")
    names = pd.Index([str(column) for column in frame.columns])
    if not names.is_unique:
        twice = names[names.duplicated()].unique()
        raise DataError(f"column names occur twice in '{name}': {listed(twice)}; rename them")
    plain = frame.reset_index(drop=True).copy()
    plain.columns = names
    return plain


def _check_target(frame: pd.DataFrame, target: str | None, where: str) -> str:
    if target is None:
        raise DataError(f"name the target column with --target; columns: {listed(frame.columns)}")
    if target not in frame.columns:
        raise DataError(
            f"no column '{target}' in {where};{did_you_mean(target, frame.columns)} "
            f"columns: {listed(frame.columns)}"
        )
    missing = int(frame[target].isna().sum())
    if missing:
        raise DataError(
            f"the target '{target}' is missing in {missing} of {len(frame)} rows of {where}; "
            "drop these rows"
        )
    return target
