"""What others make of the rows that a run's network is tested on."""

from __future__ import annotations

from meritnas.report.names import metric_name
from meritnas.report.numbers import score_text
from meritnas.report.page.section import Section, Table
from meritnas.report.run_files import RunFiles
from meritnas.report.run_network import RunNetwork
from meritnas.report.terminal.summary import OTHERS


def yardstick_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """The network's scores beside those of a guess, linear models, trees and a plain network."""
    found, test = run["result"].get("yardstick"), run["result"].get("test")
    if not found or not test:
        return None
    metrics = list(test)
    rows = [(network.short(run.network or ""), *(score_text(test[m]) for m in metrics))]
    for part, name in OTHERS.items():
        own = found[part]
        rows.append((name, *(score_text(own[m]) if m in own else "" for m in metrics)))
    plain = run["result"].get("plain")
    if plain and not plain["won"] and plain["test"]:
        own = plain["test"]
        name = f"a plain network, {plain['short']} ({plain['params']:,} parameters)"
        rows.append((name, *(score_text(own[m]) if m in own else "" for m in metrics)))
    lead = (
        f"Fitted on {found['rows']:,} of the rows that the network was trained on, without any "
        f"limit on size, by scikit-learn with its usual settings (but for networks); scored on "
        f"{found['tested']:,} test rows. There are as many trees as are best on validation rows, "
        "at most 100, or 100 for each of several classes."
    )
    head = ("", *(f"test {metric_name(metric)}" for metric in metrics))
    return Section("yardstick", "Yardstick", lead, table=Table(head, tuple(rows), (0,)), half=True)
