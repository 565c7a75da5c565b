from __future__ import annotations

import json
from typing import Annotated, Literal

import typer
from rich.console import Console

from meritnas.cli import options as opt
from meritnas.cli.outcome import plain_outcome
from meritnas.cli.speech import say
from meritnas.errors import UsageError
from meritnas.report.modality_table import disturbed_table, use_table


def explain(
    run: opt.Run,
    modalities: Annotated[
        bool,
        typer.Option("--modalities", help="What each modality is worth (runs of --space fusion)."),
    ] = False,
    noise: Annotated[
        Literal["gaussian", "shot", "impulse", "speckle", "all"] | None,
        typer.Option(
            help="Also try it with noise (gaussian, shot, impulse, speckle or all) and with "
            "modalities missing.",
            metavar="KIND",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of noise and intervals.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Show what a run's network makes of its modalities, with and without noise.

    For example: meritnas explain RUN --modalities --noise gaussian
    """
    with plain_outcome(lambda: "nothing was written"):
        if not modalities:
            raise UsageError("say what to explain: --modalities")

        from meritnas.data.noise import KINDS  # here: --help must not wait for torch
        from meritnas.explanation import explain_modalities

        kinds = [kind for kind in KINDS if noise in (kind, "all")]
        found = explain_modalities(run, kinds, seed=seed)
        plain = found.to_json()
        if as_json:
            typer.echo(json.dumps({"run": str(run), **plain, "figure": str(found.figure)}))
            return
        console = Console(highlight=False)
        console.print(use_table(plain))
        if plain["disturbed"]:
            console.print(disturbed_table(plain["disturbed"], found.metric))
        say(f"drawn in {found.figure}")
