"""Receives the events of a search and hands them to what shows progress."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

from meritnas.progress.progress import Event, Progress

if TYPE_CHECKING:
    from meritnas.report.tensorboard import TensorBoardEvents

_MOST_NOTES = 5


class Listener:
    """Hears the events of a search: shows progress, passes notes on, remembers the run.

    Args:
        progress: which is shown while this is entered.
        run: the run's folder, where it is known already.

    Attributes:
        run: the run's folder, as soon as there is one.
    """

    def __init__(self, progress: Progress, run: Path | None = None) -> None:
        self.run = run
        self._progress = progress
        self._notes = 0
        self._events: TensorBoardEvents | None = None

    def also(self, events: TensorBoardEvents) -> None:
        """Let this hear everything, too."""
        self._events = events

    def __enter__(self) -> Self:
        self._progress.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *others: object) -> None:
        self._progress.__exit__(kind, *others)
        if self._events is not None:
            self._events.close()

    def __call__(self, event: Event) -> None:
        """What `listen=` of the library takes."""
        if self._events is not None:
            self._events(event)
        if event["kind"] == "run":
            self.run = Path(event["run"])
        elif event["kind"] == "note":
            self._note(event["text"])
        elif event["kind"] == "compare":
            self._progress.begin(event)
        elif "steps" in event:
            self._count_notes_left_out()
            self._progress.show(event)

    def _note(self, text: str) -> None:
        self._notes += 1
        if self._notes <= _MOST_NOTES:
            self._progress.note(f"note: {text}")

    def _count_notes_left_out(self) -> None:
        if self._notes > _MOST_NOTES:
            more = self._notes - _MOST_NOTES
            self._progress.note(f"note: and {more} more like these, all in the run's result.json")
        self._notes = 0
