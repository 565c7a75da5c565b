"""What of a user's own a run names, found out without importing any of it."""

from __future__ import annotations

from meritnas.prepare.config import settings_of
from meritnas.prepare.preprocessing import read_preprocessing
from meritnas.store.run_store import RunStore


def wanted_names(store: RunStore) -> frozenset[str]:
    """The spaces, strategies and backbones that a run asks to import, as `module:name`."""
    settings = store.decode("config.json", settings_of)
    if not store.has("preprocessing.json"):
        return settings.own_names
    encoder, _ = read_preprocessing(store)
    return settings.own_names | encoder.own_names
