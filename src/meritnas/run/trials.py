"""Short trainings of a search's candidates, and the order that follows from them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from meritnas.engine.candidates import Candidate
from meritnas.run.job import Job
from meritnas.store.run_store import RunStore
from meritnas.training.short_training import short_loss
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

    They are trained as small as the supernet is, one after the other, best first; each is kept in
    the run, so that an interrupted run goes on with the next. What they came to is one more witness
    (`witness/trials.py`), about those that were not trained as well.

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
    spent = earlier
    for number, text in enumerate(wanted, start=1):
        now = time.perf_counter()
        if text not in known:
            if number > 2 and _is_late(job, now - begun + earlier):
                break
            known[text] = _short_training(job, text)
            spent += time.perf_counter() - now
            store.write_json(_FILE, {"losses": known, "seconds": spent})
        listen({"kind": "trial", "step": number, "steps": len(wanted), "architecture": text})
    losses = {text: math.inf if loss is None else loss for text, loss in known.items()}
    return Tried(_ordered(job, candidates, losses), spent, earlier)


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


def _short_training(job: Job, text: str) -> float | None:
    """The validation loss of a network after a short training; None where it diverged."""
    settings, data = job.settings, job.bundle
    family = settings.space.small(job.ground.searched)
    recipe = replace(settings.alone, auxiliary=0.0)
    child = family.child(text, seed=settings.seed).to(settings.device)
    return short_loss(child, data, recipe, _EPOCHS, settings.seed)


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
