from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import combinations
from pathlib import Path

import pytest
from page_helpers import SHORT, Page, run

import meritnas
from browser import DRIVER, PROGRAM, Browser, browsing
from meritnas.cli.live import LivePage
from meritnas.report.page.page import report_page, write_report
from unchecked import unchecked_copy

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


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on a table with many layers, explained."""
    folder = tmp_path_factory.mktemp("deep") / "run"
    run("search", "wine", "--layers", "9", "--widths", "8,16", *SHORT, "--quiet", "--out", folder)
    meritnas.explain(folder)
    return folder


@pytest.fixture(scope="module")
def unfinished(deep: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same while it was searching."""
    folder = Path(shutil.copytree(deep, tmp_path_factory.mktemp("unfinished") / "run"))
    for name in ("result", "retrain", "architecture", "credit"):
        (folder / f"{name}.json").unlink()
    write_report(folder)
    return folder


def brightness(colour: str) -> float:
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize(
    "name", ["explained", "deep", "unfinished", "words", "cells", "darts", "fusion", "numbers"]
)
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
    # Pixels that a letter is high, with what is above and below it; browsers round what they scale.
    assert round(seen["smallest"], 3) >= 10
    assert (brightness(seen["back"]) < 60) == dark
    assert abs(brightness(seen["back"]) - brightness(seen["ink"])) > 150


@pytest.mark.parametrize("width", [360, 1280])
def test_a_large_matrix_scrolls_and_not_the_page(
    browser: Browser, explained: Path, tmp_path: Path, width: int
) -> None:
    folder = unchecked_copy(explained, tmp_path / "copy")
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


def test_what_scrolls_sideways_says_so_at_its_edge(browser: Browser, deep: Path) -> None:
    browser.looks(360, dark=False)
    browser.open((deep / "report.html").as_uri())
    dim = []
    for place in (0, 10_000):
        browser.asked(f"document.querySelector('#finalists .scroll').scrollLeft = {place}")
        dim.append(brightness(browser.colour("#finalists .scroll", right=2, top=4)))
    assert dim[0] < dim[1] - 20  # a shadow, until its end is reached


def test_flags_of_a_command_are_not_broken(browser: Browser, deep: Path) -> None:
    browser.looks(360, dark=False)
    browser.open((deep / "report.html").as_uri())
    lines = browser.asked(
        "return [...document.querySelectorAll('#repeat code span')]"
        ".map((each) => each.getClientRects().length)"
    )
    assert len(lines) > 5
    assert set(lines) == {1}


@pytest.mark.parametrize("name", ["explained", "deep", "cells", "fusion"])
def test_nothing_that_names_a_network_is_broken(
    browser: Browser, request: pytest.FixtureRequest, name: str
) -> None:
    browser.looks(400, dark=False)
    browser.open((request.getfixturevalue(name) / "report.html").as_uri())
    lines = browser.asked(
        "return [...document.querySelectorAll('.whole, td, h1 .net')]"
        ".filter((each) => each.textContent && each.checkVisibility()).map((each) => "
        "[each.textContent, [...each.childNodes].filter((one) => one.nodeType === 3).map((one) => {"
        "const range = document.createRange(); range.selectNodeContents(one);"
        "return new Set([...range.getClientRects()].map((box) => box.top)).size;})])"
    )
    assert len(lines) > 10
    assert [text for text, counts in lines if max(counts, default=1) > 1] == []


def test_the_width_of_a_screen_is_used(browser: Browser, explained: Path) -> None:
    browser.looks(1280, dark=False)
    browser.open((explained / "report.html").as_uri())
    lefts = "Math.min(...boxes.map((each) => each.left))"
    rights = "Math.max(...boxes.map((each) => each.right))"
    left, right = browser.asked(
        "const boxes = [...document.querySelectorAll('main section')]"
        f".map((each) => each.getBoundingClientRect()); return [{lefts}, {rights}];"
    )
    assert right - left > 1200


def test_a_section_is_folded_with_the_keyboard(browser: Browser, explained: Path) -> None:
    browser.looks(1280, dark=False)
    browser.open((explained / "report.html").as_uri())
    shown = "return document.querySelector('#confusion svg').checkVisibility()"
    assert browser.asked(shown)
    browser.asked("document.querySelector('#confusion summary').focus()")
    browser.press(" ")
    assert not browser.asked(shown)
    browser.press(" ")
    assert browser.asked(shown)


def test_a_link_leads_to_its_section(browser: Browser, explained: Path) -> None:
    browser.looks(360, dark=False)
    browser.open((explained / "report.html").as_uri())
    browser.asked("document.querySelector('nav a[href=\"#cost\"]').click()")
    top = browser.asked("return document.querySelector('#cost').getBoundingClientRect().top")
    assert -5 <= top < 900


def until(browser: Browser, script: str) -> None:
    """Wait until a script returns something true."""
    deadline = time.monotonic() + 20
    while not browser.asked(script):
        assert time.monotonic() < deadline, script
        time.sleep(0.1)


def test_a_page_made_anew_stays_where_it_was_scrolled_to_and_ends_with_the_run(
    browser: Browser, unfinished: Path, deep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("meritnas.cli.live.SECONDS", 1)
    folder = unchecked_copy(unfinished, tmp_path / "run")
    asked = "performance.getEntriesByType('resource').length"
    with LivePage(lambda: folder) as page:
        browser.looks(360, dark=False)
        browser.open(page.address)
        browser.asked(
            "document.querySelector('#network .scroll').scrollLeft = 50;"
            "document.querySelector('main').dataset.old = 'yes';"
        )
        until(browser, "return !document.querySelector('main').dataset.old")
        assert browser.asked("return document.querySelector('#network .scroll').scrollLeft") == 50
        shutil.copy(deep / "result.json", folder / "result.json")
        until(browser, "return document.querySelector('#live').textContent.includes('has ended')")
        count = browser.asked(f"return {asked}")
        time.sleep(2)
        assert browser.asked(f"return {asked}") == count
    assert browser.complaints() == []


DRIVEN = """
import sys
from meritnas.cli import live
from meritnas.cli.main import main
from meritnas.progress.listener import Listener

live.SECONDS = 1
hear, stops = Listener.__call__, [0.9, 0.6, 0.3]

def wait(self, event):
    hear(self, event)
    if event["kind"] == "search" and stops and event["step"] >= stops[-1] * event["steps"]:
        stops.pop()
        print("waits", file=sys.stderr, flush=True)
        sys.stdin.readline()

Listener.__call__ = wait
main(sys.argv[1:])
"""
"""A search that stops three times on its way, until it is told to go on."""


def test_a_page_follows_a_search_until_it_ends(browser: Browser, tmp_path: Path) -> None:
    flags = ["--epochs", "20", "--retrain-epochs", "2", "--retrain-seeds", "1", "--finalists", "1"]
    search = subprocess.Popen(
        [
            *(sys.executable, "-c", DRIVEN, "search", "digits", "--max-params", "4000"),
            *(*flags, "--live", "--quiet", "--threads", "1", "--out", str(tmp_path / "run")),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with ExitStack() as stack:
        stack.callback(search.kill)
        assert search.stdin is not None
        assert search.stderr is not None
        told, said = stack.enter_context(search.stdin), stack.enter_context(search.stderr)
        address = re.search(r"http://127\.0\.0\.1:\d+/", said.readline())
        assert address is not None
        browser.looks(1280, dark=False)
        browser.open(address[0])
        seen: set[str] = set()
        for _ in range(3):
            assert said.readline() == "waits\n"
            seen.add(other(browser, seen))  # it grows while it is looked at
            print("go on", file=told, flush=True)
        until(browser, "return document.querySelector('#live')?.textContent.includes('has ended')")
        assert search.wait(60) == 0, said.read()
    assert "not finished" not in report_page(tmp_path / "run")
    time.sleep(2.5)
    assert len(browser.complaints()) <= 1  # it asks no more than once in vain


def other(browser: Browser, seen: set[str]) -> str:
    """What the page of a search says, as soon as that is something new."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        text = str(browser.asked("return document.querySelector('main')?.textContent || ''"))
        if "How the search made up its mind" in text and text not in seen:
            return text
        time.sleep(0.1)
    return pytest.fail("the page did not change")
