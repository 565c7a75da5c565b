"""A modality of columns of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.modalities.row_layout import Shape
from meritnas.data.modalities.unit_columns import write_unit_columns
from meritnas.data.modalities.view import View, present_rows
from meritnas.errors import DataError

MOST_CATEGORIES = 32
"""Of a column; the others share a place with missing and unseen ones."""


@dataclass(frozen=True)
class TableModality:
    """A modality of columns of a table, all from 0 to 1.

    First the numbers of `TableEncoder` (numbers, dates, missing indicators), scaled by the smallest
    and largest of the train rows, then for each category column a 1 at the place of its code.

    Attributes:
        name: Of the modality.
        encoder: Turns the columns into numbers and codes.
        low: The smallest of each of its numbers in the train rows.
        high: The largest.
    """

    name: str
    encoder: TableEncoder
    low: tuple[float, ...]
    high: tuple[float, ...]

    @classmethod
    def fit(cls, name: str, view: View, rows: np.ndarray) -> TableModality:
        """Looks at the train rows that have any value.

        Raises:
            DataError: No column can be used.
        """
        frame = _frame(name, view)
        present = rows[present_rows(frame)[rows]]
        try:
            encoder = TableEncoder.fit(frame, present, most_categories=MOST_CATEGORIES)
        except DataError as error:
            raise DataError(f"modality '{name}': {error}") from error
        numbers = encoder.transform(frame, present)[:, : encoder.numbers].astype(np.float64)
        low, high = numbers.min(axis=0), numbers.max(axis=0)
        return cls(name, encoder, tuple(low.tolist()), tuple(high.tolist()))

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The one shape (numbers and places of categories,)."""
        return ((self.encoder.numbers + sum(self.encoder.cardinalities),),)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are used."""
        return (
            *(column.name for column in self.encoder.number_columns),
            *(column.name for column in self.encoder.date_columns),
            *(column.name for column in self.encoder.category_columns),
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence for each column that is left out, or of which much is pooled."""
        return tuple(f"modality '{self.name}': {warning}" for warning in self.encoder.warnings)

    def unfamiliar(self, view: View) -> list[str]:
        """A sentence for each column that is mostly not like the train rows were."""
        notes = self.encoder.unfamiliar(_frame(self.name, view))
        return [f"modality '{self.name}': {note}" for note in notes]

    def encode(self, view: View, rows: np.ndarray, out: np.ndarray) -> None:
        """Writes presence and numbers of some rows into `out` [n, 1 + width]."""
        frame = _frame(self.name, view)
        found = self.encoder.transform(frame, rows)
        write_unit_columns(out[:, 1:], found, self.low, self.high, self.encoder.cardinalities)
        out[:, 0] = present_rows(frame[list(self.columns)].iloc[rows])

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> TableModality:
        """Returns the modality that `to_json` gave."""
        encoder = TableEncoder.from_json(value["encoder"])
        return cls(value["name"], encoder, tuple(value["low"]), tuple(value["high"]))

    def to_json(self) -> dict[str, Any]:
        """Returns the modality as plain JSON values; floats keep every bit."""
        return {
            "kind": "table",
            "name": self.name,
            "encoder": self.encoder.to_json(),
            "low": list(self.low),
            "high": list(self.high),
        }


def _frame(name: str, view: View) -> pd.DataFrame:
    if not isinstance(view, pd.DataFrame):
        raise DataError(
            f"the view '{name}' must be columns of a table as what was learned from, got "
            f"{type(view).__name__}"
        )
    return view
