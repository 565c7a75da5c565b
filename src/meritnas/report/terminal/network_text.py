"""A run's network in a terminal, with what it costs and its scores."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from meritnas.families.drawing import drawing_lines
from meritnas.report.page.network import summary_facts
from meritnas.report.run_files import RunFiles
from meritnas.report.run_network import run_network
from meritnas.report.terminal.plain import PlainTable, plain

_INDENT = "  "


def network_text(run: RunFiles, width: int) -> Text:
    """A run's network for a terminal so many columns wide: boxes, or the nodes of its cells.

    A text that is damaged is an error.
    """
    text = run.network
    if text is None:
        return plain("no network yet")
    network = run_network(run)
    if network.family is not None:
        network.parsed(text)
    if network.layers:
        boxes = _boxes([(name, f"{size:,}") for name, size in network.layers], width)
        return plain("\n".join(boxes))
    lines = []
    for drawing in network.drawings:
        lines += [drawing.title, *(_INDENT + line for line in drawing_lines(drawing))]
    return plain("\n".join(lines or [text]))


def facts_table(run: RunFiles) -> PlainTable:
    """What the network costs, its scores, and how it was found."""
    table = PlainTable(header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in summary_facts(run):
        unknown = name == "data" and not run.config["data"]
        table.add_row(name, "?" if unknown else value)
    return table


def _boxes(shown: Sequence[tuple[str, str]], width: int) -> list[str]:
    """Boxes with arrows between them, names below; numbers and arrows where there is no room."""
    wide = [max(len(name), len(number) + 4) for name, number in shown]
    if sum(wide) + 4 * (len(wide) - 1) > width:
        return [" -> ".join(number for _, number in shown)]
    rows: list[list[str]] = [[], [], [], []]
    for (name, number), room in zip(shown, wide, strict=True):
        inner = room - 2
        parts = (f"┌{'─' * inner}┐", f"│{number:^{inner}}│", f"└{'─' * inner}┘", f"{name:^{room}}")
        for row, part in zip(rows, parts, strict=True):
            row.append(part)
    joints = ("    ", " -> ", "    ", "    ")
    return [joint.join(row).rstrip() for joint, row in zip(joints, rows, strict=True)]
