from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from rich.console import Console

from meritnas.cli.commands.search import library_arguments, search
from meritnas.cli.exit_codes import plain_outcome
from meritnas.cli.messages import say
from meritnas.cli.progress.listener import Listener
from meritnas.errors import UsageError
from meritnas.report.terminal.comparison_table import comparison_table

_NOT_ALIKE = ("strategy", "seed", "out", "resume", "live", "live_port", "tensorboard")
"""What every run of a comparison has of its own."""

Strategies = Annotated[
    str, typer.Option(help="Their names, separated by commas.", metavar="NAME,NAME,...")
]
Seeds = Annotated[int, typer.Option(help="How often each is run: seeds 0, 1, ...")]
Out = Annotated[
    Path | None,
    typer.Option(
        help="The folder for all runs; the same command goes on with what is in it.",
        show_default="runs/DATA-compare",
        metavar="DIR",
    ),
]


def make_compare() -> Callable[..., None]:
    """The command `compare`, which takes what `search` takes and runs it several times."""

    def compare(strategies: str, seeds: int, out: Path | None, **given: Any) -> None:
        quiet, as_json = given.pop("quiet"), given.pop("as_json")
        asked = {name: value for name, value in given.items() if value is not None}
        listener = Listener(quiet=quiet)
        with plain_outcome(lambda: "the same command goes on where it was"):
            if "data" not in asked:
                raise UsageError("name data to compare on, for example: meritnas compare digits")
            arguments = library_arguments(asked)
            folder = out or Path("runs") / f"{Path(asked['data']).stem}-compare"

            from meritnas.comparison.comparison import (
                compare as run,  # here: --help must not wait for torch
            )

            with listener:
                found = run(
                    **arguments,
                    strategies=[name.strip() for name in strategies.split(",") if name.strip()],
                    seeds=seeds,
                    out=folder,
                    listen=_without_notes(listener),
                )
            plain = found.to_json()
            if as_json:
                typer.echo(json.dumps(plain))
                return
            Console(highlight=False).print(comparison_table(plain))
            say(f"all runs are in {folder}, drawn in {found.figure}")

    compare.__doc__ = """Run several strategies under the same conditions and rank them.

    For example: meritnas compare digits --strategies tabnas,random --seeds 3 --epochs 20

    All else is as for search, and the same for all.
    """
    _take_options_of_search(compare)
    return compare


def _without_notes(listener: Listener) -> Callable[[dict[str, Any]], None]:
    """Notes are about the data, the same in every run."""

    def hear(event: dict[str, Any]) -> None:
        if event["kind"] != "note":
            listener(event)

    return hear


def _take_options_of_search(command: Callable[..., None]) -> None:
    """Give a command the parameters of `search`, so that they need not be written twice."""
    hints = get_type_hints(search, include_extras=True)
    shared = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])
        for name, parameter in inspect.signature(search).parameters.items()
        if name not in _NOT_ALIKE
    ]
    own = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, default, kind in (
            ("strategies", inspect.Parameter.empty, Strategies),
            ("seeds", 3, Seeds),
            ("out", None, Out),
        )
    ]
    command.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in [*own, *shared]}
