from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meritnas.search.recipe import (
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
