"""What the time of a run was spent on, in seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from meritnas.engine.candidates import JUDGING
from meritnas.run.augmenting import seconds_trying
from meritnas.run.spent_before import seconds_of, spent_before
from meritnas.run.teacher import seconds_teaching
from meritnas.run.yardstick import seconds_measuring
from meritnas.store.run_store import RunStore
from meritnas.witness.trials import NAME as TRYING

_PHASES = {
    **{"warmup": "warm-up", "joint": "search", "frozen": "search"},
    **{JUDGING: "judging", TRYING: "short trainings"},
}
"""What the phases of a search are called here."""


def spent(store: RunStore, place: RunStore, rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Seconds by what they went into, in the order in which it is done; without what took none.

    `reading` has all before the data are encoded: the start of the program, too. `encoding` has
    what is tried for it, `planning` the steps and epochs that are timed where minutes are given.
    The race is by `retraining` shorter: the winner's further seeds, and what it is taught.

    Args:
        store: the run.
        place: where its race was run: the run itself, or a folder within it.
        rows: of networks for smaller limits.
    """
    found = spent_before(store)
    for phase, seconds in store.decode("architecture.json", _phases).items():
        name = _PHASES.get(phase, phase)
        found[name] = found.get(name, 0.0) + seconds
    found["yardstick"] = seconds_measuring(store)
    found["teacher"] = seconds_teaching(store)
    found["trials of changes"] = seconds_trying(store)
    trained, again = _of_race(place)
    found |= {"race": trained - again, "retraining": again}
    folders = sorted({str(row["folder"]) for row in rows})
    found["smaller limits"] = sum(_of_race(place.inside(folder))[0] for folder in folders)
    return {name: round(seconds, 2) for name, seconds in found.items() if seconds >= 0.005}


def _phases(found: Mapping[str, Any]) -> dict[str, float]:
    return seconds_of(found.get("phase_seconds", {}))


def _of_race(place: RunStore) -> tuple[float, float]:
    """Of all trainings, and of it of the winner's further ones."""
    if not place.has("timing.json"):
        return 0.0, 0.0
    found = place.decode("timing.json", lambda kept: (kept.get("retrain", 0.0), kept.get("again")))
    return float(found[0]), float(found[1] or 0.0)
