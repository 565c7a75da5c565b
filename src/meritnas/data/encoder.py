from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from meritnas.data.columns import (
    CategoryColumn,
    DroppedColumn,
    NumberColumn,
    codes_of,
    decide_column,
    decide_text,
    is_three_codes,
    standardise,
)
from meritnas.data.suggest import listed
from meritnas.errors import DataError

__all__ = ["CategoryColumn", "DroppedColumn", "NumberColumn", "TableEncoder"]


@dataclass(frozen=True)
class TableEncoder:
    """Turns the rows of a table into network inputs, the same way for every file.

    Attributes:
        number_columns: Columns taken as numbers, in the order of their inputs.
        category_columns: Columns taken as categories, in the order of their inputs.
        dropped: Columns left out.
    """

    number_columns: tuple[NumberColumn, ...]
    category_columns: tuple[CategoryColumn, ...]
    dropped: tuple[DroppedColumn, ...]

    @classmethod
    def fit(cls, frame: pd.DataFrame) -> TableEncoder:
        """Decides on each column as `decide_column` says.

        In a table where at least half of the number columns hold exactly three whole values each
        (the squares of a board, coded 0, 1, 2), those columns are categories: codes have no order.

        Args:
            frame: The train rows only, without the target column.

        Raises:
            DataError: A column holds infinite values, or no column can be used.
        """
        frame = _with_text_names(frame)
        decisions = [decide_column(frame[name]) for name in frame.columns]
        numbers = [column.name for column in decisions if isinstance(column, NumberColumn)]
        coded = {name for name in numbers if is_three_codes(frame[name])}
        if 2 * len(coded) >= len(numbers):
            decisions = [
                decide_text(frame[column.name], column.name) if column.name in coded else column
                for column in decisions
            ]
        encoder = cls(
            tuple(column for column in decisions if isinstance(column, NumberColumn)),
            tuple(column for column in decisions if isinstance(column, CategoryColumn)),
            tuple(column for column in decisions if isinstance(column, DroppedColumn)),
        )
        if encoder.width == 0:
            reasons = listed(f"'{column.name}' ({column.reason})" for column in encoder.dropped)
            raise DataError(
                f"no column is left to learn from: {reasons or 'there is only the target'}; "
                "give a table with at least one varying column besides the target"
            )
        return encoder

    @property
    def numbers(self) -> int:
        """Number of number inputs: number columns and their missing indicators."""
        return len(self.number_columns) + sum(c.indicator for c in self.number_columns)

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """Number of codes of each category column, with code 0 for missing or unseen."""
        return tuple(len(column.categories) + 1 for column in self.category_columns)

    @property
    def width(self) -> int:
        """Number of inputs in all."""
        return self.numbers + len(self.category_columns)

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence for each column that is left out."""
        return tuple(f"column '{c.name}' is left out: {c.reason}" for c in self.dropped)

    def transform(self, frame: pd.DataFrame) -> np.ndarray:
        """Encodes rows; the order of columns and further columns do not matter.

        Returns:
            Float32 [n, width]: all number columns standardised with missing values at 0, then
            their missing indicators of 0 and 1, then category codes with 0 for missing or unseen.

        Raises:
            DataError: A column is missing, or a value in a number column is not a finite number.
        """
        frame = _with_text_names(frame)
        needed = [c.name for c in self.number_columns] + [c.name for c in self.category_columns]
        absent = [name for name in needed if name not in frame.columns]
        if absent:
            raise DataError(
                f"the table lacks {len(absent)} columns it needs: {listed(absent)}; "
                f"columns found: {listed(frame.columns)}"
            )
        inputs = np.empty((len(frame), self.width), dtype=np.float32)
        indicator = len(self.number_columns)
        for position, number in enumerate(self.number_columns):
            inputs[:, position], missing = standardise(number, frame[number.name])
            if number.indicator:
                inputs[:, indicator] = missing
                indicator += 1
        for position, category in enumerate(self.category_columns, start=indicator):
            inputs[:, position] = codes_of(category, frame[category.name])
        return inputs

    def to_json(self) -> dict[str, Any]:
        """Returns the encoder as plain JSON values; floats keep every bit."""
        return {
            "numbers": [asdict(column) for column in self.number_columns],
            "categories": [
                {"name": column.name, "categories": list(column.categories)}
                for column in self.category_columns
            ],
            "dropped": [asdict(column) for column in self.dropped],
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> TableEncoder:
        """Returns the encoder that `to_json` gave."""
        return cls(
            tuple(NumberColumn(**column) for column in value["numbers"]),
            tuple(
                CategoryColumn(column["name"], tuple(column["categories"]))
                for column in value["categories"]
            ),
            tuple(DroppedColumn(**column) for column in value["dropped"]),
        )


def _with_text_names(frame: pd.DataFrame) -> pd.DataFrame:
    names = pd.Index([str(name) for name in frame.columns])
    if not names.is_unique:
        twice = names[names.duplicated()].unique()
        raise DataError(f"column names occur twice: {listed(twice)}; rename them")
    if all(isinstance(name, str) for name in frame.columns):
        return frame
    return frame.set_axis(names, axis=1)
