"""The command `show`: a run's network and numbers in the terminal."""

from __future__ import annotations

from rich.console import Console

from meritnas.cli import arguments as opt
from meritnas.cli.exit_codes import plain_outcome
from meritnas.cli.messages import say


def show(run: opt.ShownRun) -> None:
    """Draw a run's network in the terminal, with what it costs and its scores."""
    with plain_outcome(lambda: "nothing was written"):
        from meritnas.report.run_files import read_run  # here: --help must not wait for torch
        from meritnas.report.terminal.candidates_table import candidates_table
        from meritnas.report.terminal.network_text import facts_table, network_text
        from meritnas.report.terminal.plain import plain

        files = read_run(run)
        console = Console(highlight=False, markup=False)
        for text in files.said:
            say(f"note: {text}")
        try:
            console.print(network_text(files, console.width), soft_wrap=True)
        except _DAMAGED as error:
            say(f"note: {error}")
            console.print(plain(str(files.network)), soft_wrap=True)
        try:
            console.print(facts_table(files))
        except _DAMAGED as error:
            say(f"note: costs and scores could not be read ({error!r}) and were left out")
        try:
            candidates = candidates_table(files, console.width)
            if candidates is not None:
                console.print(candidates)
        except _DAMAGED as error:
            say(f"note: candidates could not be read ({error!r}) and were left out")


_DAMAGED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What comes of files that are whole but hold other things than a search writes."""
