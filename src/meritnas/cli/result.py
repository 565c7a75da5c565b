from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import typer
from rich.console import Console

from meritnas.cli.speech import predict_command
from meritnas.report.summary import summary_table


def print_result(summary: Mapping[str, Any], *, as_json: bool) -> None:
    """The result on standard output: one JSON object, or a table and what to do next."""
    if as_json:
        typer.echo(json.dumps(summary))
        return
    Console(highlight=False).print(summary_table(summary))
    typer.echo(f"predict with: {predict_command(summary['run'])}")
