from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from meritnas.estimators.tables import NASClassifier, NASRegressor
from meritnas.families.presets import tables
from meritnas.families.tabular import spec
from meritnas.prepare import encoding
from meritnas.settings.preset import Preset
from meritnas.settings.recipe import default_search_epochs, default_train_epochs

_STOCHASTIC = (
    "rows are split at random into those that train, compare and test networks, so a row of "
    "weight 2 and two rows of weight 1 are not split alike"
)
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": _STOCHASTIC,
    "check_sample_weight_equivalence_on_sparse_data": _STOCHASTIC,
}


# These ask for good answers; all others ask how an estimator behaves, not what it learns.
LEARNING = {
    "check_class_weight_classifiers",
    "check_classifiers_classes",
    "check_classifiers_train",
    "check_regressors_train",
}


@pytest.fixture(autouse=True)
def _shorter(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit by default takes seconds, and there are hundreds; MERITNAS_FULL=1 leaves them be.

    One network is trained once, instead of three finalists with and without dropout.
    """
    if os.environ.get("MERITNAS_FULL"):
        return
    learns = request.node.callspec.params["check"].func.__name__ in LEARNING
    monkeypatch.setattr(tables, "default_search_epochs", _part_of(default_search_epochs, 30))
    shorter = _part_of(default_train_epochs, 4 if learns else 40)
    monkeypatch.setattr(tables, "default_train_epochs", shorter)
    monkeypatch.setattr(encoding, "_STEPS", 10)
    monkeypatch.setattr(spec, "tables_preset", _one_training)


def _one_training(*given: Any) -> Preset:
    usual = tables.tables_preset(*given)
    return replace(usual, search=replace(usual.search, dropout=0.0), finalists=1)


def _part_of(epochs: Callable[[int, int], int], divisor: int) -> Callable[[int, int], int]:
    return lambda rows, size: max(1, epochs(rows, size) // divisor)


@parametrize_with_checks(
    [NASClassifier(), NASRegressor()], expected_failed_checks=lambda _: EXPECTED
)
def test_the_estimators_keep_scikit_learns_rules(
    estimator: Any, check: Callable[[Any], None]
) -> None:
    check(estimator)
