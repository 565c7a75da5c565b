"""The command `explain`: what each part of a run's network, or each modality, is worth."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from meritnas.cli import arguments as opt
from meritnas.cli.exit_codes import plain_outcome
from meritnas.cli.help_text import help_text, switch
from meritnas.cli.messages import say
from meritnas.cli.trusted import Trust, trusted
from meritnas.cli.waiting import Waiting
from meritnas.errors import UsageError
from meritnas.report.terminal.credit_table import (
    alternatives_table,
    interactions_table,
    parts_table,
)
from meritnas.report.terminal.feature_table import feature_table
from meritnas.report.terminal.modality_table import disturbed_table, use_table, worth_table

Noise = Literal["gaussian", "shot", "impulse", "speckle", "all"]


def explain(
    run: opt.Run,
    modalities: Annotated[
        bool,
        switch("--modalities", "What each modality is worth (runs of --space fusion)."),
    ] = False,
    features: Annotated[
        bool,
        switch("--features", "Only what each column of a table is worth; any trained network."),
    ] = False,
    failures: Annotated[
        bool,
        switch("--failures", "Only how the network fails on test rows; any trained network."),
    ] = False,
    noise: Annotated[
        Noise | None,
        typer.Option(
            help="With --modalities: also try it with noise (gaussian, shot, impulse, speckle or "
            "all) and with modalities missing.",
            metavar="KIND",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", help=help_text("Of noise and intervals of modalities.", "0")),
    ] = None,
    trust: Trust = None,
    quiet: Annotated[bool, switch("--quiet", "No progress.")] = False,
    as_json: Annotated[bool, switch("--json", "One JSON object.")] = False,
) -> None:
    """Show what each part of a run's network is worth, what else was close, and what columns are.

    Or what it makes of its modalities: meritnas explain RUN --modalities --noise gaussian
    """
    waiting = nullcontext() if quiet else Waiting()
    with plain_outcome(lambda: "nothing was written"):
        if features and modalities:
            raise UsageError("--features is for tables, --modalities for several modalities")
        if failures and (features or modalities):
            raise UsageError("--failures is a question of its own; ask one after the other")
        if modalities:
            _modalities(run, noise, seed or 0, trust, waiting, as_json=as_json)
            return
        for name, value in (("noise", noise), ("seed", seed)):
            if value is not None:
                raise UsageError(f"--{name} goes with --modalities; add that or leave it out")
        if failures:
            _failures(run, trust, waiting, as_json=as_json)
            return
        if features:
            _features(run, trust, waiting, as_json=as_json)
            return
        _network(run, trust, waiting, as_json=as_json)


def _features(
    run: Path,
    trust: list[str] | None,
    waiting: AbstractContextManager[object],
    *,
    as_json: bool,
) -> None:
    from meritnas.api import explain_features  # here, so that --help does not wait for torch

    named = trusted(run, trust)
    with waiting:
        plain = explain_features(run, trust=named).to_json()
    if as_json:
        typer.echo(json.dumps({"run": str(run), **plain}))
        return
    Console(highlight=False, markup=False).print(feature_table(plain))
    say(f"all of it is in {run}/features.json and {run}/features.csv")
    say(f"look at it: {run}/report.html")


def _failures(
    run: Path,
    trust: list[str] | None,
    waiting: AbstractContextManager[object],
    *,
    as_json: bool,
) -> None:
    from meritnas.explained import explain_failures  # here, so that --help does not wait for torch

    named = trusted(run, trust)
    with waiting:
        found = explain_failures(run, trust=named)
    if as_json:
        typer.echo(json.dumps({"run": str(run), **found}))
        return
    say(f"all of it is in {run}/failures.json")
    say(f"look at it: {run}/report.html")


def _network(
    run: Path,
    trust: list[str] | None,
    waiting: AbstractContextManager[object],
    *,
    as_json: bool,
) -> None:
    from meritnas import api  # here, so that --help does not wait for torch
    from meritnas.prepare.config import kind_of_run
    from meritnas.report.run_files import read_run

    named = trusted(run, trust)
    with waiting:
        plain = api.explain(run, trust=named).to_json()
    files = read_run(run)
    columns = files["features"] if kind_of_run(files.config).compared else None
    if as_json:
        beside = {} if columns is None else {"features": columns["features"]}
        typer.echo(json.dumps({"run": str(run), **plain, **beside}))
        return
    console = Console(highlight=False, markup=False)
    console.print(parts_table(plain))
    if plain["alternatives"]:
        console.print(alternatives_table(plain, files.settings.get("limits", {})))
    if plain["interactions"]:
        console.print(interactions_table(plain))
    if columns is not None:
        console.print(feature_table(columns))
    say(f"all of it is in {run}/credit.json, tables also in {run}/credit.csv and the like")
    say(f"look at it: {run}/report.html")


def _modalities(
    run: Path,
    noise: Noise | None,
    seed: int,
    trust: list[str] | None,
    waiting: AbstractContextManager[object],
    *,
    as_json: bool,
) -> None:
    from meritnas.api import explain_modalities
    from meritnas.data.modalities.noise import KINDS  # here: --help must not wait for torch

    kinds = [kind for kind in KINDS if noise in (kind, "all")]
    named = trusted(run, trust)
    with waiting:
        found = explain_modalities(run, kinds, seed=seed, trust=named)
    plain = found.to_json()
    if as_json:
        typer.echo(json.dumps({"run": str(run), **plain, "figure": str(found.figure)}))
        return
    console = Console(highlight=False, markup=False)
    console.print(use_table(plain))
    if plain["disturbed"]:
        console.print(disturbed_table(plain["disturbed"], found.metric))
    worth = worth_table(plain["disturbed"])
    if worth is not None:
        console.print(worth)
    say(f"drawn in {found.figure}")
    say(f"look at it: {run}/report.html")
