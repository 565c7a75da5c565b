"""What a run's network makes of its modalities, and what noise does to it."""

from __future__ import annotations

from collections.abc import Mapping

from meritnas.report.charts.bars import Bar, interval_bars
from meritnas.report.charts.lines import Series, line_chart
from meritnas.report.explain_hint import explain_code, explain_lead
from meritnas.report.numbers import interval_text, score_text, signed_text
from meritnas.report.page.section import Figure, Section, Table
from meritnas.report.run_files import RunFiles
from meritnas.report.run_network import RunNetwork
from meritnas.report.terminal.summary import metric_name


def modalities_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """What each modality is worth to the trained network, with intervals; or how to find out."""
    del network
    explained = run["modalities"]
    rows = explained.get("modalities", ())
    if not rows:
        if not run.finished or run.settings.get("space") != "fusion":
            return None
        what = "what each modality is worth to the network, and what noise does to it"
        lead = explain_lead(run, "modalities", what)
        return Section("modalities", "Modalities", lead, code=explain_code(run, modalities=True))
    metric = metric_name(str(explained.get("metric", "score")))
    bars = [Bar(str(row["modality"]), row["value"], row["low"], row["high"]) for row in rows]
    chart = interval_bars("What each modality is worth", bars, f"Shapley value ({metric})")
    table = Table(
        ("modality", "Shapley value", "95 % interval", "alone", "without"),
        tuple(
            (
                str(row["modality"]),
                signed_text(row["value"]),
                interval_text(row["low"], row["high"]),
                score_text(row["alone"]),
                score_text(row["without"]),
            )
            for row in rows
        ),
    )
    lead = (
        f"The test {metric} is {score_text(explained['score'])} with all modalities and "
        f"{score_text(explained['nothing'])} with none; Shapley values share out the difference."
    )
    figure = Figure(chart, "What each modality is worth")
    return Section("modalities", "Modalities", lead, figures=(figure,), table=table)


def noise_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """The score under noise, and with modalities missing."""
    del network
    explained = run["modalities"]
    metric = metric_name(str(explained.get("metric", "score")))
    kinds: dict[str, dict[str, dict[float, float]]] = {}
    for row in explained.get("disturbed", ()):
        scores = kinds.setdefault(str(row["disturbance"]), {}).setdefault(str(row["modality"]), {})
        scores[float(row["level"])] = float(row["score"])
    if not kinds:
        return None
    tried = [
        (kind, name, scores) for kind, found in kinds.items() for name, scores in found.items()
    ]
    levels = sorted({level for _, _, scores in tried for level in scores})
    table = Table(
        ("disturbance", "modality", *(f"at {level:g}" for level in levels)),
        tuple(
            (kind, name, *(score_text(scores[x]) if x in scores else "" for x in levels))
            for kind, name, scores in tried
        ),
    )
    lead = (
        f"The test {metric} by the level of noise, and by the chance that a sample lacks a "
        "modality; 0 is undisturbed."
    )
    figures = tuple(_noise_figure(kind, found, metric) for kind, found in kinds.items())
    return Section("noise", "Noise and missing modalities", lead, figures=figures, table=table)


def _noise_figure(kind: str, found: Mapping[str, Mapping[float, float]], metric: str) -> Figure:
    """Score over level, a line for each modality."""
    series = [
        Series(name, sorted(scores.items()), name in ("all", "any"), dots=True, colour=number)
        for number, (name, scores) in enumerate(found.items())
    ]
    level = "chance that it is missing" if kind == "missing" else "level"
    chart = line_chart(f"{metric} under {kind} disturbance", series, level)
    return Figure(chart, f"{metric}, {kind}", tuple(series))
