from __future__ import annotations

import json
from typing import Any

import pytest

from meritnas.errors import UsageError
from meritnas.families.presets.images import image_recipe
from meritnas.prepare.defaults import (
    IMAGES_ONLY,
    TABLES_ONLY,
    check_device,
    image_settings,
    table_settings,
    usual_epochs,
)
from meritnas.settings.settings import SearchSettings

NOTHING: dict[str, Any] = {"limits": {}, "strategy_options": {}, "device": "cpu", "seed": 0}
COLOUR = (3, 32, 32)


def of_images(**asked: Any) -> SearchSettings:
    return image_settings(1_000, COLOUR, {**NOTHING, **asked})


def test_settings_for_images_survive_json() -> None:
    settings = of_images(space="darts", preset="paper", strategy="pc-darts", limits={"params": 9})
    again = SearchSettings.from_json(json.loads(json.dumps(settings.to_json())))
    assert again == settings
    assert again.cells == settings.cells
    assert again.alone == settings.child_recipe


def test_what_is_given_wins_over_the_preset_in_both_recipes() -> None:
    settings = of_images(learning_rate=0.05, crop=2, flip=False, warmup=0.1, channels=12)
    assert settings.recipe.learning_rate == settings.alone.learning_rate == 0.05
    assert settings.recipe.augment == settings.alone.augment
    assert (settings.recipe.augment.crop, settings.recipe.augment.flip) == (2, False)
    assert settings.warmup == 0.1
    assert settings.cells is not None
    preset = image_recipe("quick", "nasbench201", images=1_000)
    assert settings.cells.channels == 12
    assert settings.cells.supernet_channels == preset.supernet_channels


def test_a_supernet_has_neither_dropout_nor_an_auxiliary_head() -> None:
    settings = of_images(space="darts", dropout=0.3, auxiliary=0.4)
    assert (settings.recipe.dropout, settings.recipe.auxiliary) == (0.0, 0.0)
    assert (settings.alone.dropout, settings.alone.auxiliary) == (0.3, 0.4)


@pytest.mark.parametrize(("strategy", "partial"), [("pc-darts", 4), ("darts", 1)])
def test_pc_darts_sees_a_quarter_of_the_channels(strategy: str, partial: int) -> None:
    cells = of_images(space="darts", strategy=strategy).cells
    assert cells is not None
    assert cells.partial_channels == partial
    other = of_images(space="darts", strategy=strategy, partial_channels=2).cells
    assert other is not None
    assert other.partial_channels == 2


def test_where_every_cell_has_its_own_decisions_the_supernet_has_all_cells() -> None:
    cells = of_images(space="darts-unique", cells=7).cells
    assert cells is not None
    assert cells.supernet_cells == 7


def test_with_minutes_nothing_is_said_about_epochs() -> None:
    settings = of_images(minutes=2.0)
    assert settings.epochs is settings.retrain_epochs is None
    usual = usual_epochs(settings, 1_000)
    assert usual.search == of_images().epochs
    assert usual.alone == of_images().retrain_epochs


def test_limits_of_none_are_left_out() -> None:
    assert of_images(limits={"params": 5, "flops": None}).limits == {"params": 5}


@pytest.mark.parametrize("name", sorted(TABLES_ONLY))
def test_what_is_for_tables_is_refused_for_images(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} is for tables"):
        of_images(**{name: 3})


@pytest.mark.parametrize("name", sorted(IMAGES_ONLY))
def test_what_is_for_images_is_refused_for_tables(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} is for images"):
        table_settings(100, 4, {**NOTHING, name: 3})


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"space": "tabular"}, "use nasbench201 or darts"),
        ({"preset": "slow"}, "preset must be quick or paper, got 'slow'"),
        ({"limits": {"size": 9}}, "limit params or flops"),
        ({"limits": {"latency": 9}}, "limit params or flops"),
        ({"epochs": 3, "minutes": 1.0}, "either epochs or minutes"),
        ({"strategy": "dart"}, "did you mean 'darts'"),
        ({"strategy_options": {"beta": -1.0}}, "no option 'beta'"),
        ({"supernet_cells": 0}, "supernet_cells must be at least 1"),
        ({"channels": 2.5}, "channels must be a whole number"),
    ],
)
def test_what_cannot_be_is_refused(asked: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        of_images(**asked)


def test_a_device_that_is_not_here() -> None:
    check_device("cpu")
    with pytest.raises(UsageError, match="device 'abacus' cannot be used here"):
        check_device("abacus")
