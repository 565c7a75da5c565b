from __future__ import annotations

from typing import Any

import pytest

from meritnas.data.tables.reading import TableReading
from meritnas.errors import StoreError, UsageError
from meritnas.families.tabular.spec import Tabular
from meritnas.prepare.config import settings_of
from meritnas.settings.recipe import TrainRecipe
from meritnas.settings.settings import SearchSettings
from meritnas.strategy.tabnas import Tabnas


def settings(**given: Any) -> SearchSettings:
    return SearchSettings(Tabular(), Tabnas(), TableReading(), **given)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0},
        {"epochs": 5, "minutes": 1.0},
        {"epochs": None},
        {"epochs": None, "minutes": 0.0},
        {"epochs": None, "minutes": float("nan")},
        {"retrain_epochs": -1},
        {"retrain_seeds": 0},
        {"threads": 0},
        {"seed": -1},
        {"finalists": 0},
        {"warmup": 1.0},
        {"limits": {"params": 2.5}},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        settings(**wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"optimizer": "lion"},
        {"schedule": "step"},
        {"learning_rate": 0.0},
        {"averaging": 1.0},
        {"averaging": -0.1},
        {"learning_rate": float("nan")},
        {"batch_size": 1},
        {"weight_decay": -0.1},
        {"weight_decay": float("nan")},
        {"weight_decay": 2.0, "learning_rate": 0.5},
        {"dropout": -0.1},
        {"dropout": 1.0},
        {"dropout": float("nan")},
    ],
)
def test_recipes_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        TrainRecipe(**wrong)


def test_damaged_settings_are_a_store_error() -> None:
    good = {"version": 2, "settings": settings().to_json(), "data": {"kind": "table"}}
    assert settings_of(good) == settings()
    for key in ("recipe", "space", "strategy", "reading"):
        broken = {name: value for name, value in good["settings"].items() if name != key}  # type: ignore[attr-defined]
        with pytest.raises(StoreError, match="damaged"):
            settings_of({**good, "settings": broken})
    with pytest.raises(StoreError, match="damaged"):
        settings_of({**good, "settings": {**good["settings"], "novelty": 1}})  # type: ignore[dict-item]
