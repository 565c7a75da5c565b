"""The flags of a command with every space and every strategy."""

from __future__ import annotations

from functools import cache
from typing import Any

from typer.main import get_command

from meritnas.cli.chosen import Chosen
from meritnas.cli.main import make_app

_MADE: dict[str, Any] = {}
"""All commands by what was chosen: pages ask dozens of times, and making them takes a while."""


def click_command(name: str, chosen: Chosen) -> Any:
    """A command as it is with this space and this strategy."""
    key = repr(chosen)
    group = _MADE.get(key) or _MADE.setdefault(key, get_command(make_app(chosen)))
    assert name in group.commands, f"there is no command {name}"
    return group.commands[name]


def flags_of(command: Any) -> set[str]:
    return {flag for param in command.params for flag in (*param.opts, *param.secondary_opts)}


@cache
def all_flags(name: str) -> frozenset[str]:
    """What a command may be given, whichever space and strategy are asked for."""
    return frozenset(flags_of(click_command(name, Chosen())))
