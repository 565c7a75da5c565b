"""The different values of a column, and where they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Distinct:
    """The different values of a column, and where they are.

    Text repeats itself: what is done once for each different value is many times faster.

    Attributes:
        codes: For each row the position of its value, -1 where it is missing [n].
        values: The different values, none of them missing or blank.
    """

    codes: np.ndarray
    values: list[object]

    def spread(self, of_values: np.ndarray, of_missing: float) -> np.ndarray:
        """Returns for each row [n] what belongs to its value."""
        # Missing values have the code -1, which takes the last entry.
        return np.append(of_values, np.array([of_missing], dtype=of_values.dtype))[self.codes]


def find_distinct(values: pd.Series) -> Distinct:
    """Finds the different values of a column; blank text is missing."""
    try:
        codes, found = pd.factorize(values)
    except TypeError:
        # Lists and other values that Python cannot hash.
        codes, found = pd.factorize(values.map(str, na_action="ignore"))
    distinct = list(pd.Series(found, dtype=object))
    blank = np.array([isinstance(v, str) and not v.strip() for v in distinct] + [True])
    if not blank[:-1].any():
        return Distinct(codes, distinct)
    kept = np.cumsum(~blank) - 1
    filled = [value for value, is_blank in zip(distinct, blank[:-1], strict=True) if not is_blank]
    return Distinct(np.where(blank[codes], -1, kept[codes]), filled)
