"""What the parts of a network are worth, as tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meritnas.report.names import metric_name
from meritnas.report.numbers import count_text, interval_text, score_text, signed_text
from meritnas.report.terminal.plain import PlainTable

_ALTERNATIVES = 8
_INTERACTIONS = 5


def parts_table(explained: Mapping[str, Any]) -> PlainTable:
    """What each part is worth; `explained` is what `meritnas explain --json` prints."""
    table = PlainTable()
    for name in ("part", "chosen"):
        table.add_column(name, overflow="fold")
    for name in ("Shapley value", "95 % interval"):
        table.add_column(name, justify="right")
    for row in explained["rows"]:
        interval = interval_text(row["low"], row["high"])
        table.add_row(row["decision"], row["option"], signed_text(row["value"]), interval)
    about = (
        f"for the {metric_name(str(explained['metric']))} on validation rows "
        f"({score_text(explained['score'])} with all parts), by the weights that all networks "
        f"share; a part that is taken away leaves {explained['absent']}"
    )
    if kept := narrowest_text(explained):
        about += f"; {kept}"
    table.say_below(about)
    return table


def narrowest_text(explained: Mapping[str, Any]) -> str:
    """Which layers are no parts, as they cannot be narrower; nothing where all are parts."""
    names = explained.get("narrowest", ())
    if not names:
        return ""
    verb = "has" if len(names) == 1 else "have"
    return f"{', '.join(names)} {verb} that already, so there is nothing to take away"


def alternatives_table(explained: Mapping[str, Any], limits: Mapping[str, int]) -> PlainTable:
    """The networks that differ in one answer and are closest to the chosen one.

    Args:
        explained: what `meritnas explain --json` prints.
        limits: of the run; without any nothing is said about them.
    """
    table = PlainTable("closest alternatives")
    for name in ("part", "chosen", "instead"):
        table.add_column(name, overflow="fold")
    for name in ("loss", "parameters"):
        table.add_column(name, justify="right")
    if limits:
        table.add_column("keeps the limits")
    for row in explained["alternatives"][:_ALTERNATIVES]:
        cells = (
            row["decision"],
            row["instead_of"],
            row["option"],
            signed_text(row["loss_change"]),
            count_text(row["cost"]),
        )
        table.add_row(*cells, *(["yes" if row["fits"] else "no"] if limits else []))
    return table


def interactions_table(explained: Mapping[str, Any]) -> PlainTable:
    """The pairs of parts that are worth most, or least, more than each by itself."""
    table = PlainTable("strongest interactions")
    for name in ("part", "with"):
        table.add_column(name, overflow="fold")
    table.add_column("together", justify="right")
    for row in explained["interactions"][:_INTERACTIONS]:
        table.add_row(row["first"], row["second"], signed_text(row["value"]))
    return table
