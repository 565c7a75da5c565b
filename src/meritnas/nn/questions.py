"""The questions that a build function asks, and when it asks them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from meritnas.errors import SpaceError, told

Condition = tuple[tuple[str, frozenset[int]], ...]
"""Decisions and which of their options: all of these must be answered so."""

MOST_LETTERS = 20
"""Of an option's name: a network's text is in its file, whose size is known beforehand."""


@dataclass(frozen=True)
class Question:
    """A question as a build function asks it.

    Attributes:
        name: of the decision.
        kind: `one`, `width` or `depth`.
        options: their names, in order.
        numbers: what the options of widths and depths are.
    """

    name: str
    kind: str
    options: tuple[str, ...]
    numbers: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or not self.name.isprintable():
            raise SpaceError(f"a decision needs a name, got {told(self.name)}; write one first")
        if not self.options:
            raise SpaceError(f"decision '{self.name}' has no options; give it at least one")
        for option in self.options:
            if not 1 <= len(option) <= MOST_LETTERS or not _plain(option):
                raise SpaceError(
                    f"an option's name has 1 to {MOST_LETTERS} letters, digits, dots or "
                    f"underscores, got {told(option)} in decision '{self.name}'; give it a name "
                    f"of its own: pick.one({self.name!r}, name=value)"
                )
        if len(set(self.options)) != len(self.options):
            raise SpaceError(
                f"the options of decision '{self.name}' must differ, got {list(self.options)}"
            )


def _plain(option: str) -> bool:
    return option != "_" and all(letter.isalnum() or letter in "._" for letter in option)


def numbers_of(name: str, kind: str, given: Sequence[Any], least: int) -> Question:
    """The question for a width or a depth; its options are in order of size."""
    for number in given:
        if isinstance(number, bool) or not isinstance(number, int) or number < least:
            raise SpaceError(
                f"the options of {kind} '{name}' are whole numbers of at least {least}, got "
                f"{told(number)}"
            )
    found = tuple(sorted(given))
    return Question(name, kind, tuple(map(str, found)), found)


@dataclass
class Asked:
    """All questions so far, in order, and under which conditions each was asked.

    Attributes:
        questions: by name.
        conditions: for each name, when it was asked: one condition for each time.
    """

    questions: dict[str, Question] = field(default_factory=dict)
    conditions: dict[str, list[Condition]] = field(default_factory=dict)
    _stack: list[tuple[str, frozenset[int]]] = field(default_factory=list)

    def ask(self, question: Question) -> None:
        """A question is asked here."""
        known = self.questions.setdefault(question.name, question)
        if known != question:
            raise SpaceError(
                f"decision '{question.name}' is asked twice with other options, "
                f"{', '.join(known.options)} and {', '.join(question.options)}; give one of them "
                "another name"
            )
        own = self.conditions.setdefault(question.name, [])
        here = tuple(self._stack)
        if here not in own:
            own.append(here)

    @contextmanager
    def where(self, name: str, options: frozenset[int]) -> Iterator[None]:
        """Inside, questions are asked only where a decision has one of these answers."""
        everything = len(options) == len(self.questions[name].options)
        if everything:
            yield
            return
        self._stack.append((name, options))
        try:
            yield
        finally:
            self._stack.pop()


BUILDING: ContextVar[Any] = ContextVar("BUILDING", default=None)
"""The supernet that is being built, or None while single networks are."""
