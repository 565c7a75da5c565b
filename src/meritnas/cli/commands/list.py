"""The commands under `list`: the strategies and spaces there are, and their options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import typer

from meritnas.cli.flags import option_lines
from meritnas.families.catalogue import space_specs
from meritnas.settings.fields import first_line, settings_of
from meritnas.strategy.catalogue import strategy_specs


def make_list() -> typer.Typer:
    """The commands under `meritnas list`."""
    app = typer.Typer(help="Show what there is to choose from.", no_args_is_help=True)
    app.command()(strategies)
    app.command()(spaces)
    return app


def strategies() -> None:
    """Ways to search, and the options of each."""
    _columns(_described(strategy_specs()))


def spaces() -> None:
    """Kinds of networks to search, and the options of each."""
    _columns(_described(space_specs()))


def _described(specs: Mapping[str, type]) -> dict[str, list[str]]:
    return {
        name: [first_line(spec), *option_lines(settings_of(spec))] for name, spec in specs.items()
    }


def _columns(texts: Mapping[str, Sequence[str]]) -> None:
    """Names and their lines, one below the other."""
    width = max(map(len, texts)) + 2
    for name, lines in texts.items():
        for number, line in enumerate(lines):
            typer.echo(f"{'' if number else name:<{width}}{line}")
