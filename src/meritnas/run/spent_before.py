"""What time was spent on before the race: kept beside what the race takes, in timing.json."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from meritnas.store.run_store import RunStore

_FILE = "timing.json"
_BEFORE = "before"


def write_spent_before(store: RunStore, spent: Mapping[str, float]) -> None:
    """Keep the seconds, by what they went into."""
    others = store.read_json(_FILE) if store.has(_FILE) else {}
    store.write_json(_FILE, {**others, _BEFORE: dict(spent)})


def spent_before(store: RunStore) -> dict[str, float]:
    """Those that a run keeps; runs of before do not say."""
    if not store.has(_FILE):
        return {}
    return store.decode(_FILE, lambda kept: seconds_of(kept.get(_BEFORE, {})))


def seconds_of(found: Mapping[str, Any]) -> dict[str, float]:
    """Finite numbers by name."""
    known = {str(name): float(seconds) for name, seconds in found.items()}
    if not all(map(math.isfinite, known.values())):
        raise ValueError("seconds are no finite numbers")
    return known
