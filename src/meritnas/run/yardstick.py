"""The yardstick of a run: fitted once, before the race, and kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meritnas.run.job import Job
from meritnas.store.run_store import RunStore
from meritnas.training.threads import limited_threads
from meritnas.training.yardstick import yardstick

_FILE = "yardstick.json"
_PARTS = ("trivial", "linear", "trees")


def measure(job: Job, store: RunStore) -> None:
    """Fit what others would on a table, unless that is done or not wanted."""
    kind, reading = job.prepared.kind, job.settings.reading
    if not kind.compared or reading.yardstick is False or store.has(_FILE):
        return
    with limited_threads(job.settings.threads):
        found = yardstick(job.bundle, job.settings.seed, job.settings.minutes)
    if found is not None:
        store.write_json(_FILE, found.to_json())


def seconds_measuring(store: RunStore) -> float:
    """How long that took."""
    return float(kept_yardstick(store).get("seconds", 0.0))


def kept_yardstick(store: RunStore) -> dict[str, Any]:
    """What a run keeps of it; nothing where there is none."""
    return store.decode(_FILE, _read) if store.has(_FILE) else {}


def _read(found: Mapping[str, Any]) -> dict[str, Any]:
    scores = {part: {str(m): float(v) for m, v in found[part].items()} for part in _PARTS}
    counts = {name: int(found[name]) for name in ("rows", "tested")}
    return {**scores, **counts, "seconds": float(found["seconds"])}
