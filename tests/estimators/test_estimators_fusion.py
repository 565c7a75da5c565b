from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from meritnas import DataError, NASFusionClassifier, UsageError
from meritnas.estimators import fusion
from meritnas.families.presets import modalities as fusion_recipes
from meritnas.result import SearchResult
from meritnas.run.job import Job, Listener, start
from meritnas.store.run_store import RunStore

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


def test_a_frame_with_two_levels_of_columns() -> None:
    X, y = samples()
    levels = [(name, k) for name, array in X.items() for k in range(array.shape[1])]
    frame = pd.DataFrame(np.hstack([*X.values()]), columns=pd.MultiIndex.from_tuples(levels))
    model = NASFusionClassifier(**TINY).fit(frame, y)
    assert model.encoder_.columns == {"one": ("0", "1", "2", "3"), "two": ("0", "1")}
    assert (model.predict(frame) == y).mean() > 0.8


def test_a_table_beside_an_array() -> None:
    X, y = samples()
    facts = pd.DataFrame({"is_b": np.where(y == "b", "yes", "no"), "age": np.arange(len(y))})
    data = {"facts": facts, "two": X["two"]}
    model = NASFusionClassifier(**TINY).fit(data, y)
    assert model.encoder_.columns["facts"] == ("age", "is_b")
    assert (model.predict(data) == y).mean() > 0.8


def as_frame(X: dict[str, np.ndarray]) -> pd.DataFrame:
    return pd.DataFrame({f"{name}.0": array[:, 0] for name, array in X.items()})


@pytest.mark.parametrize("form", [dict, as_frame])
def test_several_labels(form: Callable[..., Any]) -> None:
    X, y = samples()
    labels = np.stack([y == "a", y != "b"], axis=1).astype(int)
    named = pd.DataFrame(labels, columns=["first", "other"], index=np.arange(len(y))[::-1])
    lists = [[name for name in named if row[name]] for _, row in named.iterrows()]
    given = {
        "array": (labels, ["0", "1"]),
        "rows": (labels.tolist(), ["0", "1"]),
        "frame": (named, ["first", "other"]),
        "lists": (lists, ["first", "other"]),
    }
    chances = []
    for own, classes in given.values():
        model = NASFusionClassifier(**TINY).fit(form(X), own)
        assert model.classes_.tolist() == classes
        found = model.predict(form(X))
        assert found.shape == labels.shape
        chances.append(model.predict_proba(form(X)))
    assert (found == labels).mean() > 0.8
    for other in chances[1:]:
        np.testing.assert_array_equal(other, chances[0])


def test_names_mean_nothing() -> None:
    """A modality may be called as a target or a test part is in files."""
    X, y = samples()
    third = np.arange(len(y)) % 3 == 0
    arrays = {"y": X["one"], "y_names": X["two"], "test": third}
    model = NASFusionClassifier(**TINY).fit(arrays, y)
    assert model.encoder_.layout.names == ("y", "y_names", "test")
    assert (model.predict(arrays) == y).mean() > 0.8
    frame = pd.DataFrame({"y": X["one"][:, 0], "two.0": X["two"][:, 0]})
    model = NASFusionClassifier(**TINY).fit(frame, y)
    assert model.encoder_.columns == {"table": ("y",), "two": ("two.0",)}


def test_what_is_asked_of_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = samples()
    free = NASFusionClassifier(**TINY).fit(X, y)
    started = []

    def watched(job: Job, store: RunStore, listen: Listener) -> SearchResult:
        started.append(job.settings)
        return start(job, store, listen)

    monkeypatch.setattr(fusion, "start", watched)
    most = free.costs_["flops"] - 1
    asked = {"max_flops": most, "finalists": 1, "retrain_epochs": 3, "strategy": "darts"}
    given = {**TINY, **asked, "strategy_options": {"policy_rate": 0.02}}
    assert NASFusionClassifier(**given).fit(X, y).costs_["flops"] <= most
    (settings,) = started
    assert (settings.finalists, settings.retrain_epochs) == (1, 3)
    assert settings.strategy_options == {"policy_rate": 0.02}
    with pytest.raises(UsageError, match="no option 'rate'"):
        NASFusionClassifier(**{**given, "strategy_options": {"rate": 0.02}}).fit(X, y)


def test_a_modality_missing_at_predict_time() -> None:
    X, y = samples()
    model = NASFusionClassifier(**TINY).fit(X, y)
    fewer = {"one": X["one"]}
    gone = {**X, "two": np.full_like(X["two"], np.nan)}
    np.testing.assert_array_equal(model.predict_proba(fewer), model.predict_proba(gone))
    inputs = model.encode(fewer)
    assert not inputs[:, model.encoder_.layout.values(1)].any()
    told = y != "c"  # only what is missing tells c
    assert (model.predict(fewer) == y)[told].mean() > (model.predict(fewer) == y)[~told].mean()
    with pytest.raises(DataError, match="none of the modalities one, two"):
        model.predict({"three": X["one"]})


def test_bad_input() -> None:
    X, y = samples()
    with pytest.raises(DataError, match="'two' has 79"):
        NASFusionClassifier(**TINY).fit({**X, "two": X["two"][:-1]}, y)
    with pytest.raises(DataError, match="validation_fraction"):
        NASFusionClassifier(validation_fraction=0.0, **TINY).fit(X, y)
    with pytest.raises(DataError, match="rows of unequal length"):
        NASFusionClassifier(**TINY).fit(X, [[0, 1], [1]] * 40)
    with pytest.raises(DataError, match="'target y' has 79"):
        NASFusionClassifier(**TINY).fit(as_frame(X), y[:-1])


def test_a_frozen_network_reads_a_modality_first() -> None:
    X, y = samples()
    clf = NASFusionClassifier(**TINY, frozen_backbones={"one": "torch.nn:Tanh"}).fit(X, y)
    again = clone(clf)
    assert again.frozen_backbones == {"one": "torch.nn:Tanh"}
    assert clf.encode(X).shape == (len(y), 1 + 4 + 1 + 2)
    assert clf.predict_proba(X).shape == (len(y), 3)
    with pytest.raises(UsageError, match="either trained along or frozen"):
        again.set_params(backbones={"one": "torch.nn:Tanh"}).fit(X, y)
