from __future__ import annotations

import http.client
import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from page_helpers import Page, elsewhere, section

from browser import DRIVER, PROGRAM, Browser, browsing
from meritnas.cli import live_board
from meritnas.report.board.board import Board, write_board
from unchecked import unchecked_copy

EVIL = "<script>alert('x')</script>"


def changed(run: Path, name: str, **values: Any) -> None:
    """Give values in a JSON file of a run, `a__b` for one in an object."""
    content = json.loads((run / name).read_text())
    for path, value in values.items():
        *outer, last = path.split("__")
        place = content
        for key in outer:
            place = place[key]
        place[last] = value
    (run / name).write_text(json.dumps(content))


def variant(run: Path, place: Path, strategy: str, seed: int, accuracy: float) -> Path:
    """A run that another strategy could have made of the same data."""
    made = unchecked_copy(run, place)
    space = json.loads((made / "config.json").read_text())["settings"]["strategy"]
    changed(made, "config.json", settings__strategy={**space, "name": strategy})
    changed(made, "architecture.json", strategy=strategy)
    changed(made, "config.json", settings__seed=seed)
    changed(made, "result.json", strategy=strategy, seed=seed, test__accuracy=accuracy)
    return made


@pytest.fixture(scope="module")
def many(table: Path, cells: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of two strategies, one on other data, one that goes on, a damaged and a foreign one."""
    folder = tmp_path_factory.mktemp("many") / "runs"
    folder.mkdir()
    shutil.copytree(table, folder / "wine one")
    for seed in range(2):
        variant(table, folder / "compared" / f"random-{seed}", "random", seed, 0.5 + seed / 10)
    shutil.copytree(cells, folder / "cells")
    waiting = unchecked_copy(table, folder / "waiting")
    for name in ("result", "retrain", "architecture"):
        (waiting / f"{name}.json").unlink()
    (waiting / "report.html").unlink()
    damaged = unchecked_copy(table, folder / "damaged")
    (damaged / "config.json").write_text("{")
    (folder / "photos" / "cats").mkdir(parents=True)
    (folder / "elsewhere").symlink_to(table)
    return folder


@pytest.fixture(scope="module")
def page(many: Path) -> str:
    return write_board(many)[0].read_text()


def rows(page: str) -> dict[str, list[str]]:
    """Name -> what is in the cells of its row."""
    found = re.findall(r'<tr id="r\d+" data-name="([^"]*)"[^>]*>(.*?)</tr>', page, re.DOTALL)
    return {name: re.findall(r"<td[^>]*>(.*?)</td>", cells, re.DOTALL) for name, cells in found}


def test_every_run_is_a_line_and_unfinished_ones_say_so(page: str) -> None:
    Page(page)
    assert elsewhere(page) == []
    found = rows(page)
    assert set(found) == {"cells", "compared/random-0", "compared/random-1", "waiting", "wine one"}
    assert {name: cells[7] for name, cells in found.items() if name != "waiting"} == dict.fromkeys(
        set(found) - {"waiting"}, "finished"
    )
    assert found["waiting"][7] == "not finished"
    assert found["compared/random-1"][6].startswith("0.600")
    assert found["compared/random-1"][2:4] == ["wine", "random"]


def test_links_lead_to_the_reports_that_there_are(many: Path, page: str, tmp_path: Path) -> None:
    found = {name: re.findall('href="([^"]*)"', cells[1]) for name, cells in rows(page).items()}
    assert found["wine one"] == ["wine%20one/report.html"]
    assert found["waiting"] == []
    other = write_board(many, tmp_path / "board.html")[0].read_text()
    [link] = re.findall('href="([^"]*)"', rows(other)["cells"][1])
    assert (tmp_path / link).resolve() == (many / "cells" / "report.html").resolve()


def test_what_is_no_run_is_named_and_left_out(page: str) -> None:
    left = section(page, "left-out")
    assert re.search(r"<b>damaged</b>: .*config.json could not be read", left)
    assert "<b>photos</b>: there is no run in it" in left
    assert "<b>elsewhere</b>: it is a link" in left
    assert "waiting" not in left


def test_strategies_meet_where_data_and_limits_are_the_same(page: str) -> None:
    wine = next(part for part in page.split("<section")[1:] if ">wine</h2>" in part)
    assert wine.count("Strategies, parameters up to 900, multiply-adds up to 800") == 1
    images = next(part for part in page.split("<section")[1:] if ">images</h2>" in part)
    assert "Strategies" not in images
    captions = Page(page).captions
    assert "test accuracy against parameters" in captions
    assert sum("trained alone" in caption for caption in captions) == 2
    groups = {group for one in re.findall(r'data-runs="([^"]*)"', page) for group in one.split()}
    assert len(groups) == 5  # also what goes on has a curve
    assert all(f'<g class="{group}">' in page for group in groups)


def test_words_of_runs_are_words(table: Path, tmp_path: Path) -> None:
    run = variant(table, tmp_path / "<img src=x onerror=alert(1)>", EVIL, 0, 0.5)
    changed(run, "config.json", data__name=EVIL, settings__limits={EVIL: 3})
    changed(run, "result.json", short=EVIL)
    changed(run, "result.json", test={EVIL: 0.5}, test_spread={}, pareto=[])
    text = write_board(tmp_path)[0].read_text()
    Page(text)
    assert "<script>alert" not in text
    assert "<img" not in text
    assert text.count("&lt;script&gt;alert") > 5


def test_nothing_that_a_run_names_is_run(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil.py").write_text("open('touched', 'w')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    run = unchecked_copy(table, tmp_path / "runs" / "own")
    changed(run, "config.json", settings__space={"name": "evil:build"})
    text = write_board(tmp_path / "runs")[0].read_text()
    assert rows(text)["own"][9] == "evil:build"
    assert not (tmp_path / "touched").exists()
    assert "evil" not in sys.modules


@pytest.mark.parametrize("part", ["test", "params", "pareto", "seconds", "limits"])
def test_files_that_hold_other_things_cost_their_run_only(
    table: Path, tmp_path: Path, part: str
) -> None:
    shutil.copytree(table, tmp_path / "good")
    run = unchecked_copy(table, tmp_path / "strange")
    name = "config.json" if part == "limits" else "result.json"
    path = "settings__limits" if part == "limits" else part
    changed(run, name, **{path: ["strange", 3]})
    text = write_board(tmp_path)[0].read_text()
    Page(text)
    assert "good" in rows(text)
    assert ("strange" in rows(text)) != ("<b>strange</b>" in section(text, "left-out"))


def test_a_board_asked_again_sees_what_has_changed(table: Path, tmp_path: Path) -> None:
    run = unchecked_copy(table, tmp_path / "run")
    shutil.move(run / "result.json", tmp_path / "kept.json")
    board = Board(tmp_path)
    board.read()
    before = board.entries[0]
    board.read()
    assert board.entries[0] is before  # as nothing has changed
    assert before.state == "not finished"
    shutil.move(tmp_path / "kept.json", run / "result.json")
    board.read()
    assert board.entries[0].state == "finished"


def asked(port: int, path: str, host: str = "127.0.0.1") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path, headers={"Host": f"{host}:{port}"})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_it_is_served_on_this_machine_until_ctrl_c(many: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "meritnas", "board", str(many), "--live"]
    command += ["--out", str(tmp_path / "board.html")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as served:
        try:
            assert served.stderr is not None
            lines = iter(served.stderr.readline, "")
            line = next(each for each in lines if "Ctrl-C" in each)
            found = re.search(r"http://127\.0\.0\.1:(\d+)/$", line.strip())
            assert found is not None
            port = int(found[1])
            status, text = asked(port, "/")
            assert (status, len(rows(text))) == (200, 5)
            assert asked(port, "/waiting/report.html")[0] == 200  # made of its files
            assert asked(port, "/damaged/config.json")[0] == 404
            assert asked(port, "/%2e%2e/secret")[0] == 404
            assert asked(port, "/", host="elsewhere.example")[0] == 403
            served.send_signal(signal.SIGINT)
            assert served.wait(30) == 0
            assert "Traceback" not in served.stderr.read()
        finally:
            served.kill()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if PROGRAM is None or DRIVER is None:
        pytest.skip("needs Debian's chromium and chromium-driver")
    with browsing(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_all_of_it_is_seen(browser: Browser, many: Path, page: str, width: int, dark: bool) -> None:
    browser.looks(width, dark=dark)
    seen = browser.open((many / "board.html").as_uri())
    assert browser.complaints() == []
    assert [box["name"] for box in seen["boxes"]] == Page(page).sections
    for box in seen["boxes"]:
        assert box["shown"], box
        assert 0 <= box["left"] < box["right"] <= width, box
    assert seen["page"] <= width
    assert seen["cut"] == []
    assert round(seen["smallest"], 3) >= 10
    limits = "document.querySelectorAll('#list .limits')"  # which would push others out of sight
    assert (
        0
        < browser.asked(f"return Math.max(...[...{limits}].map((each) => each.offsetWidth))")
        < 260
    )


def names(browser: Browser) -> list[str]:
    """The runs that are listed, in their order."""
    found: list[str] = browser.asked(
        "return [...document.querySelectorAll('#list tbody tr')]"
        ".filter((row) => !row.hidden).map((row) => row.dataset.name)"
    )
    return found


def drawn(browser: Browser) -> set[str]:
    """The runs of which something is seen in a chart."""
    found: list[str] = browser.asked(
        "return [...document.querySelectorAll('.part g')]"
        ".filter((each) => each.getClientRects().length)"
        ".map((each) => document.getElementById(each.className.baseVal).dataset.name)"
    )
    return set(found)


def test_runs_are_sorted_found_and_laid_over_each_other(
    browser: Browser, many: Path, page: str
) -> None:
    browser.looks(1280, dark=False)
    browser.open((many / "board.html").as_uri())
    every = set(rows(page))
    assert drawn(browser) == set(names(browser)) == every
    score = "document.querySelector('#list th[data-column=\"4\"] button').click();"
    browser.asked(score)
    upwards = [name for name in names(browser) if "random" in name]
    assert names(browser)[-1] == "waiting"  # which has no score
    browser.asked(score)
    assert [name for name in names(browser) if "random" in name] == upwards[::-1]
    assert names(browser)[-1] == "waiting"
    choose = "const box = document.querySelector('select[name=\"1\"]'); box.value = 'random';"
    browser.asked(choose + "box.dispatchEvent(new Event('input', {bubbles: true}));")
    assert drawn(browser) == set(names(browser)) == set(upwards)
    assert browser.asked("return document.querySelector('#count').textContent") == "2 of 5 runs"
    browser.asked(f"document.querySelector('tr[data-name=\"{upwards[0]}\"] input').click();")
    assert drawn(browser) == {upwards[0]}
    assert set(names(browser)) == set(upwards)
    browser.asked("document.querySelector('#filter button').click();")
    browser.driver.implicitly_wait(0)
    browser.driver.execute_async_script("setTimeout(arguments[0], 50)")
    assert drawn(browser) == set(names(browser)) == every
    assert browser.complaints() == []


def test_a_live_board_follows_its_runs_and_keeps_what_was_ticked(
    browser: Browser, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_board, "SECONDS", 0.2)
    run = unchecked_copy(table, tmp_path / "runs" / "run")
    shutil.move(run / "result.json", tmp_path / "kept.json")
    board = Board(run.parent)
    board.read()
    page = live_board.LiveBoard(board)
    thread = threading.Thread(target=page.serve)
    thread.start()
    try:
        browser.open(page.address)
        browser.asked("document.querySelector('tbody input').click();")
        state = "return document.querySelector('tbody tr').cells[7].textContent"
        assert browser.asked(state) == "not finished"
        shutil.move(tmp_path / "kept.json", run / "result.json")
        deadline = time.monotonic() + 20
        while browser.asked(state) != "finished":
            assert time.monotonic() < deadline
            time.sleep(0.1)
        count = "return document.querySelector('#count').textContent"
        assert browser.asked(count) == "1 of 1 runs, 1 ticked"
    finally:
        page._server.shutdown()
        thread.join()
