from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meritnas.errors import UsageError
from meritnas.settings.augment import Augment
from meritnas.settings.recipe import (
    SEARCH_STEPS,
    TRAIN_STEPS,
    TRIED_DROPOUT,
    TrainRecipe,
    default_batch_size,
    default_search_epochs,
    default_train_epochs,
)

LENGTHS = [(default_search_epochs, SEARCH_STEPS), (default_train_epochs, TRAIN_STEPS)]


def steps(rows: int, epochs: int) -> int:
    return epochs * max(1, rows // default_batch_size(rows))


@pytest.mark.parametrize(("default", "enough"), LENGTHS)
@given(rows=st.integers(1, 10**6))
def test_large_tables_get_enough_steps_and_small_ones_not_too_many(
    default: type, enough: int, rows: int
) -> None:
    size = default_batch_size(rows)
    epochs = default(rows, size)
    usual = default(10**7, 512)  # where the number of steps says nothing
    assert epochs >= usual >= 1
    if rows >= enough:
        assert steps(rows, epochs) >= enough
    if epochs > usual:  # no epoch more than it takes
        assert steps(rows, epochs - 1) < enough


@pytest.mark.parametrize(("default", "enough"), LENGTHS)
def test_a_table_of_dozens_of_rows_takes_a_fraction(default: type, enough: int) -> None:
    assert steps(30, default(30, 32)) < enough / 5


def test_dropouts_are_tried_unless_given() -> None:
    assert TrainRecipe().dropouts == (0.0, TRIED_DROPOUT)
    assert TrainRecipe(dropout=0.25).dropouts == (0.25,)
    assert TrainRecipe(dropout=0.0).dropouts == (0.0,)


def test_decay_goes_with_the_rate() -> None:
    recipe = TrainRecipe(weight_decay=0.5)
    assert recipe.decay_at(0.0) == 1.0
    assert recipe.decay_at(0.02) == pytest.approx(0.99)
    assert TrainRecipe(weight_decay=0.0).decay_at(0.02) == 1.0
    assert TrainRecipe(**recipe.to_json()) == recipe


def test_decay_by_the_gradient_leaves_the_matrices_to_the_optimiser() -> None:
    recipe = TrainRecipe(weight_decay=0.5, decay="gradient")
    assert recipe.decay_at(0.02) == 1.0
    assert recipe.gradient_decay == 0.5
    assert TrainRecipe(weight_decay=0.5).gradient_decay == 0.0


def test_the_cosine_ends_where_it_should() -> None:
    recipe = TrainRecipe(learning_rate=0.025, final_rate=0.001)
    assert recipe.rate_at(0, 100) == 0.025
    assert recipe.rate_at(100, 100) == pytest.approx(0.001)
    assert recipe.rate_at(50, 100) == pytest.approx(0.013)
    plain = TrainRecipe(learning_rate=0.3)
    for step in range(8):  # to the last bit, as it was before there was a final rate
        assert plain.rate_at(step, 7) == 0.3 * 0.5 * (1.0 + math.cos(math.pi * step / 7))


def test_one_cycle_rises_for_a_quarter_and_then_falls_to_the_end() -> None:
    recipe = TrainRecipe(learning_rate=0.4, schedule="one-cycle", final_rate=0.01)
    rates = [recipe.rate_at(step, 100) for step in range(101)]
    assert rates[0] == pytest.approx(0.04)
    assert max(rates) == rates[25] == 0.4
    assert rates[:26] == sorted(rates[:26])
    assert rates[25:] == sorted(rates[25:], reverse=True)
    assert rates[100] == pytest.approx(0.01)
    assert recipe.rate_at(0, 1) == 0.4  # nothing to rise in


def test_a_linear_rate_falls_in_equal_steps() -> None:
    recipe = TrainRecipe(learning_rate=0.5, schedule="linear", final_rate=0.1)
    rates = [recipe.rate_at(step, 4) for step in range(5)]
    assert rates == pytest.approx([0.5, 0.4, 0.3, 0.2, 0.1])


def test_recipes_for_images_survive_json() -> None:
    recipe = TrainRecipe(
        "sgd",
        nesterov=True,
        clip=5.0,
        decay="gradient",
        final_rate=0.001,
        auxiliary=0.4,
        augment=Augment(4, True, 16),
    )
    assert TrainRecipe(**json.loads(json.dumps(recipe.to_json()))) == recipe


def test_recipes_of_earlier_runs_are_still_understood() -> None:
    names = ("optimizer", "learning_rate", "schedule", "batch_size", "weight_decay", "dropout")
    written = {name: TrainRecipe().to_json()[name] for name in (*names, "averaging")}
    assert TrainRecipe(**written) == TrainRecipe()


@pytest.mark.parametrize(
    "wrong",
    [
        {"clip": 0.0},
        {"clip": float("nan")},
        {"decay": "both"},
        {"final_rate": -0.1},
        {"final_rate": 0.2, "learning_rate": 0.1},
        {"auxiliary": -0.4},
        {"auxiliary": float("inf")},
        {"smoothing": 1.0},
        {"smoothing": -0.1},
        {"nesterov": 1},
        {"augment": None},
        {"augment": {"crop": -1}},
    ],
)
def test_image_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=rf"{next(iter(wrong))}|crop must be"):
        TrainRecipe(**wrong)
