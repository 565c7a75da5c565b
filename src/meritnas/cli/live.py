"""The report of a running search, in a browser on this machine."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Self

from meritnas.cli.page_server import HOST, PageServer
from meritnas.errors import MeritNASError, UsageError

SECONDS = 2
"""A page is made anew at most this often, and asked for as often."""


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
        self._last: str | None = None
        self._seen = threading.Event()
        try:
            self._server = PageServer(port, self._wanted, self._delivered)
        except OSError as error:
            raise UsageError(
                f"port {port} cannot be used here ({error.strerror}); give another --live-port"
            ) from error
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"http://{HOST}:{self._server.server_address[1]}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *others: object) -> None:
        if kind is None and time.monotonic() - self._asked < 2 * SECONDS:
            with self._lock:
                self._last = self._fresh()
                self._made = (float("inf"), self._last)
            self._seen.wait(1.5 * SECONDS)
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

    def _wanted(self, path: str) -> str | None:
        if path != "/":
            return None
        self._asked = time.monotonic()
        return self.page()

    def _delivered(self, page: str) -> None:
        if page is self._last:
            self._seen.set()

    def _fresh(self) -> str:
        folder = self._run()
        if folder is None:
            return _note("The data is being read.")

        from meritnas.report.page.page import report_page  # here: --help must not wait for torch

        try:
            return report_page(folder, SECONDS)
        except (MeritNASError, OSError):  # its first file is being written
            return _note("The data is being read.")
        except Exception as error:  # nobody looks at a page in vain, and no search ends for it
            return _note(f"The page cannot be made: {error!r}")


def _note(text: str) -> str:
    """A page that says one thing, and asks again."""
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" '
        'content="1"><link rel="icon" href="data:,"><title>MeritNAS</title></head>'
        f'<body><header><p id="live"></p></header><main><p>{escape(text)}</p></main>'
        "</body></html>"
    )
