"""The command `meritnas`: all its commands put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from meritnas.cli.commands.columns import columns
from meritnas.cli.commands.compare import make_compare
from meritnas.cli.commands.explain import explain
from meritnas.cli.commands.export import export
from meritnas.cli.commands.list import make_list
from meritnas.cli.commands.predict import predict
from meritnas.cli.commands.report import report
from meritnas.cli.commands.retrain import retrain
from meritnas.cli.commands.search import search
from meritnas.cli.commands.show import show
from meritnas.version import __version__


def main(arguments: Sequence[str] | None = None) -> None:
    """The command `meritnas`; always ends with SystemExit."""
    make_app()(args=arguments, prog_name="meritnas")


def make_app() -> typer.Typer:
    """All commands together."""
    app = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_about)
    app.command()(search)
    app.command()(retrain)
    app.command()(predict)
    app.command()(columns)
    app.command()(explain)
    app.command()(make_compare())
    app.command()(export)
    app.command()(report)
    app.command()(show)
    app.add_typer(make_list(), name="list")
    return app


def _about(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Neural networks for your tables, images, texts and modalities that keep your limits."""
    del version


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"meritnas {__version__}")
        raise typer.Exit


if __name__ == "__main__":
    main()
