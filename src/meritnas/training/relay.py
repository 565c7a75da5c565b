"""Runs races with a crew: as many trainings at a time as it can do, and one view of them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from meritnas.tasks.crew import Crew
from meritnas.tasks.task import Material
from meritnas.training.one_training import OneTraining
from meritnas.training.running_race import RunningRace

Listener = Callable[[dict[str, Any]], None]


def run_races(
    races: Sequence[RunningRace], crew: Crew, material: Material, listen: Listener
) -> None:
    """Do all trainings of some races; those of the first come first.

    Args:
        races: they do not depend on each other.
        crew: who trains.
        material: the `Ground` of all trainings.
        listen: told of every epoch.
    """
    view = _View(races, listen)
    whose: list[tuple[OneTraining, RunningRace]] = []
    while True:
        while len(whose) < crew.size and (begun := _next(races)) is not None:
            whose.append(begun)
            crew.begin(begun[0], material, partial(view.hear, begun[0]))
        if not whose:
            return
        done, outcome = crew.wait()
        task, race = next(one for one in whose if one[0] is done)
        whose.remove((task, race))
        race.take(task, outcome)
        view.forget(task)


def _next(races: Sequence[RunningRace]) -> tuple[OneTraining, RunningRace] | None:
    for race in races:
        if (task := race.begin()) is not None:
            return task, race
    return None


class _View:
    """How far all trainings are."""

    def __init__(self, races: Sequence[RunningRace], listen: Listener) -> None:
        self._races = races
        self._listen = listen
        self._epochs: dict[int, int] = {}

    def hear(self, task: OneTraining, epoch: int) -> None:
        """A training has done so many epochs."""
        self._epochs[id(task)] = epoch
        flying = [one for race in self._races for one in race.flying]
        before = sum(one["epochs"] for race in self._races for one in race.results)
        planned = sum(one.training.epochs for one in flying)
        others = [self._of(one) for one in flying if one is not task]
        self._listen(
            {
                "kind": "retrain",
                "step": before + sum(self._epochs.get(id(one), 0) for one in flying),
                "steps": max(sum(race.race.length for race in self._races), before + planned),
                **self._of(task),
                **({"beside": others} if others else {}),
            }
        )

    def forget(self, task: OneTraining) -> None:
        """A training has ended."""
        self._epochs.pop(id(task), None)

    def _of(self, task: OneTraining) -> dict[str, Any]:
        one = task.training
        epoch = self._epochs.get(id(task), 0)
        return {"architecture": one.architecture, "seed": one.seed, "epoch": epoch}
