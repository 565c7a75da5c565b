"""A modality of numbers: vectors or feature maps, scaled to 0..1."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from meritnas.data.columns.bound import FARTHEST
from meritnas.data.columns.far_values import FarValues, any_is_huge, find_far_values
from meritnas.data.modalities.row_layout import Shape
from meritnas.data.modalities.view import View
from meritnas.errors import DataError

_ROWS_AT_ONCE = 1 << 12
_LEAST_SPAN = 1e-300
"""What is closer together counts as one value: scaled up it would have no number."""


@dataclass(frozen=True)
class ScaledFeature:
    """An array of numbers, scaled to 0..1 by the smallest and largest of the train rows.

    The numbers of a vector are scaled column by column, those of a picture or a feature map all
    alike. What does not vary is 0, values beyond are clipped, and a single missing value is the
    mean; so are numbers that count as missing (see `find_far_values`).

    Attributes:
        shape: Of one sample: (columns,), (channels, length) or (channels, height, width).
        low: The smallest value of each column; the one smallest value of maps.
        high: The largest, likewise.
        mean: The mean, likewise.
        gaps: How many single values of the train rows are missing.
        far: What counts as missing of each column, or of maps; empty where nothing does.
    """

    shape: Shape
    low: tuple[float, ...]
    high: tuple[float, ...]
    mean: tuple[float, ...]
    gaps: int = 0
    far: tuple[FarValues | None, ...] = ()

    @classmethod
    def fit(cls, array: np.ndarray, rows: np.ndarray, where: str) -> ScaledFeature:
        """Looks at the train rows.

        Args:
            array: Numbers [n, *shape].
            rows: Positions of the train rows.
            where: What errors call it.

        Raises:
            DataError: A value is infinite.
        """
        shape = array.shape[1:]
        far = _find_far(array)
        size = math.prod(shape)
        low, high = np.full(size, np.inf), np.full(size, -np.inf)
        total, count = np.zeros(size), np.zeros(size, dtype=np.int64)
        present = 0
        for _, numbers in _pieces(array, rows, where, far):
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
        return cls(shape, found[0], found[1], found[2], gaps, far)

    @property
    def width(self) -> int:
        """How many numbers a sample has."""
        return math.prod(self.shape)

    @property
    def constant(self) -> int:
        """How many columns do not vary; 1 for maps that do not."""
        return sum(low == high for low, high in zip(self.low, self.high, strict=True))

    def encode(
        self, array: np.ndarray, rows: np.ndarray, where: str, out: np.ndarray
    ) -> np.ndarray:
        """Writes the scaled numbers of some rows into `out` [n, width].

        Returns:
            Whether each has any number that is not missing [n].
        """
        low, high, mean = (np.array(each) for each in (self.low, self.high, self.mean))
        span = high - low
        scale = np.divide(1.0, span, out=np.zeros_like(span), where=span > _LEAST_SPAN)
        present = np.empty(len(rows), dtype=bool)
        for part, numbers in _pieces(array, rows, where, self.far):
            missing = np.isnan(numbers)
            filled = np.where(missing, mean, numbers)
            out[part] = np.clip((np.clip(filled, low, high) - low) * scale, 0.0, 1.0)
            present[part] = ~missing.all(axis=1)
        return present

    def far_off(self, array: np.ndarray, where: str) -> np.ndarray:
        """Returns the numbers of new samples that are far outside what was trained on [any]."""
        low, high = np.array(self.low), np.array(self.high)
        reach = FARTHEST * np.maximum(high - low, _LEAST_SPAN)
        rows = np.arange(len(array))
        return np.concatenate(
            [
                numbers[(numbers < low - reach) | (numbers > high + reach)]
                for _, numbers in _pieces(array, rows, where, ())
            ]
        )

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ScaledFeature:
        """Returns the feature that `to_json` gave."""
        lists = {key: tuple(value[key]) for key in ("shape", "low", "high", "mean")}
        far = tuple(FarValues.from_json(each) for each in value.get("far", ()))
        return cls(**{**value, **lists, "far": far})

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
        """Sentences about columns that tell nothing, missing values and far ones."""
        return scaling_warnings(self.name, self.features)

    def encode(self, view: object, rows: np.ndarray, out: np.ndarray) -> None:
        """Writes presence and numbers of some rows into `out` [n, 1 + width]."""
        arrays = feature_arrays(self.name, view)
        found = [array.shape[1:] for array in arrays]
        if found != list(self.shapes):
            raise DataError(
                f"the view '{self.name}' must be {_told(self.shapes, self.several)} as what was "
                f"learned from, got {_told(found, isinstance(view, tuple))}"
            )
        start, present = 1, np.zeros(len(rows), dtype=bool)
        for feature, array in zip(self.features, arrays, strict=True):
            end = start + feature.width
            present |= feature.encode(array, rows, f"'{self.name}'", out[:, start:end])
            start = end
        out[:, 0] = present

    def unfamiliar(self, view: View) -> list[str]:
        """A sentence if numbers are far outside what was trained on."""
        return far_notes(self.name, self.features, feature_arrays(self.name, view))

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


def feature_arrays(name: str, view: object) -> tuple[np.ndarray, ...]:
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
    """A sentence about columns that tell nothing, about single missing values, about far ones."""
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
    far = [each for feature in features for each in feature.far if each is not None]
    fills = (
        ""
        if not far
        else (
            f"modality '{name}': {sum(each.count for each in far):,} numbers, such as "
            f"{far[0].example:g}, are far beyond all others and count as missing"
        )
    )
    told = ((still, constant), (filled, gaps), (fills, far))
    return tuple(text for text, so in told if so)


def far_notes(
    name: str, features: tuple[ScaledFeature, ...], arrays: tuple[np.ndarray, ...]
) -> list[str]:
    """A sentence if numbers of new samples are far outside what was trained on."""
    pairs = [(f, a) for f, a in zip(features, arrays, strict=False) if f.width == a[0].size]
    found = np.concatenate([f.far_off(a, f"'{name}'") for f, a in pairs] or [np.empty(0)])
    if not len(found):
        return []
    return [
        f"modality '{name}': {len(found):,} numbers, such as {found[0]:g}, are far outside what "
        "was trained on; they are taken as the nearer end of it, or as missing"
    ]


def _find_far(array: np.ndarray) -> tuple[FarValues | None, ...]:
    """What counts as missing of each column, or of all numbers of maps."""
    if not any_is_huge(array):
        return ()
    columns = array.reshape(1, -1) if array.ndim > 2 else array.T
    found = tuple(find_far_values(column.astype(np.float64)) for column in columns)
    return found if any(found) else ()


def _pieces(
    array: np.ndarray, rows: np.ndarray, where: str, far: tuple[FarValues | None, ...]
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yields some rows at a time: where they are among `rows`, and float64 [some, width].

    What counts as missing is NaN.
    """
    limits = np.array([np.inf if each is None else each.limit for each in far])
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        chosen = array[rows[part]]
        numbers = chosen.reshape(len(chosen), -1).astype(np.float64)
        infinite = np.isinf(numbers)
        if infinite.any():
            raise DataError(
                f"{where} holds {numbers[infinite][0]:g} in {int(infinite.sum())} places; correct "
                "these values, or make them NaN for missing"
            )
        if len(limits):
            numbers[np.abs(numbers) >= limits] = np.nan
        yield part, numbers


def _told(shapes: list[Shape] | tuple[Shape, ...], several: bool) -> str:
    each = [f"[{', '.join(map(str, ('n', *shape)))}]" for shape in shapes]
    return f"the features {', '.join(each)}" if several else each[0]
