"""What people see of samples of several modalities: texts, cells, short vectors, pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from meritnas.data.modalities.view import View, take_rows

if TYPE_CHECKING:
    from torch import Tensor

    from meritnas.data.modalities.encoder import ModalityEncoder

_MOST_NUMBERS = 6
"""A longer vector says nothing to people."""


def shown_views(views: Mapping[str, View], rows: np.ndarray) -> pd.DataFrame | None:
    """Texts, the columns of tables and short vectors of some samples; None where there are none.

    Args:
        views: name -> the values of all samples.
        rows: positions of the samples.
    """
    columns: dict[str, pd.Series] = {}  # of objects: texts may hold halves of characters
    for name, view in views.items():
        own = take_rows(view, rows)
        if isinstance(own, pd.Series):
            columns[name] = own.astype(object)
        elif isinstance(own, pd.DataFrame):
            columns |= {f"{name}: {column}": own[column].astype(object) for column in own.columns}
        elif isinstance(own, np.ndarray) and own.ndim <= 2 and own[:1].size <= _MOST_NUMBERS:
            texts = [_vector(row) for row in own.reshape(len(own), -1)]
            columns[name] = pd.Series(texts, dtype=object)
    return pd.DataFrame(columns).set_axis(pd.Index(rows, name="row")) if columns else None


def shown_pictures(encoder: ModalityEncoder, inputs: Tensor) -> dict[str, np.ndarray]:
    """The modalities that are pictures: name -> uint8 [n, h, w, channels].

    Args:
        encoder: of the samples.
        inputs: rows as it encodes them, whose pixels are from 0 to 1 [n, width].
    """
    found = {}
    for number, name in enumerate(encoder.layout.names):
        if name in encoder.pictures:
            (pixels,) = encoder.layout.features(inputs, number)
            scaled = pixels.permute(0, 2, 3, 1).double().numpy() * 255
            found[name] = np.rint(scaled).astype(np.uint8)
    return found


def _vector(numbers: np.ndarray) -> str:
    return ", ".join(f"{number:.4g}" for number in numbers.tolist())
