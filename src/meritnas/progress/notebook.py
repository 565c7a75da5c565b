"""Progress in a notebook's output, where nothing but a web page's own elements is needed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Protocol

from meritnas.progress.progress import Event, NoProgress, detail_text, run_text, stage_text
from meritnas.report.numbers import duration_text
from meritnas.wording import visible_line

_SECONDS = 0.2
"""Between two looks at the same stage: notebooks take every one over a network."""


class Handle(Protocol):
    """What a notebook gives back for something it shows."""

    def update(self, shown: Any) -> None:
        """Show something else in its place."""


Display = Callable[["Shown"], Handle]


@dataclass(frozen=True)
class Shown:
    """Something as HTML, and as text for where there is none."""

    html: str
    text: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class _Stage:
    """A bar: what it is about, how far it is, since when and from where, what there is to say."""

    name: str
    step: int
    steps: int
    begun: float
    first: int
    now: float
    said: str

    def words(self) -> str:
        """How far it is, and how long that takes."""
        spent, done, left = self.now - self.begun, self.step - self.first, self.steps - self.step
        if not left:
            return f"100 %, {duration_text(spent)}"
        rest = f", {duration_text(spent * left / done)} left" if done else ""
        return f"{100 * self.step // self.steps} %{rest}"


class NotebookProgress(NoProgress):
    """A bar for each stage in the output of a cell, with the time left.

    Args:
        display: shows something for the first time.
        now: a clock.
    """

    def __init__(self, display: Display, now: Callable[[], float] = time.perf_counter) -> None:
        self._display = display
        self._now = now
        self._handle: Handle | None = None
        self._run = ""
        self._stages: dict[str, _Stage] = {}
        self._notes: list[str] = []
        self._drawn = -float("inf")

    def __exit__(self, kind: type[BaseException] | None, *others: object) -> None:
        if self._handle is not None:
            self._draw()

    def show(self, event: Event) -> None:
        """Move the stage's bar."""
        name, now, step = str(event["kind"]), self._now(), int(event["step"])
        before = self._stages.get(name)
        if before is None or step < before.step:  # networks for smaller limits are another stage
            # What was done before the first look, in a resumed stage most, says nothing about time.
            before = _Stage("", step, int(event["steps"]), now, step, now, "")
        self._stages[name] = replace(
            before,
            name=stage_text(event),
            step=step,
            steps=int(event["steps"]),
            now=now,
            said=detail_text(event),
        )
        if now - self._drawn >= _SECONDS or step == event["steps"]:
            self._draw()

    def begin(self, event: Event) -> None:
        """Show which run it is; its stages are as new as it is."""
        self._run = f"run {event['run']} of {event['runs']}: {run_text(event)}"
        self._stages = {}
        self._draw()

    def note(self, text: str) -> None:
        """Show a line that stays."""
        self._notes.append(text)
        self._draw()

    def _draw(self) -> None:
        shown = Shown(self._html(), self._text())
        self._drawn = self._now()
        if self._handle is None:
            self._handle = self._display(shown)
        else:
            self._handle.update(shown)

    def _html(self) -> str:
        lines = [f"<div>{_safe(self._run)}</div>"] if self._run else []
        for stage in self._stages.values():
            lines.append(
                f'<div><span style="display:inline-block;min-width:6em">{_safe(stage.name)}</span>'
                f'<progress value="{stage.step}" max="{stage.steps}"></progress> '
                f"{_safe(stage.words())}</div>"
                f'<div style="opacity:.7;margin-left:6em">{_safe(stage.said)}</div>'
            )
        lines += [f'<div style="opacity:.7">{_safe(note)}</div>' for note in self._notes]
        return f'<div style="font-size:.9em">{"".join(lines)}</div>'

    def _text(self) -> str:
        stages = [f"{each.name} {each.words()}" for each in self._stages.values()]
        return visible_line("; ".join(filter(None, [self._run, *stages, *self._notes])))


def _safe(text: str) -> str:
    return escape(visible_line(text))
