"""How the network that won fails on test rows: found once, and kept beside its weights."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from meritnas.devices.placement import placed
from meritnas.failures.failures import failures_on
from meritnas.failures.unnamed import without_rows
from meritnas.prepare.family import trained_network
from meritnas.run.job import Job
from meritnas.store.run_store import RunStore
from meritnas.training.threads import limited_threads

FILE = "failures.json"
_WEIGHTS = "model.safetensors"


def failures_noted(job: Job, place: RunStore) -> list[str]:
    """As `write_failures`, at the end of a run, which never fails for that; what there is to note.

    What was trained may have taken days, and is not written down as a result before.
    """
    try:
        write_failures(job, place)
    except Exception as error:
        return [
            f"how the network fails on test rows could not be found out ({error!r}); try again "
            "with: meritnas explain RUN --failures"
        ]
    return []


def write_failures(job: Job, place: RunStore) -> None:
    """Ask a trained network about the test rows; nothing happens where there are none.

    Args:
        job: the run's.
        place: where its weights are, and where the answer is kept.
    """
    bundle, family = job.bundle, job.ground.family
    if not len(bundle.test):
        return
    weights, about = place.read_weights(_WEIGHTS)
    text = about["architecture"]
    module = trained_network(family, text, weights, place)
    task = replace(bundle.task, threshold=float(about.get("threshold", "0.5")))
    with limited_threads(job.settings.threads):
        found = failures_on(
            placed(module, job.settings.device).eval(),
            bundle,
            task,
            job.prepared.kind,
            job.prepared.cells,
        )
    if not job.settings.reading.examples:
        found = without_rows(found)
    digest = hashlib.sha256(place.checked(_WEIGHTS)).hexdigest()
    place.write_json(FILE, {"weights": digest, **found})
