from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from meritnas.errors import SpaceError
from meritnas.space.decision import Decision
from meritnas.space.rule import ABSENT, InputPairs, Levels, of_equal_size

_PAIRS = 4
"""So many states has `InputPairs`."""

_MOST_STATES = 100_000


@dataclass(frozen=True)
class NewInputs:
    """Input pairs of which every cell has a feature that no cell before it reads (BM-NAS).

    Once cells have read all features, a cell may read what it likes. With one cell less than
    there are features, every architecture reads all of them.

    Attributes:
        pairs: the rule that each node reads two edges.
        cells: for each cell its decisions on features, in the order of the features.
    """

    pairs: InputPairs
    cells: tuple[tuple[int, ...], ...]

    def __str__(self) -> str:
        return f"{self.pairs}; and each cell must read a feature that no cell before it reads"

    def levels(self, decisions: Sequence[Decision]) -> Levels:
        """States are those of the pairs, with the features read so far and if one was new here.

        Only states that some architecture reaches are numbered, anew for each decision; all
        levels have as many rows as the largest needs.
        """
        feature = {i: k for edges in self.cells for k, i in enumerate(edges)}
        ends = [edges[-1] for edges in self.cells]
        every = (1 << len(self.cells[0])) - 1
        codes = np.zeros(1, dtype=np.int64)  # (features read, whether one is new, pair) in one
        found = []
        levels = self.pairs.levels(decisions)
        for i, (decision, level) in enumerate(zip(decisions, levels, strict=True)):
            read, new, pair = codes // (2 * _PAIRS), codes // _PAIRS % 2, codes % _PAIRS
            after = level[pair]
            reads = np.repeat(read[:, None], len(decision), axis=1)
            news = np.repeat(new[:, None], len(decision), axis=1)
            if i in feature:
                bit = 1 << feature[i]
                there = np.array([ABSENT not in option.tags for option in decision.options])
                news = np.where(there, news | (read & bit == 0)[:, None], news)
                reads = np.where(there, reads | bit, reads)
            if i in ends:
                after = np.where((news == 1) | (reads == every), after, -1)
                news = np.zeros_like(news)
            if i >= ends[-1]:  # no cell is left to ask what was read
                reads = np.zeros_like(reads)
            target = (reads * 2 + news) * _PAIRS + after
            codes = np.unique(np.append(target[after >= 0], 0))
            if len(codes) > _MOST_STATES:
                raise SpaceError(
                    f"{len(self.cells)} cells that each read a new one of {len(self.cells[0])} "
                    f"features are more than the rule can follow ({_MOST_STATES} states); take "
                    "fewer cells, or let cells read what they like (no new inputs)"
                )
            found.append(np.where(after >= 0, np.searchsorted(codes, target), -1))
        return of_equal_size(found)
