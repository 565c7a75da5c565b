"""The result of a search as a table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meritnas.data.kind import DataKind
from meritnas.data.kinds import kind_named
from meritnas.families.catalogue import data_of
from meritnas.plugins import is_own
from meritnas.report.names import amount_text, cost_name, metric_name
from meritnas.report.numbers import count_text, duration_text, score_text, share_text
from meritnas.report.terminal.plain import PlainTable, plain

_TEACHERS = {
    **{"trees": "boosted trees", "finalists": "the networks trained before"},
    "given": "the estimator that was given",
}

_HARDLY = 0.05
"""Of all the time."""


def summary_table(summary: Mapping[str, Any]) -> PlainTable:
    """What a search found, for people; `summary` is what `meritnas search --json` prints."""
    table = PlainTable(header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in summary_rows(summary):
        table.add_row(name, plain(value, "bold" if name == "network" else ""))
    return table


def summary_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The lines of the table: a name, and its value as text; none for what a file has lost."""
    # Runs of earlier versions have one line only.
    lines = summary.get("lines") or [str(summary["architecture"])]
    rows = [("network", "\n".join(lines))]
    if "params" in summary and "limits" in summary:
        rows += _cost_rows(summary)
    if summary.get("limits") and "feasible_share" in summary:
        rows.append(("fit the limits", _feasible_text(summary)))
    if "test" in summary:
        rows += _score_rows(summary)
    if "yardstick" in summary:
        rows += _yardstick_rows(summary)
    if "threshold" in summary:
        chosen = (
            f"{float(summary['threshold']):.3g}, by validation {metric_name(summary['metric'])}"
        )
        rows.append(("threshold", chosen))
    if "teacher" in summary:
        teacher = summary["teacher"]
        by = _TEACHERS.get(teacher["by"], str(teacher["by"]))
        won = "" if teacher.get("won", True) else "; without it was better"
        rows.append(("taught by", f"{by}, {share_text(float(teacher['share']))} of the loss{won}"))
    if ended := _ended(summary.get("ending")):
        rows.append(("search", ended))
    if "seconds" in summary:
        rows.append(("time", duration_text(summary["seconds"])))
    if told := _spent_text(summary.get("spent", {})):
        rows.append(("spent on", told))
    return [*rows, ("run folder", str(summary.get("run", "?")))]


def _spent_text(spent: Mapping[str, float]) -> str:
    """What time was spent on, what took longest first, without what took hardly any."""
    hardly = _HARDLY * sum(spent.values())
    longest = sorted(spent.items(), key=lambda each: -float(each[1]))
    return ", ".join(f"{name} {duration_text(s)}" for name, s in longest if s > hardly)


def kind_of_data(summary: Mapping[str, Any]) -> DataKind:
    """The kind of data that a run was made on."""
    if "data_kind" in summary:
        return kind_named(str(summary["data_kind"]))
    # The first runs say which space it was only; one of a user's own is not imported for that.
    space = str(summary.get("space", "tabular"))
    return kind_named("table" if is_own(space) else data_of(space) or "table")


def _ended(ending: Any) -> str:
    """Whether a search ended too early, in a few words; the note at its end says more."""
    if not isinstance(ending, Mapping):
        return ""
    words = [word for word in ("undecided", "undertrained") if ending.get(word)]
    return f"too short: {' and '.join(words)}" if words else ""


def _cost_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    limits: Mapping[str, int] = summary["limits"]
    costs = {"params": summary["params"], **summary.get("costs", {})}
    rows = []
    for name, cost in costs.items():
        label = cost_name(name)
        if name in limits:
            used = share_text(cost / limits[name])
            amount, limit = amount_text(name, cost), amount_text(name, limits[name])
            rows.append((label, f"{amount} of at most {limit} ({used})"))
            if name == "latency":
                measured = amount_text(name, summary["measured_latency"])
                table = summary.get("latency_table")
                by = "its layers" if table is None else f"the times in {table}"
                here = "" if table is None else " here"
                rows.append(("", f"by {by}; {measured} measured{here} of the whole network"))
        elif name == "params":
            rows.append((label, f"{count_text(cost)} (no limit)"))
    return rows


def _feasible_text(summary: Mapping[str, Any]) -> str:
    share = share_text(summary["feasible_share"])
    if "feasible_count" not in summary:
        return f"{share} of the space"
    about = "" if summary.get("exact", True) else "at least "
    few, many = count_text(summary["feasible_count"]), count_text(summary["space_count"])
    return f"{about}{few} of {many} networks ({share})"


OTHERS = {"trivial": "a trivial guess", "linear": "a linear model", "trees": "boosted trees"}
"""Of a yardstick, in the order of what they can."""


def _yardstick_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The first metric of others on the same rows."""
    metric = next(iter(summary["test"]), "")
    found = {name: summary["yardstick"][part].get(metric) for part, name in OTHERS.items()}
    told = [f"{name} {score_text(value)}" for name, value in found.items() if value is not None]
    return [("for comparison", f"{metric_name(metric)} of {', '.join(told)}")] if told else []


def _score_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    seeds = int(summary.get("retrain_seeds", 1))
    rows = []
    for number, (metric, mean) in enumerate(summary["test"].items()):
        spread = summary.get("test_spread", {}).get(metric) if seeds > 1 else None
        text = score_text(mean, spread)
        if number == 0:
            trainings = f"{seeds} trainings" if seeds > 1 else "1 training"
            text += f"  (held-out {kind_of_data(summary).rows}, {trainings})"
        rows.append((f"test {metric_name(metric)}", text))
        if number == 0 and seeds > 1 and metric in summary.get("test_best", {}):
            best = score_text(summary["test_best"][metric])
            rows.append(("", f"best of {seeds} by validation {best}"))
    return rows
