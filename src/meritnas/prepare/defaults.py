from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import torch

from meritnas.errors import UsageError, whole_number
from meritnas.families.catalogue import space_spec
from meritnas.families.image_size import ImageShape
from meritnas.families.presets.images import ImageRecipe, image_recipe
from meritnas.families.presets.modalities import fusion_cells, fusion_recipe
from meritnas.families.presets.texts import text_recipe
from meritnas.families.tabular.family import PAPER_WIDTHS, tabular_space
from meritnas.settings.augment import Augment
from meritnas.settings.recipe import (
    TrainRecipe,
    default_batch_size,
    default_search_epochs,
    default_threads,
    default_train_epochs,
)
from meritnas.settings.settings import CellSettings, FusionSettings, SearchSettings, TextSettings
from meritnas.strategy.catalogue import strategy_spec

TABLE_DEFAULTS: Mapping[str, Any] = {
    "space": "tabular",
    "strategy": "tabnas",
    "layers": 3,
    "widths": PAPER_WIDTHS,
    "learning_rate": 0.01,
    "optimizer": "adam",
    "schedule": "cosine",
    "weight_decay": 0.3,
    "averaging": 0.99,
    "scaling": "auto",
    "retrain_seeds": 3,
    "finalists": 3,
    "warmup": 0.25,
}
"""What a search on a table does unless told otherwise."""

IMAGE_DEFAULTS: Mapping[str, Any] = {
    "space": "nasbench201",
    "strategy": "advantage",
    "preset": "quick",
    "retrain_seeds": 1,
    "finalists": 2,
    "zero": True,
    "stem": "cifar",
}
"""The same for images; all else is in the preset."""

TEXT_DEFAULTS: Mapping[str, Any] = {
    "space": "recurrent",
    "strategy": "advantage",
    "preset": "quick",
    "level": "word",
    "vocabulary": 10_000,
    "window": 35,
    "nodes": 3,
    "retrain_seeds": 1,
    "finalists": 2,
}
"""The same for texts; all else is in the preset."""

FUSION_DEFAULTS: Mapping[str, Any] = {
    "space": "fusion",
    "strategy": "sm-shapley",
    "preset": "quick",
    "steps": 1,
    "new_inputs": True,
    "retrain_seeds": 1,
    "finalists": 3,
}
"""The same for several modalities; all else is in the preset."""

PARTIAL_CHANNELS = 4
"""K of PC-DARTS, where nobody gives another."""

_RECIPE = {field.name for field in fields(TrainRecipe)} - {"augment"}
_AUGMENT = {field.name for field in fields(Augment)}
_CELLS = {field.name for field in fields(CellSettings)}
_TEXT = {field.name for field in fields(TextSettings)}
_FUSION = {field.name for field in fields(FusionSettings)}
TABLES_ONLY = {"layers", "widths", "embedding", "scaling"}
IMAGES_ONLY = (_CELLS - {"preset"}) | _AUGMENT | {"auxiliary"}
TEXTS_ONLY = _TEXT - {"preset"}
FUSION_ONLY = (_FUSION - {"preset", "channels", "cells"}) | {"modalities"}
_NOT_FOR_FUSION = IMAGES_ONLY - {"channels", "cells"}


def table_settings(rows: int, columns: int, asked: Mapping[str, Any]) -> SearchSettings:
    """Settings of a search on a table, with what was left open filled in by its size.

    Args:
        rows: training rows.
        columns: columns but the target.
        asked: values of `SearchSettings` and of `TrainRecipe` by name; None for what was left
            open. Limits of None are left out.
    """
    _refuse(asked, IMAGES_ONLY | {"preset"}, "images, and this is a table")
    _refuse(asked, TEXTS_ONLY, "texts, and this is a table")
    _refuse(asked, FUSION_ONLY, "several modalities (--space fusion), and this is a table")
    given = {name: value for name, value in asked.items() if value is not None}
    found: dict[str, Any] = {**TABLE_DEFAULTS, **given}
    _check(found)
    batch = found.get("batch_size")
    batch = whole_number("batch_size", default_batch_size(rows) if batch is None else batch, 2)
    recipe = TrainRecipe(**{**_of(found, _RECIPE), "batch_size": batch})
    usual = _table_epochs(rows, batch)
    return _settings(
        found,
        usual,
        recipe=recipe,
        threads=found.get("threads", default_threads(batch * columns) or torch.get_num_threads()),
        widths=tabular_space(1, 1, found["layers"], found["widths"]).widths,
    )


def image_settings(images: int, shape: ImageShape, asked: Mapping[str, Any]) -> SearchSettings:
    """Settings of a search on images, with what was left open taken from a preset.

    Args:
        images: how many there are to train on.
        shape: (channels, height, width) of each.
        asked: values of `SearchSettings`, `CellSettings`, `TrainRecipe` and `Augment` by name;
            None for what was left open. Limits of None are left out.
    """
    _refuse(asked, TABLES_ONLY, "tables, and these are images")
    _refuse(asked, TEXTS_ONLY, "texts, and these are images")
    _refuse(asked, FUSION_ONLY, "several modalities (--space fusion), and these are images")
    given = {name: value for name, value in asked.items() if value is not None}
    found: dict[str, Any] = {**IMAGE_DEFAULTS, **given}
    _check(found)
    if space_spec(found["space"]).data not in ("images", ""):
        raise UsageError(
            f"the space '{found['space']}' is for tables, and these are images; use nasbench201 or "
            "darts"
        )
    _only_counts(found, "images")
    partial = found.get("partial_channels", _usual_partial(found["strategy"], found["space"]))
    preset = _preset(found, images, shape, partial)
    cells = CellSettings(
        **{
            "channels": preset.channels,
            "cells": preset.cells,
            "supernet_channels": preset.supernet_channels,
            "supernet_cells": preset.supernet_cells,
            **_of(found, _CELLS),
            "partial_channels": partial,
        }
    )
    if found["space"] == "darts-unique" and "supernet_cells" not in given:
        cells = replace(cells, supernet_cells=cells.cells)
    return _settings(
        found,
        _Epochs(preset.search_epochs, preset.retrain_epochs),
        recipe=replace(_changed(preset.search, given), auxiliary=0.0, dropout=0.0),
        child_recipe=_changed(preset.retrain, given),
        warmup=found.get("warmup", preset.warmup_share),
        threads=found.get("threads", torch.get_num_threads()),
        cells=cells,
    )


def text_settings(words: int, asked: Mapping[str, Any]) -> SearchSettings:
    """Settings of a search on a text, with what was left open taken from a preset.

    Args:
        words: how many there are to train on.
        asked: values of `SearchSettings`, `TextSettings` and `TrainRecipe` by name; None for what
            was left open. Limits of None are left out.
    """
    _refuse(asked, TABLES_ONLY | {"class_weight"}, "tables, and this is a text")
    _refuse(asked, IMAGES_ONLY, "images, and this is a text")
    _refuse(asked, FUSION_ONLY, "several modalities (--space fusion), and this is a text")
    given = {name: value for name, value in asked.items() if value is not None}
    found: dict[str, Any] = {**TEXT_DEFAULTS, **given}
    _check(found)
    _only_counts(found, "texts")
    _no_partial_channels(found["strategy"], "language models")
    window = whole_number("window", found["window"], 1)
    preset = text_recipe(found["preset"], words // window)
    text = TextSettings(**{"width": preset.width, **_of(found, _TEXT)})
    return _settings(
        found,
        _Epochs(preset.search_epochs, preset.retrain_epochs),
        recipe=replace(_changed(preset.search, given), dropout=0.0),
        child_recipe=_changed(preset.retrain, given),
        warmup=found.get("warmup", preset.warmup_share),
        threads=found.get("threads", torch.get_num_threads()),
        text=text,
    )


def fusion_settings(rows: int, modalities: int, asked: Mapping[str, Any]) -> SearchSettings:
    """Settings of a search on several modalities, with what was left open taken from a preset.

    Args:
        rows: how many samples there are to train on.
        modalities: how many there are.
        asked: values of `SearchSettings`, `FusionSettings` and `TrainRecipe` by name; None for
            what was left open. Limits of None are left out.
    """
    _refuse(asked, TABLES_ONLY, "tables, and these are several modalities")
    _refuse(asked, TEXTS_ONLY, "texts, and these are several modalities")
    _refuse(asked, _NOT_FOR_FUSION, "images, and these are several modalities")
    given = {name: value for name, value in asked.items() if value is not None}
    found: dict[str, Any] = {**FUSION_DEFAULTS, **given}
    _check(found)
    _only_counts(found, "several modalities")
    _no_partial_channels(found["strategy"], "fusion networks")
    preset = fusion_recipe(found["preset"], rows)
    cells = fusion_cells(found["preset"], modalities)
    sizes = {"channels": preset.channels, "length": preset.length, "cells": cells}
    return _settings(
        found,
        _Epochs(preset.search_epochs, preset.retrain_epochs),
        recipe=replace(_changed(preset.search, given), dropout=0.0),
        child_recipe=_changed(preset.retrain, given),
        warmup=found.get("warmup", preset.warmup_share),
        threads=found.get("threads", 1),
        cells=None,
        fusion=FusionSettings(**{**sizes, **_of(found, _FUSION)}),
    )


@dataclass(frozen=True)
class _Epochs:
    """Usual passes over the training rows.

    Attributes:
        search: of a supernet.
        alone: of a network trained alone.
    """

    search: int
    alone: int


def usual_epochs(settings: SearchSettings, rows: int) -> _Epochs:
    """How many passes a search, and a network trained alone, take where time does not matter."""
    if settings.text is not None:
        text = text_recipe(settings.text.preset, rows)
        return _Epochs(text.search_epochs, text.retrain_epochs)
    if settings.fusion is not None:
        fusion = fusion_recipe(settings.fusion.preset, rows)
        return _Epochs(fusion.search_epochs, fusion.retrain_epochs)
    if settings.cells is None:
        return _table_epochs(rows, settings.recipe.batch_size)
    found = {"preset": settings.cells.preset, "space": settings.space}
    preset = _preset(found, rows, (3, 32, 32), settings.cells.partial_channels)
    return _Epochs(preset.search_epochs, preset.retrain_epochs)


def check_device(device: str) -> None:
    """Complain about a device that cannot be used here."""
    try:
        torch.empty(1, device=device).cpu()
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"device '{device}' cannot be used here ({reason}); try cpu") from error


def _table_epochs(rows: int, batch: int) -> _Epochs:
    return _Epochs(default_search_epochs(rows, batch), default_train_epochs(rows, batch))


def _usual_partial(strategy: str, space: str) -> int:
    """PC-DARTS' quarter of the channels, which Shapley-NAS has on DARTS' space too."""
    quarter = strategy == "pc-darts" or (strategy == "shapley" and space.startswith("darts"))
    return PARTIAL_CHANNELS if quarter else 1


def _preset(found: Mapping[str, Any], images: int, shape: ImageShape, partial: int) -> ImageRecipe:
    return image_recipe(
        found["preset"],
        "nasbench201" if found["space"] == "nasbench201" else "darts",
        images=images,
        colour=shape[0] == 3,
        side=min(shape[1:]),
        partial=partial,
    )


def _changed(recipe: TrainRecipe, given: Mapping[str, Any]) -> TrainRecipe:
    """A preset's recipe with what a user wants otherwise."""
    augment = replace(recipe.augment, **_of(given, _AUGMENT))
    return replace(recipe, **_of(given, _RECIPE), augment=augment)


def _settings(found: Mapping[str, Any], usual: _Epochs, **settled: Any) -> SearchSettings:
    epochs: dict[str, int | None] = {"epochs": None, "retrain_epochs": None}
    if found.get("minutes") is None:
        epochs = {"epochs": usual.search, "retrain_epochs": usual.alone}
    known = {field.name for field in fields(SearchSettings)}
    values = {**epochs, **_of(found, known), **settled}
    limits = {name: most for name, most in found["limits"].items() if most is not None}
    return SearchSettings(**{**values, "limits": limits})


def _only_counts(found: Mapping[str, Any], kind: str) -> None:
    for cost in ("size", "latency"):
        if found["limits"].get(cost) is not None:
            raise UsageError(f"a limit on {cost} is for tables; for {kind} limit params or flops")


def _no_partial_channels(strategy: str, networks: str) -> None:
    if strategy == "pc-darts":
        raise UsageError(
            f"strategy 'pc-darts' trains a part of a cell's channels and {networks} have none; "
            "use 'darts'"
        )


def _check(found: Mapping[str, Any]) -> None:
    if found.get("epochs") is not None and found.get("minutes") is not None:
        raise UsageError("give either epochs or minutes, not both")
    strategy_spec(found["strategy"], found["strategy_options"])
    check_device(found["device"])


def _refuse(asked: Mapping[str, Any], names: set[str], reason: str) -> None:
    wrong = sorted(name for name in names if asked.get(name) is not None)
    if wrong:
        raise UsageError(f"{', '.join(wrong)} is for {reason}; leave it out")


def _of(found: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name in names}
