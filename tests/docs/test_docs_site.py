"""The site: it builds, has every public name, needs no network, and can be searched from a disk."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from all_pages import NOTEBOOKS, ROOT

import meritnas
import meritnas.nn
from browser import DRIVER, PROGRAM, browsing
from once import made_once

LOADED = {
    "script": "src",
    "link": "href",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "object": "data",
    "embed": "src",
    "form": "action",
}
"""What browsers fetch by themselves, and where it says from where."""


class Loads(HTMLParser):
    """What a page loads, and the names that it has entries for."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.entries: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.entries.add(given.get("id") or "")
        self.loaded.append(given.get(LOADED.get(tag, "")) or "")
        self.loaded += re.findall(r"url\(([^)]*)\)", given.get("style") or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built once for all workers."""
    return made_once(tmp_path_factory, "site", build_site)


def build_site(folder: Path) -> None:
    """With every page in its navigation and no link that leads nowhere."""
    build = ["build", "--strict", "--quiet", "--site-dir", folder]
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", *build],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def read(page: Path) -> Loads:
    parser = Loads()
    parser.feed(page.read_text())
    return parser


def test_every_public_name_has_an_entry(site: Path) -> None:
    entries = {name for page in (site / "reference").glob("*.html") for name in read(page).entries}
    own = {name for name, value in vars(meritnas.nn).items() if hasattr(value, "__module__")}
    public = {f"meritnas.{name}" for name in meritnas.__all__}
    public |= {f"meritnas.nn.{name}" for name in own if not name.startswith("_")} - {
        "meritnas.nn.annotations"
    }
    assert len(public) > 80
    assert public - entries == set()


def test_no_page_needs_the_network(site: Path) -> None:
    for page in site.rglob("*.html"):
        elsewhere = [place for place in read(page).loaded if re.match(r"(https?:)?//", place)]
        assert not elsewhere, f"{page.relative_to(site)} loads {elsewhere}"
        assert "mermaid" not in page.read_text()  # which a script from elsewhere would draw
    for sheet in site.rglob("*.css"):
        assert not re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)]*", sheet.read_text())


def test_notebooks_are_there_with_their_output(site: Path) -> None:
    assert len(NOTEBOOKS) == 7  # six, and their index
    found = [json.loads(file.read_text()) for file in (site / "gallery").glob("*.ipynb")]
    assert len(found) == len(NOTEBOOKS) - 1
    for notebook in found:
        code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        assert notebook["nbformat"] == 4
        assert sum(bool(cell["outputs"]) for cell in code) >= 3
        assert "```" not in "".join(cell["source"] for cell in code)


@pytest.mark.skipif(PROGRAM is None or DRIVER is None, reason="needs chromium and chromium-driver")
def test_the_search_works_from_a_disk(site: Path, tmp_path: Path) -> None:
    with browsing(tmp_path) as browser:
        browser.driver.get((site / "index.html").as_uri() + "?q=InfeasibleError")
        for _ in range(100):
            results = browser.driver.find_elements("css selector", ".md-search-result__link")
            if results:
                break
            time.sleep(0.1)
        links = [result.get_attribute("href") for result in results]
        assert browser.complaints() == []
    assert any("errors/infeasible.html" in link for link in links), links
    assert all(link.startswith("file:") for link in links)
