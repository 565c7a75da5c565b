"""Costs of architectures as sums of factors, and the limits on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from meritnas.errors import SpaceError


class Cost(Protocol):
    """What architectures cost, whatever it is made of."""

    @property
    def unit(self) -> str:
        """What is counted, for messages: "parameters"."""
        ...

    @property
    def most(self) -> int:
        """No architecture costs more; whether one costs as much depends."""
        ...

    def text(self, amount: int) -> str:
        """An amount of this cost, for people."""
        ...

    def of(self, picks: np.ndarray) -> np.ndarray:
        """Costs [n] of a pick matrix [n, decisions]."""
        ...


@dataclass(frozen=True)
class Factor:
    """What the answers to a few decisions cost together.

    Attributes:
        decisions: their numbers, from small to large, at least one.
        table: integers [options of the first, options of the second, ...].
    """

    decisions: tuple[int, ...]
    table: np.ndarray

    def of(self, picks: np.ndarray) -> np.ndarray:
        """Its part of the costs [n] of a pick matrix [n, decisions of the space]."""
        found: np.ndarray = self.table[tuple(picks[:, i] for i in self.decisions)]
        return found


@dataclass(frozen=True)
class CostTerms:
    """What architectures cost, as a sum of factors over small groups of decisions.

    cost(picks) = constant + sum over factors of table[picks of its decisions]

    Attributes:
        sizes: the number of options of each decision.
        constant: what every architecture costs.
        factors: in any order; several may be about the same decisions.
        unit: what is counted, for messages: "parameters".
        a_unit: how much of the cost makes one such unit.
    """

    sizes: tuple[int, ...]
    constant: int
    factors: tuple[Factor, ...]
    unit: str
    a_unit: int = 1

    def __post_init__(self) -> None:
        for factor in self.factors:
            if not isinstance(factor, Factor):
                raise SpaceError(
                    "costs are a sum of factors, CostTerms(sizes, constant, factors, unit); for "
                    "terms of single decisions and of neighbours use chain_terms(constant, single, "
                    "pair, unit)"
                )
            numbers = factor.decisions
            known = all(0 <= i < len(self.sizes) for i in numbers)
            if not numbers or list(numbers) != sorted(set(numbers)) or not known:
                raise SpaceError(
                    f"a factor is about some of {len(self.sizes)} decisions, by their numbers from "
                    f"small to large, got {numbers}"
                )
            wanted = tuple(self.sizes[i] for i in numbers)
            if factor.table.shape != wanted:
                raise SpaceError(
                    f"the factor of decisions {numbers} needs a table of shape {wanted}, got "
                    f"{factor.table.shape}"
                )

    @cached_property
    def single(self) -> tuple[np.ndarray, ...]:
        """For each decision [options]: what its options cost whatever the others are."""
        rows = [np.zeros(size, dtype=np.int64) for size in self.sizes]
        for factor in self.factors:
            if len(factor.decisions) == 1:
                rows[factor.decisions[0]] += factor.table
        return tuple(rows)

    def text(self, amount: int) -> str:
        """An amount of this cost, for people."""
        return amount_text(amount, self.a_unit)

    def of(self, picks: np.ndarray) -> np.ndarray:
        """Costs [n] of a pick matrix [n, decisions]."""
        total = np.full(len(picks), self.constant, dtype=np.int64)
        for factor in self.factors:
            total += factor.of(picks)
        return total

    @property
    def most(self) -> int:
        """No architecture costs more; whether one costs as much depends on how factors overlap."""
        return int(self.constant) + sum(int(factor.table.max()) for factor in self.factors)

    @property
    def of_all(self) -> int:
        """What all options cost together, each as if it were alone."""
        return int(self.constant) + sum(int(row.sum()) for row in self.single)

    def scaled(self, factor: int, extra: int, unit: str, a_unit: int = 1) -> CostTerms:
        """This cost times a factor plus something that every architecture costs."""
        scaled = tuple(replace(one, table=one.table * factor) for one in self.factors)
        return CostTerms(self.sizes, self.constant * factor + extra, scaled, unit, a_unit)

    def restrict(self, kept: Sequence[np.ndarray]) -> CostTerms:
        """The same cost on a space that keeps only these option indices of each decision."""
        factors = tuple(
            replace(one, table=one.table[np.ix_(*(kept[i] for i in one.decisions))])
            for one in self.factors
        )
        return replace(self, sizes=tuple(map(len, kept)), factors=factors)


def amount_text(amount: int, a_unit: int) -> str:
    """An amount of a cost in its unit, to the last digit."""
    if a_unit == 1:
        return f"{amount:,}"
    return f"{amount / a_unit:,.{len(str(a_unit)) - 1}f}"


def chain_terms(
    constant: int,
    single: Sequence[np.ndarray],
    pair: Sequence[np.ndarray | None],
    unit: str,
    a_unit: int = 1,
) -> CostTerms:
    """Costs of decisions in a row, each of which costs something by itself or with the next.

    Args:
        constant: what every architecture costs.
        single: for each decision [options].
        pair: for each decision but the last [options, options of the next], or None where
            neighbours do not interact.
        unit: what is counted.
        a_unit: how much of it makes one unit.
    """
    alone = [Factor((i,), row) for i, row in enumerate(single)]
    together = [Factor((i, i + 1), table) for i, table in enumerate(pair) if table is not None]
    sizes = tuple(len(row) for row in single)
    return CostTerms(sizes, constant, (*alone, *together), unit, a_unit)


@dataclass(frozen=True)
class Limit:
    """The most an architecture may cost: cost `name` at most `maximum`."""

    name: str
    maximum: int
