"""What the columns of a table are worth to a run's network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from meritnas.prepare.config import kind_of_run
from meritnas.report.charts.bars import Bar, interval_bars
from meritnas.report.charts.figure import Figure
from meritnas.report.explain_hint import explain_code, explain_lead
from meritnas.report.names import metric_name
from meritnas.report.numbers import interval_text, score_text, signed_text
from meritnas.report.page.section import Section, Table
from meritnas.report.run_files import RunFiles
from meritnas.report.run_network import RunNetwork

_DRAWN = 20


def features_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """What each column is worth, with intervals; or how to find out."""
    del network
    found, title = run["features"], "What columns are worth"
    rows = known_features(run)
    if not rows:
        if not run.finished or not kind_of_run(run.config).compared:
            return None
        lead = explain_lead(run, "features", "what each column is worth to the network")
        return Section("features", title, lead, code=explain_code(run))
    metric = metric_name(str(found["metric"]))
    lead = (
        f"By how much the {metric} of the network, {score_text(found['score'])} on "
        f"{found['rows']:,} rows that it was not trained on, is worse when a column's values are "
        "mixed up among the rows; the lines are 95 % intervals. Columns that say the same stand in "
        "for each other, and seem to be worth less than they are."
    )
    bars = [
        Bar(str(row["column"]), float(row["value"]), float(row["low"]), float(row["high"]))
        for row in rows[:_DRAWN]
    ]
    figure = Figure(interval_bars("What columns are worth", bars, metric), "What columns are worth")
    cells = tuple(
        (str(row["column"]), signed_text(row["value"]), interval_text(row["low"], row["high"]))
        for row in rows
    )
    table = Table(("column", "worth", "95 % interval"), cells)
    return Section("features", title, lead, figures=(figure,), table=table)


def known_features(run: RunFiles) -> Sequence[Mapping[str, Any]]:
    """What the columns are worth to the network, the most first; nothing where that is unknown."""
    found = run["features"]
    known = found.get("network") == run.weights_digest
    return found.get("features", ()) if known else ()
