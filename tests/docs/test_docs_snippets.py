from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from all_pages import NOTEBOOKS, PAGES, ROOT, page_name

from meritnas.families.presets import tables

WITH_SNIPPETS = [page for page in PAGES if "```python\n" in page.read_text()]


@pytest.mark.parametrize("page", WITH_SNIPPETS, ids=page_name)
def test_python_snippets_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The front page's as they are, others with short trainings; MERITNAS_FULL=1 leaves all be."""
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    if page.name != "README.md" and not os.environ.get("MERITNAS_FULL"):
        text = re.sub(r"\bminutes=[\d.]+", "minutes=0.01", text)
        if page in NOTEBOOKS:
            text = re.sub(r"\bepochs=\d+", "epochs=1", text)
        monkeypatch.setattr(tables, "default_search_epochs", lambda _rows, _size: 5)
        monkeypatch.setattr(tables, "default_train_epochs", lambda _rows, _size: 5)
    names: dict[str, object] = {}
    monkeypatch.syspath_prepend(tmp_path)
    for snippet in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        if file := re.match(r"# (\w+\.py)\n", snippet):  # a module of the reader's
            (tmp_path / file[1]).write_text(snippet)
            continue
        exec(compile(snippet, page.name, "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for link in re.findall(r"\]\((?!https:)([^)#]+)\)", text):
        if (page.parent / link).parent.name == "reference":
            continue  # these pages are made with the site, whose own test sees to them
        assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_examples_for_extension_are_short() -> None:
    text = (ROOT / "docs" / "extending.md").read_text()
    modules = re.findall(r"```python\n(# \w+\.py\n.*?)```", text, flags=re.DOTALL)
    assert len(modules) == 2  # a strategy; a space
    assert all(len(module.splitlines()) < 60 for module in modules)
