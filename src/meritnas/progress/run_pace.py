"""Estimates how long the remaining runs of a comparison take."""

from __future__ import annotations

import time
from collections.abc import Callable

Now = Callable[[], float]


class RunPace:
    """Judges how long the rest of several runs takes by those that have ended.

    Runs that had ended before take no time and say nothing about the others: only those that were
    seen at work count.
    """

    def __init__(self, now: Now = time.perf_counter) -> None:
        self._now = now
        self._took: list[float] = []
        self._left = 0
        self._begun: float | None = None

    def begin(self, run: int, runs: int) -> None:
        """Another run begins, and the one before has ended."""
        if self._begun is not None:
            self._took.append(self._now() - self._begun)
        self._begun, self._left = None, runs - run + 1

    def working(self) -> None:
        """The run does something."""
        if self._begun is None:
            self._begun = self._now()

    def seconds_left(self) -> float | None:
        """For this run and all after it; None before anything is known."""
        if not self._took:
            return None
        usual = sum(self._took) / len(self._took)
        spent = 0.0 if self._begun is None else self._now() - self._begun
        return usual * (self._left - 1) + max(0.0, usual - spent)
