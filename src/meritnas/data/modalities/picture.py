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
from meritnas.data.pictures.named import NamedPictures
from meritnas.errors import DataError

_CHANNELS = (1, 3)
_LEAST_PIXELS = 4


@dataclass(frozen=True)
class PictureModality:
    """A modality of pictures, grey or in colours, all of one size.

    Attributes:
        name: Of the modality.
        feature: The shape (channels, height, width) and how pixels are scaled, all alike.
        columns: The column of a table that names the files; none where pictures are an array.
    """

    name: str
    feature: ScaledFeature
    columns: tuple[str, ...] = ()

    @classmethod
    def fit(cls, name: str, view: View, rows: np.ndarray) -> PictureModality:
        """Looks at the train rows.

        Raises:
            DataError: The array has not the shape of pictures.
        """
        own: tuple[str, ...] = ()
        if isinstance(view, NamedPictures):
            rows, own = rows[view.present[rows]], (view.column,)
        (array,) = _arrays(name, view)
        shape = picture_shape(name, array.shape)
        feature = ScaledFeature.fit(_channels_first(array, shape), rows, f"'{name}'")
        return cls(name, feature, own)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The one shape (channels, height, width)."""
        return (self.feature.shape,)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences if there is nothing to see, about missing values and far ones."""
        return scaling_warnings(self.name, (self.feature,))

    def encode(self, view: object, rows: np.ndarray, out: np.ndarray) -> None:
        """Writes presence and pixels of some rows into `out` [n, 1 + width]."""
        (array, *more) = _arrays(self.name, view)
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
        if isinstance(view, NamedPictures):
            out[:, 0] = view.present[rows]

    def unfamiliar(self, view: View) -> list[str]:
        """A sentence if pixels are far outside what was trained on, or files cannot be read."""
        if isinstance(view, NamedPictures) and view.bad:
            return [f"{view.complaint()}; these rows go without '{self.name}'"]
        return far_notes(self.name, (self.feature,), _arrays(self.name, view))

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> PictureModality:
        """Returns the modality that `to_json` gave."""
        feature = ScaledFeature.from_json(value["feature"])
        return cls(value["name"], feature, tuple(value.get("columns", ())))

    def to_json(self) -> dict[str, Any]:
        """Returns the modality as plain JSON values."""
        named = {"columns": list(self.columns)} if self.columns else {}
        return {"kind": "picture", "name": self.name, "feature": self.feature.to_json(), **named}


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


def _arrays(name: str, view: object) -> tuple[np.ndarray, ...]:
    return (view.images,) if isinstance(view, NamedPictures) else feature_arrays(name, view)


def _channels_first(array: np.ndarray, shape: Shape) -> np.ndarray:
    """The pictures as [n, channels, height, width]."""
    if array.ndim == 3:
        return array[:, None]
    return array if array.shape[1:] == shape else array.transpose(0, 3, 1, 2)
