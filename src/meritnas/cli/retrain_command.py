from __future__ import annotations

from typing import Annotated

import typer

from meritnas.cli import options as opt
from meritnas.cli.listener import Listener
from meritnas.cli.outcome import plain_outcome
from meritnas.cli.result import print_result


def retrain(
    run: opt.Run,
    architecture: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Another network of the same space, such as 32-144-24; it must keep the limits.",
        ),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Passes over the rows.", show_default="as before")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="How often it is trained.", show_default="as before")
    ] = None,
    quiet: opt.Quiet = False,
    as_json: opt.AsJson = False,
) -> None:
    """Train a run's network anew: for longer, more often, or another architecture.

    The new network and its scores replace the old ones.
    """
    listener = Listener(quiet=quiet, run=run)
    with plain_outcome(lambda: "the same command goes on where it was"):
        with listener:
            from meritnas import api  # here, so that --help does not wait for torch

            result = api.retrain(
                run, architecture=architecture, epochs=epochs, seeds=seeds, listen=listener
            )
        print_result(result.summary, as_json=as_json)
