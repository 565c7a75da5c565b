"""What is done to training images: each of several ways is tried in a short training."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from meritnas.devices.placement import placed
from meritnas.run.job import Job
from meritnas.settings.augment import Augment
from meritnas.settings.recipe import TrainRecipe
from meritnas.store.run_store import RunStore
from meritnas.training.one_training import recipe_for
from meritnas.training.race import Race
from meritnas.training.short_training import short_loss

_FILE = "augment.json"

_SHARE, _FEWEST = 0.25, 1000
"""Of the training images, those that a way is tried on, where these are not fewer than this.

They are seen as often as in a training to the end, or less where they are more than a quarter, for
it is repetition that changes help against:
7,500 images of CIFAR-10, seen 8 times, had a validation loss of .91 without changes, .98 with
shifts and mirror images; a quarter of them, seen 30 times, 1.19 without, 1.17 with shifts, 1.14
with both. A quarter of `mnist5k`, seen 20 times, .109 with shifts, .119 without, .204 mirrored,
.083 with a square blotted out.
"""

_LEAST_STEPS = 50
"""A training with fewer says nothing: then nothing is tried."""

_SMALLER = 4
"""The network that ways are tried on has a quarter of the parameters."""

_DEGREES = 10
"""That images are turned by at most, where that is tried."""

_CUTOUT = 4
"""The square that is blotted out has a side of a quarter of the image's."""


Change = Callable[[Augment], Augment]
"""From the best way so far to another one."""


def is_open(job: Job) -> bool:
    """Whether ways are tried: images, of which neither a user nor a paper has settled it."""
    settings, kind = job.settings, job.prepared.kind.name
    return kind == "images" and settings.preset != "paper" and not settings.reading.changes


def changes(square: int) -> tuple[Change, ...]:
    """What is tried one after the other; each makes another way of the best so far.

    Args:
        square: the side of what is blotted out.
    """
    return (
        lambda _: Augment(),
        lambda best: replace(best, flip=not best.flip),
        lambda best: replace(best, rotation=_DEGREES),
        lambda best: replace(best, cutout=0 if best.cutout else square),
    )


def next_way(usual: Augment, square: int, losses: Sequence[float | None]) -> Augment | None:
    """What to try after these losses, or None when all is tried: see `best_way`."""
    tried = len(losses)
    if tried == 0:
        return usual
    if tried > len(changes(square)):
        return None
    return changes(square)[tried - 1](best_way(usual, square, losses))


def best_way(usual: Augment, square: int, losses: Sequence[float | None]) -> Augment:
    """The usual way, with every change that had a smaller validation loss than the best before it.

    Args:
        usual: where it begins.
        square: the side of what is blotted out.
        losses: of the usual way, and of the way after each change; None where training diverged.
    """
    found = [math.inf if loss is None else loss for loss in losses]
    best, least = usual, found[0]
    for change, loss in zip(changes(square), found[1:], strict=False):
        if loss < least:
            best, least = change(best), loss
    return best


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
    rows, judges = len(job.bundle.train), len(job.bundle.valid)
    share = min(1.0, max(_SHARE, _FEWEST / rows))
    short = round(epochs * _SHARE / share)
    if not is_open(job) or short * share * rows < _LEAST_STEPS * job.settings.alone.batch_size:
        return Trying(share, 0, 0.0)
    # A step forward and back costs about three times one forward, which is what judges need.
    each = (3 * share * rows + judges) / (3 * rows + judges)
    return Trying(share, short, (1 + len(changes(0))) * short * each)


def tried_on(job: Job, race: Race) -> str:
    """The network that ways are tried on: a plain one, a quarter as large as one in the race.

    What changes are good for the data depends little on the network; time does.
    """
    one, family = (*race.plain, *race.finalists)[0], job.ground.family
    if not is_open(job):
        return one
    most = family.cost(one) // _SMALLER
    smaller = family.plain({**job.settings.limits, "params": most})
    return smaller[0].text if smaller else one


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
    if not how.epochs:
        return
    losses, spent = _kept(store)
    usual, square, count = job.settings.alone.augment, _square(job), 1 + len(changes(0))
    for number in range(1, count + 1):
        begun = time.perf_counter()
        if number > len(losses):
            way = next_way(usual, square, losses)
            assert way is not None
            losses.append(_tried(job, architecture, way, how))
            spent += time.perf_counter() - begun
            store.write_json(_FILE, {"valid_losses": losses, "seconds": spent})
        listen({"kind": "trial", "step": number, "steps": count})


def _square(job: Job) -> int:
    return int(min(job.bundle.valid.inputs.shape[-2:])) // _CUTOUT


def augmented_recipe(job: Job, store: RunStore) -> TrainRecipe:
    """How the run trains networks alone: with the way that was found best, if ways were tried."""
    recipe, (losses, _) = job.settings.alone, _kept(store)
    if not losses:
        return recipe
    return replace(recipe, augment=best_way(recipe.augment, _square(job), losses))


def seconds_trying(store: RunStore) -> float:
    """How long all short trainings took."""
    return _kept(store)[1]


def _tried(job: Job, text: str, augment: Augment, how: Trying) -> float | None:
    settings, data, family = job.settings, job.bundle, job.ground.family
    recipe = replace(recipe_for(family, text, settings.alone), augment=augment, auxiliary=0.0)
    some = data.train.sample.drawn(how.share, settings.seed)
    child = placed(family.child(text, seed=settings.seed), settings.device)
    return short_loss(child, replace(data, train=some), recipe, how.epochs, settings.seed)


def _kept(store: RunStore) -> tuple[list[float | None], float]:
    return store.decode(_FILE, _as_kept) if store.has(_FILE) else ([], 0.0)


def _as_kept(found: Mapping[str, Any]) -> tuple[list[float | None], float]:
    losses = [None if loss is None else float(loss) for loss in found["valid_losses"]]
    if not all(loss is None or math.isfinite(loss) for loss in losses):
        raise ValueError("a loss is no finite number")
    return losses, float(found["seconds"])
