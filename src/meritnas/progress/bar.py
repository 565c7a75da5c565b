"""Progress bars for terminals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    Task,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from meritnas.progress.progress import Event, detail_text, run_text, stage_text
from meritnas.progress.run_pace import RunPace
from meritnas.report.numbers import duration_text
from meritnas.wording import visible_line

_INDENT = "  "


class BarProgress:
    """A bar for the search and one for the training, with the time left.

    Of several runs the latest has its bars, below a bar for all of them.
    """

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._pace = RunPace()
        self._bars = _Bars(
            SpinnerColumn(finished_text=" "),
            TextColumn("{task.description:<9}", markup=False),
            BarColumn(bar_width=20, finished_style="green"),
            TaskProgressColumn(),
            _TimeLeft(compact=True, elapsed_when_finished=True),
            console=self._console,
        )
        self._kind = ""
        self._task = TaskID(0)
        self._all: TaskID | None = None

    def __enter__(self) -> Self:
        self._bars.start()
        self._wait()
        return self

    def __exit__(self, kind: type[BaseException] | None, *others: object) -> None:
        if not self._kind:  # nothing was shown but the waiting
            self._bars.remove_task(self._task)
        if self._all is not None and kind is None:
            self._bars.update(self._all, completed=self._bars.tasks[0].total)
        self._bars.stop()

    def show(self, event: Event) -> None:
        """Move the stage's bar."""
        self._pace.working()
        if event["kind"] != self._kind:
            if not self._kind:
                self._bars.remove_task(self._task)
            self._kind = event["kind"]
            self._task = self._bars.add_task(stage_text(event), said="")
        self._bars.update(
            self._task,
            description=stage_text(event),
            total=event["steps"],
            completed=event["step"],
            said=detail_text(event),
        )

    def begin(self, event: Event) -> None:
        """Move the bar of all runs, and take away those of the run before."""
        self._pace.begin(event["run"], event["runs"])
        for task in self._bars.task_ids:
            if task != self._all:
                self._bars.remove_task(task)
        if self._all is None:
            self._all = self._bars.add_task("", total=event["runs"], said="", pace=self._pace)
        self._bars.update(
            self._all,
            description=f"run {event['run']} of {event['runs']}",
            completed=event["run"] - 1,
            said=run_text(event),
        )
        self._kind = ""
        self._wait()

    def note(self, text: str) -> None:
        """Print above the bars."""
        self._console.print(visible_line(text), markup=False, highlight=False, soft_wrap=True)

    def _wait(self) -> None:
        self._task = self._bars.add_task("starting", total=None, said="reading data")


class _Bars(Progress):
    """Bars, each with a line of its own for what there is to say about it."""

    def get_renderables(self) -> Iterable[RenderableType]:
        """A table of one row and a line for each task."""
        for task in self.tasks:
            yield self.make_tasks_table([task])
            yield Text(
                _INDENT + visible_line(task.fields["said"]),
                style="dim",
                no_wrap=True,
                overflow="ellipsis",
            )


class _TimeLeft(TimeRemainingColumn):
    """By the bar's own speed, or for several runs by how long those took that have ended."""

    def render(self, task: Task) -> Text:
        """The time, or how long it took in the end."""
        pace = task.fields.get("pace")
        if pace is None or task.finished:
            return super().render(task)
        left = pace.seconds_left()
        return Text(
            "" if left is None else f"{duration_text(left)} left", style="progress.remaining"
        )
