from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from meritnas.families.tabular.family import PAPER_WIDTHS
from meritnas.prepare.defaults import TABLE_DEFAULTS

_LIMITS = {
    "params": ("max_params", 1),
    "flops": ("max_flops", 1),
    "size": ("max_size_kb", 1000),
    "latency": ("max_latency_ms", 1000),
}
_RECIPE = (
    *("optimizer", "learning_rate", "schedule", "batch_size", "weight_decay", "clip"),
    *("dropout", "averaging"),
)
_AUGMENT = ("crop", "flip", "cutout")
_RUN = ("epochs", "minutes", "retrain_epochs", "retrain_seeds", "finalists", "seed", "threads")
_ONLY_ON = ("pareto", "shared", "unimodal_only", "both", "skip_bad_rows")
"""Flags that have no opposite."""

_SEARCHES_ONLY = {
    *("epochs", "finalists", "warmup", "pareto"),
    *("strategy", "minutes", "embedding", "zero", "supernet_channels", "supernet_cells"),
    *("new_inputs",),
    *("partial_channels", "crop", "flip", "optimizer", "schedule", "clip", "averaging"),
    *("scaling", "class_weight", "skip_bad_rows"),
}
"""What training a given network does not have."""


def repeat_command(config: Mapping[str, Any], given: str | None = None) -> str | None:
    """The command that starts the run again; None for a run on data in memory.

    Networks for images, texts and modalities take from a preset what a search and a training
    alone do differently; what they do alike is written out.

    Args:
        config: the run's config.json.
        given: the architecture, where a user gave it and nothing was searched.
    """
    location = config["data"].get("location")
    if location is None:
        return None
    words = ["meritnas", "search" if given is None else "retrain", str(location)]
    if given is not None:
        words += ["--architecture", given]
    for name, value in _options(config):
        if given is None:
            words += _flag(name, value)
        elif name not in _SEARCHES_ONLY:
            words += _flag(name.removeprefix("retrain_"), value)
    return shlex.join(words)


def _options(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    settings = config["settings"]
    data = config["data"]
    if data.get("kind") in ("table", "modalities"):
        yield "target", data.get("target")
    for name, (option, unit) in _LIMITS.items():
        if name in settings["limits"]:
            most = settings["limits"][name]
            yield option, most if unit == 1 else most / unit
    for name in ("space", "strategy", "pareto", "task", "class_weight"):
        yield name, settings.get(name)
    yield from settings["strategy_options"].items()
    yield from _network(settings)
    yield from _recipe(settings)
    for name in (*_RUN, "warmup"):
        yield name, settings.get(name)
    if settings.get("device") != "cpu":
        yield "device", settings.get("device")
    yield "skip_bad_rows", data.get("skip_bad_rows")
    size = data.get("image_size")
    if size and size[0] == size[1]:
        yield "image_size", size[0]
    yield from (("modality", name) for name in _modalities(data.get("modalities")))


def _network(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What the space is made of."""
    for kind in ("cells", "text", "fusion"):
        if settings.get(kind) is not None:
            for name, value in settings[kind].items():
                yield from _one_or_more(name, value)
            return
    rows = [list(row) for row in settings["widths"]]
    yield "layers", settings["layers"]
    if any(row != rows[0] for row in rows):
        yield "widths", ";".join(",".join(map(str, row)) for row in rows)
    elif rows[0] != list(PAPER_WIDTHS):
        yield "widths", ",".join(map(str, rows[0]))
    yield "embedding", settings.get("embedding")
    if settings.get("scaling") != "auto":
        yield "scaling", settings.get("scaling")


def _one_or_more(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A setting; of a dict, such as backbones by modality, each entry by itself."""
    if not isinstance(value, Mapping):
        yield name, value
        return
    yield from ((name.removesuffix("s"), f"{key}={entry}") for key, entry in value.items())


def _recipe(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """How weights are trained, as far as a preset does not say it differently for two."""
    search, alone = settings["recipe"], settings.get("child_recipe")
    if alone is None:
        for name in _RECIPE:
            if name not in TABLE_DEFAULTS or search[name] != TABLE_DEFAULTS[name]:
                yield name, search[name]
        return
    for name in _RECIPE:
        if name == "dropout" or search[name] == alone[name]:
            yield name, alone[name]
    if settings.get("cells") is not None:
        yield "auxiliary", alone["auxiliary"] or None
        for name in _AUGMENT:
            if search["augment"][name] == alone["augment"][name]:
                yield name, alone["augment"][name]


def _modalities(found: Any) -> list[str]:
    if isinstance(found, dict):
        return [f"{name}={','.join(columns)}" for name, columns in found.items()]
    return [str(name) for name in found or ()]


def _flag(name: str, value: Any) -> list[str]:
    flag = "--" + name.replace("_", "-")
    if value is None or (value is False and name in _ONLY_ON):
        return []
    if isinstance(value, bool):
        return [flag if value else f"--no-{flag[2:]}"]
    return [flag, str(value)]
