"""Which rows are for training, validation and testing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meritnas.errors import DataError

_LEAST_ROWS = 10
_PARTS = 3
_LEAST_ROWS_TO_TEST = 30


@dataclass(frozen=True)
class Split:
    """Row numbers of the three parts of a table: sorted, disjoint and complete.

    Attributes:
        train: Rows that weights are trained on, int64 [n_train].
        valid: Rows that architectures are compared on, int64 [n_valid].
        test: Rows that only the final result is measured on, int64 [n_test].
    """

    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray


def split_rows(
    n: int, labels: np.ndarray | None, seed: int, valid: float = 0.2, test: float = 0.2
) -> Split:
    """Splits rows 0..n-1 at random, the same way for the same seed.

    Args:
        n: Number of rows, at least 10.
        labels: Class of each row [n]: every class of at least three rows then has a row in each
            part. None for no classes.
        seed: Seed of the shuffle.
        valid: Share of the validation rows.
        test: Share of the test rows.

    Raises:
        DataError: There are too few rows, or the shares leave nothing to train on.
    """
    if n < _LEAST_ROWS:
        raise DataError(f"{n} rows are too few to split; give at least {_LEAST_ROWS} rows")
    if not (valid > 0 and test > 0 and valid + test < 1):
        raise DataError(
            f"shares valid={valid} and test={test} leave a part empty; "
            "each must be above 0 and their sum below 1"
        )
    generator = np.random.default_rng(seed)
    parts: tuple[list[np.ndarray], ...] = ([], [], [])
    for rows in _groups(n, labels):
        shuffled = generator.permutation(rows)
        in_valid, in_test = _sizes(len(rows), valid, test)
        for part, piece in zip(
            parts,
            np.split(shuffled, [len(rows) - in_valid - in_test, len(rows) - in_test]),
            strict=True,
        ):
            part.append(piece)
    train_rows, valid_rows, test_rows = (np.sort(np.concatenate(part)) for part in parts)
    return Split(train_rows, valid_rows, test_rows)


def split_few(n: int, labels: np.ndarray | None, seed: int, valid: float, test: float) -> Split:
    """Splits any number of rows as well as they allow.

    Shares may be 0. Classes of fewer than three rows are for training, and so is everything of
    which a share is less than half a row; tables of under 30 rows keep none for testing. Where
    nothing would be left to compare networks on, the train rows are that too.

    Args:
        n: Number of rows, at least 1.
        labels: Class of each row [n], None for no classes.
        seed: Seed of the shuffle.
        valid: Share of the validation rows.
        test: Share of the test rows.

    Raises:
        DataError: The shares leave nothing to train on.
    """
    if min(valid, test) < 0 or valid + test >= 1:
        raise DataError(
            f"shares valid={valid} and test={test} leave nothing to train on; "
            "each must be at least 0 and their sum below 1"
        )
    generator = np.random.default_rng(seed)
    share = test if n >= _LEAST_ROWS_TO_TEST else 0.0
    parts: tuple[list[np.ndarray], ...] = ([], [], [])
    for rows in _groups(n, labels):
        shuffled = generator.permutation(rows)
        # Where classes are stratified, those too rare for it are in one group of their own.
        rare = labels is not None and _is_rare(labels, rows)
        in_valid, in_test = (0, 0) if rare else _few(len(rows), valid, share)
        cuts = [len(rows) - in_valid - in_test, len(rows) - in_test]
        for part, piece in zip(parts, np.split(shuffled, cuts), strict=True):
            part.append(piece)
    train, held, tested = (np.sort(np.concatenate(part)) for part in parts)
    return Split(train, held if len(held) or valid == 0 else train, tested)


def _is_rare(labels: np.ndarray, rows: np.ndarray) -> bool:
    return int((labels == labels[rows[0]]).sum()) < _PARTS


def _few(rows: int, valid: float, test: float) -> tuple[int, int]:
    """How many of some rows are for validation and testing, with at least one left to train on."""
    in_valid = min(max(1, round(rows * valid)), rows - 1) if valid and rows > 1 else 0
    return in_valid, min(round(rows * test), rows - 1 - in_valid)


def _groups(n: int, labels: np.ndarray | None) -> list[np.ndarray]:
    if labels is None:
        return [np.arange(n)]
    if len(labels) != n:
        raise DataError(f"{len(labels)} labels for {n} rows; give one label for each row")
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    order = np.argsort(codes, kind="stable")
    by_class = np.split(order, np.cumsum(counts)[:-1])
    groups = [rows for rows in by_class if len(rows) >= _PARTS]
    rare = [rows for rows in by_class if len(rows) < _PARTS]
    # Classes too rare to be in every part are shared out together, not all given to one part.
    return groups + ([np.concatenate(rare)] if rare else [])


def _sizes(rows: int, valid: float, test: float) -> tuple[int, int]:
    if rows < _PARTS:
        return 0, 0
    in_test = min(max(1, round(rows * test)), rows - 2)
    in_valid = min(max(1, round(rows * valid)), rows - 1 - in_test)
    return in_valid, in_test
