"""Short trainings of a search's candidates, and the order that follows from them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from meritnas.devices.placement import placed
from meritnas.engine.candidates import Candidate
from meritnas.families.family import Family
from meritnas.run.job import Job
from meritnas.settings.recipe import TrainRecipe
from meritnas.store.run_store import RunStore
from meritnas.tasks.task import Tell
from meritnas.training.one_training import Ground
from meritnas.training.short_training import short_loss
from meritnas.training.threads import limited_threads
from meritnas.witness.trials import NAME, WEIGHT, Trials
from meritnas.witness.vote import order, rank_sums

_FILE = "trials.json"

_EPOCHS = 2
"""Of a short training. Four epochs of NAS-Bench-201's cells agreed no better with their table."""

_ENDING_SHARE = 0.6
"""Of the minutes given: no short training begins later."""


@dataclass(frozen=True)
class Tried:
    """Candidates in the order that short trainings suggest.

    Attributes:
        candidates: best first.
        seconds: how long all short trainings took.
        earlier: how many of these seconds were before an interruption.
    """

    candidates: list[Candidate]
    seconds: float = 0.0
    earlier: float = 0.0


def try_out(
    job: Job,
    store: RunStore,
    candidates: Sequence[Candidate],
    listen: Callable[[dict[str, Any]], None],
    begun: float,
) -> Tried:
    """Train as many candidates as were asked for briefly, and order all by what that says.

    They are trained as small as the supernet is, best first, as many at a time as the job's crew
    does; each is kept in the run, so that an interrupted run goes on with those that are missing.
    What they came to is one more witness (`witness/trials.py`), about those that were not trained
    as well.

    Args:
        job: the run's.
        store: its folder.
        candidates: that the panel has judged, best first.
        listen: told of every training.
        begun: when the search began, by `time.perf_counter`.
    """
    wanted = [each.architecture.text for each in candidates[: job.settings.trials]]
    if len(wanted) < 2:
        return Tried([*candidates])
    known, earlier = store.decode(_FILE, _as_kept) if store.has(_FILE) else ({}, 0.0)
    spent, trying = earlier, time.perf_counter()
    left, flying = [text for text in wanted if text not in known], 0
    for number in range(1, 1 + len(known)):
        listen({"kind": "trial", "step": number, "steps": len(wanted)})
    while True:
        late = _is_late(job, time.perf_counter() - begun + earlier)
        while left and flying < job.crew.size and not (late and len(known) + flying >= 2):
            job.crew.begin(_trial_of(job, left.pop(0)), job.shared, _nobody)
            flying += 1
        if not flying:
            break
        task, loss = job.crew.wait()
        assert isinstance(task, Trial)
        flying -= 1
        known[task.architecture] = loss
        spent = earlier + time.perf_counter() - trying
        # In one order, whoever was first: sums of a regression depend on it.
        known = {text: known[text] for text in wanted if text in known}
        store.write_json(_FILE, {"losses": known, "seconds": spent})
        told = {"step": len(known), "steps": len(wanted), "architecture": task.architecture}
        listen({"kind": "trial", **told})
    losses = {text: math.inf if loss is None else loss for text, loss in known.items()}
    return Tried(_ordered(job, candidates, losses), spent, earlier)


@dataclass(frozen=True)
class Trial:
    """A candidate to train briefly.

    Attributes:
        family: of networks as small as the supernet.
        architecture: its text.
        recipe: how it is trained.
        seed: of its weights and batches.
        device: where.
        threads: of the CPU.
    """

    family: Family
    architecture: str
    recipe: TrainRecipe
    seed: int
    device: str
    threads: int

    @property
    def name(self) -> str:
        """What it is, for messages."""
        return f"the short training of {self.architecture}"

    def __call__(self, material: Ground, tell: Tell) -> float | None:
        """The validation loss; None where it diverged."""
        del tell
        with limited_threads(self.threads):
            child = placed(self.family.child(self.architecture, seed=self.seed), self.device)
            return short_loss(child, material.bundle, self.recipe, _EPOCHS, self.seed)


def _trial_of(job: Job, text: str) -> Trial:
    settings = job.settings
    family = settings.space.small(job.ground.searched)
    recipe = replace(settings.alone, auxiliary=0.0)
    return Trial(family, text, recipe, settings.seed, settings.device, job.training_threads)


def _nobody(said: Any) -> None:
    del said


def _ordered(
    job: Job, candidates: Sequence[Candidate], losses: Mapping[str, float]
) -> list[Candidate]:
    space = job.ground.searched.space
    trained = np.array([space.picks(space.parse(text)) for text in losses])
    witness = Trials(trained, np.array([*losses.values()]), space.sizes)
    said = {name: np.array([each.said[name] for each in candidates]) for name in candidates[0].said}
    said[NAME] = witness.judge(np.array([space.picks(each.architecture) for each in candidates]))
    weights = {**job.ground.searched.witnesses, NAME: WEIGHT}
    sums = rank_sums(said, weights)
    return [
        replace(
            candidates[k],
            said={**candidates[k].said, NAME: float(said[NAME][k])},
            votes=float(sums[k]),
        )
        for k in order(said, weights)
    ]


def _is_late(job: Job, gone: float) -> bool:
    minutes = job.settings.minutes
    return minutes is not None and gone > _ENDING_SHARE * 60.0 * minutes


def _as_kept(found: Mapping[str, Any]) -> tuple[dict[str, float | None], float]:
    losses = {
        str(text): None if loss is None else float(loss)
        for text, loss in dict(found["losses"]).items()
    }
    if not all(loss is None or math.isfinite(loss) for loss in losses.values()):
        raise ValueError("a loss is no finite number")
    return losses, float(found["seconds"])
