"""Searches whose settings are given side by side, by the names of their flags.

Tests vary single settings of many, which is shorter this way; what they call is the public API.
"""

from __future__ import annotations

from typing import Any

import meritnas
from meritnas.data.kinds import recognise
from meritnas.families.catalogue import space_spec
from meritnas.families.family import Family
from meritnas.settings.fields import Setting, settings_of
from meritnas.settings.request import RunOptions
from meritnas.settings.training import Retraining, Training
from meritnas.strategy.catalogue import strategy_spec


def arguments(data: Any, **flat: Any) -> dict[str, Any]:
    """What `meritnas.search` takes for these settings; plain networks race where asked for.

    So does a yardstick.
    """
    flat.setdefault("plain", False)
    space = flat.get("space")
    spec = space.spec if isinstance(space, Family) else space
    wanted = None if spec is None else space_spec(spec).data or None
    kind = recognise(data, wanted)
    if kind.compared:
        flat.setdefault("yardstick", False)
    parts: dict[str, Any] = {}
    for name, owner in (
        ("training", Training),
        ("retraining", Retraining),
        ("run", RunOptions),
        ("reading", kind.reading),
    ):
        own = _taken(flat, settings_of(owner), keep=("epochs",))
        if own:
            parts[name] = owner(**own)
    chosen = space_spec(spec or kind.space)
    own = _taken(flat, settings_of(type(chosen)))
    if isinstance(space, Family):  # what it is made of stays
        own = {name: value for name, value in own.items() if getattr(chosen, name) is None}
    if own:
        parts["space"] = chosen.with_options(**own)
    if "strategy_options" in flat:
        options = flat.pop("strategy_options")
        parts["strategy"] = strategy_spec(flat.get("strategy") or kind.strategy, options)
    return {**flat, **parts}


def _taken(
    flat: dict[str, Any], settings: tuple[Setting, ...], keep: tuple[str, ...] = ()
) -> dict[str, Any]:
    found = {}
    for setting in settings:
        name = setting.flag.replace("-", "_")
        for called in (name, setting.name):
            if called in flat and called not in keep:
                found[setting.name] = flat.pop(called)
    return found


def search(data: Any, target: str | None = None, **flat: Any) -> meritnas.SearchResult:
    return meritnas.search(data, target, **arguments(data, **flat))


def train(data: Any, target: str | None = None, **flat: Any) -> meritnas.SearchResult:
    return meritnas.train(data, target, **arguments(data, **flat))
