"""How many steps fit into the time that a user gave, measured by taking a few."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from meritnas.data.bundle import Bundle
from meritnas.data.rows import seconds_a_row
from meritnas.engine.candidates import JUDGING, most_liked
from meritnas.engine.loop import Search
from meritnas.engine.plan import Plan
from meritnas.engine.start import make_panel, make_search, strategy_and_plan
from meritnas.prepare.ground import Ground
from meritnas.settings.settings import SearchSettings
from meritnas.workers.workers import ONE, Workers

_TRIAL = Plan(warmup=12, joint=32, frozen=24)
_TRIAL_SHARE = 0.04
"""Of the time given, what a phase may take in each of two trials."""

_JUDGING_SHARE = 0.25
"""Of the time given, what judging candidates may take at most."""

_FEWEST_TRIED = 2
_FEWEST_STEPS = 10
_KEPT_BACK = 0.9
"""Of the time given, this part is planned for: machines slow down, plans must still hold."""


def steps_within(
    seconds: float,
    settings: SearchSettings,
    ground: Ground,
    bundle: Bundle[Any],
    ranks: Workers = ONE,
) -> tuple[int, int]:
    """How many weight steps a search can take in this time, and candidates it can judge then.

    Both are measured by trying a few, on a search of its own that leaves nothing behind. Where
    steps are slow, fewer are tried; where judging is, fewer candidates are judged. Other ranks call
    `time_steps` meanwhile.
    """
    started = time.perf_counter()
    trial, seconds_a_phase = time_steps(seconds, settings, ground, bundle, ranks)
    for_each = seconds_a_phase[JUDGING] * (1 + len(trial.rungs))
    candidates = int(min(settings.candidates, max(1.0, _JUDGING_SHARE * seconds / for_each)))
    left = _KEPT_BACK * seconds - (time.perf_counter() - started) - candidates * for_each

    def cost(weight_steps: int) -> float:
        _, plan = strategy_and_plan(settings, ground, bundle.task, trial.probe, weight_steps)
        counts = {"warmup": plan.warmup, "joint": plan.joint, "frozen": plan.frozen}
        return sum(counts[phase] * seconds_a_phase.get(phase, 0.0) for phase in counts)

    low, high = _FEWEST_STEPS, _FEWEST_STEPS
    while cost(high * 2) <= left:
        high *= 2
    high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if cost(middle) <= left else (low, middle)
    return low, candidates


def _time_judging(search: Search, ground: Ground, bundle: Bundle[Any]) -> float:
    """Seconds that a candidate takes, with its part of those that are judged before it."""
    feasible = ground.searched_feasible
    uniform = feasible.condition([np.zeros(size) for size in feasible.space.sizes])
    drawn = uniform.sample(_FEWEST_TRIED, np.random.default_rng(0))
    some = list(dict.fromkeys(map(feasible.space.architecture, drawn)))
    panel = make_panel(search, ground, bundle)
    begun = time.perf_counter()
    most_liked(some, search.strategy.beliefs(), feasible, panel, len(some))
    return (time.perf_counter() - begun) / len(some)


def time_steps(
    seconds: float,
    settings: SearchSettings,
    ground: Ground,
    bundle: Bundle[Any],
    ranks: Workers = ONE,
) -> tuple[Search, dict[str, float]]:
    """A search that was tried, and how long a step takes in each phase; every rank calls it.

    Under `JUDGING`, how long it takes to judge a candidate.
    """
    seconds_a_phase: dict[str, float] = {}
    judging = 0.0
    near = replace(bundle, train=bundle.train.sample)
    for _ in range(2):  # the first time warms caches up
        trial = make_search(settings, ground, near, _TRIAL, 0, ranks)
        with trial.own_draws():
            seconds_a_phase = _time_phases(trial, _TRIAL_SHARE * seconds)
            # Every candidate is another network: what is new takes longer.
            judging = max(judging, _time_judging(trial, ground, near))
    if near.train is not bundle.train:  # how long an epoch is, the whole of it says
        trial = make_search(settings, ground, bundle, _TRIAL, 0, ranks)
    reading = _seconds_reading(settings, bundle, ranks)
    for phase in seconds_a_phase.keys() - {"frozen"}:
        seconds_a_phase[phase] += reading
    return trial, {**seconds_a_phase, JUDGING: judging}


def _seconds_reading(settings: SearchSettings, bundle: Bundle[Any], ranks: Workers) -> float:
    """What reading the rows of a weight step takes, which come many steps' worth at a time."""
    batches = settings.workers // ranks.size
    return ranks.broadcast(batches * settings.recipe.batch_size * seconds_a_row(bundle.train))


def _time_phases(search: Search, allowed: float) -> dict[str, float]:
    """Mean seconds of a step in each phase; of the frozen one, twice the longest.

    Proposals from a long archive take longer than those of a short trial. Each phase ends early
    where its steps take longer than what is allowed, which the first rank decides for all.
    """
    spent: dict[str, list[float]] = {}
    for clock in search.plan.clocks(0):
        before = spent.get(clock.phase, ())
        if len(before) >= _FEWEST_TRIED and search.ranks.broadcast(sum(before) > allowed):
            continue
        begin = time.perf_counter()
        if clock.phase == "frozen" and search.strategy.turns.phase != "frozen":
            break
        if clock.phase == search.strategy.turns.phase:
            search.strategy.update(search.probe, clock)
        if clock.phase != "frozen":
            search.weight_step(clock)
        spent.setdefault(clock.phase, []).append(time.perf_counter() - begin)
    means = {phase: sum(times) / len(times) for phase, times in spent.items()}
    if "frozen" in means:
        means["frozen"] = 2.0 * max(spent["frozen"])
    return means
