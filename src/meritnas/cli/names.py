"""Names that a shell completes: of strategies and spaces."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from meritnas.families.catalogue import space_specs
from meritnas.settings.fields import first_line
from meritnas.strategy.catalogue import strategy_specs

Completed = Callable[[str], list[tuple[str, str]]]
"""What was written so far -> names that begin like this, each with a line about it."""


def completions(flag: str) -> Completed | None:
    """What completes the value of a flag; None for what Typer does by itself."""
    return {"strategy": strategy_names, "space": space_names}.get(flag)


def strategy_names(incomplete: str) -> list[tuple[str, str]]:
    """Strategies that begin like this."""
    return _beginning(incomplete, strategy_specs().items())


def space_names(incomplete: str) -> list[tuple[str, str]]:
    """Spaces that begin like this."""
    return _beginning(incomplete, space_specs().items())


def listed_strategies(incomplete: str) -> list[tuple[str, str]]:
    """The same for the last name of a list."""
    before, comma, last = incomplete.rpartition(",")
    return [(before + comma + name, about) for name, about in strategy_names(last)]


def _beginning(begun: str, known: Iterable[tuple[str, type]]) -> list[tuple[str, str]]:
    return [(name, first_line(spec)) for name, spec in known if name.startswith(begun)]
