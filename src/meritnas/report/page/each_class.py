"""How good each class, or each label, is recognised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meritnas.data.multilabel import LABEL_THRESHOLD
from meritnas.report.numbers import share_text
from meritnas.report.page.failures import failures_of, rows_text
from meritnas.report.page.section import Section, Table
from meritnas.report.run_files import RunFiles
from meritnas.report.run_network import RunNetwork

_READING = (
    "Precision: of the rows that are answered so, the share that are. Recall: of the rows that are "
    "so, the share that is found. F1 is their harmonic mean."
)


def each_class_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """Precision, recall and F1 of each, and how many rows it has; the worst first."""
    del network
    found = failures_of(run)
    labels = found.get("labels")
    each = (labels or found.get("classes") or {}).get("each")
    if not each:
        return None
    lead, what = _READING, "label" if labels else "class"
    if labels:
        lead = (
            f"Of {rows_text(run)}; a label is given from a probability of {LABEL_THRESHOLD:g} on. "
            f"{share_text(float(labels['all_right']))} of the rows have all labels right. "
            f"{_READING}"
        )
    worst_first = sorted(each, key=lambda one: (one["f1"] is None, one["f1"] or 0.0))
    table = Table((what, "precision", "recall", "F1", "rows"), tuple(map(_cells, worst_first)))
    return Section("classes", f"Each {what}", lead, table=table, half=not labels)


def _cells(one: Mapping[str, Any]) -> tuple[str, ...]:
    scores = tuple(
        "-" if one[m] is None else f"{one[m]:.3f}" for m in ("precision", "recall", "f1")
    )
    return (str(one["name"]), *scores, f"{int(one['support']):,}")
