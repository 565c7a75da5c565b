"""Where the hashed split puts the rows of a table that is not in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd

from meritnas.data.columns.cells import category_key
from meritnas.data.columns.distinct import find_distinct
from meritnas.data.files.parquet_table import ParquetTable
from meritnas.data.hashed_split import HashedSplit
from meritnas.data.tables.reading import TableReading


def hashed_split(table: ParquetTable, seed: int, reading: TableReading) -> HashedSplit:
    """How rows are split: each for itself, or those of a group together."""
    return HashedSplit(table.rows, seed, reading.split_by[1])


def row_places(table: ParquetTable, place: int, split: HashedSplit | None) -> np.ndarray:
    """Places of the rows of a row group, from 0 to 1 [rows], as `HashedSplit` takes them.

    Args:
        table: The table.
        place: Which of its row groups.
        split: None where all rows are for training.
    """
    group = table.groups[place]
    if split is None:
        return np.ones(group.rows)
    places = split.places(group.first, group.rows)
    if not split.by:
        return places
    distinct = find_distinct(table.read(place, {split.by})[split.by])
    keys = np.array([category_key(value) for value in distinct.values], dtype=object)
    groups = pd.util.hash_array(keys, categorize=False) if len(keys) else np.zeros(0, np.uint64)
    there = distinct.codes >= 0
    # Rows without a value are for training.
    found = 2 * split.held + (1.0 - 2 * split.held) * places
    found[there] = split.places_together(places[there], groups[distinct.codes[there]])
    return found
