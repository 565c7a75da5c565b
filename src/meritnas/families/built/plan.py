"""The decisions of a user's own networks: which there are, and when each is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from meritnas.errors import SpaceError
from meritnas.nn.questions import Asked, Question
from meritnas.space.decision import Decision, Option
from meritnas.space.rule import Levels, of_equal_size
from meritnas.space.space import Space

UNASKED = "_"
"""How the answer to a decision is written that does not arise."""

_MOST_STATES = 4096

When = tuple[tuple[str, frozenset[str]], ...]
"""Decisions and which of their answers, by name: all of these are given."""


@dataclass(frozen=True)
class Plan:
    """The questions of a build function, each after those that decide whether it is asked.

    Attributes:
        questions: in order.
        whens: for each question when it is asked: one of these holds.
    """

    questions: tuple[Question, ...]
    whens: tuple[tuple[When, ...], ...]

    @staticmethod
    def of(asked: Asked) -> Plan:
        """The plan of what was asked while a supernet was built."""
        left = dict(asked.questions)
        placed: dict[str, Question] = {}
        while left:
            free = [
                name
                for name in left
                if all(p in placed for when in asked.conditions[name] for p, _ in when)
            ]
            if not free:
                raise SpaceError(
                    f"decisions {', '.join(left)} are asked depending on each other; give those "
                    "that are asked in several places other names"
                )
            placed[free[0]] = left.pop(free[0])

        def named(name: str) -> tuple[When, ...]:
            found = []
            for condition in asked.conditions[name]:
                pairs = (
                    (parent, frozenset(placed[parent].options[k] for k in options))
                    for parent, options in condition
                )
                found.append(tuple(pairs))
            return () if () in found else tuple(found)

        return Plan(tuple(placed.values()), tuple(map(named, placed)))

    @cached_property
    def by_name(self) -> dict[str, Question]:
        """The questions by name."""
        return {question.name: question for question in self.questions}

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of options of each question."""
        return tuple(len(question.options) for question in self.questions)

    @property
    def options(self) -> tuple[tuple[str, ...], ...]:
        """The names of the options of each question."""
        return tuple(question.options for question in self.questions)

    @property
    def largest(self) -> tuple[int, ...]:
        """The last option of each question."""
        return tuple(size - 1 for size in self.sizes)

    @property
    def conditional(self) -> bool:
        """Whether some questions are not always asked."""
        return any(self.whens)

    def asked(self, answers: Sequence[str]) -> list[bool]:
        """Which questions are asked where the answers are these."""
        found: dict[str, bool] = {}
        given = dict(zip(self.by_name, answers, strict=True))
        for question, whens in zip(self.questions, self.whens, strict=True):
            found[question.name] = not whens or any(
                all(found[parent] and given[parent] in names for parent, names in when)
                for when in whens
            )
        return list(found.values())

    def canonical(self, picks: Sequence[int]) -> tuple[int, ...]:
        """The same network with the first option of every question that is not asked."""
        if not self.conditional:
            return tuple(picks)
        names = [q.options[k] for q, k in zip(self.questions, picks, strict=True)]
        pairs = zip(picks, self.asked(names), strict=True)
        return tuple(int(pick) if asked else 0 for pick, asked in pairs)

    def space(self, kept: Sequence[Sequence[str]]) -> Space:
        """The decisions with these options."""
        decisions = tuple(
            Decision(question.name, tuple(map(Option, names)))
            for question, names in zip(self.questions, kept, strict=True)
        )
        rule = AskedOnly(self) if self.conditional else None
        return Space(decisions, AskedText(self), rule)


@dataclass(frozen=True)
class AskedText:
    """`32-relu-_-2`: answers joined by hyphens, `_` for what is not asked."""

    plan: Plan

    def format(self, options: Sequence[str]) -> str:
        """Join the answers."""
        pairs = zip(options, self.plan.asked(options), strict=True)
        return "-".join(name if asked else UNASKED for name, asked in pairs)

    def parse(self, text: str) -> tuple[str, ...]:
        """Split at the hyphens."""
        parts = [part.strip() for part in text.strip().split("-")]
        if len(parts) != len(self.plan.questions):
            return tuple(parts)  # what the space complains about
        pairs = zip(parts, self.plan.questions, strict=True)
        return tuple(q.options[0] if part == UNASKED else part for part, q in pairs)


@dataclass(frozen=True)
class AskedOnly:
    """What is not asked has the first option, so that every network is written in one way."""

    plan: Plan

    def __str__(self) -> str:
        return "a decision that does not arise has its first option"

    def levels(self, decisions: Sequence[Decision]) -> Levels:
        """States are the sets of answers that later questions depend on and that were given."""
        whens = self.plan.whens
        places = {question.name: i for i, question in enumerate(self.plan.questions)}
        states: dict[frozenset[tuple[str, frozenset[str]]], int] = {frozenset(): 0}
        found = []
        for i, (decision, question) in enumerate(zip(decisions, self.plan.questions, strict=True)):
            later = {
                pair
                for whens_of_one in whens[i + 1 :]
                for when in whens_of_one
                for pair in when
                if places[pair[0]] <= i
            }
            after: dict[frozenset[tuple[str, frozenset[str]]], int] = {}
            level = np.full((len(states), len(decision)), -1, dtype=np.int64)
            own = [pair for pair in later if pair[0] == question.name]
            for state, row in states.items():
                asked = not whens[i] or any(state.issuperset(when) for when in whens[i])
                for k, option in enumerate(decision.options):
                    if not asked and option.name != question.options[0]:
                        continue
                    true = {pair for pair in own if asked and option.name in pair[1]}
                    reached = frozenset(state & later) | true
                    level[row, k] = after.setdefault(reached, len(after))
            if len(after) > _MOST_STATES:
                raise SpaceError(
                    f"after decision '{question.name}' what is asked depends on {len(after):,} "
                    "combinations of answers; ask conditional decisions right after what they "
                    "depend on"
                )
            states = after or {frozenset(): 0}
            found.append(level)
        return of_equal_size(found)


def picks_by_name(
    plan: Plan, options: Sequence[str], kept: Mapping[str, Sequence[str]] | None = None
) -> dict[str, int]:
    """The number of each option among all of its question, or among those that are kept."""
    found = {}
    for question, name in zip(plan.questions, options, strict=True):
        names = question.options if kept is None else kept[question.name]
        found[question.name] = list(names).index(name)
    return found
