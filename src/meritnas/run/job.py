"""One run's settings, data and space, and what follows from them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch

from meritnas.data.bundle import Bundle, Outline
from meritnas.data.kind import DataKind, Source
from meritnas.devices.placement import check_device
from meritnas.engine.ladder import no_curve
from meritnas.engine.loop import Search
from meritnas.engine.plan import Plan
from meritnas.engine.start import make_search
from meritnas.engine.time_limit import steps_within, time_steps
from meritnas.errors import UsageError
from meritnas.plugins import Trust, Trusted
from meritnas.prepare.config import read_settings
from meritnas.prepare.given_teacher import GivenTeacher
from meritnas.prepare.ground import Ground, make_ground
from meritnas.prepare.memory import check_networks
from meritnas.prepare.preparation import Preparation, prepare, prepare_again
from meritnas.prepare.settle import usual_epochs
from meritnas.run.processes import processes
from meritnas.settings.settings import SearchSettings
from meritnas.store.run_store import RunStore
from meritnas.tasks.crew import ALONE, Crew
from meritnas.tasks.task import Material
from meritnas.training import one_training as training
from meritnas.training.race import Race
from meritnas.training.teacher import check_trees
from meritnas.training.threads import limited_threads
from meritnas.wording import listed

_OF_CLASSES = ("binary", "multiclass", "language")


@dataclass(frozen=True)
class Job:
    """Settings, data and space of one run.

    Attributes:
        settings: what the user decided.
        prepared: the data, and the networks that fit them.
        ground: the space and its feasible part.
        begun: when the time that a user gave began to count, by `time.perf_counter`.
        crew: who does trainings that do not depend on each other; no part of what the job is.
        spent: seconds that went into what was done before the search, by what it was.
    """

    settings: SearchSettings
    prepared: Preparation
    ground: Ground
    begun: float
    crew: Crew = ALONE
    spent: Mapping[str, float] = field(default_factory=dict)

    @staticmethod
    def make(
        settings: SearchSettings,
        kind: DataKind,
        source: Source,
        outline: Outline,
        begun: float | None = None,
        teacher: GivenTeacher | None = None,
    ) -> Job:
        """A new job; complains where no network fits the limits.

        Args:
            settings: what the user decided.
            kind: of data.
            source: the data.
            outline: how its rows are split.
            begun: when the time that a user gave began to count; None for now.
            teacher: an estimator that networks learn from; it is asked here, and not kept.
        """
        begun = time.perf_counter() if begun is None else begun
        job = _on_ground(settings, prepare(settings, kind, source, outline, teacher), begun)
        if settings.alone.auxiliary:
            job.check_auxiliary()
        if settings.alone.smoothing and job.bundle.task.kind not in _OF_CLASSES:
            raise UsageError(
                f"smoothing is for tasks with one class as the answer, and this is a "
                f"{job.bundle.task.kind} task; leave it out"
            )
        if settings.teacher == "trees":
            check_trees(job.bundle.task, job.bundle.train.sample)
        return job

    @staticmethod
    def reopen(store: RunStore, data: Any = None, trust: Trusted = ()) -> Job:
        """The job of an existing run, on the same data as then."""
        begun = time.perf_counter()
        settings = read_settings(store, Trust.of(trust))
        check_device(settings.device)
        prepared = prepare_again(settings, store, data)
        # Both are done at once here; the names are those of a run that was not interrupted.
        spent = {"reading": time.perf_counter() - begun, "encoding": 0.0}
        return replace(_on_ground(settings, prepared, begun), spent=spent)

    @property
    def trust(self) -> frozenset[Any]:
        """What of a user's own this process has for it, as `module:name` or itself."""
        return self.settings.own_code

    @property
    def bundle(self) -> Bundle[Any]:
        """The encoded data."""
        return self.prepared.bundle

    @cached_property
    def shared(self) -> Material:
        """What all its trainings share."""
        return Material(training.Ground(self.ground.family, self.bundle))

    @property
    def training_threads(self) -> int:
        """Of the CPU, for each training that does not depend on others."""
        return self.crew.threads or self.settings.threads

    @property
    def notes(self) -> list[str]:
        """What a user should know about the data and the limits, a sentence each."""
        chosen = (self.prepared.encoding.note, self.ground.feasible.note, self._no_plain)
        found = (*self.prepared.notes, *self.bundle.encoder.warnings, *chosen)
        return [note for note in found if note]

    def curve_notes(self, rungs: Sequence[object]) -> list[str]:
        """Why there is no trade-off curve, where one was asked for and has no smaller limit."""
        if rungs or not self.settings.pareto:
            return []
        return [no_curve(self.ground.searched, self.settings.limits)]

    def check_auxiliary(self) -> None:
        """Complain now, not after the search, where no network can have an auxiliary head."""
        family = self.ground.family
        some = self.ground.feasible.mode([np.zeros(size) for size in family.space.sizes])
        with torch.device("meta"):
            family.child(some, auxiliary=True)

    def new_search(self, plan: Plan | None, weight_steps: int) -> Search:
        """A search at its first step."""
        return make_search(self.settings, self.ground, self.bundle, plan, weight_steps)

    def planned_search(self) -> tuple[Search, float]:
        """A new search of the length that was asked for, and the seconds that are gone by then.

        These are 0 where time does not matter. Complains about a strategy that does not go with the
        space or the limits.
        """
        settings = self.settings
        if settings.minutes is None:
            return self.new_search(None, self._weight_steps(settings.epochs or 0)), 0.0
        with limited_threads(settings.threads):
            gone = time.perf_counter() - self.begun
            seconds = 60.0 * settings.minutes * settings.space.halving.search_share - gone
            possible, candidates = self._steps_within(seconds)
            longest = self._weight_steps(usual_epochs(settings, self.prepared.facts)[0])
            search = self.new_search(None, min(possible, longest))
            search.plan = replace(search.plan, candidates=candidates)
        return search, time.perf_counter() - self.begun

    def _weight_steps(self, epochs: int) -> int:
        """So many passes over the training part; in a step every worker sees a batch."""
        batches = max(1, len(self.bundle.train) // self.settings.recipe.batch_size)
        return -(-epochs * batches // self.settings.workers)

    def _steps_within(self, seconds: float) -> tuple[int, int]:
        """How many weight steps and candidates fit into this time, on the processes it will have.

        They are started for the measurement, and once more for the search.
        """
        asked = self.settings, self.ground, self.bundle
        begun = time.perf_counter()
        task = partial(time_steps, seconds, *asked)
        with processes(self.settings, task) as ranks:
            starting = time.perf_counter() - begun if ranks.size > 1 else 0.0
            return steps_within(seconds - 2 * starting, *asked, ranks)

    @cached_property
    def plain(self) -> tuple[str, ...]:
        """The plain networks that take part in the race of what a search has found."""
        if not self.settings.plain:
            return ()
        return tuple(one.text for one in self.ground.family.plain(self.settings.limits))

    @property
    def _no_plain(self) -> str:
        """Why no plain network takes part, where some could; empty where one does."""
        family, limits = self.ground.family, self.settings.limits
        if not self.settings.plain or not family.has_plain or self.plain:
            return ""
        unknown = [name for name in limits if name not in family.plain_limitable]
        why = "none keeps the limits"
        if unknown:
            why = f"the limit on {listed(unknown)} cannot be counted for them"
        elif not limits:
            why = "this space has none"
        return f"no plain network takes part in the race: {why}"

    def race(
        self, finalists: tuple[str, ...], seeds: int, epochs: int, plain: tuple[str, ...] = ()
    ) -> Race:
        """A race between these architectures by the run's own recipe.

        Args:
            finalists: of the search, its favourite first.
            seeds: how often the winner is trained.
            epochs: of a training to the end.
            plain: networks of which the best is trained to the end in any case.
        """
        numbers = tuple(self.settings.seed * 1000 + k for k in range(seeds))
        halving = self.settings.space.halving
        rates = self.settings.alone.dropouts
        if not self.ground.family.drops:  # two trainings with other rates would be one
            rates = rates[:1]
        race = Race.halving(finalists, rates, numbers, epochs, halving)
        taught = seeds if self.settings.teacher == "finalists" else 0
        others = tuple(text for text in plain if text not in finalists)
        return replace(race, plain=others, taught=taught)


def _on_ground(settings: SearchSettings, prepared: Preparation, begun: float) -> Job:
    ground = make_ground(prepared.family, settings.limits)
    check_networks(ground.family, ground.feasible)
    return Job(settings, prepared, ground, begun)
