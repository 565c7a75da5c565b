"""Why a run's network looks as it does: the worth of its parts, what else was close, pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from meritnas.errors import MeritNASError
from meritnas.report.charts.bars import Bar, interval_bars
from meritnas.report.charts.figure import Figure
from meritnas.report.charts.matrix import MOST_NAMES, pair_matrix
from meritnas.report.explain_hint import explain_code, explain_lead
from meritnas.report.names import amount_text, cost_name, metric_name
from meritnas.report.numbers import interval_text, signed_text
from meritnas.report.page.section import Section, Table
from meritnas.report.plain_networks import plain_networks
from meritnas.report.run_files import RunFiles
from meritnas.report.run_network import RunNetwork
from meritnas.report.terminal.credit_table import narrowest_text

_SHOWN_FIGURES = 12
_SHOWN_ALTERNATIVES = 12
_SHOWN_PAIRS = 12
_PARTS = "the parts of the network"
_READING = (
    "Positive: the two are worth more together than apart. "
    "Negative: one can stand in for the other."
)


def credit_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """What each part is worth, with intervals; or how to find out."""
    credit = _credit(run)
    if "rows" not in credit:
        if not run.finished or run["architecture"].get("strategy") == "given":
            return None
        # A plain network of the space that was searched has parts like any other.
        if run.network in plain_networks(run) and network.family and not network.chosen:
            lead = (
                "The network is a plain one that raced beside what was found: the search's shared "
                "weights know nothing of its parts."
            )
            return Section("credit", "Credit", lead)
        lead = explain_lead(run, "credit", "what each part is worth, and what else was close")
        return Section("credit", "Credit", lead, code=explain_code(run))
    rows, absent = credit["rows"], credit.get("absent")
    if not rows:
        lead = f"Every part is {absent or 'nothing'} already, so there is nothing to take away."
        return Section("credit", "Credit", lead)
    lead = "What each is worth by its Shapley value; the lines are intervals."
    if absent:
        kept = narrowest_text(credit)
        lead += f" A part that is taken away leaves {absent}" + (f"; {kept}." if kept else ".")
    figures = _part_figures(rows, metric_name(str(credit.get("metric", "score"))))
    return Section(
        "credit",
        "Credit",
        lead,
        figures=tuple(figures[:_SHOWN_FIGURES]),
        folded=tuple(figures[_SHOWN_FIGURES:]),
        table=_part_table(rows),
    )


def alternatives_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """The networks that differ in one answer: what they would change, and what they would cost."""
    rows = _credit(run).get("alternatives", ())
    if not rows:
        return None
    known = network.family.costs if network.family is not None else ("params",)
    limited = run.settings.get("limits") or {}
    names = [name for name in dict.fromkeys(("params", "flops", *limited)) if name in known]
    own = run["result"].get("costs", {})
    shown = rows[:_SHOWN_ALTERNATIVES]
    head = ("part", "instead of", "option", "change of loss", *map(cost_name, names))
    table = Table(
        (*head, "keeps the limits"),
        tuple(
            (
                str(row["decision"]),
                str(row["instead_of"]),
                str(row["option"]),
                signed_text(row["loss_change"]),
                *(_cost_text(name, _cost(network, row, name), own.get(name)) for name in names),
                "yes" if row["fits"] else "no",
            )
            for row in shown
        ),
    )
    which = "all of them" if len(shown) == len(rows) else f"the best {len(shown)} of {len(rows):,}"
    lead = (
        f"Networks that answer one question otherwise, {which}. The change is that of the "
        "validation loss by shared weights: below 0 the other network is better. In brackets is "
        "what it costs more or less than the chosen one."
    )
    return Section("alternatives", "What else was close", lead, table=table)


def interactions_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """How much more, or less, two parts are worth together than apart."""
    del network
    credit, title = _credit(run), "Which parts need each other"
    parts = list(dict.fromkeys(str(row["decision"]) for row in credit.get("rows", ())))
    pairs = [
        (str(row["first"]), str(row["second"]), float(row["value"]))
        for row in credit.get("interactions", ())
    ]
    if not pairs:
        if len(parts) < 2:
            return None
        lead = "Pairs are looked at where the package shapiq is installed:"
        code = f"pip install 'meritnas[explain]'\n{explain_code(run)}"
        return Section("interactions", title, lead, code=code)
    pairs.sort(key=lambda pair: -abs(pair[2]))
    by_strength = list(dict.fromkeys(name for a, b, _ in pairs for name in (a, b)))
    drawn = sorted(by_strength[:MOST_NAMES], key=[*parts, *by_strength].index)
    place = {name: number for number, name in enumerate(drawn)}
    values = {
        (min(place[a], place[b]), max(place[a], place[b])): value
        for a, b, value in pairs
        if a in place and b in place
    }
    lead = f"{_READING} All by one draw of validation rows, without intervals."
    if len(drawn) < len(by_strength):
        lead += f" Drawn are the {len(drawn)} of {len(by_strength)} parts with the strongest pairs."
    caption = f"every two parts ({metric_name(str(credit.get('metric', 'score')))})"
    ends = "one for the other", "better together"
    chart = pair_matrix("How much more two parts are worth together", drawn, values, ends)
    strongest = tuple((a, b, signed_text(value)) for a, b, value in pairs[:_SHOWN_PAIRS])
    return Section(
        "interactions",
        title,
        lead,
        figures=(Figure(chart, caption, wide=True),),
        table=Table(("part", "with", "more together"), strongest),
    )


def _credit(run: RunFiles) -> Mapping[str, Any]:
    """What is known of the run's network; nothing where another one has replaced it since."""
    credit = run["credit"]
    return credit if credit.get("architecture", run.network) == run.network else {}


def _part_figures(rows: Sequence[Mapping[str, Any]], metric: str) -> list[Figure]:
    """A chart of all parts; or, where decisions have several options, one for each of them."""
    alone = _alone(rows)
    groups: dict[str, list[Bar]] = {}
    for row in rows:
        name = f"{row['decision']}: {row['option']}" if alone else str(row["option"])
        bar = Bar(name, row["value"], row["low"], row["high"], bool(row["chosen"]) and not alone)
        groups.setdefault(_PARTS if alone else str(row["decision"]), []).append(bar)
    label = f"Shapley value ({metric})"
    return [
        Figure(interval_bars(f"What is worth how much: {name}", bars, label), name)
        for name, bars in groups.items()
    ]


def _part_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The numbers of the charts; chosen options are marked where there are others."""
    found = tuple(
        (
            str(row["decision"]),
            str(row["option"]),
            signed_text(row["value"]),
            interval_text(row["low"], row["high"]),
        )
        for row in rows
    )
    marked = () if _alone(rows) else tuple(k for k, row in enumerate(rows) if row["chosen"])
    return Table(("part", "option", "Shapley value", "95 % interval"), found, marked)


def _alone(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether no decision has several rows."""
    return len({row["decision"] for row in rows}) == len(rows)


def _cost(network: RunNetwork, row: Mapping[str, Any], name: str) -> int | None:
    """What an alternative costs; None where this version cannot read it."""
    if name == "params":
        return int(row["cost"])
    assert network.family is not None
    try:
        return network.family.cost(str(row["architecture"]), name)
    except MeritNASError:
        return None


def _cost_text(name: str, cost: int | None, own: int | None) -> str:
    """A cost, and how much more or less than the chosen network's it is: 1,139 (+320)."""
    if cost is None:
        return "?"
    if own is None or cost == own:
        return amount_text(name, cost)
    sign = "+" if cost > own else "-"
    return f"{amount_text(name, cost)} ({sign}{amount_text(name, abs(cost - own))})"
