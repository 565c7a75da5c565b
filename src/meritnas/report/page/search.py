"""How a run found it: learning curves, beliefs, costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from meritnas.engine.candidates import JUDGING
from meritnas.report.candidate_rows import candidate_rows
from meritnas.report.charts.curve_figure import curve_figure
from meritnas.report.charts.figure import Figure
from meritnas.report.charts.lines import Series
from meritnas.report.charts.pareto_figure import pareto_figure
from meritnas.report.charts.shares import share_chart
from meritnas.report.names import metric_name
from meritnas.report.numbers import count_text, duration_text, score_text
from meritnas.report.page.section import Section, Table
from meritnas.report.pareto_points import curve_metric, point_cells, score_label
from meritnas.report.plain_networks import plain_networks
from meritnas.report.run_files import RunFiles
from meritnas.report.run_network import RunNetwork
from meritnas.witness.trials import NAME as TRIALS

SHOWN_DECISIONS = 24
"""Charts of beliefs beyond these are folded."""

_SHOWN_CURVES = 12

_PHASES = {"warmup": "warm-up", "joint": "searching", "frozen": "judging"}
_COST_CURVES = {
    "passes": "Passes of the supernet so far",
    "evaluations": "Evaluations in each judging step",
}
_SEARCH_CURVES = (
    ("train_loss", "training loss of shared weights"),
    ("reward", "reward of what was tried"),
    ("advantage", "advantage"),
)


def learning_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """Losses and rewards while searching, and the losses of every training alone."""
    figures = []
    for key, words in _SEARCH_CURVES:
        curve = Series(words, _over_steps(run, key))
        figure = curve_figure(words, [curve], "step", f"Search: {words}")
        figures += [figure] if figure else []
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for one in run["retrain"].get("results", ()):
        groups.setdefault(str(one["architecture"]), []).append(one)
    # Whoever was trained longest first: of the others of a race there may be many.
    for text, trainings in sorted(groups.items(), key=lambda g: -max(map(_length, g[1]))):
        if all(one["valid_loss"] is None for one in trainings):  # they diverged
            continue
        figure = _training_figure(network.short(text), trainings)
        figures += [figure] if figure else []
    if not figures:
        return None
    shown, folded = tuple(figures[:_SHOWN_CURVES]), tuple(figures[_SHOWN_CURVES:])
    return Section("learning", "Learning curves", figures=shown, folded=folded)


def policy_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """The share of every option over time, a chart for each decision."""
    options = run["plan"].get("options")
    if not isinstance(options, list) or not run.events:
        return None
    sizes = [len(names) for names in options]
    events = [e for e in run.events if [len(row) for row in e["beliefs"]] == sizes]
    if not events:
        return None
    steps = [event["step"] for event in events]
    figures = []
    for i, names in enumerate(options):
        name = network.decisions[i] if i < len(network.decisions) else f"decision {i + 1}"
        chosen = network.chosen[i] if i < len(network.chosen) else None
        shares = [event["beliefs"][i] for event in events]
        title = f"{name}: share of each option over the steps of the search"
        chart = share_chart(title, steps, shares, [str(each) for each in names], chosen)
        figures.append(Figure(chart, f"{name}: {chosen}" if chosen else name))
    return Section(
        "policy",
        "How the search made up its mind",
        "For every decision, the share of each option over the steps. "
        + ("The option of the network is highlighted." if network.chosen else ""),
        figures=tuple(figures[:SHOWN_DECISIONS]),
        folded=tuple(figures[SHOWN_DECISIONS:]),
        small=True,
    )


def entropy_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """How undecided the search was."""
    del network
    curve = Series("entropy", _over_steps(run, "entropy"))
    title = "Entropy of the beliefs over steps"
    figure = curve_figure(title, [curve], "step", bounds=(0.0, 1.02))
    lead = "1 where every option is as likely as the others, 0 where everything is certain."
    return Section("entropy", "Entropy", lead, figures=(figure,), half=True) if figure else None


def feasible_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """The probability that a draw keeps the limits."""
    del network
    points = _over_steps(run, "feasible_probability")
    small = bool(points) and max(share for _, share in points) < 0.05
    curve = Series("probability", points)
    title = "Probability that a draw fits, over steps"
    figure = curve_figure(title, [curve], "step", bounds=None if small else (0.0, 1.02))
    if not figure:
        return None
    lead = "The probability that a network drawn decision by decision fits limits and rules."
    return Section("feasible", "Chance that a draw fits", lead, figures=(figure,), half=True)


def cost_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """What the search spent: passes, evaluations, seconds."""
    del network
    if not run.events:
        return None
    figures = []
    for key, caption in _COST_CURVES.items():
        figure = curve_figure(caption, [Series(key, _over_steps(run, key))], "step", caption)
        figures += [figure] if figure else []
    seconds = run["architecture"].get("seconds")
    facts = []
    last = run.events[-1]["step"]
    if seconds is not None:
        facts.append(("search", f"{duration_text(seconds)}, {1000 * seconds / last:.1f} ms a step"))
    phases = run["architecture"].get("phase_seconds", {})
    for name, text in {JUDGING: "judging candidates", TRIALS: "short trainings"}.items():
        if name in phases:
            facts.append((f"of it, {text}", duration_text(phases[name])))
    if "retrain" in run["timing"]:
        facts.append(("training alone", duration_text(run["timing"]["retrain"])))
    return Section(
        "cost",
        "What it cost",
        facts=tuple(facts),
        figures=tuple(figures),
        table=_phase_table(run.events, phases),
    )


def tradeoff_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """Score against parameters, where networks for smaller limits were found."""
    found = run["result"].get("pareto")
    if not found:
        return None
    rows = [{**row, "short": network.short(str(row["architecture"]))} for row in found]
    metric = curve_metric(rows)
    label = score_label(metric)
    table = Table(
        ("at most", "network", "parameters", label, "by validation loss"),
        tuple(point_cells(row, metric) for row in rows),
        tuple(k for k, row in enumerate(rows) if row["best"]),
    )
    lead = "The validation loss decides which networks are as good as others"
    lead += "." if metric is None else f"; shown is the {label}, which decides nothing."
    figure = pareto_figure(rows)
    figures = () if figure is None else (figure,)
    return Section("tradeoff", "Trade-off", lead, figures=figures, table=table)


def candidates_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """What each witness said about the search's best candidates, and how they voted."""
    head, rows, marked = candidate_rows(run, network.short)
    if not rows:
        return None
    judged = len(run["architecture"]["candidates"])
    lead = (
        f"{judged:,} networks that the search believed in were judged on the same validation data. "
        "Votes are weighted sums of ranks: who has the fewest is first. Marked are those that were "
        "trained alone."
    )
    table = Table(head, tuple(rows), tuple(marked))
    return Section("candidates", "Candidates", lead, table=table)


def race_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """Who got how far in the race, where it had short rounds."""
    results = run["retrain"].get("results", ())
    rounds = sorted({_length(one) for one in results})
    if len(rounds) < 2:
        return None
    losses: dict[str, dict[int, float]] = {}
    for one in results:
        own = losses.setdefault(str(one["architecture"]), {})
        loss = math.inf if one["valid_loss"] is None else float(one["valid_loss"])
        own[_length(one)] = min(loss, own.get(_length(one), math.inf))

    def farthest(text: str) -> tuple[int, float]:
        length = max(losses[text])
        return -length, losses[text][length]

    best_first = sorted(losses, key=farthest)
    rows = tuple(
        (
            network.short(text),
            *(_loss_text(losses[text].get(length)) for length in rounds),
            "" if rounds[-1] in losses[text] else f"after {max(losses[text]):,} epochs",
        )
        for text in best_first
    )
    lead = (
        "In each round all that were left had a short training from scratch, and the better half "
        "on validation data went on to one twice as long."
    )
    head = ("network", *(f"loss, {length:,} epochs" for length in rounds), "out")
    marked = tuple(k for k, text in enumerate(best_first) if text == run.network)
    return Section("race", "Race", lead, table=Table(head, rows, marked))


def _length(result: Mapping[str, Any]) -> int:
    """How many epochs a training was to have; earlier versions do not say it."""
    return int(result.get("epochs", 0))


def _loss_text(loss: float | None) -> str:
    if loss is None:
        return ""
    return score_text(loss) if loss < math.inf else "diverged"


def finalists_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """Every training alone, and which network won."""
    results = run["retrain"].get("results", ())
    if not results:
        return None
    metrics = list(next((one["test"] for one in results if one.get("test")), ()))
    plain, texts = plain_networks(run), [str(one["architecture"]) for one in results]
    rows = tuple(
        (
            network.short(text)
            + (" (plain)" if text in plain else "")
            + (" (taught)" if one.get("taught") else ""),
            f"{one['dropout']:g}",
            str(one["seed"]),
            str(_length(one) or ""),
            str(one.get("best_epoch") or ""),
            "diverged" if one["valid_loss"] is None else score_text(one["valid_loss"]),
            *(score_text(one["test"][m]) if one["test"] else "" for m in metrics),
        )
        for one, text in zip(results, texts, strict=True)
    )
    head = ("network", "dropout", "seed", "epochs", "best epoch", "validation loss")
    marked = tuple(k for k, one in enumerate(results) if one["architecture"] == run.network)
    metric = run["result"].get("metric")
    by = f"validation {metric_name(metric)}" if isinstance(metric, str) else "validation loss"
    lead = f"Each was trained from scratch; {by} decides, the test part is only scored."
    if plain:
        lead += " Plain ones are as one would build them without a search."
    table = Table((*head, *(f"test {metric_name(m)}" for m in metrics)), rows, marked)
    return Section("finalists", "Finalists", lead, table=table)


def _over_steps(run: RunFiles, key: str) -> list[tuple[float, float]]:
    return [(e["step"], e[key]) for e in run.events if isinstance(e.get(key), int | float)]


def _training_figure(short: str, trainings: Sequence[Mapping[str, Any]]) -> Figure | None:
    """The losses of the trainings of one network, by epoch."""
    series = []
    several = len(set(map(_length, trainings))) > 1
    for number, one in enumerate(trainings):
        words = f"dropout {one['dropout']:g}, seed {one['seed']}"
        if one.get("taught"):
            words += ", taught"
        if several:
            words += f", {_length(one):,} epochs"
        for key, part, dashed in (("train_losses", "training", True), ("valid_losses", "", False)):
            points = list(enumerate(one.get(key, ()), start=1))
            name = f"{words}, {part}" if part else f"{words}, validation"
            series.append(Series(name, points, dashed, colour=number))
    title = f"Losses of {short} by epoch"
    return curve_figure(title, series, "epoch", f"Training {short}")


def _phase_table(events: Sequence[Mapping[str, Any]], seconds: Mapping[str, float]) -> Table:
    """Steps, passes and time by phase; an event counts for the steps since the one before.

    Args:
        events: of the search.
        seconds: of each phase; nothing while it goes on.
    """
    steps: dict[str, int] = {}
    passes: dict[str, int] = {}
    before = {"step": 0, "passes": 0}
    for event in events:
        phase = str(event.get("phase", "?"))
        steps[phase] = steps.get(phase, 0) + event["step"] - before["step"]
        spent = int(event.get("passes", before["passes"]))
        passes[phase] = passes.get(phase, 0) + spent - before["passes"]
        before = {"step": event["step"], "passes": spent}
    rows = tuple(
        (
            _PHASES.get(phase, phase),
            count_text(count),
            count_text(passes[phase]),
            f"{passes[phase] / count:.1f}" if count else "",
            f"{1000 * seconds[phase] / count:.1f}" if count and phase in seconds else "",
        )
        for phase, count in steps.items()
    )
    return Table(("phase", "steps", "passes", "passes a step", "ms a step"), rows)
