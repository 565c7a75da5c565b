"""Puts runs together that can be compared: those on the same data, and those with one limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from meritnas.report.board.entry import Entry

Key = TypeVar("Key")


@dataclass(frozen=True)
class Listed:
    """A run with its place on the board.

    Attributes:
        number: which is in the class of all that is drawn of it.
        entry: the run.
        colour: the number of its strategy's colour.
    """

    number: int
    entry: Entry
    colour: int

    @property
    def group(self) -> str:
        """The class of all that is drawn of it."""
        return f"r{self.number}"


@dataclass(frozen=True)
class Ground:
    """Runs on the same data.

    Attributes:
        title: what the data is called.
        runs: all of them.
        metric: what most of them are scored by.
    """

    title: str
    runs: tuple[Listed, ...]
    metric: str

    @property
    def scored(self) -> list[Listed]:
        """Those with a score by that metric."""
        return [one for one in self.runs if one.entry.points and one.entry.metric == self.metric]

    def contests(self) -> list[tuple[str, list[Listed]]]:
        """(limits, runs) for limits under which there are scores of several strategies."""
        by_limits = _together(self.scored, lambda one: one.entry.limits)
        return [
            (limits, runs)
            for limits, runs in by_limits.items()
            if len({one.entry.strategy for one in runs}) > 1
        ]


def listed(entries: Sequence[Entry]) -> list[Listed]:
    """Runs in their order, strategies with a colour each."""
    strategies = sorted({entry.strategy for entry in entries})
    return [
        Listed(number, entry, strategies.index(entry.strategy))
        for number, entry in enumerate(entries)
    ]


def grounds_of(runs: Sequence[Listed]) -> list[Ground]:
    """Runs by their data, where there are several data sets of a name with a number."""
    found = []
    names: Counter[str] = Counter()
    by_data = _together(runs, lambda one: one.entry.same_data)
    for same in sorted(by_data.values(), key=lambda same: same[0].entry.data):
        name = same[0].entry.data
        names[name] += 1
        metrics = Counter(one.entry.metric for one in same if one.entry.points)
        metric = metrics.most_common(1)[0][0] if metrics else ""
        title = name if names[name] == 1 else f"{name} ({names[name]})"
        found.append(Ground(title, tuple(same), metric))
    return found


def _together(runs: Sequence[Listed], key: Callable[[Listed], Key]) -> dict[Key, list[Listed]]:
    found: dict[Key, list[Listed]] = {}
    for one in runs:
        found.setdefault(key(one), []).append(one)
    return found
