from __future__ import annotations

import http.client
import re
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_helpers import SHORT, Outcome

from meritnas.cli.live import LivePage

Command = Callable[..., Outcome]


def test_a_page_goes_where_it_is_wanted(trained: Path, meritnas: Command) -> None:
    outcome = meritnas("report", trained)
    assert outcome.code == 0, outcome.err
    assert outcome.out.strip() == str(trained / "report.html")
    assert meritnas("report", trained).code == 0  # its own page may be replaced
    assert meritnas("report", trained, "--out", "page.html").code == 0
    assert Path("page.html").read_text() == (trained / "report.html").read_text()
    Path("page.html").write_text("mine")
    refused = meritnas("report", trained, "--out", "page.html")
    assert refused.code == 2
    assert "--force" in refused.err
    assert Path("page.html").read_text() == "mine"
    assert meritnas("report", trained, "--out", "page.html", "--force").code == 0
    assert "<html" in Path("page.html").read_text()


@pytest.mark.parametrize("command", ["report", "show"])
def test_what_is_no_run_is_refused(command: str, meritnas: Command) -> None:
    outcome = meritnas(command, "nowhere")
    assert outcome.code == 2
    assert "is not a run of MeritNAS" in outcome.err


def test_a_network_of_layers_is_drawn(
    trained: Path, meritnas: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    outcome = meritnas("show", trained)
    assert outcome.code == 0, outcome.err
    boxes = outcome.out.splitlines()[1]
    assert re.fullmatch(r"(│ *\d+ *│( -> )?){5}", boxes)
    assert boxes.rstrip("│ ").endswith("1")  # one number for two classes
    assert "of at most 300" in outcome.out
    assert "test accuracy" in outcome.out
    monkeypatch.setenv("COLUMNS", "40")
    assert re.match(r"\d+( -> \d+){4}\n", meritnas("show", trained).out)


def test_a_cell_is_listed_node_by_node(meritnas: Command) -> None:
    text = "|nor_conv_3x3~0|+|skip_connect~0|none~1|+|none~0|none~1|avg_pool_3x3~2|"
    own = ["--architecture", text, "--channels", "4", "--cells", "1", "--epochs", "1"]
    done = meritnas("retrain", "digits", "--space", "nasbench201", *own, "--quiet", "--out", "run")
    assert done.code == 0, done.err
    shown = meritnas("show", "run").out
    assert "node 2 = skip_connect(node 0)\n" in shown
    assert "node 3 = avg_pool_3x3(node 2)\n" in shown


def test_the_page_is_served_while_a_search_runs(sales: Path, meritnas: Command) -> None:
    flags = ["--target", "churn", "--quiet", "--json", *SHORT]
    plain = meritnas("search", sales, *flags, "--out", "still")
    live = meritnas("search", sales, *flags, "--out", "live", "--live")
    assert live.code == 0, live.err
    address = re.search(r"http://127\.0\.0\.1:(\d+)/", live.err)
    assert address is not None
    with socket.socket() as client:  # it has ended with the search
        assert client.connect_ex(("127.0.0.1", int(address[1]))) != 0
    assert (
        plain.out.replace("still", "live").split('"seconds"')[0] == live.out.split('"seconds"')[0]
    )


def ask(page: LivePage, path: str = "/", host: str | None = None) -> tuple[int, str]:
    place = page.address.removeprefix("http://").rstrip("/")
    connection = http.client.HTTPConnection(place, timeout=10)
    connection.request("GET", path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_a_page_follows_the_run(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("meritnas.cli.live.SECONDS", 0.2)
    found: list[Path] = []
    with LivePage(lambda: found[0] if found else None) as page:
        assert "data is being read" in ask(page)[1]
        found.append(trained)
        page._made = (-1e9, "")
        status, text = ask(page)
        assert status == 200
        assert 'id="policy"' in text
        assert "setInterval" in text
        assert ask(page, "/config.json")[0] == 404
        assert ask(page, host="elsewhere.example:80")[0] == 403


def test_a_page_is_made_at_most_every_two_seconds(
    trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def make(folder: Path, seconds: int) -> str:
        made.append(seconds)
        return folder.name

    monkeypatch.setattr("meritnas.report.page.page.report_page", make)
    page = LivePage(lambda: trained)
    askers = [threading.Thread(target=page.page) for _ in range(4)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert made == [2]
    page._server.server_close()


def test_a_port_in_use_is_said(sales: Path, meritnas: Command) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        outcome = meritnas("search", sales, "--target", "churn", "--live-port", port, *SHORT)
    assert outcome.code == 2
    assert "give another --live-port" in outcome.err
    assert not Path("runs").exists()
