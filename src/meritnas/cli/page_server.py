"""A web server with a few pages, for this machine alone, that no client can disturb."""

from __future__ import annotations

import io
import socket
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any

HOST = "127.0.0.1"

MOST_CLIENTS = 32
"""Connections at once; each takes a file, of which the search needs some."""

PATIENCE = 5.0
"""Seconds that a client has to say what it wants, and again to take the answer."""

_PAUSE = 0.1
"""Seconds to wait where no connection can be taken, for files that are open elsewhere."""


class PageServer(ThreadingTCPServer):
    """Answers for the pages there are; it says nothing, whatever clients send.

    Args:
        port: 0 for a free one.
        page: makes the page of a path, which begins with a slash; None where there is none. Called
            in the thread of each client.
        delivered: told of each page that a client got, in the same thread.
    """

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128  # that wait to be taken or sent away, which takes no files

    def __init__(
        self, port: int, page: Callable[[str], str | None], delivered: Callable[[str], None]
    ) -> None:
        self.page = page
        self.delivered = delivered
        self._places = threading.BoundedSemaphore(MOST_CLIENTS)
        super().__init__((HOST, port), _Client)

    def get_request(self) -> tuple[socket.socket, Any]:
        """The next client; where there is none to be had, not at once the next try."""
        try:
            return super().get_request()
        except OSError:
            time.sleep(_PAUSE)
            raise

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Whether there is a place for one more; those that find none are sent away at once."""
        del request, client_address
        return self._places.acquire(blocking=False)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Let a thread answer, which gives the place back."""
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread was to be had
            self._places.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer one client."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: standard error is for the search."""


class _Client(BaseHTTPRequestHandler):
    """One client: it asks for a page, or for nothing there is."""

    server: PageServer
    timeout = PATIENCE  # for each answer as a whole

    def setup(self) -> None:
        """Read with all patience together, not for each byte."""
        super().setup()
        self.rfile = io.BufferedReader(_Impatient(self.connection))

    def do_GET(self) -> None:
        """The page."""
        self.connection.settimeout(PATIENCE)
        host = self.headers.get("Host", "").rpartition(":")[0]
        if host not in (HOST, "localhost"):  # a page from elsewhere must not read it
            self.send_error(HTTPStatus.FORBIDDEN)
        elif (page := self.server.page(self.path)) is None:
            self.send_error(HTTPStatus.NOT_FOUND)
        else:
            body = page.encode("utf-8", "backslashreplace")
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)
            self.server.delivered(page)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: standard error is for the search."""


class _Impatient(socket.SocketIO):
    """What a client sends, until its time is over."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(connection, "r")
        self._connection = connection
        self._until = time.monotonic() + PATIENCE

    def readinto(self, buffer: Any) -> int | None:
        """The next bytes; a TimeoutError where time is over."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return super().readinto(buffer)
