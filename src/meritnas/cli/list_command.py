from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin, get_type_hints

import typer


def make_list() -> typer.Typer:
    """The commands under `meritnas list`."""
    app = typer.Typer(help="Show what there is to choose from.", no_args_is_help=True)
    app.command()(strategies)
    app.command()(spaces)
    return app


def strategies() -> None:
    """Ways to search, and the options of each."""
    from meritnas.strategy.recipes import RECIPES  # here: --help must not wait for torch

    for name, recipe in RECIPES.items():
        typer.echo(f"{name:<12} {_first_line(recipe)}")
        for line in option_lines(recipe):
            typer.echo(f"{'':<12} {line}")


def spaces() -> None:
    """Kinds of networks to search."""
    from meritnas.search.setup import SPACES

    for name, text in SPACES.items():
        typer.echo(f"{name:<12} {text}")
    typer.echo(f"{'':<12} --layers N, --widths LIST, --embedding N")


def option_lines(recipe: Callable[..., Any]) -> list[str]:
    """An option a line: its flag, what it takes, its default."""
    hints = get_type_hints(recipe)
    lines = []
    for parameter in inspect.signature(recipe).parameters.values():
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        hint, default = hints[parameter.name], parameter.default
        takes = "|".join(get_args(hint)) if get_origin(hint) is Literal else _kind(hint)
        known = "found by itself" if default is None else default
        lines.append(f"--{parameter.name.replace('_', '-')} {takes}  (default: {known})")
    return lines


def _kind(hint: Any) -> str:
    kinds = {int, float} & {hint, *get_args(hint)}
    return "R" if float in kinds else "N"


def _first_line(recipe: Callable[..., Any]) -> str:
    return (inspect.getdoc(recipe) or "").partition("\n")[0]
