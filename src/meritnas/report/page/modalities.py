"""What a run's network makes of its modalities, and what noise does to it."""

from __future__ import annotations

from meritnas.prepare.config import kind_of_run
from meritnas.report.charts.modality_figure import (
    noise_figures,
    scores_by_kind,
    use_figure,
    worth_figures,
)
from meritnas.report.explain_hint import explain_code, explain_lead
from meritnas.report.modality_rows import USE_HEAD, use_cells, worth_under_noise
from meritnas.report.names import metric_name
from meritnas.report.numbers import score_text, signed_text
from meritnas.report.page.section import Section, Table
from meritnas.report.run_files import RunFiles
from meritnas.report.run_network import RunNetwork


def modalities_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """What each modality is worth to the trained network, with intervals; or how to find out."""
    del network
    explained = run["modalities"]
    rows = explained.get("modalities", ())
    if not rows:
        if not run.finished or not kind_of_run(run.config).has_parts:
            return None
        what = "what each modality is worth to the network, and what noise does to it"
        lead = explain_lead(run, "modalities", what)
        return Section("modalities", "Modalities", lead, code=explain_code(run, "modalities"))
    metric = metric_name(str(explained.get("metric", "score")))
    figure = use_figure(rows, str(explained.get("metric", "score")))
    table = Table(USE_HEAD, tuple(use_cells(row, explained["score"]) for row in rows))
    lead = (
        f"The test {metric} is {score_text(explained['score'])} with all modalities and "
        f"{score_text(explained['nothing'])} with none; Shapley values share out the difference."
    )
    return Section("modalities", "Modalities", lead, figures=(figure,), table=table)


def noise_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """The score under noise, and with modalities missing."""
    del network
    explained = run["modalities"]
    metric = str(explained.get("metric", "score"))
    kinds = scores_by_kind(explained.get("disturbed", ()))
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
        f"The test {metric_name(metric)} by the level of noise, and by the chance that a sample "
        "lacks a modality; 0 is undisturbed."
    )
    figures = noise_figures(kinds, metric)
    return Section("noise", "Noise and missing modalities", lead, figures=figures, table=table)


def noisy_worth_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """What each modality is worth as noise grows (SM-ShapNAS, table 11)."""
    del network
    explained = run["modalities"]
    rows = explained.get("disturbed", ())
    found = worth_under_noise(rows)
    if not found:
        return None
    levels = sorted({level for one in found for level in one.values})
    table = Table(
        ("disturbance", "of", "modality", *(f"at {level:g}" for level in levels)),
        tuple(
            (
                *(one.disturbance, one.noisy, one.modality),
                *(signed_text(one.values[x]) if x in one.values else "" for x in levels),
            )
            for one in found
        ),
    )
    lead = (
        "The Shapley value of each modality by the level of noise: on it alone, and on all "
        "modalities. Of what a network relies on little is left where it is noisy."
    )
    figures = worth_figures(rows, str(explained.get("metric", "score")))
    title = "What modalities are worth under noise"
    return Section("noisy-worth", title, lead, figures=figures, table=table)
