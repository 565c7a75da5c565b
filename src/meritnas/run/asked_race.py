"""The race that somebody asks for who has a run trained anew."""

from __future__ import annotations

from meritnas.errors import UsageError
from meritnas.run.begin import given_architecture
from meritnas.run.choice import favourites_of
from meritnas.run.job import Job
from meritnas.store.run_store import RunStore
from meritnas.training.race import Race


def asked_race(
    job: Job, store: RunStore, architecture: str | None, epochs: int | None, seeds: int | None
) -> Race:
    """The race that a retraining asks for; complains where it cannot be run."""
    family = job.ground.family
    if architecture is None:
        chosen = family.parse(favourites_of(store)[0])
    else:
        chosen = given_architecture(family, architecture)
    if not family.fits(chosen, job.settings.limits):
        costs = ", ".join(f"{n} {family.cost(chosen, n):,}" for n in job.settings.limits)
        raise UsageError(
            f"{chosen} breaks the run's limits ({costs}; limits "
            f"{dict(job.settings.limits)}); choose a smaller architecture"
        )
    count = job.settings.retrain_seeds if seeds is None else seeds
    length = epochs if epochs is not None else job.settings.retrain_epochs
    if length is None:
        length = int(store.read_json("plan.json").get("race", {}).get("epochs", 0))
    if min(count, length) < 1:
        raise UsageError(f"seeds and epochs must be at least 1, got {count} and {length}")
    finalists = favourites_of(store)[: job.settings.finalists]
    if architecture is not None:
        finalists = (chosen.text,)
    plain = job.plain if architecture is None else ()
    return job.race(finalists, count, length, plain)
