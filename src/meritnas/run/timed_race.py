"""How long the trainings after a search may take, and the race that fits into that."""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import mean

from meritnas.prepare.settle import usual_epochs
from meritnas.run.augmenting import Trying, seconds_trying, tried_on, trying
from meritnas.run.job import Job
from meritnas.run.spent_before import spent_before, write_spent_before
from meritnas.run.teacher import seconds_teaching
from meritnas.run.yardstick import seconds_measuring
from meritnas.store.run_store import RunStore
from meritnas.tasks.crew import all_do
from meritnas.training.epoch_time import EpochTime
from meritnas.training.race import Race
from meritnas.training.race_length import timed_race

_TIMING_SHARE = 0.03
"""Of the time that is left after a search, for all networks that are timed: what takes longer
is a network's last measurement."""

_ENDING = 1.0
"""Seconds that are kept for what comes after all trainings: result, page, end of the process."""

_ENDING_SHARE = 0.05
"""Of all the time, the most that is kept for that."""


def planned_race(job: Job, store: RunStore, favourites: tuple[str, ...]) -> Race:
    """The race that the settings or the time allow; what was measured is fixed once."""
    settings = job.settings
    finalists, seeds = favourites[: settings.finalists], settings.retrain_seeds
    if settings.retrain_epochs is not None:
        return job.race(finalists, seeds, settings.retrain_epochs, job.plain)
    race = job.race(finalists, seeds, 1, job.plain)
    plan = store.read_json("plan.json", "search")
    if "race" not in plan:
        rungs = len(store.read_json("architecture.json", "ladder")["ladder"])
        begun, left = time.perf_counter(), seconds_left(job, store)
        seconds = _seconds_an_epoch(job, race, favourites, left)
        swift = _swift(seconds, favourites, race.plain, settings.space.halving.slowest)
        race = replace(race, finalists=swift[: settings.finalists])
        an_epoch = mean(seconds[text] for text in (swift[0], *race.plain))
        planning = time.perf_counter() - begun
        usual = usual_epochs(settings, job.prepared.facts)[1]
        affordable = int((left - planning) / an_epoch)
        halving = settings.space.halving
        size = job.crew.size
        whole = timed_race(race, swift, rungs, affordable, usual, halving, size)
        plan["trying"] = whole.epochs
        pace = seconds[tried_on(job, race)] / an_epoch
        affordable -= math.ceil(pace * trying(job, whole.epochs).whole_epochs)
        fitting = timed_race(race, swift, rungs, affordable, usual, halving, size)
        plan["race"] = fitting.to_json()
        plan["planning"] = plan.get("planning", 0.0) + planning
        before = spent_before(store)
        planned = before.get("planning", 0.0) + planning
        write_spent_before(store, {**before, "planning": planned})
        store.write_json("plan.json", plan)
    return store.decode("plan.json", lambda kept: Race.from_json(kept["race"]))


def planned_trying(job: Job, store: RunStore, race: Race) -> Trying:
    """How ways to change images are tried before this race."""
    if job.settings.retrain_epochs is not None:
        return trying(job, race.epochs)
    epochs = store.decode("plan.json", lambda plan: operator.index(plan.get("trying", 0)))
    return trying(job, epochs)


def seconds_left(job: Job, store: RunStore) -> float:
    """How long all trainings may take after the search."""
    if job.settings.minutes is None:
        return math.inf
    searching = float(store.read_json("architecture.json", "seconds")["seconds"])
    whole = 60.0 * job.settings.minutes
    ending = min(_ENDING, _ENDING_SHARE * whole)
    before = planning_seconds(store) + searching + seconds_trying(store) + seconds_measuring(store)
    return whole - ending - before - seconds_teaching(store)


def planning_seconds(store: RunStore) -> float:
    """Seconds that went into finding out how much time allows."""
    if not store.has("plan.json"):  # a given network
        return 0.0
    return store.decode("plan.json", lambda plan: float(plan.get("planning", 0.0)))


def _seconds_an_epoch(
    job: Job, race: Race, favourites: Sequence[str], left: float
) -> dict[str, float]:
    """Of plain networks, of what images are tried on, and of favourites as far as it matters."""
    matters = race.plain and job.settings.space.halving.slowest < math.inf
    some = favourites if matters else favourites[:1]
    texts = dict.fromkeys((*some, *race.plain, tried_on(job, race)))
    allowed = _TIMING_SHARE * left / len(texts)
    return {text: _measured(job, text, race.dropouts[-1], allowed) for text in texts}


def _measured(job: Job, text: str, dropout: float, allowed: float) -> float:
    """Seconds of an epoch while as many train as will, of the slowest of them."""
    recipe, threads = job.settings.alone, job.training_threads
    task = EpochTime(text, dropout, recipe, allowed, threads)
    return max(map(float, all_do(job.crew, task, job.shared)))


def _swift(
    seconds: Mapping[str, float], favourites: Sequence[str], plain: Sequence[str], slowest: float
) -> tuple[str, ...]:
    """Those favourites that are worth the time, in their order; at least one.

    A network that learns a little more in an epoch, which takes many times as long, is worse when
    time is over. So beside plain networks only those stay that are not much slower than these.
    """
    if not plain or slowest == math.inf:
        return tuple(favourites)
    bound = slowest * mean(seconds[text] for text in plain)
    swift = tuple(text for text in favourites if seconds[text] <= bound)
    return swift or (min(favourites, key=lambda text: seconds[text]),)
