"""Progress as lines of text, for logs and pipes."""

from __future__ import annotations

import sys
import time

from meritnas.progress.progress import Event, NoProgress, detail_text, run_text, stage_text
from meritnas.progress.run_pace import RunPace
from meritnas.report.numbers import duration_text
from meritnas.wording import visible_line

_LINE = 80
_LINES_A_STAGE = 10


class LineProgress(NoProgress):
    """A line for every tenth of the way, for logs and pipes."""

    def __init__(self) -> None:
        self._kind = ""
        self._tenth = 0
        self._start = (0.0, 0)
        self._pace = RunPace()

    def show(self, event: Event) -> None:
        """Say a line when another tenth is done."""
        self._pace.working()
        tenth = _LINES_A_STAGE * event["step"] // event["steps"]
        if event["kind"] != self._kind:
            # A resumed stage starts where it was; what is left is judged from here on.
            self._kind, self._tenth = event["kind"], max(0, tenth - 1)
            self._start = (time.perf_counter(), event["step"])
        if tenth > self._tenth:
            self._tenth = tenth
            share = event["step"] / event["steps"]
            start, left = f"{stage_text(event):>9} {share:4.0%}  ", self._left(event)
            long = start + detail_text(event) + left
            short = start + detail_text({**event, "leader_costs": {}}) + left
            _say(long if len(long) <= _LINE else short)

    def begin(self, event: Event) -> None:
        """Say which run it is; its stages are as new as it is."""
        self._pace.begin(event["run"], event["runs"])
        self._kind = ""
        left = self._pace.seconds_left()
        rest = "" if left is None else f", {duration_text(left)} left for all"
        _say(f"run {event['run']} of {event['runs']}: {run_text(event)}{rest}")

    def note(self, text: str) -> None:
        """Say it as it is."""
        _say(text)

    def _left(self, event: Event) -> str:
        begun, step = self._start
        done, left = event["step"] - step, event["steps"] - event["step"]
        if not done or not left:
            return ""
        seconds = (time.perf_counter() - begun) * left / done
        return f", {duration_text(seconds)} left"


def _say(text: str) -> None:
    """A line on standard error: standard output is for results."""
    print(visible_line(text), file=sys.stderr, flush=True)
