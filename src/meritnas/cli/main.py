"""The program `meritnas`: all commands together."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from io import TextIOWrapper
from typing import Annotated

import typer

from meritnas.cli.chosen import Chosen, find_chosen, words_to_complete
from meritnas.cli.commands.board import board
from meritnas.cli.commands.columns import make_columns
from meritnas.cli.commands.compare import make_compare
from meritnas.cli.commands.explain import explain
from meritnas.cli.commands.export import export
from meritnas.cli.commands.latency import make_latency
from meritnas.cli.commands.list import make_list
from meritnas.cli.commands.predict import predict
from meritnas.cli.commands.report import report
from meritnas.cli.commands.retrain import make_retrain
from meritnas.cli.commands.search import make_search
from meritnas.cli.commands.serve import serve
from meritnas.cli.commands.show import show
from meritnas.cli.commands.verify import make_verify
from meritnas.cli.exit_codes import BAD_INPUT
from meritnas.cli.messages import say_error
from meritnas.cli.plain_group import PlainGroup
from meritnas.cli.request import owners
from meritnas.cli.who_trains import with_address
from meritnas.errors import MeritNASError
from meritnas.version import __version__
from meritnas.workers.launch import launched

_WITH_SETTINGS = ("search", "retrain", "compare", "latency")


def main(arguments: Sequence[str] | None = None) -> None:
    """The command `meritnas`; always ends with SystemExit."""
    begun = time.perf_counter()
    if arguments is None:  # this is the whole process, which has been busy with imports until now
        begun -= time.process_time()
    given = with_address(sys.argv[1:] if arguments is None else arguments)
    with _as_launched():
        _print_whatever_names_hold()
        words = words_to_complete()
        try:
            app = make_app(_chosen(given if words is None else words), begun)
        except MeritNASError as error:
            if words is None:
                say_error(str(error))
                raise SystemExit(BAD_INPUT) from error
            app = make_app(Chosen())  # a line is completed as far as it can be understood
        try:
            app(args=given, prog_name="meritnas")
        finally:
            if arguments is None:
                gc.freeze()  # whose objects nobody looks through at the end: a second less


def _as_launched() -> AbstractContextManager[None]:
    """Where torchrun has started several processes, the first leads and the others help."""
    launch = launched()
    if launch is None:
        return nullcontext()
    from meritnas.run.joined_ranks import help_the_first, leading  # here: --help must not wait

    if launch.rank:
        help_the_first(launch)
    return leading(launch)


def _print_whatever_names_hold() -> None:
    """Let letters that a terminal has not, and bytes that are none, be written as numbers."""
    # What stands in for a stream may have no such setting, or change none that it has.
    with suppress(OSError):
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")


def _chosen(words: Sequence[str]) -> Chosen | None:
    command = next((word for word in words if not word.startswith("-")), "")
    return find_chosen(words) if command in _WITH_SETTINGS else None


def make_app(chosen: Chosen | None = None, begun: float | None = None) -> typer.Typer:
    """All commands together; help shows the flags that the space and the strategy have.

    Args:
        chosen: what decides which flags of settings there are; None where no command needs them.
        begun: since when the time of a search counts, by `time.perf_counter`; None for now.
    """
    owned = [] if chosen is None else owners(chosen)
    named = chosen or Chosen()
    app = typer.Typer(
        cls=PlainGroup,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_about)
    app.command()(make_search(named, owned, begun))
    app.command()(make_retrain(named, owned))
    app.command()(predict)
    app.command()(make_columns())
    app.command()(explain)
    app.command()(make_compare(named, owned))
    app.command()(export)
    app.command()(make_verify())
    app.command()(serve)
    app.command()(report)
    app.command()(board)
    app.command()(show)
    app.command()(make_latency(named, owned))
    app.add_typer(make_list(), name="list")
    return app


def _about(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Show the version.",
            callback=_show_version,
            is_eager=True,
            metavar="",
        ),
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
