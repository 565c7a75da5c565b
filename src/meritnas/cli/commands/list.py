from __future__ import annotations

from collections.abc import Mapping, Sequence

import typer

from meritnas.settings.fields import Setting


def make_list() -> typer.Typer:
    """The commands under `meritnas list`."""
    app = typer.Typer(help="Show what there is to choose from.", no_args_is_help=True)
    app.command()(strategies)
    app.command()(spaces)
    return app


def strategies() -> None:
    """Ways to search, and the options of each."""
    from meritnas.strategy.catalogue import about, options_of, strategy_specs

    _columns({name: [about(name), *option_lines(options_of(name))] for name in strategy_specs()})


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


def option_lines(options: Sequence[Setting]) -> list[str]:
    """An option a line: its flag, what it takes, its default."""
    lines = []
    for option in options:
        flag, default = option.flag, option.default
        if option.kind is bool and default is not None:
            lines.append(f"--{flag}|--no-{flag}  (default: {'on' if default else 'off'})")
            continue
        takes = "|".join(option.choices) or ("R" if option.kind is float else "N")
        known = "found by itself" if default is None else default
        lines.append(f"--{flag} {takes}  (default: {known})")
    return lines
