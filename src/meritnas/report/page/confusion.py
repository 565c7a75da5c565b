"""Which classes a run's network takes for each other."""

from __future__ import annotations

from meritnas.report.charts.confusion import confusion_matrix
from meritnas.report.charts.figure import Figure
from meritnas.report.page.failures import failures_of, rows_text
from meritnas.report.page.section import Section, Table
from meritnas.report.run_files import RunFiles
from meritnas.report.run_network import RunNetwork

_FEW = 6
"""Of so many classes anybody sees at once which are confused most often."""
_PAIRS = 6


def confusion_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """The confusion of classes, and the pairs that are confused most often where there are many."""
    del network
    found = failures_of(run).get("classes")
    if not found:
        return None
    kept = found["confusion"]
    lead = (
        f"Of {rows_text(run)}, by the one network that the run keeps: a row for each true class, a "
        "column for each answer. Scores above are means over trainings."
    )
    if kept["left_out"]:
        lead += (
            f" Drawn are the {len(kept['names'])} classes that are confused most often; "
            f"{kept['left_out']:,} are left out."
        )
    chart = confusion_matrix("Classes by what is answered", kept["names"], kept["counts"])
    pairs = tuple((str(a), str(b), f"{int(count):,}") for a, b, count in found["pairs"])
    many = len(kept["names"]) > _FEW and pairs
    table = Table(("truth", "answer", "how often"), pairs[:_PAIRS]) if many else None
    figure = Figure(chart, "Truth and answers", wide=True)
    return Section(
        "confusion",
        "Confusion",
        lead,
        figures=(figure,),
        table=table,
        half=True,
    )
