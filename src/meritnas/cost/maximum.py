"""Costs that are the largest of several sums, such as the memory that is needed at one moment."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from meritnas.cost.terms import Cost, CostTerms, Factor, amount_text
from meritnas.errors import SpaceError
from meritnas.space.rule import Levels, of_equal_size

_MOST_STATES = 300_000


class Bound(NamedTuple):
    """What a limit on a maximum asks of architectures; all of it must be kept.

    Attributes:
        sums: costs, and the most that each of them may be.
        rule: an automaton that reads decisions as their space does; None where it asks nothing.
        of_maximum: whether there may be many sums, of which each has few values.
    """

    sums: tuple[tuple[CostTerms, int], ...]
    rule: Levels | None = None
    of_maximum: bool = False


class Maximum(Cost, Protocol):
    """A cost that is the largest of many, known for each architecture, and what limits mean."""

    def bound(self, most: int) -> Bound:
        """What keeps this cost at most so large."""
        ...


class WhenAsked(Mapping[str, Maximum]):
    """Maxima by name, each of which is made when it is asked for, and then kept."""

    def __init__(self, **made: Callable[[], Maximum]) -> None:
        self._made = made
        self._found: dict[str, Maximum] = {}

    def __getitem__(self, name: str) -> Maximum:
        if name not in self._found:
            self._found[name] = self._made[name]()
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


State = TypeVar("State", bound=Hashable)


def automaton(
    begin: State,
    after: Callable[[int, State, int], tuple[State | None, int]],
    sizes: Sequence[int],
    most: int,
) -> Levels:
    """What is left of a walk through all decisions if nothing that is known of it is too much.

    Args:
        begin: the state before the first decision.
        after: (place of the decision, state, option) -> the state after it, None where that is
            forbidden, and what the cost is known to be at least by then; all of it at the end.
        sizes: the number of options of each decision, as they are read.
        most: of the cost.
    """
    states: dict[State, int] = {begin: 0}
    levels = []
    for place, size in enumerate(sizes):
        following: dict[State, int] = {}
        level = np.full((len(states), size), -1, dtype=np.int64)
        for state, number in states.items():
            for option in range(size):
                found, known = after(place, state, option)
                if found is None or known > most:
                    continue
                ends = place + 1 == len(sizes)
                level[number, option] = 0 if ends else following.setdefault(found, len(following))
        if len(following) > _MOST_STATES:
            raise SpaceError(
                f"a limit on this maximum needs more than {_MOST_STATES:,} states to be kept "
                "exactly; offer fewer options, or leave the limit out"
            )
        levels.append(level)
        states = following
    # Where no walk was left, there was no state either, but automata have one at least.
    return of_equal_size(
        [level if len(level) else np.full((1, level.shape[1]), -1) for level in levels]
    )


@dataclass(frozen=True)
class LargestSum:
    """The largest of several sums of factors.

    An architecture keeps a limit if every sum does. A sum that is a single factor only says which
    combinations of a few answers are forbidden; all of these are one sum, of how many there are,
    that must be zero. The others are limits of their own.

    Attributes:
        sizes: the number of options of each decision.
        moments: the sums, at least one.
        unit: what is counted, for messages.
        a_unit: how much of the cost makes one such unit.
    """

    sizes: tuple[int, ...]
    moments: tuple[CostTerms, ...]
    unit: str
    a_unit: int = 1

    def __post_init__(self) -> None:
        if not self.moments:
            raise SpaceError("a cost that is the largest of several sums needs at least one")
        for one in self.moments:
            if one.sizes != self.sizes:
                raise SpaceError(
                    f"all sums must be about decisions with sizes {self.sizes}, got {one.sizes}"
                )

    @property
    def most(self) -> int:
        """No architecture costs more."""
        return max(one.most for one in self.moments)

    def text(self, amount: int) -> str:
        """An amount of this cost, for people."""
        return amount_text(amount, self.a_unit)

    def of(self, picks: np.ndarray) -> np.ndarray:
        """Costs [n] of a pick matrix [n, decisions]."""
        found: np.ndarray = np.max([one.of(picks) for one in self.moments], axis=0)
        return found

    def restrict(self, kept: Sequence[np.ndarray]) -> LargestSum:
        """The same cost on a space that keeps only these option indices of each decision."""
        fewer = tuple(one.restrict(kept) for one in self.moments)
        return replace(self, sizes=tuple(map(len, kept)), moments=fewer)

    def bound(self, most: int) -> Bound:
        """What keeps every sum at most so large; sums that always are ask nothing."""
        binding = [one for one in self.moments if one.most > most]
        broken = [_broken(one, most) for one in binding if len(one.factors) <= 1]
        sums = [(one, most) for one in binding if len(one.factors) > 1]
        if broken:
            always = sum(one.constant for one in broken)
            tables = tuple(factor for one in broken for factor in one.factors)
            sums.insert(0, (CostTerms(self.sizes, always, tables, "moments too large"), 0))
        return Bound(tuple(sums), of_maximum=True)


def _broken(moment: CostTerms, most: int) -> CostTerms:
    """1 for what costs more than that, else 0."""
    if not moment.factors:
        return replace(moment, constant=1)
    factor = moment.factors[0]
    table = (factor.table + moment.constant > most).astype(np.int64)
    return replace(moment, constant=0, factors=(Factor(factor.decisions, table),))
