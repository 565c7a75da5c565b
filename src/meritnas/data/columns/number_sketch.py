"""What is kept of a column of numbers that is seen piece by piece."""

from __future__ import annotations

import numpy as np

from meritnas.data.columns.cells import category_key, check_finite
from meritnas.data.columns.far_values import LARGEST, LEAST_FAR, FarValues, far_limit
from meritnas.data.columns.measured import Written
from meritnas.data.columns.moments import Moments
from meritnas.data.columns.number_column import NumberColumn

_MOST_DIFFERENT = 1000
"""Among so many different huge numbers, far ones are looked for (see `find_far_values`)."""
_CODES = 3


class NumberSketch:
    """Moments of a column's train rows, and all that tells far values from huge ones.

    Numbers from 1e15 on are kept apart, as it is not known before the end which of them count as
    missing. Where more than 1,000 are different from each other none does but those from 1e100 on.
    """

    def __init__(self) -> None:
        self._near = Moments()
        self._huge = Moments()  # below LARGEST, of train rows
        self._count = 0  # not missing, of all rows
        self._missing = 0  # of train rows
        self._found: dict[float, list[int]] | None = {}  # huge: of all rows, of train rows
        self._beyond: dict[float, list[int]] = {}
        self._magnitudes = np.zeros(0)  # of near numbers: some of the different ones, the largest
        self._codes: dict[float, int] | None = {}  # of train rows, up to three different ones

    def add(self, numbers: np.ndarray, train: np.ndarray, name: str) -> None:
        """Looks at some rows.

        Args:
            numbers: NaN for missing [n].
            train: Which are for training [n].
            name: The column's, for messages.

        Raises:
            DataError: A number is infinite.
        """
        check_finite(numbers, name)
        present = ~np.isnan(numbers)
        given, of_train = numbers[present], train[present]
        self._count += len(given)
        self._missing += int(train.sum() - of_train.sum())
        magnitudes = np.abs(given)
        huge = magnitudes >= LEAST_FAR
        if huge.any():
            self._add_huge(given[huge], of_train[huge])
            given, of_train, magnitudes = given[~huge], of_train[~huge], magnitudes[~huge]
        self._near += Moments.of(given[of_train])
        self._keep_magnitudes(magnitudes)
        self._count_codes(given[of_train])

    def _add_huge(self, given: np.ndarray, train: np.ndarray) -> None:
        for value in np.unique(given).tolist():
            found = self._beyond if abs(value) >= LARGEST else self._found
            if found is not None:
                same = given == value
                counts = found.setdefault(value, [0, 0])
                counts[0] += int(same.sum())
                counts[1] += int((same & train).sum())
        if self._found is not None and len(self._found) > _MOST_DIFFERENT:
            self._found = None
        if len(self._beyond) > _MOST_DIFFERENT:  # all of them are far: their number matters
            sums = np.sum(list(self._beyond.values()), axis=0)
            self._beyond = {max(self._beyond, key=abs): sums.tolist()}
        self._huge += Moments.of(given[train & (np.abs(given) < LARGEST)])
        self._codes = None

    def _keep_magnitudes(self, magnitudes: np.ndarray) -> None:
        if not len(magnitudes):
            return
        highest = magnitudes.max()
        if len(self._magnitudes) <= _MOST_DIFFERENT:
            both = np.unique(np.concatenate([self._magnitudes, magnitudes]))
            self._magnitudes = both[-_MOST_DIFFERENT - 1 :]
        elif highest > self._magnitudes[-1]:
            self._magnitudes[-1] = highest

    def _count_codes(self, given: np.ndarray) -> None:
        if self._codes is None or not len(given):
            return
        values, counts = np.unique(given, return_counts=True)
        if len(self._codes.keys() | set(values.tolist())) > _CODES:
            self._codes = None
            return
        for value, count in zip(values.tolist(), counts.tolist(), strict=True):
            self._codes[value] = self._codes.get(value, 0) + count

    @property
    def all_of_train(self) -> Moments:
        """Of the train rows' numbers, whether huge or not."""
        return self._near + self._huge

    def far_values(self) -> FarValues | None:
        """Which numbers count as missing, by the rule of `find_far_values`."""
        huge = {**(self._found or {}), **self._beyond}
        if not huge:
            return None
        limit = np.inf
        if self._found is not None:
            apart = np.abs(np.array(list(huge)))
            limit = far_limit(np.unique(np.concatenate([self._magnitudes, apart])), self._count)
        limit = min(LARGEST, float(limit))
        far = {value: counts for value, counts in huge.items() if abs(value) >= limit}
        if not far:
            return None
        others = [abs(value) for value in huge.keys() - far.keys()]
        if self._found is None:
            others += [abs(end) for end in (self._huge.low, self._huge.high) if np.isfinite(end)]
        others += self._magnitudes[-1:].tolist()
        return FarValues(
            limit,
            sum(counts[0] for counts in far.values()),
            max(far, key=abs),
            max(others, default=0.0),
        )

    def column(
        self, name: str, some: np.ndarray, most_knots: int, written: Written | None = None
    ) -> NumberColumn | str:
        """The column as it is decided on, or why it is left out.

        Args:
            name: Name in the table.
            some: Numbers of train rows drawn fairly, or of all; NaN for missing.
            most_knots: As in `NumberColumn.fit`.
            written: As in `NumberColumn.fit`.
        """
        far = self.far_values()
        seen, missing = self._near, self._missing
        if self._found is None:
            seen = seen + self._huge
            missing += sum(train for _, train in self._beyond.values())
        else:
            for value, (_, train) in sorted({**self._found, **self._beyond}.items()):
                if far is not None and abs(value) >= far.limit:
                    missing += train
                elif train:
                    seen = seen + Moments(train, value, 0.0, value, value)
        given = some[~np.isnan(some)]
        if far is not None:
            given = given[~far.are(given)]
        if len(given) < seen.count:
            given = np.append(given, [seen.low, seen.high])
        return NumberColumn.of_moments(name, seen, missing > 0, given, most_knots, far, written)

    def three_codes(self) -> dict[str, int] | None:
        """Counts of three whole values, such as 0, 1, 2, if the train rows hold nothing else."""
        codes = self._codes
        if codes is None or len(codes) != _CODES or not all(v.is_integer() for v in codes):
            return None
        return {category_key(value): count for value, count in codes.items()}
