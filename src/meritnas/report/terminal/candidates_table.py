"""The candidates of a search as a table for the terminal."""

from __future__ import annotations

from meritnas.report.candidate_rows import candidate_rows
from meritnas.report.run_files import RunFiles
from meritnas.report.run_network import run_network
from meritnas.report.terminal.plain import PlainTable

_GAP = 3
"""Between columns."""

_MOST_NETWORK = 28
"""A network that is longer takes several lines."""


def candidates_table(run: RunFiles, width: int) -> PlainTable | None:
    """What witnesses said about the best candidates; None where none were judged.

    Args:
        run: its files.
        width: of the terminal. Witnesses for whom there is no room are left out, which is said.
    """
    network = run_network(run)
    head, rows, _ = candidate_rows(run, network.short)
    if not rows:
        return None
    wide = [max(map(len, column)) for column in zip(*[_lines(head), *rows], strict=True)]
    wide[1] = min(wide[1], _MOST_NETWORK)
    shown, left = [0, 1], width - sum(wide[k] + _GAP for k in (0, 1, len(head) - 1))
    for k in range(2, len(head) - 1):
        left -= wide[k] + _GAP
        if left >= 0:
            shown.append(k)
    shown.append(len(head) - 1)
    table = PlainTable("candidates")
    table.title_justify = "left"
    for k in shown:
        if head[k] == "network":
            table.add_column(head[k], overflow="fold")
        else:
            table.add_column(head[k].replace(" ", "\n"), no_wrap=True, justify="right")
    for row in rows:
        table.add_row(*(row[k] for k in shown))
    hidden = [name for k, name in enumerate(head) if k not in shown]
    if hidden:
        table.say_below(f"in a wider terminal, and on the page: {', '.join(hidden)}")
    return table


def _lines(head: tuple[str, ...]) -> tuple[str, ...]:
    """The longest word of each heading, as words are put below each other."""
    return tuple(max(name.split(" "), key=len) for name in head)
