"""Which rows are for training, validation and testing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meritnas.errors import DataError

_LEAST_ROWS = 10
_PARTS = 3
_LEAST_ROWS_TO_TEST = 30
_WAYS = 32
"""Random ways to share out groups, of which one is taken."""


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

    @property
    def train_rows(self) -> int:
        """How many rows weights are trained on."""
        return len(self.train)


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


def split_by_time(times: np.ndarray, valid: float = 0.2, test: float = 0.2) -> Split:
    """Splits rows by their time: the latest are for testing, those before them for validation.

    Rows of the same time are in the same part, those without a time in the training part.

    Args:
        times: Of each row [n], NaN for missing.
        valid: Share of the validation rows.
        test: Share of the test rows.

    Raises:
        DataError: There are fewer than three different times.
    """
    known = np.flatnonzero(~np.isnan(times))
    different, counts = np.unique(times[known], return_counts=True)
    if len(different) < _PARTS:
        raise DataError(
            f"{len(different)} different times are too few to split by; give at least {_PARTS}, or "
            "split at random"
        )
    after = np.cumsum(counts[::-1])[::-1]  # rows at each time or later
    last = _nearest(after, test * len(known), 2, len(different))
    middle = _nearest(after, (test + valid) * len(known), 1, last)
    of_row = np.full(len(times), -np.inf)
    of_row[known] = times[known]
    in_test = of_row >= different[last]
    in_valid = (of_row >= different[middle]) & ~in_test
    return Split(*(np.flatnonzero(part) for part in (~in_test & ~in_valid, in_valid, in_test)))


def _nearest(after: np.ndarray, wanted: float, first: int, end: int) -> int:
    """Where to cut so that about so many rows come after, from `first` to before `end`."""
    return first + int(np.argmin(np.abs(after[first:end] - wanted)))


def split_by_group(
    groups: np.ndarray,
    labels: np.ndarray | None,
    seed: int,
    valid: float = 0.2,
    test: float = 0.2,
) -> Split:
    """Splits rows so that all of a group are in one part.

    Of some random ways, the one is taken whose parts have about the wanted sizes and the classes
    in about the same shares.

    Args:
        groups: Number of each row's group [n], -1 for a row of none.
        labels: Class of each row [n], None for no classes.
        seed: Seed of the random ways.
        valid: Share of the validation rows.
        test: Share of the test rows.

    Raises:
        DataError: There are fewer than three groups.
    """
    n = len(groups)
    alone = groups < 0
    own = np.where(alone, groups.max(initial=0) + 1 + np.arange(n), groups)
    _, codes = np.unique(own, return_inverse=True)
    sizes = np.bincount(codes)
    if len(sizes) < _PARTS:
        raise DataError(
            f"{len(sizes)} groups are too few to split by; give at least {_PARTS}, or split at "
            "random"
        )
    classes = np.zeros(n, int) if labels is None else np.unique(labels, return_inverse=True)[1]
    wanted = np.array([1.0 - valid - test, valid, test])
    generator = np.random.default_rng(seed)
    ways = [_deal(sizes, wanted, generator) for _ in range(_WAYS)]
    best = min(ways, key=lambda parts: _unevenness(parts[codes], classes, wanted))[codes]
    return Split(*(np.flatnonzero(best == part) for part in range(_PARTS)))


def _deal(sizes: np.ndarray, wanted: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """A part for each group [groups]: in random order, each to the part that lacks most rows."""
    parts, lacking = np.zeros(len(sizes), int), wanted * sizes.sum()
    order = generator.permutation(len(sizes))
    # So that no part stays empty, whatever the sizes.
    for place, group in enumerate(order):
        part = place if place < _PARTS else int(np.argmax(lacking))
        parts[group] = part
        lacking[part] -= sizes[group]
    return parts


def _unevenness(parts: np.ndarray, classes: np.ndarray, wanted: np.ndarray) -> float:
    """How far parts [n] are from the wanted sizes, and classes from equal shares in them."""
    counts = np.zeros((_PARTS, classes.max() + 1))
    np.add.at(counts, (parts, classes), 1)
    rows = counts.sum(axis=1, keepdims=True)
    shares = counts / rows
    absent = float(np.count_nonzero(counts[0] == 0))  # nothing can be learned about these
    uneven = np.abs(shares - counts.sum(axis=0) / counts.sum()).sum()
    return absent + float(uneven + np.abs(rows[:, 0] / rows.sum() - wanted).sum())


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
