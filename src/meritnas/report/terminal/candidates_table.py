"""The candidates of a search as a table for the terminal."""

from __future__ import annotations

from meritnas.report.candidate_rows import candidate_rows
from meritnas.report.run_files import RunFiles
from meritnas.report.run_network import run_network
from meritnas.report.terminal.plain import PlainTable


def candidates_table(run: RunFiles) -> PlainTable | None:
    """What witnesses said about the best candidates; None where none were judged."""
    network = run_network(run)
    head, rows, _ = candidate_rows(run, network.short)
    if not rows:
        return None
    table = PlainTable("candidates")
    table.title_justify = "left"
    for name in head:
        table.add_column(name, overflow="fold", justify="left" if name == "network" else "right")
    for row in rows:
        table.add_row(*row)
    return table
