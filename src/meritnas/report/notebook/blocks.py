"""Pieces of HTML for a notebook: a heading, facts, tables, parts of a report."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from meritnas.report.notebook.pictures import images
from meritnas.report.page.section import Section, Table

_MOST_ROWS = 12


def heading(text: str) -> str:
    """A line that says what follows."""
    return f"<h4>{escape(text)}</h4>"


def facts_table(facts: Sequence[tuple[str, str]]) -> str:
    """Names and their values."""
    rows = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left;white-space:pre-line">{escape(value)}</td></tr>'
        for name, value in facts
    )
    return f"<table>{rows}</table>"


def table(found: Table) -> str:
    """The first rows of a table."""
    head = "".join(f"<th>{escape(name)}</th>" for name in found.head)
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
        for row in found.rows[:_MOST_ROWS]
    )
    more = len(found.rows) - _MOST_ROWS
    rest = f"<p>and {more:,} more rows</p>" if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{rest}"


def part(section: Section) -> str:
    """A part of a report: its figures, and its table where it has none."""
    body = images(section.figures)
    if not body and section.table is not None:
        body = table(section.table)
    return f"{heading(section.title)}<p>{escape(section.lead)}</p>{body}"
