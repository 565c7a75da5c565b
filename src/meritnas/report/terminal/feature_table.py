"""What the columns of a table are worth, as a table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meritnas.report.names import metric_name
from meritnas.report.numbers import interval_text, score_text, signed_text
from meritnas.report.terminal.plain import PlainTable, plain
from meritnas.wording import visible_line

_MOST = 30


def feature_table(explained: Mapping[str, Any]) -> PlainTable:
    """What each column is worth; `explained` is what the run has in features.json."""
    table = PlainTable("columns")
    table.add_column("column", overflow="fold")
    for name in ("worth", "95 % interval"):
        table.add_column(name, justify="right")
    rows = explained["features"]
    for row in rows[:_MOST]:
        interval = interval_text(row["low"], row["high"])
        column = plain(visible_line(str(row["column"])))
        table.add_row(column, signed_text(row["value"]), interval)
    left = f"; {len(rows) - _MOST:,} more are in features.csv" if len(rows) > _MOST else ""
    table.say_below(
        f"by how much the {metric_name(str(explained['metric']))} of the trained network "
        f"({score_text(explained['score'])} on {explained['rows']:,} held-out rows) is worse when "
        f"a column's values are mixed up among the rows{left}"
    )
    return table
