"""Trains the finalists of a search from scratch and keeps the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meritnas.data.bundle import Bundle
from meritnas.errors import DivergedError
from meritnas.families.family import Family
from meritnas.settings.recipe import TrainRecipe
from meritnas.store.run_store import RunStore
from meritnas.tasks.crew import Alone, Crew
from meritnas.tasks.task import Material
from meritnas.training.one_training import Ground
from meritnas.training.race import Race, best_of, has_diverged
from meritnas.training.relay import Listener, run_races
from meritnas.training.running_race import RunningRace


@dataclass(frozen=True)
class Retrained:
    """What won the race of networks trained from scratch.

    Attributes:
        race: as it was run, which is shorter than planned where the time was over.
        architecture: the winner.
        test: metric -> mean over the winner's trainings on the held-out test part, without those
            that diverged or that time has cut short; empty where there is no such part.
        test_spread: metric -> standard deviation over them (0 for a single one).
        test_best: metric -> of the one with the smallest validation loss, whose weights are kept:
            what papers report as the best of several runs.
        results: every training: architecture, dropout, seed, epochs, losses, best epoch, test
            scores; no losses, best epoch and scores of one that diverged.
        seconds: how long all of them took.
        seeds: how many trainings of the winner there are, without those that time has cut short
            where others are whole.
    """

    race: Race
    architecture: str
    test: dict[str, float]
    test_spread: dict[str, float]
    test_best: dict[str, float]
    results: tuple[dict[str, Any], ...]
    seconds: float = field(compare=False)
    seeds: int = 1


def retrain_child(
    family: Family,
    race: Race,
    bundle: Bundle[Any],
    recipe: TrainRecipe,
    store: RunStore,
    listen: Listener,
    seconds: float = math.inf,
    reserves: Sequence[str] = (),
) -> Retrained:
    """Run the race in this process, and otherwise as `retrain_with` does."""
    ground = Material(Ground(family, bundle))
    return retrain_with(Alone(), ground, race, recipe, store, listen, seconds, reserves)


def retrain_with(
    crew: Crew,
    ground: Material,
    race: Race,
    recipe: TrainRecipe,
    store: RunStore,
    listen: Listener,
    seconds: float = math.inf,
    reserves: Sequence[str] = (),
    threads: int | None = None,
) -> Retrained:
    """Run the race; the run keeps the weights of the best training.

    Validation rows decide everything, also a metric's threshold; the test part is only scored.
    Finished trainings are kept in `retrain.json`, so an interrupted race goes on with those that
    are missing; the run's trained network is replaced when all of them are done. What comes out
    does not depend on who trains, and in which order, but where time ends it.

    Where they take longer than `seconds` in all, because the machine has become slower since
    the race was planned, the last training has fewer epochs or ends early, and the race with it.
    Where there is time left, those whom short rounds have left out and then `reserves` are trained
    to the end, too, and at last the winner with further seeds. Without a limit nobody joins.

    Args:
        crew: who trains.
        ground: the `Ground` of all trainings.
        race: who takes part.
        recipe: how they are trained.
        store: where all is kept.
        listen: told of every epoch.
        seconds: that all trainings may take.
        reserves: who takes part where there is time left.
        threads: of each training; None for as many as there are.

    Raises:
        DivergedError: All trainings have diverged.
    """
    running = RunningRace(race, recipe, store, seconds, reserves, crew.size, threads)
    run_races([running], crew, ground, listen)
    return ended(running)


def ended(running: RunningRace) -> Retrained:
    """The outcome of a race in which nothing is left to do, of which the run keeps the network.

    Raises:
        DivergedError: All trainings have diverged.
    """
    if has_diverged(best_of(running.results)):
        raise DivergedError
    running.end()
    return summarise(running.race, running.results, running.spent)


def summarise(race: Race, results: list[dict[str, Any]], seconds: float) -> Retrained:
    """The outcome of a race that is over; what time has cut short says nothing about its winner."""
    own = race.winners(results)
    whole = [one for one in own if len(one["valid_losses"]) >= one["epochs"]]
    winners = whole or [best_of(own)]
    cut = len(own) - len(winners)
    values = {name: [one["test"][name] for one in winners] for name in winners[0]["test"]}
    return Retrained(
        race=race,
        architecture=winners[0]["architecture"],
        test={name: float(np.mean(found)) for name, found in values.items()},
        test_spread={
            name: float(np.std(found, ddof=1)) if len(found) > 1 else 0.0
            for name, found in values.items()
        },
        test_best=dict(best_of(winners)["test"]),
        seeds=len(race.seeds) - cut,
        results=tuple(results),
        seconds=seconds,
    )
