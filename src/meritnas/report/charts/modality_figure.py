from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def draw_modalities(
    use: Sequence[Mapping[str, Any]],
    disturbed: Sequence[Mapping[str, Any]],
    metric: str,
    path: Path,
) -> None:
    """Draw what each modality is worth, and what noise costs.

    Args:
        use: rows of `ModalityUse.rows`.
        disturbed: rows with disturbance, modality, level and score; may be empty.
        metric: what the score is.
        path: of the picture.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # here: it takes long to import
    from matplotlib.figure import Figure

    kinds = list(dict.fromkeys(row["disturbance"] for row in disturbed))
    figure = Figure(figsize=(4.2 + 3.4 * len(kinds), 3.6), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    first, *others = figure.subplots(1, 1 + len(kinds), squeeze=False)[0]
    names = [row["modality"] for row in use]
    places = range(len(names))
    values = [row["value"] for row in use]
    reach = [
        [row["value"] - row["low"] for row in use],
        [row["high"] - row["value"] for row in use],
    ]
    first.barh(places, values, color="C0", xerr=[[max(0.0, x) for x in side] for side in reach])
    first.set_yticks(places, names)
    first.invert_yaxis()
    first.axvline(0.0, color="black", linewidth=0.8)
    first.set_xlabel(f"Shapley value ({metric})")
    for axes, kind in zip(others, kinds, strict=True):
        own = [row for row in disturbed if row["disturbance"] == kind]
        for name in dict.fromkeys(row["modality"] for row in own):
            points = [(row["level"], row["score"]) for row in own if row["modality"] == name]
            style = {"color": "black", "linestyle": "--"} if name in ("all", "any") else {}
            axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=name, **style)
        axes.set_title(kind, fontsize=10)
        axes.set_xlabel("chance" if kind == "missing" else "level")
        axes.set_ylabel(metric)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)
    for axes in (first, *others):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)
