"""What one pass over a table that is not in memory keeps of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from meritnas.data.columns.column_sketch import ColumnSketch, decide_columns
from meritnas.data.columns.encoder import TableEncoder, make_rules
from meritnas.data.columns.sorting import Rules
from meritnas.data.columns.texts_once import with_text_again
from meritnas.data.files.parquet_table import ParquetTable
from meritnas.data.hashed_split import HashedSplit
from meritnas.data.tables.row_places import row_places

_FIRST_ROWS = 100_000
"""By which it is seen what kind of values texts stand for."""


@dataclass(frozen=True)
class TableSketch:
    """Sketches of the columns, and the rows that stay in memory.

    Attributes:
        columns: Without the target, in the order of the table.
        kept: Rows for validation and testing, and a sample of those for training, in their order.
        split: Which rows are for what; None where all are for training and none is kept.
        places: Where its hash has put each of the kept rows.
        train_rows: How many training rows each group has.
        asked: What a user says about columns.
    """

    columns: tuple[ColumnSketch, ...]
    kept: pd.DataFrame
    split: HashedSplit | None
    places: np.ndarray
    train_rows: tuple[int, ...]
    asked: Mapping[str, str]

    @staticmethod
    def of(
        table: ParquetTable,
        target: str | None,
        split: HashedSplit | None,
        asked: Mapping[str, str] | None = None,
    ) -> TableSketch:
        """Reads the whole table once, some columns of one row group at a time.

        Args:
            table: The table.
            target: The column that is only kept, not looked at; None for none.
            split: Which rows are for what; None where all are for training.
            asked: What a user says about columns, as `asked_columns` has it.

        Raises:
            DataError: The table cannot be read, or holds infinite values.
        """
        first, rules = table.first(_FIRST_ROWS), Rules(asked=asked or {})
        columns = {
            name: ColumnSketch(name, first[name], rules) for name in table.columns if name != target
        }
        del first
        kept, found, train_rows = [], [], []
        for place in range(len(table.groups)):
            places = row_places(table, place, split)
            train = np.ones(len(places), bool) if split is None else split.is_train(places)
            keep = ~train if split is None else split.is_sampled(places) | ~train
            parts = []
            once = {name for name, column in columns.items() if column.is_text}
            for piece in table.pieces(place, once=once):
                for name in columns.keys() & set(piece.columns):
                    columns[name].add(piece[name], train)
                parts.append(with_text_again(piece[keep]))
            kept.append(pd.concat(parts, axis=1))
            found.append(places[keep])
            train_rows.append(int(train.sum()))
        rows = pd.concat(kept, ignore_index=True)
        sketches = tuple(columns.values())
        ways = np.concatenate(found), tuple(train_rows), dict(asked or {})
        return TableSketch(sketches, rows, split, *ways)

    def encoder(
        self, scaling: str = "standard", most_categories: int | None = None
    ) -> TableEncoder:
        """What encodes the table by its training rows, as `TableEncoder.fit` says.

        Raises:
            DataError: No column can be used.
        """
        rules = make_rules(len(self.columns), scaling, most_categories, self.asked)
        some = self.kept.iloc[self.sampled]
        return TableEncoder.of_columns(decide_columns(list(self.columns), rules, some))

    @property
    def sampled(self) -> np.ndarray:
        """Positions among the kept rows of those for training."""
        return self._which(HashedSplit.is_sampled)

    @property
    def valid(self) -> np.ndarray:
        """Positions among the kept rows of those for validation."""
        return self._which(HashedSplit.is_valid)

    @property
    def test(self) -> np.ndarray:
        """Positions among the kept rows of those for testing."""
        return self._which(HashedSplit.is_test)

    def _which(self, part: Callable[[HashedSplit, np.ndarray], np.ndarray]) -> np.ndarray:
        if self.split is None:
            return np.zeros(0, np.int64)
        return np.flatnonzero(part(self.split, self.places))
