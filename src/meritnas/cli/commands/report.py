"""The command `report`: a page about a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from meritnas.cli import arguments as opt
from meritnas.cli.exit_codes import plain_outcome
from meritnas.cli.help_text import help_text, switch
from meritnas.cli.messages import say, tell
from meritnas.store.whole_files import check_free


def report(
    run: opt.ShownRun,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=help_text("An HTML file.", "RUN/report.html")),
    ] = None,
    force: Annotated[bool, switch("--force", "Replace the --out file.")] = False,
) -> None:
    """Write one HTML page about a run, finished or not, to open in a browser.

    It shows the network, the limits, learning curves, how every decision was made, and the command
    that repeats the run. It needs no network connection and no other file.
    """
    with plain_outcome(lambda: "nothing was written"):
        if out is not None and not force:
            check_free(out)

        from meritnas.report.page.page import write_report  # here: --help must not wait for torch
        from meritnas.report.run_files import read_run

        written = write_report(run, out)
        for text in read_run(run).said:
            say(f"note: {text}")
        tell(str(written))
