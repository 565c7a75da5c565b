"""A search space: its decisions, its rule, and how architectures are written as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from meritnas.errors import SpaceError
from meritnas.space.architecture import Architecture
from meritnas.space.decision import Decision
from meritnas.space.rule import Levels, OrderedRule, Rule, can_be_kept, follows, ways


class TextForm(Protocol):
    """How an architecture is written down: names of the chosen options <-> one line of text."""

    def format(self, options: Sequence[str]) -> str:
        """One line of text."""
        ...

    def parse(self, text: str) -> tuple[str, ...]:
        """The option names that `format` would write as this text."""
        ...


@dataclass(frozen=True)
class HyphenText:
    """`32-144-24`: the options' names, joined by hyphens."""

    def format(self, options: Sequence[str]) -> str:
        """Join the names."""
        return "-".join(options)

    def parse(self, text: str) -> tuple[str, ...]:
        """Split at the hyphens."""
        return tuple(part.strip() for part in text.strip().split("-"))


@dataclass(frozen=True)
class Space:
    """The decisions of a search and how their answers are written.

    *Picks* are option indices, one for each decision: a tuple, or an integer matrix with one
    row for each architecture wherever many are handled at once.

    Attributes:
        decisions: the questions, in order.
        text: how their answers are written.
        rule: which answers go together; None where all do.
    """

    decisions: tuple[Decision, ...]
    text: TextForm
    rule: Rule | None = None

    def __post_init__(self) -> None:
        if not self.decisions:
            raise SpaceError("a space needs at least one decision, got none; add a layer")
        for decision in self.decisions:
            names = [option.name for option in decision.options]
            if not names:
                raise SpaceError(f"decision '{decision.name}' has no options; give it at least one")
            if len(set(names)) != len(names):
                raise SpaceError(
                    f"the options of decision '{decision.name}' must differ, got {names}; "
                    "remove the repeated ones"
                )
        if self.levels is not None and not can_be_kept(self.levels):
            raise SpaceError(f"no architecture keeps the rule of this space: {self.rule}")

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of options of each decision."""
        return tuple(len(decision) for decision in self.decisions)

    @property
    def names(self) -> list[list[str]]:
        """The names of each decision's options."""
        return [[option.name for option in decision.options] for decision in self.decisions]

    @cached_property
    def levels(self) -> Levels | None:
        """The rule as an automaton, in the order it reads; None where there is no rule."""
        return None if self.rule is None else self.rule.levels(self.decisions)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The decisions as the rule reads them: one after the other, unless it has its own way."""
        if isinstance(self.rule, OrderedRule):
            return self.rule.order(len(self.decisions))
        return tuple(range(len(self.decisions)))

    @cached_property
    def _ways(self) -> list[np.ndarray]:
        assert self.levels is not None
        return ways(self.levels)

    def count(self) -> int:
        """The number of valid architectures, exactly."""
        return math.prod(self.sizes) if self.levels is None else int(self._ways[0][0])

    def valid(self, picks: np.ndarray) -> np.ndarray:
        """For a pick matrix [n, decisions], which rows keep the rule: a boolean array [n]."""
        if self.levels is None:
            return np.ones(len(picks), dtype=bool)
        return follows(self.levels, picks[:, self.order])

    def architecture(self, picks: Sequence[int] | np.ndarray) -> Architecture:
        """The architecture with these option indices."""
        if len(picks) != len(self.decisions):
            raise SpaceError(
                f"one pick for each of {len(self.decisions)} decisions is needed, got {len(picks)}"
            )
        names = []
        for decision, pick in zip(self.decisions, picks, strict=True):
            if not 0 <= pick < len(decision):
                raise SpaceError(
                    f"decision '{decision.name}' has options 0 to {len(decision) - 1}, got {pick}"
                )
            names.append(decision.options[pick].name)
        self._check_rule(picks, names)
        return Architecture(tuple(names), self.text.format(names))

    def picks(self, architecture: Architecture) -> tuple[int, ...]:
        """The option indices of an architecture; an error names what this space does not have."""
        names = architecture.options
        if len(names) != len(self.decisions):
            raise SpaceError(
                f"'{architecture}' answers {len(names)} decisions, this space has "
                f"{len(self.decisions)}"
            )
        found = []
        for decision, name in zip(self.decisions, names, strict=True):
            known = [option.name for option in decision.options]
            if name not in known:
                raise SpaceError(
                    f"'{name}' is no option of decision '{decision.name}'; "
                    f"it has {', '.join(known)}"
                )
            found.append(known.index(name))
        self._check_rule(found, names)
        return tuple(found)

    def _check_rule(self, picks: Sequence[int] | np.ndarray, names: Sequence[str]) -> None:
        if self.levels is not None and not self.valid(np.array([list(picks)]))[0]:
            raise SpaceError(f"({', '.join(names)}) is no architecture of this space: {self.rule}")

    def parse(self, text: str) -> Architecture:
        """The architecture that people write as `text`."""
        options = self.text.parse(text)
        return self.architecture(self.picks(Architecture(options, text)))

    def random(self, seed: int | np.random.Generator) -> Architecture:
        """One valid architecture, every one equally likely."""
        rng = np.random.default_rng(seed)
        if self.levels is None:
            return self.architecture([int(rng.integers(size)) for size in self.sizes])
        state, picks = 0, [0] * len(self.decisions)
        for i, level, counts in zip(self.order, self.levels, self._ways[1:], strict=True):
            left = [counts[s] if s >= 0 else 0 for s in level[state].tolist()]
            chances = np.array([n / sum(left) for n in left])
            picks[i] = int(rng.choice(len(left), p=chances))
            state = int(level[state, picks[i]])
        return self.architecture(picks)
