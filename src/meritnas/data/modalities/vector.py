"""A modality of numbers: vectors or feature maps, scaled to 0..1."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from meritnas.data.modalities.row_layout import Shape
from meritnas.data.modalities.view import View, present_rows
from meritnas.errors import DataError

_ROWS_AT_ONCE = 1 << 12
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class ScaledFeature:
    """An array of numbers, scaled to 0..1 by the smallest and largest of the train rows.

    The numbers of a vector are scaled column by column, those of a picture or a feature map all
    alike. What does not vary is 0, values beyond are clipped, and a single missing value is the
    mean.

    Attributes:
        shape: Of one sample: (columns,), (channels, length) or (channels, height, width).
        low: The smallest value of each column; the one smallest value of maps.
        high: The largest, likewise.
        mean: The mean, likewise.
        gaps: How many single values of the train rows are missing.
    """

    shape: Shape
    low: tuple[float, ...]
    high: tuple[float, ...]
    mean: tuple[float, ...]
    gaps: int = 0

    @classmethod
    def fit(cls, array: np.ndarray, rows: np.ndarray, where: str) -> ScaledFeature:
        """Looks at the train rows.

        Args:
            array: Numbers [n, *shape].
            rows: Positions of the train rows.
            where: What errors call it.

        Raises:
            DataError: A value is infinite or too large.
        """
        shape = array.shape[1:]
        size = math.prod(shape)
        low, high = np.full(size, np.inf), np.full(size, -np.inf)
        total, count = np.zeros(size), np.zeros(size, dtype=np.int64)
        present = 0
        for _, numbers in _pieces(array, rows, where):
            given = ~np.isnan(numbers)
            present += int(given.any(axis=1).sum())
            low = np.minimum(low, np.where(given, numbers, np.inf).min(axis=0))
            high = np.maximum(high, np.where(given, numbers, -np.inf).max(axis=0))
            total += np.where(given, numbers, 0.0).sum(axis=0)
            count += given.sum(axis=0)
        gaps = present * size - int(count.sum())
        if len(shape) > 1:
            low, high = low.min(keepdims=True), high.max(keepdims=True)
            total, count = total.sum(keepdims=True), count.sum(keepdims=True)
        low, high = np.where(count, low, 0.0), np.where(count, high, 0.0)
        mean = np.clip(total / np.maximum(count, 1), low, high)
        found = [tuple(each.tolist()) for each in (low, high, mean)]
        return cls(shape, found[0], found[1], found[2], gaps)

    @property
    def width(self) -> int:
        """How many numbers a sample has."""
        return math.prod(self.shape)

    @property
    def constant(self) -> int:
        """How many columns do not vary; 1 for maps that do not."""
        return sum(low == high for low, high in zip(self.low, self.high, strict=True))

    def encode(self, array: np.ndarray, rows: np.ndarray, where: str, out: np.ndarray) -> None:
        """Writes the scaled numbers of some rows into `out` [n, width]."""
        low, high, mean = (np.array(each) for each in (self.low, self.high, self.mean))
        span = high - low
        scale = np.divide(1.0, span, out=np.zeros_like(span), where=span > 0)
        for part, numbers in _pieces(array, rows, where):
            filled = np.where(np.isnan(numbers), mean, numbers)
            out[part] = np.clip((np.clip(filled, low, high) - low) * scale, 0.0, 1.0)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ScaledFeature:
        """Returns the feature that `to_json` gave."""
        lists = {key: tuple(value[key]) for key in ("shape", "low", "high", "mean")}
        return cls(**{**value, **lists})

    def to_json(self) -> dict[str, Any]:
        """Returns the feature as plain JSON values; floats keep every bit."""
        return {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self).items()}


@dataclass(frozen=True)
class VectorModality:
    """A modality of numbers: one vector, or several features, each a vector or a feature map.

    Attributes:
        name: Of the modality.
        features: How each is scaled.
        several: Whether the features come as a tuple of arrays, however many there are.
    """

    name: str
    features: tuple[ScaledFeature, ...]
    several: bool = False

    @classmethod
    def fit(cls, name: str, view: View, rows: np.ndarray) -> VectorModality:
        """Looks at the train rows."""
        arrays = feature_arrays(name, view)
        features = tuple(ScaledFeature.fit(array, rows, f"'{name}'") for array in arrays)
        return cls(name, features, isinstance(view, tuple))

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Of the features of one sample."""
        return tuple(feature.shape for feature in self.features)

    @property
    def columns(self) -> tuple[str, ...]:
        """None: it is no part of a table."""
        return ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence about columns that tell nothing, one about missing values."""
        return scaling_warnings(self.name, self.features)

    def encode(self, view: View, rows: np.ndarray, out: np.ndarray) -> None:
        """Writes presence and numbers of some rows into `out` [n, 1 + width]."""
        arrays = feature_arrays(self.name, view)
        found = [array.shape[1:] for array in arrays]
        if found != list(self.shapes):
            raise DataError(
                f"the view '{self.name}' must be {_told(self.shapes, self.several)} as what was "
                f"learned from, got {_told(found, isinstance(view, tuple))}"
            )
        start = 1
        for feature, array in zip(self.features, arrays, strict=True):
            end = start + feature.width
            feature.encode(array, rows, f"'{self.name}'", out[:, start:end])
            start = end
        out[:, 0] = present_rows(tuple(array[rows] for array in arrays))

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> VectorModality:
        """Returns the modality that `to_json` gave."""
        features = tuple(ScaledFeature.from_json(feature) for feature in value["features"])
        return cls(value["name"], features, value["several"])

    def to_json(self) -> dict[str, Any]:
        """Returns the modality as plain JSON values."""
        return {
            "kind": "vector",
            "name": self.name,
            "features": [feature.to_json() for feature in self.features],
            "several": self.several,
        }


def feature_arrays(name: str, view: View) -> tuple[np.ndarray, ...]:
    """The arrays of a view of numbers; one number a sample is a vector of one column.

    Raises:
        DataError: They are no numbers.
    """
    given = view if isinstance(view, tuple) else (view,)
    arrays = tuple(np.asarray(array) for array in given)
    for array in arrays:
        if array.dtype.kind not in "biuf":
            raise DataError(
                f"the view '{name}' holds values of type {array.dtype} where numbers are needed; "
                "convert it to a type such as float32"
            )
    return tuple(array[:, None] if array.ndim == 1 else array for array in arrays)


def scaling_warnings(name: str, features: tuple[ScaledFeature, ...]) -> tuple[str, ...]:
    """A sentence about columns that tell nothing, one about single missing values."""
    constant = sum(feature.constant for feature in features)
    every = sum(len(feature.low) for feature in features)
    gaps = sum(feature.gaps for feature in features)
    still = f"modality '{name}': {constant:,} of {every:,} columns have one value in all train rows"
    if constant == every:
        still = f"modality '{name}' has the same values in all train rows"
    filled = (
        f"modality '{name}': {gaps:,} single values of the train rows are missing and count as "
        "the mean of the others"
    )
    return (*((still,) if constant else ()), *((filled,) if gaps else ()))


def _pieces(array: np.ndarray, rows: np.ndarray, where: str) -> Iterator[tuple[slice, np.ndarray]]:
    """Yields some rows at a time: where they are among `rows`, and float64 [some, width]."""
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        chosen = array[rows[part]]
        numbers = chosen.reshape(len(chosen), -1).astype(np.float64)
        beyond = np.abs(numbers) > _LARGEST
        if beyond.any():
            raise DataError(
                f"{where} holds {numbers[beyond][0]:g} in {int(beyond.sum())} places, which is "
                "infinite or too large; correct these values, or make them NaN for missing"
            )
        yield part, numbers


def _told(shapes: list[Shape] | tuple[Shape, ...], several: bool) -> str:
    each = [f"[{', '.join(map(str, ('n', *shape)))}]" for shape in shapes]
    return f"the features {', '.join(each)}" if several else each[0]
