from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from page_helpers import Page, run, section

from meritnas.report.page.page import report_page

DOCS = Path(__file__).parents[2] / "docs"
SHORT = ["--epochs", "1", "--retrain-epochs", "1", "--retrain-seeds", "1", "--finalists", "1"]


def test_a_run_in_a_space_of_ones_own_goes_by_its_data_and_lists_what_was_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The space that the docs show, on a table."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    snippets = re.findall(r"```python\n(.*?)```", (DOCS / "extending.md").read_text(), re.DOTALL)
    (source,) = [each for each in snippets if each.startswith("# activations.py")]
    (tmp_path / "own_activations.py").write_text(source)
    own = ["--space", "own_activations:Activations", "--out", tmp_path / "run"]
    run("search", "wine", *own, *SHORT, "--quiet")
    printed = capsys.readouterr().out
    assert "(held-out rows, 1 training)" in printed
    assert "new.csv" in printed
    text = report_page(tmp_path / "run")
    assert "network" in Page(text).sections
    chosen = json.loads((tmp_path / "run" / "result.json").read_text())["architecture"].split("-")
    for place, option in enumerate(chosen):
        assert f"<td>act{place}</td><td>{option}</td>" in section(text, "network")
