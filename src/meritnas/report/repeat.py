"""The command that starts a run again, from what its config.json holds."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from typing import Any

from meritnas.errors import MeritNASError
from meritnas.prepare.config import kind_of_run
from meritnas.prepare.config import settings_of as settings_in
from meritnas.settings.fields import Setting, settings_of
from meritnas.settings.limits import Limits
from meritnas.settings.recipe import TrainRecipe
from meritnas.settings.search_only import SEARCH_ONLY
from meritnas.settings.settings import SearchSettings
from meritnas.settings.training import Retraining, Training

_RECIPE = {field.name for field in fields(TrainRecipe)}
Flag = tuple[str, str, Any, Any]
"""(the setting's name, its flag, its value, its default)."""


def repeat_command(config: Mapping[str, Any], given: str | None = None) -> str | None:
    """The command that starts the run again; None for a run on data in memory.

    Networks for images, texts and modalities take from a preset what a search and a training
    alone do differently; what they do alike is written out.

    Args:
        config: the run's config.json.
        given: the architecture, where a user gave it and nothing was searched.
    """
    data = config["data"]
    if data.get("location") is None:
        return None
    try:
        settings = settings_in(config)
    except MeritNASError:  # of a newer version, or damaged
        return None
    if settings.teacher == "given":  # which no command can name
        return None
    words = ["meritnas", "search" if given is None else "retrain", str(data["location"])]
    if given is not None:
        words += ["--architecture", given]
    if kind_of_run(config).asks_target and data.get("target"):
        words += ["--target", str(data["target"])]
    for name, flag, value, usual in _all_flags(settings):
        if given is None:
            words += _words(flag, value, usual)
        elif name not in SEARCH_ONLY:
            words += _words(flag.removeprefix("retrain-"), value, usual)
    return shlex.join(words)


def _all_flags(settings: SearchSettings) -> Iterator[Flag]:
    yield from _flags(settings_of(Limits), asdict(Limits.from_costs(settings.limits)))
    for name in ("space", "strategy"):
        yield name, name, getattr(settings, name).name, None
    yield "preset", "preset", settings.preset, None
    for part in (settings.strategy, settings.space, settings.reading):
        yield from _flags(settings_of(type(part)), vars(part))
    yield from _trained(settings)
    for name in ("epochs", "minutes", "seed", "threads"):
        yield name, name, getattr(settings, name), None
    yield "warmup", "warmup", settings.warmup, None
    yield "pareto", "pareto", settings.pareto, False
    yield "plain", "plain", settings.plain, True
    yield "workers", "workers", settings.workers, 1
    yield "trials", "trials", settings.trials, 0
    yield "device", "device", settings.device, "cpu"
    yield "teacher", "teacher", settings.teacher, None
    yield "latency_table", "latency-table", settings.latency_table, None
    again = {"retrain_epochs": "retrain-epochs", "retrain_seeds": "retrain-seeds"}
    for name, flag in {**again, "candidates": "candidates", "finalists": "finalists"}.items():
        yield name, flag, getattr(settings, name), None


def _flags(settings: Iterable[Setting], values: Mapping[str, Any]) -> Iterator[Flag]:
    for setting in settings:
        if not setting.hidden:
            yield setting.name, setting.flag, values[setting.name], setting.default


def _trained(settings: SearchSettings) -> Iterator[Flag]:
    """How weights are trained, as far as a preset does not say it differently for two."""
    search, alone = settings.recipe, settings.alone
    usual = TrainRecipe() if settings.child_recipe is None else None
    for setting in (*settings_of(Training), *settings_of(Retraining)):
        name = setting.name
        if name not in _RECIPE:
            continue
        if name == "teacher_share" and settings.teacher is None:
            continue
        if name == "adam_eps" and alone.optimizer != "adam":  # which a request refuses
            continue
        value = getattr(alone, name)
        if name == "dropout" or getattr(search, name) == value:
            default = getattr(usual, name) if usual and name != "batch_size" else None
            yield name, setting.flag, value, default


def _words(flag: str, value: Any, usual: Any) -> list[str]:
    if value is None or value == usual:
        return []
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    if isinstance(value, Mapping):
        return [word for key, entry in value.items() for word in _named(flag, key, entry)]
    if isinstance(value, list | tuple) and all(isinstance(entry, str) for entry in value):
        return [word for entry in value for word in (f"--{flag}", entry)]
    if flag == "image-size" and not isinstance(value, int):
        return [f"--{flag}", str(value[0])] if value[0] == value[1] else []
    if isinstance(value, list | tuple):
        return [f"--{flag}", _list(value)]
    return [f"--{flag}", str(value)]


def _named(flag: str, key: str, entry: Any) -> list[str]:
    text = entry if isinstance(entry, str) else ",".join(map(str, entry))
    return [f"--{flag}", f"{key}={text}"]


def _list(value: Any) -> str:
    """`8,16,32`, or a list for each layer: `8,16;16,32`."""
    if value and isinstance(value[0], list | tuple):
        rows = [",".join(map(str, row)) for row in value]
        return rows[0] if len(set(rows)) == 1 else ";".join(rows)
    return ",".join(map(str, value))
