from __future__ import annotations

import json
from typing import Any

import pytest

from meritnas.errors import StoreError, UsageError
from meritnas.settings.recipe import TrainRecipe
from meritnas.settings.settings import SearchSettings


def test_settings_survive_json() -> None:
    settings = SearchSettings(
        strategy="evolution",
        strategy_options={"population": 7},
        limits={"params": 400, "flops": 900},
        layers=2,
        widths=((2, 4), (3,)),
        embedding=2,
        epochs=None,
        minutes=0.5,
        recipe=TrainRecipe("sgd", 0.05, "constant", 64, 0.2, 0.25),
        retrain_epochs=None,
        seed=7,
        task="regression",
        scaling="quantile",
        class_weight="balanced",
        pareto=True,
        finalists=2,
    )
    assert SearchSettings.from_json(json.loads(json.dumps(settings.to_json()))) == settings


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
        {"scaling": "log"},
        {"limits": {"params": 2.5}},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        SearchSettings(**wrong)


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
    good = SearchSettings().to_json()
    for key in ("recipe", "widths"):
        broken = {name: value for name, value in good.items() if name != key}
        with pytest.raises(StoreError, match="damaged"):
            SearchSettings.from_json(broken)
    with pytest.raises(StoreError, match="damaged"):
        SearchSettings.from_json({**good, "novelty": 1})
