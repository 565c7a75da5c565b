"""A web server on this machine that shows the report of a running search."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self

from meritnas.errors import MeritNASError, UsageError

SECONDS = 2
"""A page is made anew at most this often, and asked for as often."""

_HOST = "127.0.0.1"
_WAITING = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" '
    'content="1"><link rel="icon" href="data:,"><title>MeritNAS</title></head>'
    '<body><header><p id="live"></p></header><main><p>The data is being read.</p></main>'
    "</body></html>"
)


class LivePage:
    """Serves the report of a running search on this machine, while it is entered.

    Where somebody looks at it, its end waits for them to get the last state, for a moment.

    Args:
        run: asked for the run's folder; None while there is none.
        port: 0 for a free one.
    """

    def __init__(self, run: Callable[[], Path | None], port: int = 0) -> None:
        self._run = run
        self._lock = threading.Lock()
        self._made = (-float("inf"), "")
        self._asked = -float("inf")
        self._answered = threading.Event()
        try:
            self._server = ThreadingHTTPServer((_HOST, port), self._handler())
        except OSError as error:
            raise UsageError(
                f"port {port} cannot be used here ({error.strerror}); give another --live-port"
            ) from error
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"http://{_HOST}:{self._server.server_address[1]}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *others: object) -> None:
        if kind is None and time.monotonic() - self._asked < 2 * SECONDS:
            with self._lock:
                self._made = (-float("inf"), "")
            self._answered.clear()
            self._answered.wait(1.5 * SECONDS)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def page(self) -> str:
        """The report as it is, or as it was moments ago."""
        with self._lock:
            made, text = self._made
            if time.monotonic() - made >= SECONDS:
                text = self._fresh()
                self._made = (time.monotonic(), text)
            return text

    def _fresh(self) -> str:
        folder = self._run()
        if folder is None:
            return _WAITING

        from meritnas.report.page.page import report_page  # here: --help must not wait for torch

        try:
            return report_page(folder, SECONDS)
        except (MeritNASError, OSError):  # its first file is being written
            return _WAITING

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        live = self

        class Handler(BaseHTTPRequestHandler):
            """Answers for the one page there is, to this machine alone."""

            def do_GET(self) -> None:
                """The page."""
                host = self.headers.get("Host", "").rpartition(":")[0]
                if host not in (_HOST, "localhost"):  # a page from elsewhere must not read it
                    self.send_error(HTTPStatus.FORBIDDEN)
                elif self.path != "/":
                    self.send_error(HTTPStatus.NOT_FOUND)
                else:
                    live._asked = time.monotonic()
                    body = live.page().encode()
                    self.send_response(HTTPStatus.OK)
                    self.send_header("Content-Type", "text/html; charset=utf-8")
                    self.send_header("Content-Length", str(len(body)))
                    self.send_header("Cache-Control", "no-store")
                    self.end_headers()
                    self.wfile.write(body)
                    live._answered.set()

            def log_message(self, format: str, *args: object) -> None:
                """Nothing: standard error is for the search."""

        return Handler
