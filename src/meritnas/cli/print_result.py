"""Prints the result of a search or a training, as a table or as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from meritnas.cli.messages import predict_command, tell
from meritnas.report.terminal.pareto_table import pareto_table
from meritnas.report.terminal.summary import kind_of_data, summary_table
from meritnas.store.run_store import RunStore


def print_result(summary: Mapping[str, Any], *, as_json: bool) -> None:
    """The result on standard output: one JSON object, or a table and what to do next."""
    if as_json:
        typer.echo(json.dumps(summary))
        return
    console = Console(highlight=False, markup=False)
    console.print(summary_table(summary))
    rows = summary.get("pareto")
    if rows:
        console.print(pareto_table(rows))
        figure = Path(summary["run"]) / "pareto.svg"
        if figure.is_file():
            tell(f"figure: {figure}")
        if any(row.get("short", row["architecture"]) != row["architecture"] for row in rows):
            tell(f"their networks in full: {Path(summary['run']) / 'result.json'}")
    page = Path(summary["run"]) / "report.html"
    if page.is_file():
        tell(f"look at it: {page}")
    kind = kind_of_data(summary)
    location = RunStore.open(Path(summary["run"])).config["data"].get("location")
    command = predict_command(summary["run"], kind.predict_with(location))
    tell(f"{'let it write' if kind.writes else 'predict'} with: {command}")
