from __future__ import annotations

import http.client
import re
import resource
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, redirect_stderr, suppress
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import _PROCESSES as PROCESSES
from cli_helpers import SHORT

from meritnas.cli import page_server
from meritnas.cli.live import LivePage
from meritnas.cli.main import main
from meritnas.cli.page_server import MOST_CLIENTS
from meritnas.progress.listener import Listener

PATIENCE = 0.4


@pytest.fixture
def page(trained: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LivePage]:
    """The page of a finished run, of a server that waits for nobody for long."""
    monkeypatch.setattr(page_server, "PATIENCE", PATIENCE)
    monkeypatch.setattr(page_server._Client, "timeout", PATIENCE)
    monkeypatch.setattr("meritnas.cli.live.SECONDS", 0.2)
    with LivePage(lambda: trained) as found:
        yield found


def place(page: LivePage) -> tuple[str, int]:
    host, port = page.address.removeprefix("http://").rstrip("/").split(":")
    return host, int(port)


def answers(page: LivePage) -> bool:
    """Whether a browser gets the page, as soon as there is a place for it."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        connection = http.client.HTTPConnection(*place(page), timeout=10)
        try:
            connection.request("GET", "/")
            return b'id="policy"' in connection.getresponse().read()
        except (ConnectionError, http.client.HTTPException):
            time.sleep(0.1)  # all places are taken
        finally:
            connection.close()
    return False


def closed(client: socket.socket, seconds: float) -> bool:
    """Whether the other side ends a connection within this time."""
    client.settimeout(seconds)
    try:
        while client.recv(65_536):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return True


def test_clients_beyond_the_most_are_sent_away_and_idle_ones_time_out(page: LivePage) -> None:
    with ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(place(page), timeout=10))
            for _ in range(3 * MOST_CLIENTS)
        ]
        assert all(closed(client, 20) for client in clients)
        assert answers(page)


def test_no_more_clients_than_the_most_have_a_thread(
    page: LivePage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_server, "PATIENCE", 60.0)
    before = threading.active_count()
    with ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(place(page), timeout=10))
            for _ in range(MOST_CLIENTS + 5)
        ]
        assert sum(closed(client, 0.3) for client in reversed(clients[MOST_CLIENTS:])) == 5
        assert threading.active_count() - before <= MOST_CLIENTS
        assert not closed(clients[0], 0.1)
    assert answers(page)  # those who have left are forgotten


def test_a_client_that_sends_a_byte_now_and_then_is_not_waited_for(page: LivePage) -> None:
    with socket.create_connection(place(page), timeout=10) as client:
        deadline = time.monotonic() + 20
        while not closed(client, PATIENCE / 8):
            assert time.monotonic() < deadline
            try:
                client.send(b"X")
            except ConnectionError:
                break
    assert answers(page)


STRANGE = {
    "garbage": bytes(range(256)) * 20 + b"\r\n\r\n",
    "an encrypted greeting": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\xff" * 500,
    "HTTP 0.9": b"GET /\r\n\r\n",
    "no such HTTP": b"GET / HTTP/9.x.1\r\n\r\n",
    "another method": b"DELETE / HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n",
    "no method": b"\r\n\r\n\r\n",
    "a long line": b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\n\r\n",
    "a long header": b"GET / HTTP/1.1\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 5_000 + b"\r\n",
    "a header that is none": b"GET / HTTP/1.1\r\n\xff\xfe\r\nHost\r\n\r\n",
    "two lengths": b"GET / HTTP/1.1\r\nContent-Length: -1\r\nContent-Length: x\r\n\r\n",
    "nothing": b"",
}


@pytest.mark.parametrize("sent", STRANGE.values(), ids=STRANGE)
@pytest.mark.parametrize("end", ["waits", "leaves", "resets"])
def test_whatever_clients_send_nothing_is_said_and_others_are_served(
    page: LivePage, sent: bytes, end: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.create_connection(place(page), timeout=10) as client:
        with suppress(ConnectionError):  # it has been sent away already
            client.sendall(sent)
        if end == "waits":
            assert closed(client, 20)
        elif end == "resets":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert answers(page)
    assert capfd.readouterr() == ("", "")


def test_a_browser_that_leaves_before_its_answer_is_no_news(
    page: LivePage, capfd: pytest.CaptureFixture[str]
) -> None:
    for _ in range(5):
        with socket.create_connection(place(page), timeout=10) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n")
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert answers(page)
    assert capfd.readouterr() == ("", "")


def test_a_page_that_cannot_be_made_says_so(
    page: LivePage, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(folder: Path, seconds: float) -> str:
        raise RuntimeError(f"<{folder.name}>", seconds)

    monkeypatch.setattr("meritnas.report.page.page.report_page", fail)
    assert "The page cannot be made: RuntimeError(&#x27;&lt;run&gt;&#x27;, 0.2)" in page.page()
    assert capfd.readouterr() == ("", "")


def few_files(arguments: list[str], said: str) -> None:
    """A search that may have few files and goes on, once it has its folder, when it is told to."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    hear = Listener.__call__

    def wait(self: Listener, event: dict[str, Any]) -> None:
        hear(self, event)
        if event["kind"] == "run":
            Path("waits").touch()
            assert until(Path("go on").exists)

    Listener.__call__ = wait  # type: ignore[method-assign]
    with Path(said).open("w") as file, redirect_stderr(file):
        main(arguments)


def until(found: Callable[[], bool]) -> bool:
    """Wait for something, not for ever."""
    deadline = time.monotonic() + 60
    while not (there := found()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return there


def test_a_search_outlives_more_clients_than_it_may_have_files(sales: Path, trained: Path) -> None:
    flags = f"--target churn --max-params 300 --quiet --json --live --out run {' '.join(SHORT)}"
    given = ["search", str(sales), *flags.split()]
    search = PROCESSES.Process(target=few_files, args=(given, "said"))
    search.start()
    with ExitStack() as stack:
        stack.callback(search.kill)
        assert until(Path("waits").exists)
        address = re.search(r"127\.0\.0\.1:(\d+)", Path("said").read_text())
        assert address is not None
        for _ in range(300):
            stack.enter_context(socket.create_connection(("127.0.0.1", int(address[1])), 30))
        Path("go on").touch()
        search.join(60)
        assert search.exitcode == 0
    assert Path("said").read_text().count("\n") == 1  # where the page is, and nothing else
    for name in ("model.safetensors", "events.jsonl"):  # as without anybody who looks at it
        assert Path("run", name).read_bytes() == (trained / name).read_bytes()
