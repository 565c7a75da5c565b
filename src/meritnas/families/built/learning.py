"""Finds out which decisions the cost of each part depends on, and makes exact factors of that."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Generic, TypeVar

import numpy as np

from meritnas.cost.terms import CostTerms, Factor
from meritnas.errors import SpaceError

CHECKED = 256
"""Random networks whose costs must be as the factors say."""

_MOST_COMBINATIONS = 30_000
_MOST_BUILDS = 60_000
_TRIED = 16
"""Combinations of a group, until one fits to what is decided by others."""

Piece = TypeVar("Piece", bound=Hashable)
Picks = tuple[int, ...]
Group = tuple[int, ...]


@dataclass
class _Part(Generic[Piece]):
    """What is known of one module: which decisions matter, and what it is for their answers.

    Attributes:
        group: the decisions.
        table: answers to these -> what it is then, and the network where that was seen.
    """

    group: Group = ()
    table: dict[Picks, tuple[Piece | None, Picks]] = field(default_factory=dict)

    def key(self, picks: Picks) -> Picks:
        """The answers that matter."""
        return tuple(picks[i] for i in self.group)


class Learner(Generic[Piece]):
    """Learns what each module of a network is for every answer to the few decisions that matter.

    Two networks that agree on all decisions known to matter for a module, and have it different,
    show that another one matters; halving what they differ in finds it. When no random network
    shows more, the combinations that were not seen yet are built, many groups at a time.

    Args:
        sizes: the number of options of each decision.
        observe: picks -> what each module of this network costs.
        names: of the decisions, for messages.

    Attributes:
        builds: how many networks were built.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        observe: Callable[[Picks], Mapping[str, Piece]],
        names: Sequence[str],
    ) -> None:
        self._sizes, self._observe, self._names = tuple(sizes), observe, tuple(names)
        self._seen: dict[Picks, Mapping[str, Piece]] = {}
        self._again: dict[Picks, Mapping[str, Piece]] = {}
        self._parts: dict[str, _Part[Piece]] = {}
        self._rng = np.random.default_rng(0)
        self._between: list[Picks] = []
        self.builds = 0

    def learn(self) -> None:
        """Build networks until all is known, and check random ones.

        Raises:
            SpaceError: Too many decisions interact, or the same network comes out differently.
        """
        largest = tuple(size - 1 for size in self._sizes)
        self._see(largest)
        for i, size in enumerate(self._sizes):
            for k in range(size - 1):
                self._see((*largest[:i], k, *largest[i + 1 :]))
        self._fill()
        checked = 0
        while checked < CHECKED:
            known = self._known_groups()
            self._see(self._random())
            checked = checked + 1 if known == self._known_groups() else 0
            if not checked:
                self._fill()

    def parts(self) -> Iterator[tuple[Group, dict[Picks, Piece | None]]]:
        """The decisions that matter for each module, and what it is for each of their answers."""
        for part in self._parts.values():
            yield part.group, {key: piece for key, (piece, _) in part.table.items()}

    def networks(self) -> Iterator[tuple[Picks, Mapping[str, Piece]]]:
        """All networks that were built, and their modules."""
        yield from self._seen.items()

    def _known_groups(self) -> list[Group]:
        return [part.group for part in self._parts.values()]

    def _random(self) -> Picks:
        return tuple(int(self._rng.integers(size)) for size in self._sizes)

    def _build(self, picks: Picks) -> Mapping[str, Piece]:
        if picks not in self._seen:
            self.builds += 1
            if self.builds > _MOST_BUILDS:
                self._too_many(max(self._known_groups(), key=len))
            self._seen[picks] = self._observe(picks)
        return self._seen[picks]

    def _see(self, picks: Picks) -> None:
        """Build a network and learn from it."""
        found = self._build(picks)
        for name in found:
            if name not in self._parts:
                self._parts[name] = _Part()
                for before in list(self._seen):
                    self._learn(name, before)
        for name in self._parts:
            self._learn(name, picks)
        while self._between:  # built on the way; what they show is learned, too
            self._see(self._between.pop())

    def _learn(self, name: str, picks: Picks) -> None:
        part = self._parts[name]
        piece = self._seen[picks].get(name)
        known = part.table.setdefault(part.key(picks), (piece, picks))
        while known[0] != piece:
            self._widen(name, self._cause(name, known[1], picks))
            known = part.table.setdefault(part.key(picks), (piece, picks))

    def _cause(self, name: str, first: Picks, second: Picks) -> int:
        """A decision that makes a module different between two networks."""
        piece = self._seen[first].get(name)
        if first not in self._again:
            self._again[first] = self._observe(first)
        if self._again[first].get(name) != piece:
            raise SpaceError(
                f"the same answers gave two different networks ('{name}' differs); a build "
                "function must depend on nothing but its answers"
            )
        differ = [i for i in range(len(first)) if first[i] != second[i]]
        # Of `differ`, changing the first `low` keeps the module and the first `high` does not.
        low, high = 0, len(differ)
        while high - low > 1:
            middle = (low + high) // 2
            between = list(first)
            for i in differ[:middle]:
                between[i] = second[i]
            self._between.append(tuple(between))
            if self._build(tuple(between)).get(name) == piece:
                low = middle
            else:
                high = middle
        return differ[high - 1]

    def _widen(self, name: str, decision: int) -> None:
        part = self._parts[name]
        part.group = tuple(sorted((*part.group, decision)))
        if math.prod(self._sizes[i] for i in part.group) > _MOST_COMBINATIONS:
            self._too_many(part.group, name)
        part.table = {}
        for before, pieces in list(self._seen.items()):
            part.table.setdefault(part.key(before), (pieces.get(name), before))
        for before in list(self._seen):  # what is wrong with the wider group, too
            if part.table[part.key(before)][0] != self._seen[before].get(name):
                self._learn(name, before)
                return

    def _too_many(self, group: Group, name: str = "") -> None:
        names = ", ".join(self._names[i] for i in group)
        count = math.prod(self._sizes[i] for i in group)
        part = f"'{name}' costs" if name else "networks cost"
        raise SpaceError(
            f"decisions {names} interact: what {part} depends on all of them together, which "
            f"makes {count:,} combinations (at most {_MOST_COMBINATIONS:,} can be counted); give "
            "them fewer options, or let fewer of them meet in one layer"
        )

    def _fill(self) -> None:
        """Build networks until every module is known for all answers that matter."""
        groups: set[Group] = set()
        missing: dict[Group, list[Picks]] = {}
        while True:
            if groups != set(self._known_groups()):
                groups = set(self._known_groups())
                missing = self._missing(groups)
            self._drop_known(missing)
            if not missing:
                return
            self._see(self._covering(missing))

    def _drop_known(self, missing: dict[Group, list[Picks]]) -> None:
        for group in list(missing):
            known = self._table(group)
            while missing[group] and missing[group][-1] in known:
                missing[group].pop()
            if not missing[group]:
                del missing[group]

    def _covering(self, missing: dict[Group, list[Picks]]) -> Picks:
        """A network with as many missing combinations as fit together, those of large groups first.

        Args:
            missing: combinations by group; the last of each is not known.
        """
        picks, fixed = list(self._random()), set[int]()
        for group, keys in sorted(missing.items(), key=lambda row: -len(row[0])):
            for key in keys[: -_TRIED - 1 : -1]:
                pairs = list(zip(group, key, strict=True))
                if all(i not in fixed or picks[i] == k for i, k in pairs):
                    for i, k in pairs:
                        picks[i] = k
                    fixed |= set(group)
                    break
        return tuple(picks)

    def _missing(self, groups: Iterable[Group]) -> dict[Group, list[Picks]]:
        """The combinations of each group that are not known; groups that are known are left out."""
        found = {}
        for group in groups:
            known = self._table(group)
            if len(known) < math.prod(self._sizes[i] for i in group):
                keys = product(*(range(self._sizes[i]) for i in group))
                found[group] = [key for key in keys if key not in known]
        return found

    def _table(self, group: Group) -> dict[Picks, tuple[Piece | None, Picks]]:
        """The shortest table of the modules of a group."""
        tables = (part.table for part in self._parts.values() if part.group == group)
        return min(tables, key=len)


def factors(
    sizes: tuple[int, ...],
    parts: Iterable[tuple[Group, dict[Picks, Piece | None]]],
    cost: Callable[[Piece], int],
    constant: int,
    unit: str,
    a_unit: int = 1,
) -> CostTerms:
    """A cost as a sum of factors over the decisions that matter for each module.

    Tables over some of the decisions of another table are added to that one.
    """
    tables: dict[Group, np.ndarray] = {}
    for group, table in parts:
        if not group:
            (piece,) = table.values()
            constant += 0 if piece is None else cost(piece)
            continue
        own = tables.setdefault(group, np.zeros([sizes[i] for i in group], dtype=np.int64))
        for key, piece in table.items():
            own[key] += 0 if piece is None else cost(piece)
    kept: dict[Group, np.ndarray] = {}
    for group in sorted(tables, key=len, reverse=True):
        if not tables[group].any():
            continue
        around = next((wider for wider in kept if set(group) <= set(wider)), None)
        if around is None:
            kept[group] = tables[group]
            continue
        shape = [sizes[i] if i in group else 1 for i in around]
        kept[around] = kept[around] + tables[group].reshape(shape)
    terms = tuple(Factor(group, table) for group, table in kept.items())
    return CostTerms(sizes, constant, terms, unit, a_unit)
