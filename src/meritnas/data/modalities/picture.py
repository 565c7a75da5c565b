"""A modality of pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from meritnas.data.modalities.row_layout import Shape
from meritnas.data.modalities.vector import (
    ScaledFeature,
    far_notes,
    feature_arrays,
    scaling_warnings,
)
from meritnas.data.modalities.view import View
from meritnas.errors import DataError

_CHANNELS = (1, 3)
_LEAST_PIXELS = 4


@dataclass(frozen=True)
class PictureModality:
    """A modality of pictures, grey or in colours, all of one size.

    Attributes:
        name: Of the modality.
        feature: The shape (channels, height, width) and how pixels are scaled, all alike.
    """

    name: str
    feature: ScaledFeature

    @classmethod
    def fit(cls, name: str, view: View, rows: np.ndarray) -> PictureModality:
        """Looks at the train rows.

        Raises:
            DataError: The array has not the shape of pictures.
        """
        (array,) = feature_arrays(name, view)
        shape = picture_shape(name, array.shape)
        return cls(name, ScaledFeature.fit(_channels_first(array, shape), rows, f"'{name}'"))

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The one shape (channels, height, width)."""
        return (self.feature.shape,)

    @property
    def columns(self) -> tuple[str, ...]:
        """None: it is no part of a table."""
        return ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences if there is nothing to see, about missing values and far ones."""
        return scaling_warnings(self.name, (self.feature,))

    def encode(self, view: object, rows: np.ndarray, out: np.ndarray) -> None:
        """Writes presence and pixels of some rows into `out` [n, 1 + width]."""
        (array, *more) = feature_arrays(self.name, view)
        channels, height, width = self.feature.shape
        fitting: list[Shape] = [(channels, height, width), (height, width, channels)]
        fitting += [(height, width)] if channels == 1 else []
        if more or array.shape[1:] not in fitting:
            wanted = ", ".join(map(str, self.feature.shape))
            raise DataError(
                f"the view '{self.name}' must be pictures [n, {wanted}] as those that were learned "
                f"from, got {list(array.shape)}"
            )
        pixels = _channels_first(array, self.feature.shape)
        out[:, 0] = self.feature.encode(pixels, rows, f"'{self.name}'", out[:, 1:])

    def unfamiliar(self, view: View) -> list[str]:
        """A sentence if pixels are far outside what was trained on."""
        return far_notes(self.name, (self.feature,), feature_arrays(self.name, view))

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> PictureModality:
        """Returns the modality that `to_json` gave."""
        return cls(value["name"], ScaledFeature.from_json(value["feature"]))

    def to_json(self) -> dict[str, Any]:
        """Returns the modality as plain JSON values."""
        return {"kind": "picture", "name": self.name, "feature": self.feature.to_json()}


def picture_shape(name: str, shape: tuple[int, ...]) -> Shape:
    """The channels, height and width of pictures in an array of a shape.

    Where the first and the last axis both could be the channels, the last one is.

    Raises:
        DataError: It is not the shape of pictures.
    """
    fitting = []
    if len(shape) == 3:
        fitting.append((1, *shape[1:]))
    if len(shape) == 4:
        fitting += [(shape[3], *shape[1:3]), shape[1:]]
    for channels, height, width in fitting:
        if channels in _CHANNELS and min(height, width) >= _LEAST_PIXELS:
            return channels, height, width
    raise DataError(
        f"'{name}' has the shape {list(shape)}, but modalities are vectors [n, columns] or "
        "pictures [n, height, width], [n, height, width, channels] or [n, channels, height, "
        f"width] of 1 or 3 channels and at least {_LEAST_PIXELS} pixels each way; reshape it, or "
        f"name it '{name}.0' if it holds feature maps [n, channels, length]"
    )


def _channels_first(array: np.ndarray, shape: Shape) -> np.ndarray:
    """The pictures as [n, channels, height, width]."""
    if array.ndim == 3:
        return array[:, None]
    return array if array.shape[1:] == shape else array.transpose(0, 3, 1, 2)
