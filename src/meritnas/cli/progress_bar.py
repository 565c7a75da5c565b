from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from meritnas.cli.progress import Event, detail_text, stage_text


class BarProgress:
    """A bar for the search and one for the training, with the time left."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        # On a narrow terminal the detail is cut, and not what is before it.
        rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")
        self._bars = Progress(
            SpinnerColumn(finished_text=" "),
            TextColumn("{task.description:<9}", markup=False),
            BarColumn(bar_width=20, finished_style="green"),
            TaskProgressColumn(),
            TimeRemainingColumn(compact=True, elapsed_when_finished=True),
            TextColumn("{task.fields[detail]}", style="dim", markup=False, table_column=rest),
            console=self._console,
            expand=True,
        )
        self._kind = ""
        self._task = TaskID(0)

    def __enter__(self) -> Self:
        self._bars.start()
        self._task = self._bars.add_task("starting", total=None, detail="reading data")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._kind:  # nothing was shown but the waiting
            self._bars.remove_task(self._task)
        self._bars.stop()

    def show(self, event: Event) -> None:
        """Move the stage's bar."""
        if event["kind"] != self._kind:
            if not self._kind:
                self._bars.remove_task(self._task)
            self._kind = event["kind"]
            self._task = self._bars.add_task(stage_text(event), detail="")
        self._bars.update(
            self._task,
            description=stage_text(event),
            total=event["steps"],
            completed=event["step"],
            detail=detail_text(event),
        )

    def note(self, text: str) -> None:
        """Print above the bars."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)
