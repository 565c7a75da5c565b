"""The teacher of a run: asked once, before the race, and its answers kept."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from meritnas.data.bundle import Bundle
from meritnas.devices.placement import CPU, placed
from meritnas.prepare.teacher_answers import has_answers, read_answers, write_answers
from meritnas.run.job import Job
from meritnas.store.run_store import RunStore
from meritnas.training.teacher import FOLDS, trees_out_of_fold
from meritnas.training.threads import limited_threads

_FILE = "teacher.json"

MOST_SECONDS = 20.0
_SHARE = 0.15
"""Of the minutes that a user gives, the most that trees may take on a usual machine."""


def taught(job: Job, store: RunStore) -> Job:
    """The job whose training rows have the answers of its teacher, if it has one.

    Finalists, who are yet to be trained, teach in the race itself.
    """
    settings = job.settings
    if settings.teacher not in ("trees", "given"):
        return job
    if settings.teacher == "trees" and not (store.has(_FILE) and has_answers(store)):
        begun = time.perf_counter()
        allowed = min(MOST_SECONDS, _SHARE * 60.0 * (settings.minutes or MOST_SECONDS))
        rows = job.bundle.train.sample.to(CPU)
        with limited_threads(settings.threads):
            answers = trees_out_of_fold(
                job.bundle.task, job.bundle.encoder.inputs, rows, allowed, settings.seed
            )
        write_answers(store, answers)
        store.write_json(_FILE, {"folds": FOLDS, "seconds": time.perf_counter() - begun})
    answers = read_answers(store, job.bundle)
    known = replace(job.bundle.train.sample, taught=placed(answers, settings.device))
    bundle: Bundle[Any] = replace(job.bundle, train=known)
    return replace(job, prepared=replace(job.prepared, bundle=bundle))


def seconds_teaching(store: RunStore) -> float:
    """How long the trees took."""
    return store.decode(_FILE, _seconds) if store.has(_FILE) else 0.0


def _seconds(found: Mapping[str, Any]) -> float:
    return float(found["seconds"])
