"""The rows or pictures that a run's network gets most wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from meritnas.prepare.config import kind_of_run
from meritnas.report.page.failures import failures_of
from meritnas.report.page.features import known_features
from meritnas.report.page.section import Section, Shown, Table
from meritnas.report.run_files import RunFiles
from meritnas.report.run_network import RunNetwork

_SHOWN_ROWS = 12
_SHOWN_COLUMNS = 12


def worst_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """What the network is most wrong about: pictures, and rows by their cells."""
    del network
    found = failures_of(run)
    if "worst" not in found:
        return None
    worst, what = found["worst"], kind_of_run(run.config).rows
    if not worst:
        return Section("worst", "Most wrong", f"All test {what} that were looked at are right.")
    shown = worst[: _SHOWN_ROWS if "pictures" not in worst[0] else len(worst)]
    cells = _columns(run, shown)[:_SHOWN_COLUMNS]
    lead = f"Test {what} that the network gets most wrong, the worst first ({len(shown)} of them)."
    if "pictures" in shown[0] and "chance" in shown[0]:
        lead += " In brackets: the probability of the answer, and that of the truth."
    if "number" in shown[0]:
        lead += " Rows are counted from 0, as the data was read."
    if every := len(shown[0].get("cells", ())) - len(cells):
        lead += f" {every} columns are left out."
    return Section(
        "worst",
        "Most wrong",
        lead,
        pictures=tuple(_shown(one) for one in shown if "pictures" in one),
        table=_table(shown, cells) if cells or "pictures" not in shown[0] else None,
    )


def _columns(run: RunFiles, worst: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns of rows, those that are worth most first where that is known."""
    names = list(worst[0].get("cells", ()))
    worth = [str(row["column"]) for row in known_features(run)]
    return sorted(names, key=lambda name: worth.index(name) if name in worth else len(worth))


def _shown(one: Mapping[str, Any]) -> Shown:
    words = f"{_text(one['truth'])}, answered {_text(one['said'])}"
    if "chance" in one:
        words += f" ({one['chance']:.3f}, {one['of_truth']:.3f})"
    return Shown(tuple(one["pictures"].items()), words)


def _said(one: Mapping[str, Any]) -> dict[str, str]:
    """What is true and what was said, in words."""
    said = {"truth": _text(one["truth"]), "answer": _text(one["said"])}
    if "off" in one:
        return {**said, "off by": f"{one['off']:+,.4g}"}
    if "chance" in one:
        said["its probability"] = f"{one['chance']:.3f}"
        said["that of the truth"] = f"{one['of_truth']:.3f}"
    return said


def _text(value: Any) -> str:
    return f"{value:,.6g}" if isinstance(value, int | float) else str(value) or "(none)"


def _table(worst: Sequence[Mapping[str, Any]], cells: Sequence[str]) -> Table:
    numbered = ["row"] if "number" in worst[0] else []
    rows = tuple(
        (
            *(f"{one['number']:,}" for _ in numbered),
            *_said(one).values(),
            *(str(one["cells"].get(name, "")) for name in cells),
        )
        for one in worst
    )
    return Table((*numbered, *_said(worst[0]), *cells), rows)
