"""Does the runs of a comparison, one after the other or several at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from meritnas.comparison.one_run import Common, Listener, OneRun
from meritnas.tasks.crew import Crew
from meritnas.tasks.task import Material

_OF_A_RUN = 100
"""Steps that a run counts for in the view of all."""

_SEARCHING, _ALL = 0.5, 0.99
"""The part of a run that its search is, in this view, and all of it until it has ended."""


def all_runs(
    runs: Sequence[OneRun], common: Common, crew: Crew, listen: Listener
) -> list[dict[str, Any]]:
    """What each run's result.json says, in their order; those that have ended stay as they are.

    Args:
        runs: all of them.
        common: what they share.
        crew: who does them.
        listen: is told of every event where this process does all; of several at a time, how far
            all are.
    """
    if crew.size == 1 and crew.threads is None:
        return [_alone(runs, number, common, listen) for number in range(len(runs))]
    found = {number: known for number, one in enumerate(runs) if (known := one.known()) is not None}
    left = [number for number in range(len(runs)) if number not in found]
    material = Material(common)
    view = _View(runs, found, listen)
    flying: dict[int, int] = {}
    while left or flying:
        while left and len(flying) < crew.size:
            number = left.pop(0)
            flying[id(runs[number])] = number
            crew.begin(runs[number], material, partial(view.hear, number))
        task, summary = crew.wait()
        number = flying.pop(id(task))
        found[number] = summary
        view.end(number)
    return [found[number] for number in range(len(runs))]


def _alone(runs: Sequence[OneRun], number: int, common: Common, listen: Listener) -> dict[str, Any]:
    one = runs[number]
    told = {"strategy": one.label, "seed": one.seed, "run": number + 1, "runs": len(runs)}
    listen({"kind": "compare", **told})
    known = one.known()
    return one.do(common, listen) if known is None else known


class _View:
    """How far all runs are, as one event."""

    def __init__(
        self, runs: Sequence[OneRun], done: dict[int, dict[str, Any]], listen: Listener
    ) -> None:
        self._runs = runs
        self._done = done
        self._listen = listen
        self._shares: dict[int, float] = {}

    def hear(self, number: int, event: dict[str, Any]) -> None:
        """What a run has to say."""
        if event["kind"] == "note":
            self._listen(event)
        if "steps" not in event:
            return
        share = event["step"] / event["steps"]
        searching = event["kind"] == "search"
        share = _SEARCHING * share if searching else _SEARCHING + (_ALL - _SEARCHING) * share
        self._shares[number] = max(share, self._shares.get(number, 0.0))
        self._say()

    def end(self, number: int) -> None:
        """A run has ended."""
        self._shares.pop(number, None)
        self._say()

    def _say(self) -> None:
        at_work = [
            {"strategy": self._runs[k].label, "seed": self._runs[k].seed, "share": share}
            for k, share in sorted(self._shares.items())
        ]
        done = len(self._done) + sum(self._shares.values())
        self._listen(
            {
                "kind": "runs",
                "step": int(_OF_A_RUN * done),
                "steps": _OF_A_RUN * len(self._runs),
                "done": len(self._done),
                "runs": len(self._runs),
                "at_work": at_work,
            }
        )
