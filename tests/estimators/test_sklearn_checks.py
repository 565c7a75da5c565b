from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from meritnas.child import scaling
from meritnas.search import defaults
from meritnas.search.recipe import default_search_epochs, default_train_epochs
from meritnas.sklearn.estimators import NASClassifier, NASRegressor

_STOCHASTIC = (
    "rows are split at random into those that train, compare and test networks, so a row of "
    "weight 2 and two rows of weight 1 are not split alike"
)
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": _STOCHASTIC,
    "check_sample_weight_equivalence_on_sparse_data": _STOCHASTIC,
}


@pytest.fixture(autouse=True)
def _shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit by default takes seconds, and there are hundreds; MERITNAS_FULL=1 leaves them be."""
    if os.environ.get("MERITNAS_FULL"):
        return
    monkeypatch.setattr(defaults, "default_search_epochs", _part_of(default_search_epochs, 30))
    monkeypatch.setattr(defaults, "default_train_epochs", _part_of(default_train_epochs, 4))
    monkeypatch.setattr(scaling, "_STEPS", 10)


def _part_of(epochs: Callable[[int, int], int], divisor: int) -> Callable[[int, int], int]:
    return lambda rows, size: max(1, epochs(rows, size) // divisor)


@parametrize_with_checks(
    [NASClassifier(), NASRegressor()], expected_failed_checks=lambda _: EXPECTED
)
def test_the_estimators_keep_scikit_learns_rules(
    estimator: Any, check: Callable[[Any], None]
) -> None:
    check(estimator)
