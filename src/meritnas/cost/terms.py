"""Costs of architectures as sums of terms, and the limits on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from meritnas.errors import SpaceError


@dataclass(frozen=True)
class CostTerms:
    """What architectures cost, as a sum of terms over one decision or two neighbouring ones.

    cost(picks) = constant + sum_i single[i][picks[i]] + sum_i pair[i][picks[i], picks[i+1]]

    Attributes:
        constant: what every architecture costs.
        single: for each decision an integer array [options].
        pair: for each decision but the last an integer array [options, options of the next], or
            None where neighbours do not interact.
        unit: what is counted, for messages: "parameters".
        a_unit: how much of the cost makes one such unit.
    """

    constant: int
    single: tuple[np.ndarray, ...]
    pair: tuple[np.ndarray | None, ...]
    unit: str
    a_unit: int = 1

    def text(self, amount: int) -> str:
        """An amount of this cost, for people."""
        if self.a_unit == 1:
            return f"{amount:,}"
        return f"{amount / self.a_unit:,.{len(str(self.a_unit)) - 1}f}"

    def of(self, picks: np.ndarray) -> np.ndarray:
        """Costs [n] of a pick matrix [n, decisions]."""
        total = np.full(len(picks), self.constant, dtype=np.int64)
        for i, term in enumerate(self.single):
            total += term[picks[:, i]]
        for i, table in enumerate(self.pair):
            if table is not None:
                total += table[picks[:, i], picks[:, i + 1]]
        return total

    @property
    def most(self) -> int:
        """No architecture costs more; whether one costs as much depends on pairs."""
        tables = [table for table in self.pair if table is not None]
        return int(self.constant) + sum(int(term.max()) for term in (*self.single, *tables))

    @property
    def of_all(self) -> int:
        """What all options cost together, each as if it were alone."""
        return int(self.constant) + sum(int(term.sum()) for term in self.single)

    def scaled(self, factor: int, extra: int, unit: str, a_unit: int = 1) -> CostTerms:
        """This cost times a factor plus something that every architecture costs."""
        return CostTerms(
            self.constant * factor + extra,
            tuple(term * factor for term in self.single),
            tuple(None if table is None else table * factor for table in self.pair),
            unit,
            a_unit,
        )

    def restrict(self, kept: Sequence[np.ndarray]) -> CostTerms:
        """The same cost on a space that keeps only these option indices of each decision."""
        pairs = tuple(
            None if table is None else table[np.ix_(kept[i], kept[i + 1])]
            for i, table in enumerate(self.pair)
        )
        single = tuple(term[k] for term, k in zip(self.single, kept, strict=True))
        return CostTerms(self.constant, single, pairs, self.unit, self.a_unit)

    def read_in(self, order: Sequence[int]) -> CostTerms:
        """The same cost of decisions in another order, if no two of them have a term together."""
        if list(order) == list(range(len(self.single))):
            return self
        if any(table is not None for table in self.pair):
            raise SpaceError(
                "a rule that reads decisions in an order of its own goes with costs of single "
                f"decisions only, got {self.unit} of neighbouring ones"
            )
        return replace(self, single=tuple(self.single[i] for i in order))

    def steps(self) -> tuple[np.ndarray, ...]:
        """The terms as steps along the chain of decisions.

        Step i is an array [options of decision i-1 (1 for i = 0), options of decision i]: what
        choosing an option adds, given the option before. They sum to the cost.
        """
        steps = [self.single[0][None, :] + self.constant]
        for i, table in enumerate(self.pair):
            following = self.single[i + 1][None, :]
            before = len(self.single[i])
            steps.append(np.tile(following, (before, 1)) if table is None else table + following)
        return tuple(np.asarray(step, dtype=np.int64) for step in steps)


@dataclass(frozen=True)
class Limit:
    """The most an architecture may cost: cost `name` at most `maximum`."""

    name: str
    maximum: int
