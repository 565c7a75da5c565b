from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
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

    _columns(
        {name: [_first_line(recipe), *option_lines(recipe)] for name, recipe in RECIPES.items()}
    )


def spaces() -> None:
    """Kinds of networks to search."""
    from meritnas.families.catalogue import about, space_specs

    own = {
        "tabular": ["--layers N, --widths LIST, --embedding N"],
        "nasbench201": ["--no-zero: no edge is left out"],
        "darts": ["--stem cifar|imagenet"],
    }
    _columns({name: [about(name), *own.get(name, [])] for name in space_specs()})
    typer.echo("")
    typer.echo("All spaces for images: --channels N, --cells N of the network that is trained,")
    typer.echo("--supernet-channels N, --supernet-cells N, --partial-channels K of the supernet.")


def _columns(texts: Mapping[str, Sequence[str]]) -> None:
    """Names and their lines, one below the other."""
    width = max(map(len, texts)) + 2
    for name, lines in texts.items():
        for number, line in enumerate(lines):
            typer.echo(f"{'' if number else name:<{width}}{line}")


def option_lines(recipe: Callable[..., Any]) -> list[str]:
    """An option a line: its flag, what it takes, its default."""
    hints = get_type_hints(recipe)
    lines = []
    for parameter in inspect.signature(recipe).parameters.values():
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        hint, default = hints[parameter.name], parameter.default
        name = parameter.name.replace("_", "-")
        if hint is bool:
            lines.append(f"--{name}|--no-{name}  (default: {'on' if default else 'off'})")
            continue
        named = [kind for kind in (hint, *get_args(hint)) if get_origin(kind) is Literal]
        takes = "|".join(get_args(named[0])) if named else _kind(hint)
        known = "found by itself" if default is None else default
        lines.append(f"--{name} {takes}  (default: {known})")
    return lines


def _kind(hint: Any) -> str:
    kinds = {int, float} & {hint, *get_args(hint)}
    return "R" if float in kinds else "N"


def _first_line(recipe: Callable[..., Any]) -> str:
    return (inspect.getdoc(recipe) or "").partition("\n")[0]
