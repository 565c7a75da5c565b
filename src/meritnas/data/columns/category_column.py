"""A column taken as categories: a code for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from meritnas.data.columns.category_keys import other_keys
from meritnas.data.columns.cells import category_key
from meritnas.data.columns.distinct import Distinct, find_distinct
from meritnas.data.columns.row_inputs import category_codes, code_table
from meritnas.data.columns.texts_once import codes_and_texts, has_texts_once

MANY_CATEGORIES = 50
LEAST_ROWS = 3
"""In a column of many categories, one of fewer train rows than this is rare."""


@dataclass(frozen=True)
class CategoryColumn:
    """A column taken as one of several categories, compared as text (see `category_key`).

    Attributes:
        name: Name in the table.
        categories: The categories that are kept, sorted; code 1 is the first of them.
        rare: How many categories of the train rows are not kept; they share code 0 with missing
            and unseen ones.
        rare_share: The share of the train rows, but for missing values, with one of these.
    """

    name: str
    categories: tuple[str, ...]
    rare: int = 0
    rare_share: float = 0.0

    @classmethod
    def fit(
        cls,
        name: str,
        distinct: Distinct,
        rows: np.ndarray | None,
        most: int | None = None,
        *,
        asked: bool = False,
    ) -> CategoryColumn | str:
        """Looks at the categories of the train rows.

        In a column of more than `MANY_CATEGORIES`, those with fewer than `LEAST_ROWS` rows are
        pooled in code 0: an embedding learns nothing from a row or two, and this way code 0 has
        rows to learn from before it meets a category that is new.

        Args:
            name: Name in the table.
            distinct: The column.
            rows: Positions of the train rows, None for all.
            most: Most categories to keep, the most frequent ones; None for all.
            asked: Whether a user wants it: nearly unique text is taken, too.

        Returns:
            The column, or why it is left out: it is all missing, constant, or nearly unique text
            (more categories than 20 and than half of the rows), such as names.
        """
        counts, missing = _count(distinct, rows)
        return cls.of_counts(name, counts, sum(counts.values()), missing, most, asked=asked)

    @classmethod
    def of_counts(
        cls,
        name: str,
        counts: Mapping[str, int],
        present: int,
        missing: int,
        most: int | None = None,
        different: int | None = None,
        *,
        asked: bool = False,
    ) -> CategoryColumn | str:
        """Decides by what was counted of the train rows; see `fit`.

        Args:
            name: Name in the table.
            counts: How many rows each category has, none of them zero.
            present: How many rows have one.
            missing: How many have none.
            most: Most categories to keep.
            different: How many there are, where `counts` lacks rare ones; None for those of it.
            asked: Whether a user wants it.
        """
        total = len(counts) if different is None else different
        if not counts:
            return "all values are missing"
        if total == 1 and missing == 0:
            return f"constant, '{next(iter(counts))}' in every row"
        if total > max(20, 0.5 * present) and not asked:
            return f"nearly unique text, {total} values in {present} rows"
        least = LEAST_ROWS if total > MANY_CATEGORIES else 1
        kept = [category for category, count in counts.items() if count >= least]
        if not kept:
            return f"rare text, none of {total} values occurs in {least} rows"
        if most is not None and len(kept) > most:
            # Ties by name, so that the order of the rows decides nothing.
            kept = sorted(kept, key=lambda category: (-counts[category], category))[:most]
        in_rows = sum(counts[category] for category in kept)
        share = 1.0 - in_rows / present
        return cls(name, tuple(sorted(kept)), total - len(kept), share)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> CategoryColumn:
        """Returns the column that `to_json` gave, also of older versions."""
        return cls(**{**value, "categories": tuple(value["categories"])})

    def to_json(self) -> dict[str, Any]:
        """Returns the column as plain JSON values."""
        return asdict(self)

    @property
    def details(self) -> str:
        """What was found out, for people."""
        pooled = f", {self.rare:,} rare pooled" if self.rare else ""
        return f"{len(self.categories):,} kept{pooled}"

    def encode(self, values: pd.Series) -> np.ndarray:
        """Returns codes [n], float32: 0 for missing, unseen or rare, 1.. for kept categories."""
        if isinstance(values.dtype, pd.StringDtype):
            texts = pa.chunked_array([pa.array(values.array, pa.string(), from_pandas=True)])
            return self._codes_of_texts(texts.combine_chunks())
        if has_texts_once(values):
            places, texts = codes_and_texts(values)
            return np.append(self._codes_of_texts(texts), np.float32(0))[places]
        return self._codes(find_distinct(values))

    def unfamiliar(self, values: pd.Series) -> str | None:
        """Returns a sentence if the values are mostly not like those of the train rows."""
        distinct = find_distinct(values)
        present = int((distinct.codes >= 0).sum())
        if present == 0:
            return f"column '{self.name}' has no values; all of them count as missing"
        unseen = present - int((self._codes(distinct) > 0).sum())
        # Where many train rows had rare categories, many new ones are nothing new.
        if unseen <= present * (0.5 + 0.5 * self.rare_share):
            return None
        return (
            f"column '{self.name}': {unseen:,} of {present:,} values are no category that was "
            "trained on; they all count as one unknown category"
        )

    def _codes(self, distinct: Distinct) -> np.ndarray:
        return distinct.spread(category_codes(distinct.values, self.categories), 0.0)

    def _codes_of_texts(self, texts: pa.Array) -> np.ndarray:
        """The same for texts: only those that are no category as they stand are read."""
        places = compute.index_in(texts, value_set=self._texts)
        codes = places.to_numpy(zero_copy_only=False)
        found = np.nan_to_num(codes.astype(np.float32) + 1.0, nan=0.0)
        other = np.flatnonzero(
            compute.and_(places.is_null(), texts.is_valid()).to_numpy(zero_copy_only=False)
        )
        if len(other):
            places, keys = other_keys(texts.take(pa.array(other)))
            code_of = self._code_of
            found[other[places]] = np.array([code_of.get(key, 0) for key in keys], np.float32)
        return found

    @cached_property
    def _code_of(self) -> dict[str, int]:
        return code_table(self.categories)

    @cached_property
    def _texts(self) -> pa.Array:
        return pa.array(self.categories, pa.string())


def _count(distinct: Distinct, rows: np.ndarray | None) -> tuple[dict[str, int], int]:
    """Returns how many of the rows each category has, none of them zero, and how many lack one."""
    codes = distinct.codes if rows is None else distinct.codes[rows]
    counted = np.bincount(codes + 1, minlength=len(distinct.values) + 1)
    counts: dict[str, int] = {}
    for value, count in zip(distinct.values, counted[1:].tolist(), strict=True):
        if count:
            key = category_key(value)
            counts[key] = counts.get(key, 0) + count
    return counts, int(counted[0])
