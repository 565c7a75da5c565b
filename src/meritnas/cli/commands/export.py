"""The command `export`: a run's network for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from meritnas.cli import arguments as opt
from meritnas.cli.exit_codes import plain_outcome
from meritnas.cli.help_text import help_text, switch
from meritnas.cli.messages import tell
from meritnas.cli.trusted import Trust, trusted


def export(
    run: opt.Run,
    to: Annotated[
        str,
        typer.Option(
            metavar="FORM", help="onnx, torch-export, python, docker or c.", show_default=False
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help=help_text("A folder for the files.", "RUN/export")),
    ] = None,
    network: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Another network of the run's trade-off curve."),
    ] = None,
    force: Annotated[bool, switch("--force", "Replace files that are there already.")] = False,
    quantize: Annotated[
        str | None,
        typer.Option(
            metavar="int8",
            help="In int8: with onnx beside the other, with python, docker, c instead of it.",
        ),
    ] = None,
    trust: Trust = None,
    as_json: Annotated[bool, switch("--json", "One JSON object.")] = False,
) -> None:
    """Write a run's network in a form that needs no MeritNAS: ONNX, Python, a container, C.

    It is checked against the run's own before anything is written. For example:
    meritnas export RUN --to onnx
    """
    with plain_outcome(lambda: "nothing was written"):
        from meritnas.exporting.c_costs import FILE as IN_C
        from meritnas.exporting.c_costs import c_lines
        from meritnas.exporting.export import (
            export as write,  # here: --help must not wait for torch
        )

        named = trusted(run, trust)
        paths = write(run, to, out, force, network, named, quantize)
        costs = [json.loads(path.read_bytes()) for path in paths if path.name == IN_C]
        if as_json:
            told = {"run": str(run), "to": to, "files": [str(path) for path in paths]}
            typer.echo(json.dumps({**told, "costs": costs[0]} if costs else told))
            return
        for path in paths:
            tell(str(path))
        for each in costs:
            for line in c_lines(each):
                tell(line.removeprefix("- "))
