"""Which rows are for what, by a hash of their number or group: nothing is kept of any table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meritnas.errors import DataError

HELD_ROWS = 100_000
"""About as many rows are for validation at most, and as many for testing."""
SAMPLED_ROWS = 100_000
"""About as many training rows are kept in memory, drawn fairly."""

_SHARE = 0.2
_LEAST_ROWS = 10
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def places_of(first: int, rows: int, seed: int) -> np.ndarray:
    """Hashes of row numbers from `first` on, as numbers from 0 to 1 [rows]."""
    return hashed(np.arange(first, first + rows, dtype=np.uint64), seed)


def hashed(numbers: np.ndarray, seed: int) -> np.ndarray:
    """Hashes of whole numbers, uint64 [n], as numbers from 0 to 1 [n].

    These are the mixing steps of SplitMix64.
    """
    start = np.uint64((seed * int(_GOLDEN) + 1) % 2**64)
    with np.errstate(over="ignore"):
        mixed = (numbers + start) * _GOLDEN
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    return (mixed ^ (mixed >> np.uint64(31))) / 2.0**64


@dataclass(frozen=True)
class HashedSplit:
    """The three parts of a table that is not in memory.

    A row's part follows from its number and the seed alone: a hash of them, taken for a number
    from 0 to 1, is below `held` for testing, below twice that for validation, else for training.
    Of the training rows those with the largest hashes are the sample.

    Where rows of a group stay together, the hash of the group's value says whether they are for
    testing or validation; the hash of the number still says which training rows are the sample.

    Attributes:
        rows: Of the table.
        seed: Of the hash.
        by: The column that names a row's group; empty where every row is for itself.
    """

    rows: int
    seed: int
    by: str = ""

    def __post_init__(self) -> None:
        """Complain about a table that cannot be split."""
        if self.rows < _LEAST_ROWS:
            raise DataError(
                f"{self.rows} rows are too few to split; give at least {_LEAST_ROWS} rows"
            )

    @property
    def held(self) -> float:
        """The share of the rows for validation, and that for testing."""
        return min(_SHARE, HELD_ROWS / self.rows)

    def places(self, first: int, rows: int) -> np.ndarray:
        """From 0 to 1 [rows], for rows from number `first` on."""
        return places_of(first, rows, self.seed)

    def places_together(self, places: np.ndarray, groups: np.ndarray) -> np.ndarray:
        """The same for rows that stay together.

        Args:
            places: As `places` has them [rows].
            groups: Of each row a number that stands for its group, uint64; the same for all rows
                of a group [rows].
        """
        of_groups = hashed(groups, self.seed)
        trained = 2 * self.held + (1.0 - 2 * self.held) * places
        return np.where(self.is_train(of_groups), trained, of_groups)

    def is_train(self, places: np.ndarray) -> np.ndarray:
        """Which of these places are for training."""
        return places >= 2 * self.held

    def is_valid(self, places: np.ndarray) -> np.ndarray:
        """Which of these places are for validation."""
        return (places >= self.held) & (places < 2 * self.held)

    def is_test(self, places: np.ndarray) -> np.ndarray:
        """Which of these places are for testing."""
        return places < self.held

    def is_sampled(self, places: np.ndarray) -> np.ndarray:
        """Which of these places are for training and kept: all where there are few."""
        share = SAMPLED_ROWS / self.rows
        return places >= max(2 * self.held, 1.0 - share)

    @property
    def train_rows(self) -> int:
        """About how many rows weights are trained on."""
        return round(self.rows * (1.0 - 2 * self.held))

    @property
    def train(self) -> np.ndarray:
        """Numbers of the training rows, each for itself; as large as the table is long."""
        return np.flatnonzero(self.is_train(self.places(0, self.rows)))

    @property
    def valid(self) -> np.ndarray:
        """Numbers of the validation rows, each for itself."""
        return np.flatnonzero(self.is_valid(self.places(0, self.rows)))

    @property
    def test(self) -> np.ndarray:
        """Numbers of the test rows, each for itself."""
        return np.flatnonzero(self.is_test(self.places(0, self.rows)))
