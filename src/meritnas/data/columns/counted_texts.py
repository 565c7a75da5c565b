"""Counts of the different texts of a column, in bounded memory, however many there are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

ROOM = 1 << 17
"""Different texts of a column that are kept when there are too many."""

_HASHES = 4096


class CountedTexts:
    """How often each text of a column occurs, seen piece by piece.

    Counts are exact as long as there are at most twice `room` different texts. Beyond that the
    rarest are forgotten, so that `room` are left (Misra and Gries, 1982, many at a time; and a text
    that stays keeps its full count, as it was never forgotten). A text that occurs in n of N rows
    is then counted at least n - `missed` times, never more than n, and `missed` is at most N over
    `room`. How many different texts there are is estimated from then on by the smallest hashes
    (Bar-Yossef et al., 2002; 4,096 of them, a standard error of 1.6 %).

    Args:
        room: Texts to keep.
    """

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._kept = _table(pa.array([], pa.string()), np.zeros(0, np.int64), 0)
        self._waiting: list[pa.Table] = []
        self._rows_waiting = 0
        self._hashes: np.ndarray | None = None
        self.missed = 0

    def add(self, texts: pa.Array, counts: np.ndarray | None = None) -> None:
        """Counts texts, none of them missing; `counts` says how often each, if not once."""
        if counts is None:
            found = compute.value_counts(texts)
            texts, counts = found.field("values"), found.field("counts").to_numpy()
        self._waiting.append(_table(texts.cast(pa.string()), counts, self.missed))
        self._rows_waiting += len(texts)
        if self._rows_waiting > self._room:
            self._merge()

    def counts(self) -> dict[str, int]:
        """The texts that are kept, and how often each was seen since it came."""
        texts, counts = self.counted()
        return dict(zip(texts.to_pylist(), counts.tolist(), strict=True))

    def counted(self) -> tuple[pa.Array, np.ndarray]:
        """The same as texts [n] and counts [n]."""
        self._merge()
        texts = self._kept.column("text").combine_chunks()
        return texts, self._kept.column("count").to_numpy()

    @property
    def different(self) -> int:
        """How many different texts there are, or about how many."""
        self._merge()
        if self._hashes is None:
            return len(self._kept)
        if len(self._hashes) < _HASHES:
            return len(self._hashes)
        return round((_HASHES - 1) / (float(self._hashes[-1]) / 2.0**64))

    def _merge(self) -> None:
        if not self._waiting:
            return
        waiting = pa.concat_tables(self._waiting)
        if self._hashes is not None:
            self._hash(waiting)
        grouped = pa.concat_tables([self._kept, waiting]).group_by("text", use_threads=False)
        found = grouped.aggregate([("count", "sum"), ("since", "min")])
        self._kept = found.select(["text", "count_sum", "since_min"]).rename_columns(
            ["text", "count", "since"]
        )
        self._waiting, self._rows_waiting = [], 0
        if len(self._kept) > 2 * self._room:
            if self._hashes is None:
                self._hashes = np.zeros(0, np.uint64)
                self._hash(self._kept)
            self._forget()

    def _forget(self) -> None:
        """The Misra-Gries counter of a text is its count less what was missed since it came."""
        count, since = (self._kept.column(name).to_numpy() for name in ("count", "since"))
        counters = count - (self.missed - since)
        bound = int(np.partition(counters, -self._room - 1)[-self._room - 1])
        self._kept = self._kept.filter(pa.array(counters > bound)).combine_chunks()
        self.missed += bound

    def _hash(self, table: pa.Table) -> None:
        assert self._hashes is not None
        texts = table.column("text").to_numpy()
        found = pd.util.hash_array(texts.astype(object), categorize=False)
        if len(self._hashes) == _HASHES:  # few are smaller, so little is left to sort
            found = found[found < self._hashes[-1]]
        self._hashes = np.unique(np.concatenate([self._hashes, found]))[:_HASHES]


def _table(texts: pa.Array, counts: np.ndarray, since: int) -> pa.Table:
    """Texts with counts, and what had been missed when they came."""
    came = pa.array(np.full(len(texts), since, np.int64))
    return pa.table({"text": texts, "count": pa.array(counts.astype(np.int64)), "since": came})
