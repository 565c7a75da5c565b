from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from meritnas.families.presets import tables

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_snippets_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The front page's as they are, others with short trainings; MERITNAS_FULL=1 leaves all be."""
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    if page.name != "README.md" and not os.environ.get("MERITNAS_FULL"):
        text = re.sub(r"\bminutes=[\d.]+", "minutes=0.01", text)
        monkeypatch.setattr(tables, "default_search_epochs", lambda _rows, _size: 5)
        monkeypatch.setattr(tables, "default_train_epochs", lambda _rows, _size: 5)
    names: dict[str, object] = {}
    monkeypatch.syspath_prepend(tmp_path)
    for snippet in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        if file := re.match(r"# (\w+\.py)\n", snippet):  # a module of the reader's
            (tmp_path / file[1]).write_text(snippet)
            continue
        exec(compile(snippet, page.name, "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for link in re.findall(r"\]\((?!https:)([^)#]+)\)", text):
        assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_the_site_builds() -> None:
    """With every page in its navigation and no link that leads nowhere."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert (Path(folder) / "results" / "index.html").exists()


def test_examples_for_extension_are_short() -> None:
    text = (ROOT / "docs" / "extending.md").read_text()
    modules = re.findall(r"```python\n(# \w+\.py\n.*?)```", text, flags=re.DOTALL)
    assert len(modules) == 2  # a strategy; a space
    assert all(len(module.splitlines()) < 60 for module in modules)
