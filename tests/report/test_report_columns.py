from __future__ import annotations

import io

from rich.console import Console

from meritnas.report.terminal.columns_table import columns_table


def test_every_row_is_shown_as_it_is() -> None:
    console = Console(width=60, record=True, file=io.StringIO())
    console.print(columns_table([("[b]x", "number", "mean 1"), ("y", "left out", "row " * 30)]))
    text = console.export_text()
    assert "column" in text
    assert "[b]x" in text
    assert text.count("row") == 30
    assert max(len(line) for line in text.splitlines()) <= 60
