"""Says what a command is doing where that takes longer than two seconds."""

from __future__ import annotations

import logging
import sys
import threading
from typing import Self

from rich.console import Console
from rich.status import Status
from rich.text import Text

from meritnas.cli.messages import say
from meritnas.wording import visible_line

SECONDS = 2.0
"""Whoever waits for less need not be told what for."""

_LIBRARY = logging.getLogger("meritnas")


class Waiting(logging.Handler):
    """Says what a command is doing, while it is entered, if that takes longer than two seconds.

    It hears what the library logs, and shows it beside a spinner on a terminal; elsewhere it says
    a line for each thing that is begun.
    """

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._text = "reading the run and its data"
        self._said = ""
        console = Console(stderr=True)
        self._spinner = Status("", console=console) if sys.stderr.isatty() else None
        self._turn = threading.Lock()
        self._late = False
        self._timer = threading.Timer(SECONDS, self._be_late)
        self._timer.daemon = True
        self._level = _LIBRARY.level

    def __enter__(self) -> Self:
        _LIBRARY.addHandler(self)
        _LIBRARY.setLevel(logging.INFO)
        self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *others: object) -> None:
        self._timer.cancel()
        self._timer.join()  # so that it does not start a spinner that nobody stops
        _LIBRARY.removeHandler(self)
        _LIBRARY.setLevel(self._level)
        if self._spinner is not None:
            self._spinner.stop()

    def emit(self, record: logging.LogRecord) -> None:
        """Another thing is being done, or more of the same."""
        with self._turn:
            self._text = record.getMessage()
            if self._late:
                self._show()

    def _be_late(self) -> None:
        with self._turn:
            self._late = True
            self._show()
            if self._spinner is not None:
                self._spinner.start()

    def _show(self) -> None:
        stage = self._text.partition(":")[0]
        if self._spinner is not None:
            self._spinner.update(Text(visible_line(self._text)))
        elif stage != self._said:
            say(f"{stage} ...")
        self._said = stage
