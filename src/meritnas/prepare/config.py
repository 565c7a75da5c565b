"""A run's config.json: its settings, its data, the versions it ran with."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

import numpy as np
import sklearn
import torch

from meritnas.data.kind import DataKind, Source
from meritnas.data.kinds import kind_named
from meritnas.errors import StoreError
from meritnas.families.catalogue import space_from_json
from meritnas.plugins import NOBODY, Trust
from meritnas.prepare.config_version_1 import upgraded
from meritnas.settings.recipe import TrainRecipe
from meritnas.settings.settings import SearchSettings
from meritnas.store.run_store import RunStore
from meritnas.strategy.catalogue import strategy_from_json
from meritnas.version import __version__

_BEFORE: Mapping[str, Mapping[str, Any]] = {
    "recurrent": {"known_cells": False},
    "fusion": {"heads": False, "fista_steps": 2},
}
"""Options that a space has now, as it was before it had them."""


def make_config(settings: SearchSettings, kind: DataKind, source: Source) -> dict[str, Any]:
    """All that decides a run."""
    return {
        "settings": settings.to_json(),
        "data": {
            "kind": kind.name,
            "name": source.name,
            "location": source.location,
            "fingerprint": source.fingerprint,
            **kind.remembered(source, settings.reading),
        },
        "versions": {
            "meritnas": __version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
        },
    }


def settings_of(config: Mapping[str, Any], trust: Trust = NOBODY) -> SearchSettings:
    """The settings that a config.json of this or an earlier version holds.

    Args:
        config: what the file says.
        trust: what of a user's own may be imported; what else is named stays unloaded.
    """
    try:
        current = upgraded(config)
        # Earlier versions left the final choice to the strategy.
        values = {"candidates": 1, **current["settings"]}
        space = values["space"]
        values["space"] = space_from_json({**_BEFORE.get(space["name"], {}), **space}, trust)
        values["strategy"] = strategy_from_json(values["strategy"], trust)
        values["reading"] = kind_of_run(config).reading.from_json(values["reading"])
        values["recipe"] = TrainRecipe(**values["recipe"])
        if values.get("child_recipe") is not None:
            values["child_recipe"] = TrainRecipe(**values["child_recipe"])
        return SearchSettings(**values)
    except (KeyError, TypeError) as error:
        raise StoreError(
            f"the run's settings are damaged ({error}); restore config.json or start a new run"
        ) from error


def read_settings(store: RunStore, trust: Trust) -> SearchSettings:
    """The settings of a run that is to be used; complains where it names what is not trusted."""
    settings = store.decode("config.json", lambda config: settings_of(config, trust))
    trust.check(settings.own_names, store.folder)
    return settings


def kind_of_run(config: Mapping[str, Any]) -> DataKind:
    """The kind of data that a run was made on; the first runs kept none for tables."""
    return kind_named(str(config["data"].get("kind", "table")))
