"""What is done to training images: each of several ways is tried in a short training."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from meritnas.errors import DivergedError
from meritnas.run.job import Job
from meritnas.settings.augment import Augment
from meritnas.settings.recipe import TrainRecipe
from meritnas.store.run_store import RunStore
from meritnas.training.race import Race
from meritnas.training.retrain import recipe_for
from meritnas.training.train import train_child

_FILE = "augment.json"

_SHARE, _FEWEST = 0.25, 1000
"""Of the training images, those that a way is tried on, where these are not fewer than this.

They are seen as often as in a training to the end, for it is repetition that changes help against.
All images seen a quarter as often prefer no changes: 7,500 of CIFAR-10's for 8 epochs had a
validation loss of .91 without and .98 with shifts and mirror images, which after 30 epochs are
clearly better.
"""

_LEAST_STEPS = 50
"""A training with fewer says nothing: then nothing is tried."""

_SMALLER = 4
"""The network that ways are tried on has a quarter of the parameters."""

_CUTOUT = 4
"""The square that is blotted out has a side of a quarter of the image's."""


@dataclass(frozen=True)
class Tried:
    """A way to change training images, and what a short training with it came to.

    Attributes:
        augment: the way.
        valid_loss: None where training diverged.
    """

    augment: Augment
    valid_loss: float | None


def ways(job: Job) -> tuple[Augment, ...]:
    """What there is to try, the usual way first; nothing where it is settled.

    It is settled where a user has decided a part of it, where a paper has, and without images.
    """
    settings, kind = job.settings, job.prepared.kind.name
    if kind != "images" or settings.preset == "paper" or settings.reading.changes:
        return ()
    usual = settings.alone.augment
    square = min(job.bundle.train.inputs.shape[-2:]) // _CUTOUT
    others = (
        Augment(),
        replace(usual, flip=not usual.flip),
        replace(usual, cutout=0 if usual.cutout else square),
    )
    return tuple(dict.fromkeys((usual, *others)))


@dataclass(frozen=True)
class Trying:
    """How ways are tried.

    Attributes:
        share: of the training images that each is tried on.
        epochs: of each training; 0 where nothing is tried.
        whole_epochs: how many epochs on all images take as long as all of it.
    """

    share: float
    epochs: int
    whole_epochs: float


def trying(job: Job, epochs: int) -> Trying:
    """As much as goes with trainings of so many epochs to the end."""
    rows, judges, count = len(job.bundle.train), len(job.bundle.valid), len(ways(job))
    share = min(1.0, max(_SHARE, _FEWEST / rows))
    short = round(epochs * _SHARE / share)
    if count < 2 or short * share * rows < _LEAST_STEPS * job.settings.alone.batch_size:
        return Trying(share, 0, 0.0)
    # A step forward and back costs about three times one forward, which is what judges need.
    each = (3 * share * rows + judges) / (3 * rows + judges)
    return Trying(share, short, count * short * each)


def tried_on(job: Job, race: Race) -> str:
    """The network that ways are tried on: a plain one, a quarter as large as that in the race.

    What changes are good for the data depends little on the network; time does.
    """
    if not race.plain or not ways(job):
        return (*race.plain, *race.finalists)[0]
    family = job.ground.family
    most = family.cost(race.plain[0]) // _SMALLER
    smaller = family.plain({**job.settings.limits, "params": most})
    return smaller[0].text if smaller else race.plain[0]


def try_ways(
    job: Job,
    store: RunStore,
    architecture: str,
    how: Trying,
    listen: Callable[[dict[str, Any]], None],
) -> None:
    """Train a network briefly with each way; each is kept in the run, so that none is lost.

    Args:
        job: the run's.
        store: its folder.
        architecture: the network.
        how: long, and on how many images.
        listen: told of every training.
    """
    tried, spent = _kept(store)
    wanted = ways(job) if how.epochs else ()
    for number, augment in enumerate(wanted, start=1):
        begun = time.perf_counter()
        if all(one.augment != augment for one in tried):
            tried.append(Tried(augment, _tried(job, architecture, augment, how)))
            spent += time.perf_counter() - begun
            kept = [asdict(one) for one in tried]
            store.write_json(_FILE, {"tried": kept, "seconds": spent})
        listen({"kind": "trial", "step": number, "steps": len(wanted)})


def best_way(tried: Sequence[Tried]) -> Augment:
    """The one with the smallest validation loss, the earlier where equal."""
    losses = [math.inf if one.valid_loss is None else one.valid_loss for one in tried]
    return tried[losses.index(min(losses))].augment


def augmented_recipe(job: Job, store: RunStore) -> TrainRecipe:
    """How the run trains networks alone: with the way that was found best, if ways were tried."""
    tried, _ = _kept(store)
    if not tried:
        return job.settings.alone
    return replace(job.settings.alone, augment=best_way(tried))


def seconds_trying(store: RunStore) -> float:
    """How long all short trainings took."""
    return _kept(store)[1]


def _tried(job: Job, text: str, augment: Augment, how: Trying) -> float | None:
    settings, data, family = job.settings, job.bundle, job.ground.family
    recipe = replace(recipe_for(family, text, settings.alone), augment=augment, auxiliary=0.0)
    some = data.train.drawn(how.share, settings.seed)
    child = family.child(text, seed=settings.seed).to(settings.device)
    try:
        trained = train_child(
            child, some, data.valid, data.task.loss, recipe, how.epochs, settings.seed
        )
    except DivergedError:
        return None
    return trained.valid_loss


def _kept(store: RunStore) -> tuple[list[Tried], float]:
    return store.decode(_FILE, _as_kept) if store.has(_FILE) else ([], 0.0)


def _as_kept(found: Mapping[str, Any]) -> tuple[list[Tried], float]:
    tried = [
        Tried(
            Augment(**one["augment"]),
            None if one["valid_loss"] is None else float(one["valid_loss"]),
        )
        for one in found["tried"]
    ]
    if not all(one.valid_loss is None or math.isfinite(one.valid_loss) for one in tried):
        raise ValueError("a loss is no finite number")
    return tried, float(found["seconds"])
