"""A run from its beginning to its end: search, race of the favourites, result."""

from __future__ import annotations

import math

from meritnas.engine.loop import Search
from meritnas.run.augmenting import augmented_recipe, tried_on, try_ways
from meritnas.run.choice import Listener, choose, favourites_of, kept_choice, write_choice
from meritnas.run.failing import failures_noted
from meritnas.run.job import Job
from meritnas.run.kept_search import kept_search, write_plan
from meritnas.run.spent import spent
from meritnas.run.summary import result_of_race
from meritnas.run.teacher import taught
from meritnas.run.timed_race import planned_race, planned_trying, seconds_left
from meritnas.run.yardstick import measure
from meritnas.space.architecture import Architecture
from meritnas.store.run_store import RunStore
from meritnas.store.staging import adopt, drop
from meritnas.training.race import Race
from meritnas.training.retrain import retrain_with
from meritnas.training.rungs import train_rungs
from meritnas.training.running_race import as_saved
from meritnas.training.threads import limited_threads

GIVEN = "given"
"""What a run has for a strategy whose architecture a user gave."""

_RETRAINING = "retrain"
"""The folder in a run's for a race beside its result."""


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
    write_plan(job, store, search, planning)
    _finish(job, store, listen, search)


def start_given(job: Job, architecture: Architecture, store: RunStore, listen: Listener) -> None:
    """Train one architecture, as if a search had found it."""
    job.prepared.write(store)
    write_choice(job, store, [architecture], ladder=[], strategy=GIVEN, passes=0, seconds=0.0)
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


def _finish(job: Job, store: RunStore, listen: Listener, search: Search | None) -> None:
    """Do what is left of a run: of its search, of its race, of another race."""
    announce(job, store, listen)
    if (race := _begun_retraining(store)) is not None:
        _retrain(job, store, race, listen)
    if is_finished(store):
        return
    with limited_threads(job.settings.threads):
        if not store.has("architecture.json"):
            choose(job, store, listen, search or kept_search(job, store))
        measure(job, store)
        job = taught(job, store)
        begun = store.has("retrain.json")
        race = last_race(store) if begun else planned_race(job, store, favourites_of(store))
        if not begun:
            network = tried_on(job, race)
            try_ways(job, store, network, planned_trying(job, store, race), listen)
    # A run that has a result is being retrained, for as long as that takes.
    left = math.inf if store.has("result.json") else seconds_left(job, store)
    _train(job, store, store, race, listen, left)


def _retrain(job: Job, store: RunStore, race: Race, listen: Listener) -> None:
    _train(taught(job, store), store, store.inside(_RETRAINING), race, listen)
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
    crew, ground, recipe = job.crew, job.shared, augmented_recipe(job, store)
    with limited_threads(job.settings.threads):
        found = store.decode("architecture.json", kept_choice)
        ladder, threads = found["ladder"], _threads(job, place)
        own = left * race.share(len(ladder), crew.size)
        reserves = favourites_of(store) if left < math.inf else ()
        trained = retrain_with(crew, ground, race, recipe, place, listen, own, reserves, threads)
        left = left - trained.seconds
        rows = train_rungs(crew, ground, ladder, race, recipe, place, listen, left, threads)
    unknown = failures_noted(job, place)
    result, notes = result_of_race(job, store, trained, rows, found)
    result["notes"] += unknown
    result["spent"] = spent(store, place, rows)
    place.write_json("result.json", result)
    for text in (*notes, *unknown):
        listen({"kind": "note", "text": text})


def _threads(job: Job, place: RunStore) -> int:
    """Of each training: as many as a race that was begun has had, whoever goes on with it."""
    if not place.has("retrain.json"):
        return job.training_threads
    kept: int | None = place.decode("retrain.json", as_saved)["threads"]
    return kept or job.settings.threads
