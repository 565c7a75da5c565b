"""What other thresholds would do, of two classes."""

from __future__ import annotations

from meritnas.report.charts.threshold_curves import precision_recall_figure, roc_figure
from meritnas.report.names import metric_name
from meritnas.report.page.failures import failures_of
from meritnas.report.page.section import Section
from meritnas.report.run_files import RunFiles
from meritnas.report.run_network import RunNetwork


def thresholds_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """The ROC and the precision-recall curve, with the point that the network answers by."""
    del network
    found = failures_of(run).get("classes", {})
    if "roc" not in found:
        return None
    positive, cut = str(found["positive"]), float(found["threshold"])
    by = run["result"].get("metric")
    chosen = f", chosen by validation {metric_name(str(by))}" if by and cut != 0.5 else ""
    lead = (
        f"The network answers by a threshold of {cut:.3g}{chosen}; the curves are what other "
        "thresholds would do. Point at a curve to read them."
    )
    figures = (
        roc_figure(found["roc"], positive, cut),
        precision_recall_figure(found["precision_recall"], positive, cut),
    )
    return Section("thresholds", "Thresholds", lead, figures=figures)
