"""How far a run's network is off, where it predicts a number."""

from __future__ import annotations

from meritnas.report.charts.figure import Figure
from meritnas.report.charts.histogram import histogram
from meritnas.report.charts.scatter import scatter_chart
from meritnas.report.page.failures import failures_of, rows_text
from meritnas.report.page.section import Section
from meritnas.report.run_files import RunFiles
from meritnas.report.run_network import RunNetwork


def residuals_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """Predicted against true, the residuals, and how large they are."""
    del network
    found = failures_of(run).get("numbers")
    if not found:
        return None
    # Without examples a run keeps neither points nor what true values reach from and to.
    points = [(float(a), float(b)) for a, b in found.get("points", ())]
    every = len(points) in (0, failures_of(run)["rows"])
    drawn = "" if every else f" {len(points)} of them are drawn."
    lead = (
        f"Of {rows_text(run)}, by the one network that the run keeps.{drawn} A residual is what is "
        "predicted less what is true."
    )
    counted = histogram("Residuals", found["edges"], found["counts"], "residual", "rows")
    figures = [Figure(counted, "Residuals")]
    if points:
        against = scatter_chart("Predicted against true", points, "true", "predicted")
        figures.insert(0, Figure(against, "Predicted against true"))
    facts = [("mean residual", f"{found['bias']:+,.4g}")]
    if "reach" in found:
        low, high = found["reach"]
        facts.insert(0, ("true values", f"{low:,.6g} to {high:,.6g}"))
    facts += [
        (f"{100 * level:g} % are off by at most", f"{size:,.4g}") for level, size in found["within"]
    ]
    return Section(
        "residuals",
        "Predicted and true",
        lead,
        facts=tuple(facts),
        figures=tuple(figures),
    )
