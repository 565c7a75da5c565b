"""Explanations in a notebook, drawn as on the page of their run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from meritnas.report.charts.bars import Bar, interval_bars
from meritnas.report.charts.figure import Figure
from meritnas.report.charts.modality_figure import noise_figures, scores_by_kind, use_figure
from meritnas.report.names import metric_name
from meritnas.report.notebook.blocks import heading, part
from meritnas.report.notebook.pictures import images
from meritnas.report.page.credit import (
    alternatives_section,
    credit_section,
    interactions_section,
)
from meritnas.report.run_files import RunFiles
from meritnas.report.run_network import RunNetwork

_DRAWN = 20


def network_html(explained: Mapping[str, Any]) -> str:
    """What parts are worth and what else was close; `explained` is a `NetworkExplanation`'s."""
    content = {"credit": explained, "result": {"architecture": explained["architecture"]}}
    run, network = RunFiles(Path(), {"settings": {}}, content, (), ()), RunNetwork((), ())
    makers = [credit_section, alternatives_section]
    makers += [interactions_section] if explained["interactions"] else []
    sections = [make(run, network) for make in makers]
    return "".join(part(section) for section in sections if section is not None)


def features_html(explained: Mapping[str, Any]) -> str:
    """What columns are worth; `explained` is a `FeatureExplanation`'s."""
    metric = metric_name(str(explained["metric"]))
    bars = [
        Bar(str(row["column"]), float(row["value"]), float(row["low"]), float(row["high"]))
        for row in explained["features"][:_DRAWN]
    ]
    if not bars:
        return heading("There are no columns")
    title = f"What columns are worth, by {metric}"
    return images([Figure(interval_bars(title, bars, metric), title)])


def modalities_html(explained: Mapping[str, Any]) -> str:
    """What modalities are worth, and scores under noise; of a `ModalityExplanation`."""
    metric = str(explained["metric"])
    use = use_figure(explained["modalities"], metric)
    return images([use, *noise_figures(scores_by_kind(explained["disturbed"]), metric)])
