from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from browser import DRIVER, PROGRAM, Browser, browsing
from page_helpers import Page

import meritnas
from meritnas.report.page import report_page, write_report

pytestmark = pytest.mark.skipif(
    PROGRAM is None or DRIVER is None, reason="needs Debian's chromium and chromium-driver"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def explained(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run on a table with all that can be asked of it."""
    folder = Path(shutil.copytree(table, tmp_path_factory.mktemp("explained") / "run"))
    meritnas.explain(folder)
    write_report(folder)
    return folder


def brightness(colour: str) -> float:
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("name", ["explained", "cells", "fusion"])
def test_every_section_is_seen_and_nothing_is_cut_off(
    browser: Browser, request: pytest.FixtureRequest, name: str, width: int, dark: bool
) -> None:
    path = request.getfixturevalue(name) / "report.html"
    browser.looks(width, dark=dark)
    seen = browser.open(path.as_uri())
    assert browser.complaints() == []
    assert [box["name"] for box in seen["boxes"]] == Page(path.read_text()).sections
    for box in seen["boxes"]:
        assert box["shown"], box
        assert box["height"] > 40, box
        assert 0 <= box["left"] < box["right"] <= width, box
    assert seen["page"] <= width  # what is wider scrolls in its own frame
    assert seen["cut"] == []
    assert seen["smallest"] >= 8  # pixels that a letter is high, with what is above and below it
    assert (brightness(seen["back"]) < 60) == dark
    assert abs(brightness(seen["back"]) - brightness(seen["ink"])) > 150


@pytest.mark.parametrize("width", [360, 1280])
def test_a_large_matrix_scrolls_and_not_the_page(
    browser: Browser, explained: Path, tmp_path: Path, width: int
) -> None:
    folder = Path(shutil.copytree(explained, tmp_path / "copy"))
    names = [f"a rather long name {k}" for k in range(10)]
    pairs = [
        {"first": a, "second": b, "value": (-1) ** k * k / 100}
        for k, (a, b) in enumerate(combinations(names, 2))
    ]
    credit = json.loads((folder / "credit.json").read_text())
    (folder / "credit.json").write_text(json.dumps({**credit, "interactions": pairs}))
    write_report(folder)
    browser.looks(width, dark=False)
    seen = browser.open((folder / "report.html").as_uri())
    assert browser.complaints() == []
    assert seen["page"] <= width
    box = browser.asked(
        "const box = document.querySelector('#interactions .scroll');"
        "return [box.clientWidth, box.scrollWidth];"
    )
    assert (box[1] > box[0]) == (width == 360)


def test_a_link_leads_to_its_section(browser: Browser, explained: Path) -> None:
    browser.looks(360, dark=False)
    browser.open((explained / "report.html").as_uri())
    browser.asked("document.querySelector('nav a[href=\"#cost\"]').click()")
    top = browser.asked("return document.querySelector('#cost').getBoundingClientRect().top")
    assert -5 <= top < 900


def test_a_page_follows_a_search_until_it_ends(browser: Browser, tmp_path: Path) -> None:
    flags = ["--epochs", "60", "--retrain-epochs", "2", "--retrain-seeds", "1", "--finalists", "1"]
    search = subprocess.Popen(
        [
            *(sys.executable, "-m", "meritnas", "search", "digits", "--max-params", "4000"),
            *(*flags, "--live", "--quiet", "--threads", "1", "--out", str(tmp_path / "run")),
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert search.stderr is not None
    address = re.search(r"http://127\.0\.0\.1:\d+/", search.stderr.readline())
    assert address is not None
    browser.looks(1280, dark=False)
    browser.open(address[0])
    steps: list[str] = []
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        said = browser.asked("return document.querySelector('#live')?.textContent || ''")
        if "has ended" in said:
            break
        steps.append(browser.asked("return document.querySelector('main').textContent"))
        time.sleep(0.5)
    else:
        pytest.fail("the page did not say that the search has ended")
    assert search.wait(60) == 0, search.stderr.read()
    search.stderr.close()
    assert len(set(steps)) > 2  # it grew while it was looked at
    assert any("How the search made up its mind" in text for text in steps)
    assert "not finished" not in report_page(tmp_path / "run")
    browser.complaints()  # the page asks once more than there is somebody to answer
