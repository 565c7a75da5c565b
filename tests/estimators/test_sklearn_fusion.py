from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from meritnas import DataError, NASFusionClassifier
from meritnas.search import fusion_recipes

TINY = {
    "channels": 4,
    "length": 2,
    "epochs": 2,
    "strategy": "random",
    "operations": "normal",
    "random_state": 0,
}


@pytest.fixture(autouse=True)
def _shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusion_recipes, "_QUICK_STEPS", (10, 40))
    fast = replace(fusion_recipes._QUICK, learning_rate=0.03)
    monkeypatch.setattr(fusion_recipes, "_QUICK", fast)


def samples(rows: int = 80) -> tuple[dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=rows)
    one = rng.normal(size=(rows, 4)) + 3 * (y == 1)[:, None]
    two = rng.normal(size=(rows, 2)) + 3 * (y == 2)[:, None]
    return {"one": one, "two": two}, np.array(["a", "b", "c"])[y]


def test_arrays_by_name() -> None:
    X, y = samples()
    model = NASFusionClassifier(max_params=900, **TINY).fit(X, y)
    assert model.n_params_ <= 900
    assert sum(param.numel() for param in model.module_.parameters()) == model.n_params_
    assert model.classes_.tolist() == ["a", "b", "c"]
    chances = model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert (model.predict(X) == y).mean() > 0.8
    some = {name: array[5:6] for name, array in X.items()}
    np.testing.assert_allclose(model.predict_proba(some), chances[5:6], atol=1e-9)
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), chances)


def test_a_frame_with_groups_of_columns() -> None:
    X, y = samples()
    frame = pd.DataFrame(
        {f"{name}.{k}": array[:, k] for name, array in X.items() for k in range(array.shape[1])}
    )
    model = NASFusionClassifier(**TINY).fit(frame, y)
    assert model.encoder_.layout.names == ("one", "two")
    assert (model.predict(frame) == y).mean() > 0.8
    named = NASFusionClassifier(
        modalities={"left": ["one.0", "one.1"], "right": ["two.0"]}, **TINY
    ).fit(frame, y)
    assert named.encoder_.layout.names == ("left", "right")


def test_several_labels() -> None:
    X, y = samples()
    labels = np.stack([y == "a", y != "b"], axis=1).astype(int)
    model = NASFusionClassifier(**TINY).fit(X, labels)
    found = model.predict(X)
    assert found.shape == labels.shape
    assert (found == labels).mean() > 0.8


def test_bad_input() -> None:
    X, y = samples()
    with pytest.raises(DataError, match="'two' has 79"):
        NASFusionClassifier(**TINY).fit({**X, "two": X["two"][:-1]}, y)
    with pytest.raises(DataError, match="validation_fraction"):
        NASFusionClassifier(validation_fraction=0.0, **TINY).fit(X, y)
