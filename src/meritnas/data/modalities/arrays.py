"""Arrays by name as modalities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd

from meritnas.data.files.archive import opened_archive
from meritnas.data.modalities.picture import picture_shape
from meritnas.data.modalities.view import View
from meritnas.errors import DataError
from meritnas.settings.reading import MAX_UNPACKED_MB
from meritnas.wording import did_you_mean, listed

Values: TypeAlias = np.ndarray | pd.DataFrame
"""An array, or a table beside arrays."""

_TYPES = "float32, uint8, U"
_FEATURE_AXES = (1, 2, 3, 4)


def read_arrays(path: Path, max_unpacked_mb: int = MAX_UNPACKED_MB) -> dict[str, np.ndarray]:
    """Reads all arrays of a NumPy archive, never by unpickling.

    Args:
        path: The file.
        max_unpacked_mb: How many megabytes it may unpack to.

    Raises:
        DataError: The file is damaged, holds Python objects, or unpacks to too much.
    """
    with opened_archive(path, _TYPES, max_unpacked_mb) as archive:
        return {name: archive.array(name) for name in archive.names}


def array_views(arrays: Mapping[str, Values], names: Iterable[str] | None) -> dict[str, View]:
    """Takes arrays as modalities: one each, or features of one where names have a dot.

    Args:
        arrays: Name -> values; `video.0` and `video.1` are two features of the modality `video`.
            A frame is left as it is.
        names: The modalities to take, None for all.

    Raises:
        DataError: An array cannot be a modality, or there is no such modality.
    """
    grouped: dict[str, list[str]] = {}
    for name in arrays:
        grouped.setdefault(modality_of(name), []).append(name)
    wanted = list(grouped) if names is None else list(dict.fromkeys(names))
    for name in wanted:
        if name not in grouped:
            raise DataError(
                f"there is no modality '{name}';{did_you_mean(name, grouped)} "
                f"modalities: {listed(grouped) or 'none'}"
            )
    return {name: _view(name, grouped[name], arrays) for name in wanted}


def as_text(array: np.ndarray) -> np.ndarray:
    """Bytes as text; everything else as it is."""
    return np.char.decode(array, "utf-8", "replace") if array.dtype.kind == "S" else array


def modality_of(name: str) -> str:
    """The modality an array belongs to: what comes before a dot, or all of its name."""
    before, dot, after = name.partition(".")
    return before if before and dot and after else name


def _view(name: str, members: list[str], arrays: Mapping[str, Values]) -> View:
    if members == [name]:
        values = arrays[name]
        if isinstance(values, pd.DataFrame):
            return values
        return _whole(name, as_text(np.asarray(values)))
    if name in members:
        others = listed(member for member in members if member != name)
        raise DataError(
            f"'{name}' is a modality of its own and has features too, {others}; rename one"
        )
    features = tuple(np.asarray(arrays[member]) for member in members)
    for member, array in zip(members, features, strict=True):
        if array.dtype.kind not in "biuf" or array.ndim not in _FEATURE_AXES or not array.size:
            raise DataError(
                f"'{member}' is {array.dtype} {list(array.shape)}, but the features of a modality "
                "are numbers [n, columns], [n, channels, length] or [n, channels, height, width]; "
                "name what is no feature without a dot"
            )
    return features


def _whole(name: str, array: np.ndarray) -> View:
    if array.dtype.kind == "U" and array.ndim == 1:
        return pd.Series(array, dtype=object)
    if array.dtype.kind == "O" and array.ndim == 1:
        texts = pd.Series(array, dtype=object)
        strange = next((x for x in texts[texts.notna()] if not isinstance(x, str)), None)
        if strange is None:
            return texts
        raise DataError(
            f"'{name}' holds Python objects such as {strange!r}; give numbers of a type such as "
            "float32, or text"
        )
    if array.dtype.kind not in "biuf" or array.ndim == 0 or not array.size:
        raise DataError(
            f"'{name}' is {array.dtype} {list(array.shape)}, but a modality is numbers "
            "[n, columns], pictures [n, height, width] or text [n]; leave it out or correct it"
        )
    if array.ndim > 2:
        picture_shape(name, array.shape)
    return array
