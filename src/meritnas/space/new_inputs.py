"""The rule that every fusion cell reads a feature that no cell before it reads."""

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

_FEW_FEATURES = 10
"""So many have few sets: all of them are followed, cell by cell."""


@dataclass(frozen=True)
class NewInputs:
    """Input pairs of which every cell has a feature that no cell before it reads (BM-NAS).

    Once cells have read all features, a cell may read what it likes. With one cell less than
    there are features, every architecture reads all of them.

    Cell by cell, what is new depends on the set of features read so far, of which there are more
    and more with each feature. Many features are therefore read one by one, by all cells: then it
    depends on a feature's own cells, and states say what each cell has, however many features
    there are.

    Attributes:
        pairs: the rule that each node reads two edges.
        cells: for each cell its decisions on features, in the order of the features.
    """

    pairs: InputPairs
    cells: tuple[tuple[int, ...], ...]

    def __str__(self) -> str:
        return f"{self.pairs}; and each cell must read a feature that no cell before it reads"

    @property
    def _by_feature(self) -> bool:
        """Whether features are many, and too many for the cells to read them all."""
        return len(self.cells[0]) > max(_FEW_FEATURES, 2 * len(self.cells))

    def order(self, decisions: int) -> tuple[int, ...]:
        """As decisions are numbered; many features one by one, and then all else."""
        if not self._by_feature:
            return tuple(range(decisions))
        first = [i for edges in zip(*self.cells, strict=True) for i in edges]
        return (*first, *sorted(set(range(decisions)) - set(first)))

    def levels(self, decisions: Sequence[Decision]) -> Levels:
        """Only states that some architecture reaches are numbered, anew for each decision.

        All levels have as many rows as the largest needs.
        """
        if self._by_feature:
            return self._levels_by_feature(decisions)
        return self._levels_by_cell(decisions)

    def _levels_by_feature(self, decisions: Sequence[Decision]) -> Levels:
        """States are those of the pairs of every cell, with whether it has something new.

        Cells never run out of new features here.
        """
        pairs = self.pairs.levels(decisions)
        cell = self._cells_of_edges()
        last = {edges[-1] for edges in self.cells}
        feature = {i for edges in self.cells for i in edges}
        codes = np.zeros(1, dtype=np.int64)
        found = []
        for i in self.order(len(decisions)):
            # A bit for whether this feature was read already, and three for each cell.
            shift = 1 + 3 * cell[i]
            taken, pair, new = (codes & 1)[:, None], codes >> shift & 3, codes >> shift + 2 & 1
            after = pairs[i][pair]
            there = np.array([ABSENT not in option.tags for option in decisions[i].options])
            news = np.repeat(new[:, None], len(there), axis=1)
            if i in feature:
                news = np.where(there, news | 1 - taken, news)
                taken = np.where(there, 1, taken)
                complete = np.where(there, pair[:, None] > 0, pair[:, None] == _PAIRS - 1)
                after = np.where((news == 0) & (complete | (i in last)), -1, after)
            if i in last:
                news = np.zeros_like(news)
            if i in self.cells[-1]:  # the next feature follows
                taken = np.zeros_like(taken)
            others = codes[:, None] & ~(7 << shift | 1)
            target = others | taken | (news * _PAIRS + after) << shift
            codes = self._few(target[after >= 0])
            found.append(np.where(after >= 0, np.searchsorted(codes, target), -1))
        return of_equal_size(found)

    def _cells_of_edges(self) -> list[int]:
        """The cell that each decision is an edge into; all that is inside cells is one more."""
        first = {edges[0]: number for number, edges in enumerate(self.cells)}
        found: list[int] = []
        for edges in self.pairs.groups:
            found += [first.get(len(found), len(self.cells))] * max(edges, 1)
        return found

    def _few(self, codes: np.ndarray) -> np.ndarray:
        """All different codes of states, and 0."""
        found = np.unique(np.append(codes, 0))
        if len(found) > _MOST_STATES:
            raise SpaceError(
                f"{len(self.cells)} cells that each read a new one of {len(self.cells[0])} "
                f"features are more than the rule can follow ({_MOST_STATES} states); take "
                "fewer cells, or let cells read what they like (no new inputs)"
            )
        return found

    def _levels_by_cell(self, decisions: Sequence[Decision]) -> Levels:
        """States are those of the pairs, with the features read so far and if one was new here."""
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
            codes = self._few(target[after >= 0])
            found.append(np.where(after >= 0, np.searchsorted(codes, target), -1))
        return of_equal_size(found)
