"""The page over many runs, in a browser on this machine."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from meritnas.cli.page_server import HOST, PageServer
from meritnas.errors import MeritNASError

if TYPE_CHECKING:
    from meritnas.report.board.board import Board

SECONDS = 5
"""A page is made anew at most this often, and asked for as often."""


class LiveBoard:
    """Serves a board, and the report of each of its runs, on this machine.

    Reports are made of the runs' files when they are asked for: no page that lies in a run's
    folder is handed out.

    Args:
        board: which has been read.
    """

    def __init__(self, board: Board) -> None:
        self._board = board
        self._lock = threading.Lock()
        self._made = (-float("inf"), "")
        self._server = PageServer(0, self._wanted, _delivered)

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"http://{HOST}:{self._server.server_address[1]}/"

    def serve(self) -> None:
        """Answer until somebody presses Ctrl-C."""
        try:
            self._server.serve_forever(0.1)
        except KeyboardInterrupt:
            return
        finally:
            self._server.server_close()

    def _wanted(self, path: str) -> str | None:
        if path == "/":
            return self._page()
        with self._lock:
            folders = {f"/{one.name}/report.html": one.folder for one in self._board.entries}
        folder = folders.get(unquote(path))
        return None if folder is None else _report(folder)

    def _page(self) -> str:
        with self._lock:
            made, text = self._made
            if time.monotonic() - made >= SECONDS:
                with suppress(MeritNASError):  # all runs have just been removed: they were there
                    self._board.read()
                text = self._board.page(reload_seconds=SECONDS)
                self._made = (time.monotonic(), text)
            return text


def _delivered(page: str) -> None:
    """Nobody waits for it."""
    del page


def _report(folder: Path) -> str | None:
    from meritnas.report.page.page import report_page  # here: --help must not wait for torch

    try:
        return report_page(folder)
    except (MeritNASError, OSError):  # it has just been removed
        return None
