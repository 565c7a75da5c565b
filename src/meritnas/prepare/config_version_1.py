"""Runs written by MeritNAS 0.1 (run format 1), in the form that they have today."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SAME = (
    *("limits", "epochs", "minutes", "recipe", "child_recipe", "warmup", "retrain_epochs"),
    *("retrain_seeds", "finalists", "seed", "device", "threads", "pareto"),
)
_SIZES = ("channels", "cells", "supernet_channels", "supernet_cells", "partial_channels")
_FUSION = (
    *("channels", "length", "cells", "steps", "operations", "shared", "unimodal_only"),
    *("new_inputs", "sparsity", "backbones"),
)


def upgraded(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """A config.json of run format 1 as one of today; others as they are.

    Format 1 kept all settings of all kinds of data side by side, and strategies by name.
    """
    if config.get("version", 1) != 1:
        return config
    old, data = config["settings"], config["data"]
    inner = old.get("cells") or old.get("text") or old.get("fusion") or {}
    settings = {name: old[name] for name in _SAME if name in old}
    settings["preset"] = inner.get("preset")
    settings["space"] = _space(old)
    settings["strategy"] = {"name": old["strategy"], **old["strategy_options"]}
    settings["reading"] = _reading(old, data)
    return {**config, "version": 2, "settings": settings}


def _space(old: Mapping[str, Any]) -> dict[str, Any]:
    name = str(old["space"])
    if ":" in name:
        return {"name": name}
    if name == "tabular":
        return {
            "name": name,
            "layers": old["layers"],
            "widths": old["widths"],
            "embedding": old["embedding"],
            "widest": old["widest_embedding"],
        }
    if name == "recurrent":
        own = {key: old["text"][key] for key in ("width", "nodes", "predecessors")}
        return {"name": name, **own}
    if name == "fusion":
        return {"name": name, **{key: old["fusion"][key] for key in _FUSION}}
    cells = {key: old["cells"][key] for key in _SIZES}
    if name == "nasbench201":
        return {"name": name, **cells, "zero": old["cells"]["zero"]}
    alone = old.get("child_recipe") or old["recipe"]
    return {"name": name, **cells, "stem": old["cells"]["stem"], "auxiliary": alone["auxiliary"]}


def _reading(old: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    kind = data.get("kind", "table")
    if kind == "text":
        return {key: old["text"][key] for key in ("level", "vocabulary", "window")}
    asked = {"class_weight": old.get("class_weight")}
    if kind == "images":
        return {**asked, "image_size": data.get("image_size"), **_augment(old)}
    asked["task"] = old.get("task")
    if kind == "modalities":
        fusion = old["fusion"]
        own = {key: fusion[key] for key in ("text_form", "text_columns", "frozen_backbones")}
        return {**asked, **own, "modalities": data.get("modalities")}
    skip = bool(data.get("skip_bad_rows"))
    return {**asked, "scaling": old.get("scaling", "auto"), "skip_bad_rows": skip}


def _augment(old: Mapping[str, Any]) -> dict[str, Any]:
    """What was done to images for training, as far as search and retraining did the same."""
    search, alone = old["recipe"]["augment"], (old.get("child_recipe") or old["recipe"])["augment"]
    return {name: value for name, value in search.items() if alone[name] == value}
