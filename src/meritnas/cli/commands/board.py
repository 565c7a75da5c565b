"""The command `board`: a page over many runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from meritnas.cli.exit_codes import plain_outcome
from meritnas.cli.help_text import help_text, switch
from meritnas.cli.messages import say, tell
from meritnas.store.whole_files import check_free

_SAID = 5
"""Folders that are named; the page names more."""


def board(
    runs: Annotated[
        Path,
        typer.Argument(metavar="[RUNS]", help="A folder with folders of runs.", show_default=False),
    ] = Path("runs"),
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=help_text("An HTML file.", "RUNS/board.html")),
    ] = None,
    force: Annotated[bool, switch("--force", "Replace the --out file.")] = False,
    live: Annotated[
        bool, switch("--live", "Then show it in a browser as runs change, until Ctrl-C.")
    ] = False,
) -> None:
    """Write one HTML page over many runs, to sort, filter and compare them in a browser.

    For example: meritnas board runs

    It lays scores, sizes and curves of runs on the same data over each other, and links to the
    report of each. Folders that are no runs are named and left out.
    """
    with plain_outcome(lambda: "nothing was written"):
        if out is not None and not force:
            check_free(out)

        from meritnas.report.board.board import write_board  # here: --help must not wait for torch

        written, found = write_board(runs, out)
        for one in found.others[:_SAID]:
            say(f"note: {one.name} was left out: {one.reason}")
        if len(found.others) > _SAID:
            say(f"note: and {len(found.others) - _SAID} more folders, named on the page")
        tell(str(written))
        if live:
            from meritnas.cli.live_board import LiveBoard

            page = LiveBoard(found)
            say(f"the runs as they change, until Ctrl-C: {page.address}")
            page.serve()
