"""One run from its beginning to its end: search, race of the favourites, result."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch

from meritnas.data.bundle import Bundle, Outline
from meritnas.data.kind import DataKind, Source
from meritnas.engine.candidates import JUDGING
from meritnas.engine.ladder import no_curve
from meritnas.engine.loop import Search
from meritnas.engine.plan import Plan
from meritnas.engine.search_together import help_search, search_to_its_end
from meritnas.engine.start import make_panel, make_search
from meritnas.engine.time_limit import steps_within, time_steps
from meritnas.errors import StoreError, UsageError
from meritnas.plugins import Trust, Trusted
from meritnas.prepare.config import read_settings
from meritnas.prepare.ground import Ground, make_ground
from meritnas.prepare.memory import check_networks
from meritnas.prepare.preparation import Preparation, prepare, prepare_again
from meritnas.prepare.settle import check_device, usual_epochs
from meritnas.prepare.typed_fields import check_types
from meritnas.run.ending import Ending, ending_of, ending_text
from meritnas.run.local_ranks import LocalRanks, ranks_here
from meritnas.run.summary import result_of_race
from meritnas.run.timed_race import planned_race, seconds_left
from meritnas.settings.settings import SearchSettings
from meritnas.space.architecture import Architecture
from meritnas.store.run_folder import RESTORE
from meritnas.store.run_store import RunStore
from meritnas.store.staging import adopt, drop
from meritnas.training.race import Race
from meritnas.training.retrain import retrain_child
from meritnas.training.rungs import train_rungs
from meritnas.training.threads import limited_threads

Listener = Callable[[dict[str, Any]], None]
"""Told of every event: `run`, `note`, `search`, `retrain`."""

GIVEN = "given"
"""What a run has for a strategy whose architecture a user gave."""

_RETRAINING = "retrain"
"""The folder in a run's for a race beside its result."""

_OF_CLASSES = ("binary", "multiclass", "language")

_SEARCH_SHARE = 0.35
"""Of the minutes given, at most this part is for searching; the rest trains what was found.

However many there are, a search is not longer than by default: more finalists gain more.
"""


@dataclass(frozen=True)
class Job:
    """Settings, data and space of one run.

    Attributes:
        settings: what the user decided.
        prepared: the data, and the networks that fit them.
        ground: the space and its feasible part.
        begun: when the time that a user gave began to count, by `time.perf_counter`.
    """

    settings: SearchSettings
    prepared: Preparation
    ground: Ground
    begun: float

    @staticmethod
    def make(
        settings: SearchSettings,
        kind: DataKind,
        source: Source,
        outline: Outline,
        begun: float | None = None,
    ) -> Job:
        """A new job; complains where no network fits the limits."""
        begun = time.perf_counter() if begun is None else begun
        job = _on_ground(settings, prepare(settings, kind, source, outline), begun)
        if settings.alone.auxiliary:
            job.check_auxiliary()
        if settings.alone.smoothing and job.bundle.task.kind not in _OF_CLASSES:
            raise UsageError(
                f"smoothing is for tasks with one class as the answer, and this is a "
                f"{job.bundle.task.kind} task; leave it out"
            )
        return job

    @staticmethod
    def reopen(store: RunStore, data: Any = None, trust: Trusted = ()) -> Job:
        """The job of an existing run, on the same data as then."""
        begun = time.perf_counter()
        settings = read_settings(store, Trust.of(trust))
        check_device(settings.device)
        return _on_ground(settings, prepare_again(settings, store, data), begun)

    @property
    def trust(self) -> frozenset[str]:
        """What of a user's own this process has imported for it, as `module:name`."""
        return self.settings.own_names

    @property
    def bundle(self) -> Bundle[Any]:
        """The encoded data."""
        return self.prepared.bundle

    @property
    def notes(self) -> list[str]:
        """What a user should know about the data and the limits, a sentence each."""
        chosen = (self.prepared.encoding.note, self.ground.feasible.note)
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
            seconds = 60.0 * settings.minutes * _SEARCH_SHARE - gone
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
        with LocalRanks(ranks_here(self.settings), self.settings.threads, task) as ranks:
            starting = time.perf_counter() - begun if ranks.size > 1 else 0.0
            return steps_within(seconds - 2 * starting, *asked, ranks)

    @cached_property
    def plain(self) -> tuple[str, ...]:
        """The plain networks that take part in the race of what a search has found."""
        if not self.settings.plain:
            return ()
        return tuple(one.text for one in self.ground.family.plain(self.settings.limits))

    def race(
        self, finalists: tuple[str, ...], seeds: int, epochs: int, beside: tuple[str, ...] = ()
    ) -> Race:
        """A race between these architectures by the run's own recipe.

        Args:
            finalists: of the search, its favourite first.
            seeds: how often the winner is trained.
            epochs: of a training to the end.
            beside: who is trained to the end in any case.
        """
        numbers = tuple(self.settings.seed * 1000 + k for k in range(seeds))
        race = Race.halving(finalists, self.settings.alone.dropouts, numbers, epochs)
        return replace(race, late=tuple(text for text in beside if text not in finalists))


def start(job: Job, store: RunStore, listen: Listener, search: Search, planning: float) -> None:
    """Run a new job from its beginning to its end.

    Args:
        job: what is to be done.
        store: its empty folder.
        listen: told of every event.
        search: as `Job.planned_search` gives it.
        planning: the seconds that were gone by then.
    """
    job.prepared.write(store)
    _write_plan(job, store, search, planning)
    _finish(job, store, listen, search)


def start_given(job: Job, architecture: Architecture, store: RunStore, listen: Listener) -> None:
    """Train one architecture, as if a search had found it."""
    job.prepared.write(store)
    _write_choice(job, store, [architecture], ladder=[], strategy=GIVEN, passes=0, seconds=0.0)
    _finish(job, store, listen, None)


def resume(job: Job, store: RunStore, listen: Listener) -> None:
    """Do what is left of a run."""
    if not is_finished(store):
        _finish(job, store, listen, None)


def announce(job: Job, store: RunStore, listen: Listener) -> None:
    """Tell where the run is, so that it can be resumed, and what there is to note."""
    listen({"kind": "run", "run": str(store.folder)})
    for text in job.notes:
        listen({"kind": "note", "text": text})


def retrain(job: Job, store: RunStore, race: Race, listen: Listener) -> None:
    """Run another race, beside the run's result; its outcome takes that one's place at its end."""
    announce(job, store, listen)
    begun = _begun_retraining(store)
    if begun is not None and begun != race:
        drop(store, _RETRAINING)
    _retrain(job, store, race, listen)


def is_finished(store: RunStore) -> bool:
    """Whether there is a network, whole, with the result of the latest race."""
    needed = ("preprocessing.json", "architecture.json", "result.json", "model.safetensors")
    if not all(map(store.has, needed)) or store.lost("retrain.json"):
        return False
    store.check_weights("model.safetensors")
    store.read_json("result.json", "architecture", "race")
    if store.inside(_RETRAINING).folder.exists():
        return False
    won = store.decode("result.json", lambda result: Race.from_json(result["race"]))
    return not store.has("retrain.json") or won == last_race(store)


def last_race(store: RunStore) -> Race:
    """The race that was begun last."""
    return store.decode("retrain.json", lambda saved: Race.from_json(saved["plan"]))


def favourites_of(store: RunStore) -> tuple[str, ...]:
    """The favourites of a search that has come that far, best first."""
    return store.decode(
        "architecture.json", lambda found: tuple(str(text) for text in found["ranked"])
    )


def ended_search(job: Job, store: RunStore) -> Search:
    """The search of a run as it was at its last checkpoint; complains where there is none."""
    running = job.new_search(_kept_plan(store), 0)
    state = store.read_checkpoint()
    if state is None:
        raise StoreError(
            f"run {store.folder} has lost its checkpoint.pt, with the shared weights that parts "
            "are judged by; restore it or start a new run"
        )
    _continue_from(state, running, store)
    return running


def _on_ground(settings: SearchSettings, prepared: Preparation, begun: float) -> Job:
    ground = make_ground(prepared.family, settings.limits)
    check_networks(ground.family, ground.feasible)
    return Job(settings, prepared, ground, begun)


def _finish(job: Job, store: RunStore, listen: Listener, search: Search | None) -> None:
    """Do what is left of a run: of its search, of its race, of another race."""
    announce(job, store, listen)
    if (race := _begun_retraining(store)) is not None:
        _retrain(job, store, race, listen)
    if is_finished(store):
        return
    with limited_threads(job.settings.threads):
        if not store.has("architecture.json"):
            _choose(job, store, listen, search or _kept_search(job, store))
        begun = store.has("retrain.json")
        race = last_race(store) if begun else planned_race(job, store, favourites_of(store))
    # A run that has a result is being retrained, for as long as that takes.
    left = math.inf if store.has("result.json") else seconds_left(job, store)
    _train(job, store, store, race, listen, left)


def _retrain(job: Job, store: RunStore, race: Race, listen: Listener) -> None:
    _train(job, store, store.inside(_RETRAINING), race, listen)
    adopt(store, _RETRAINING)
    if store.has("retrain.safetensors"):  # of a race that this one took the place of
        store.remove("retrain.safetensors")


def _begun_retraining(store: RunStore) -> Race | None:
    """The race that was begun beside the run's result and is not over."""
    staged = store.inside(_RETRAINING)
    if not staged.folder.exists():
        return None
    if staged.has("result.json"):
        adopt(store, _RETRAINING)
    elif staged.has("retrain.json"):
        return last_race(staged)
    else:
        drop(store, _RETRAINING)
    return None


def _train(
    job: Job,
    store: RunStore,
    place: RunStore,
    race: Race,
    listen: Listener,
    left: float = math.inf,
) -> None:
    """Train the favourites from scratch, in `left` seconds, and write the result.

    Args:
        job: the run's.
        store: the run.
        place: where what is trained is kept: the run itself, or a folder within it.
        race: who takes part.
        listen: told of every epoch.
        left: seconds.
    """
    family, recipe, bundle = job.ground.family, job.settings.alone, job.bundle
    with limited_threads(job.settings.threads):
        found = store.decode("architecture.json", _kept_choice)
        ladder = found["ladder"]
        own = left * race.share(len(ladder))
        reserves = favourites_of(store) if left < math.inf else ()
        trained = retrain_child(family, race, bundle, recipe, place, listen, own, reserves)
        left = left - trained.seconds
        rows = train_rungs(family, ladder, race, bundle, recipe, place, listen, left)
    result, notes = result_of_race(job, store, trained, rows, found)
    place.write_json("result.json", result)
    for text in notes:
        listen({"kind": "note", "text": text})


def _kept_search(job: Job, store: RunStore) -> Search:
    """The search of a run that was interrupted, where it was."""
    if store.has("plan.json"):
        search = job.new_search(_kept_plan(store), 0)
    elif store.has("retrain.json") or (store.lost("plan.json") and job.settings.minutes):
        # No search has chosen what is being trained, or nobody knows how long it was to be.
        lost = "architecture.json" if store.has("retrain.json") else "plan.json"
        raise StoreError(f"run {store.folder} has lost its {lost}; {RESTORE}")
    else:  # killed before its plan was written
        search, planning = job.planned_search()
        _write_plan(job, store, search, planning)
    state = store.read_checkpoint()
    if state is not None:
        _continue_from(state, search, store)
    store.continue_events(0 if state is None else int(state["events_size"]))
    return search


def _kept_plan(store: RunStore) -> Plan:
    return store.decode("plan.json", _plan_in)


def _plan_in(found: Mapping[str, Any]) -> Plan:
    plan = Plan(**{"candidates": 1, **found["search"]})  # as earlier versions had it
    check_types(plan)
    return plan


def _kept_choice(found: Mapping[str, Any]) -> dict[str, Any]:
    """What architecture.json says, which must be enough to train what was found."""
    ladder = [
        {
            "limit": int(rung["limit"]),
            "architecture": str(rung["architecture"]),
            "reserves": [str(each["architecture"]) for each in rung.get("candidates", ())],
        }
        for rung in found["ladder"]
    ]
    return {**found, "seconds": float(found["seconds"]), "ladder": ladder}


def _write_plan(job: Job, store: RunStore, search: Search, planning: float) -> None:
    plan = {
        "search": search.plan.to_json(),
        # The options name what the beliefs in the event log are about.
        "options": job.ground.searched.space.names,
        "decisions": [decision.name for decision in job.ground.searched.space.decisions],
        "planning": planning,
    }
    store.write_json("plan.json", plan)


def _choose(job: Job, store: RunStore, listen: Listener, running: Search) -> None:
    """Search, on several processes if there are several workers, and keep the favourites.

    Only the first process is needed for what comes after.
    """
    for text in job.curve_notes(running.rungs):
        listen({"kind": "note", "text": text})
    begun = time.perf_counter() - running.seconds
    settings, ground = job.settings, job.ground
    task = partial(help_search, settings, ground, job.bundle, running.plan, running.state_dict())
    starting = time.perf_counter()
    with LocalRanks(ranks_here(settings), settings.threads, task) as ranks:
        if ranks.size > 1:
            running.seconds += time.perf_counter() - starting
        running.join(ranks)
        panel = make_panel(running, ground, job.bundle)
        found = search_to_its_end(running, store, listen, ground.searched_feasible, panel)
    ending = _ending(job, store, running)
    seconds = time.perf_counter() - begun
    judging = seconds - sum(running.phase_seconds.values())
    _write_choice(
        job,
        store,
        [each.architecture for each in found.candidates],
        candidates=[each.to_json() for each in found.candidates],
        ladder=[
            {
                "limit": limit,
                "architecture": best[0].architecture.text,
                "candidates": [each.to_json() for each in best],
            }
            for limit, best in found.ladder
        ],
        strategy=job.settings.strategy.name,
        passes=running.probe.passes,
        seconds=seconds,
        phase_seconds={**running.phase_seconds, JUDGING: judging},
        ending=ending.to_json(),
    )
    if text := ending_text(ending.to_json(), running.seconds):
        listen({"kind": "note", "text": text})


def _ending(job: Job, store: RunStore, running: Search) -> Ending:
    """Whether the search made up its mind, and trained its weights."""
    usual = usual_epochs(job.settings, job.prepared.facts)[0]
    return ending_of(
        store.events(),
        believes=job.settings.strategy.believes,
        chance_loss=job.bundle.task.chance_loss,
        weight_steps=running.plan.weight_steps,
        usual_steps=usual * running.probe.epoch_steps,
    )


def _write_choice(job: Job, store: RunStore, ranked: Sequence[Architecture], **more: Any) -> None:
    """Keep what is to be trained, best first, and how it was found."""
    family = job.ground.family
    store.write_json(
        "architecture.json",
        {
            "chosen": ranked[0].to_json(),
            "ranked": [architecture.text for architecture in ranked],
            "costs": {name: family.cost(ranked[0], name) for name in family.costs},
            **more,
        },
    )


def _continue_from(state: dict[str, Any], running: Search, store: RunStore) -> None:
    try:
        running.load_state_dict(state)
    except (KeyError, IndexError, TypeError, ValueError, RuntimeError) as error:
        raise StoreError(
            f"checkpoint.pt in {store.folder} does not belong to this run "
            f"({str(error).splitlines()[0]}); delete this file to start the run over from its "
            "configuration"
        ) from error
