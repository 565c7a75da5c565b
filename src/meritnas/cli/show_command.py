from __future__ import annotations

from rich.console import Console

from meritnas.cli import options as opt
from meritnas.cli.outcome import plain_outcome


def show(run: opt.Run) -> None:
    """Draw a run's network in the terminal, with what it costs and its scores."""
    with plain_outcome(lambda: "nothing was written"):
        from meritnas.report.run_files import read_run  # here: --help must not wait for torch
        from meritnas.report.shown import facts_table, network_text

        files = read_run(run)
        console = Console(highlight=False)
        console.print(network_text(files, console.width), soft_wrap=True)
        console.print(facts_table(files))
