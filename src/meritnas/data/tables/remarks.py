"""What a user should know about a table's columns: dates, identifiers, likely leaks."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
from pandas.api import types

from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.columns.names import columns_by_name
from meritnas.data.hashed_split import HashedSplit
from meritnas.data.pictures.names import names_pictures
from meritnas.data.split import Split
from meritnas.data.tables.reading import TableReading
from meritnas.data.tables.source import Source
from meritnas.data.task import Task

_MOST_ROWS = 4_000
"""Training rows that single columns are tried on: a few milliseconds for each column."""
_LEAST_ROWS = 40
_BINS = 64
_NEARLY_ALL = 0.95
"""Of what a column could tell at most, from here on it is worth a sentence."""
_LEAST_UNIQUE = 50
_ID_NAME = re.compile(r"(^|[\W_])(id|ids|key|uuid|guid|index|idx|rowid|row)$|[a-z](Id|ID)$", re.I)
_CONSECUTIVE = 1.5
"""Numbers of rows leave out at most every third."""


def remarks_on(
    source: Source,
    encoder: TableEncoder,
    task: Task,
    split: Split | HashedSplit,
    codes: np.ndarray,
    reading: TableReading,
) -> tuple[str, ...]:
    """Sentences about columns that make scores better than they will be, and about pictures.

    Args:
        source: The table.
        encoder: What was decided about its columns.
        task: What is predicted.
        split: Which rows are for what.
        codes: The encoded target [n].
        reading: What the user decided.
    """
    features = source.frame.drop(columns=source.target)
    dates, columns = _dates(encoder, reading), columns_by_name(features)
    ids = [_id_note(c.name) for c in encoder.number_columns if _is_id(c.name, columns[c.name])]
    pictures = [_picture_note(name) for name, values in columns.items() if names_pictures(values)]
    return (*pictures, *dates, *ids, *_leaks(features, encoder, task, split.train, codes))


def _picture_note(name: str) -> str:
    return (
        f"column '{name}' names pictures, which no network for tables sees; --space fusion reads "
        "them beside the other columns"
    )


def _dates(encoder: TableEncoder, reading: TableReading) -> list[str]:
    """About dates where rows are split at random."""
    if reading.split_by[0] != "random" or not encoder.date_columns:
        return []
    name = encoder.date_columns[0].name
    return [
        f"column '{name}' holds dates and rows are split at random; if new rows are later than "
        f"these, scores will be worse than the ones here: --split time={name}"
    ]


def _is_id(name: str, values: pd.Series) -> bool:
    """Whether a column of whole numbers only tells rows apart."""
    if len(values) < _LEAST_UNIQUE or not types.is_numeric_dtype(values.dtype):
        return False
    if types.is_bool_dtype(values.dtype) or values.isna().any() or not values.is_unique:
        return False
    numbers = values.to_numpy(dtype=np.float64)
    if (numbers % 1 != 0).any():
        return False
    consecutive = numbers.max() - numbers.min() + 1 <= _CONSECUTIVE * len(numbers)
    return bool(consecutive or _ID_NAME.search(name))


def _id_note(name: str) -> str:
    return (
        f"column '{name}' has another whole number in every row, as identifiers do; if it is one, "
        f"leave it out: --drop {name}"
    )


def _leaks(
    features: pd.DataFrame,
    encoder: TableEncoder,
    task: Task,
    train: np.ndarray,
    codes: np.ndarray,
) -> list[str]:
    """About columns that alone tell nearly everything, on training rows: half to learn from."""
    if len(train) < _LEAST_ROWS or task.kind not in ("binary", "multiclass", "regression"):
        return []
    rows = np.random.default_rng(0).permutation(train)[:_MOST_ROWS]
    inputs, truth = encoder.transform(features, rows), codes[rows]
    half = len(rows) // 2
    found = []
    for name, places in encoder.places.items():
        kept = places if name in encoder.flagged else places[:1]
        bins = _binned(inputs[:, kept], half, coded=places[0] >= encoder.numbers)
        told = _told_by(bins, truth, half, classes=len(task.classes))
        if told >= _NEARLY_ALL:
            found.append(
                f"column '{name}' alone tells {100 * told:.0f} % of what there is to know about "
                f"'{task.target}'; if it is not known when you predict, it leaks the answer: "
                f"--drop {name}"
            )
    return found


def _binned(inputs: np.ndarray, half: int, *, coded: bool) -> np.ndarray:
    """A whole number for each row [n] by a column's inputs, the first of which says most."""
    first = inputs[:, 0]
    if coded:
        return first.astype(np.int64)
    edges = np.unique(np.quantile(first[:half], np.linspace(0, 1, _BINS + 1)[1:-1]))
    bins = np.searchsorted(edges, first, side="left")
    missing = inputs[:, -1] if inputs.shape[1] > 1 else np.zeros(len(first))
    return np.where(missing == 1, _BINS, bins)


def _told_by(bins: np.ndarray, truth: np.ndarray, half: int, classes: int) -> float:
    """How much of the error of a guess a column takes away, from below 0 to 1."""
    size = int(bins.max()) + 1
    if not classes:
        mean = float(truth[:half].mean())
        counts = np.bincount(bins[:half], minlength=size)
        sums = np.bincount(bins[:half], weights=truth[:half], minlength=size)
        guess = np.where(counts > 0, sums / np.maximum(counts, 1), mean)[bins[half:]]
        spread = float(np.square(truth[half:] - mean).sum())
        return 1.0 - float(np.square(truth[half:] - guess).sum()) / spread if spread else 0.0
    codes = truth.astype(np.int64)
    usual = int(np.bincount(codes[:half], minlength=classes).argmax())
    votes = np.zeros((size, classes))
    np.add.at(votes, (bins[:half], codes[:half]), 1.0)
    votes[:, usual] += 0.5  # where nothing is known, or as much for one as for another
    wrong = float((votes.argmax(axis=1)[bins[half:]] != codes[half:]).mean())
    trivial = float((codes[half:] != usual).mean())
    return 1.0 - wrong / trivial if trivial else 0.0
