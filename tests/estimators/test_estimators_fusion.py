from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks as checks

from meritnas import DataError, NASFusionClassifier, NASFusionRegressor, UsageError
from meritnas.data.modalities.reading import ModalityReading
from meritnas.estimators import base
from meritnas.families.fusion.spec import Fusion
from meritnas.families.presets import modalities as fusion_recipes
from meritnas.run.stages import start
from meritnas.settings.training import Retraining
from meritnas.strategy.darts import DartsGradient

SPACE = Fusion(channels=4, length=2, operations="normal")
TINY: dict[str, Any] = {"space": SPACE, "epochs": 2, "strategy": "random", "random_state": 0}


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
    groups = ModalityReading(modalities={"left": ["one.0", "one.1"], "right": ["two.0"]})
    named = NASFusionClassifier(reading=groups, **TINY).fit(frame, y)
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

    def watched(job: Any, *others: Any) -> None:
        started.append(job.settings)
        start(job, *others)

    monkeypatch.setattr(base, "start", watched)
    most = free.costs_["flops"] - 1
    given = {
        **TINY,
        "max_flops": most,
        "retraining": Retraining(finalists=1, epochs=3),
        "strategy": DartsGradient(policy_rate=0.02),
    }
    assert NASFusionClassifier(**given).fit(X, y).costs_["flops"] <= most
    (settings,) = started
    assert (settings.finalists, settings.retrain_epochs, settings.retrain_seeds) == (1, 3, 1)
    assert settings.strategy == DartsGradient(policy_rate=0.02)
    assert settings.space.operations == "normal"
    with pytest.raises(ValueError, match=r"no parameter 'strategy__rate' .* strategy__policy_rate"):
        NASFusionClassifier(**given).set_params(strategy__rate=0.02)


def prices(rows: int = 80) -> tuple[dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(0)
    X = {"one": rng.normal(size=(rows, 4)), "two": rng.normal(size=(rows, 2))}
    return X, 5_000 + 300 * (X["one"][:, 0] + X["two"][:, 1])


def test_a_number_from_several_modalities() -> None:
    X, y = prices()
    model = NASFusionRegressor(max_params=900, **TINY).fit(X, y)
    assert is_regressor(model)
    assert model.n_params_ <= 900
    assert not hasattr(model, "predict_proba")
    assert model.score(X, y) > 0.5
    assert set(model.test_) >= {"r2"}
    found = model.predict(X)
    some = {name: array[5:6] for name, array in X.items()}
    np.testing.assert_allclose(model.predict(some), found[5:6], rtol=1e-9)
    again = clone(model).fit(X, pd.Series(y, index=np.arange(len(y))[::-1]))
    np.testing.assert_array_equal(again.predict(X), found)


def test_a_number_is_scaled_by_the_training_rows_of_the_estimators_own_split() -> None:
    X, y = prices()
    wide = NASFusionRegressor(**TINY, validation_fraction=0.5).fit(X, y)
    narrow = NASFusionRegressor(**TINY, validation_fraction=0.1).fit(X, y)
    assert wide._task.mean != narrow._task.mean


def test_a_frame_with_paths_of_pictures_and_with_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=40)
    pictures = (rng.integers(90, size=(40, 6, 6)) + 160 * y[:, None, None]).astype(np.uint8)
    for row, picture in enumerate(pictures):
        Image.fromarray(picture).save(f"{row}.png")
    frame = pd.DataFrame({"photo": [f"{row}.png" for row in range(40)], "size": rng.random(40)})
    model = NASFusionClassifier(**TINY).fit(frame, y)
    assert model.encoder_.named_pictures == {"photo": (1, 6, 6)}
    assert model.score(frame, y) > 0.8
    inside = frame.assign(photo=pd.Series(list(pictures), dtype=object))
    np.testing.assert_array_equal(model.predict_proba(inside), model.predict_proba(frame))
    np.testing.assert_array_equal(clone(model).fit(inside, y).predict(inside), model.predict(frame))
    Path("3.png").write_bytes(b"no picture")
    with pytest.raises(DataError, match=r"row 4 \("):
        clone(model).fit(frame, y)
    skipping = NASFusionClassifier(**TINY, reading=ModalityReading(skip_bad_rows=True))
    assert skipping.fit(frame, y).predict(frame).shape == (40,)


def test_pipelines_and_cross_validation_of_a_frame() -> None:
    X, y = prices()
    frame = as_frame(X).assign(**{"two.1": X["two"][:, 1]})
    model = NASFusionRegressor(**TINY, retraining=Retraining(finalists=1, epochs=5))
    assert len(cross_val_score(model, frame, y, cv=2, error_score="raise")) == 2
    piped = make_pipeline(FunctionTransformer(), model).fit(frame, y)
    assert piped.predict(frame).shape == y.shape


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (["a", "b"] * 40, "could not convert string to float"),
        ([np.nan, 1.0] * 40, "Input y contains NaN"),
        (np.ones((80, 2)), "1d array"),
        (np.ones(80), "the one value 1 in all rows"),
    ],
)
def test_what_is_no_number_to_tell(y: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        NASFusionRegressor(**TINY).fit(prices()[0], y)


@pytest.mark.parametrize("make", [NASFusionClassifier, NASFusionRegressor])
@pytest.mark.parametrize(
    "check",
    [
        checks.check_parameters_default_constructible,
        checks.check_no_attributes_set_in_init,
        checks.check_get_params_invariance,
        checks.check_set_params,
        checks.check_estimator_cloneable,
        checks.check_estimator_repr,
        checks.check_mixin_order,
        checks.check_do_not_raise_errors_in_init_or_set_params,
    ],
    ids=lambda each: each.__name__,
)
def test_what_scikit_learn_checks_without_data(make: Any, check: Callable[..., None]) -> None:
    check(make.__name__, make())


def test_a_pickle_answers_alike() -> None:
    X, y = prices()
    model = NASFusionRegressor(**TINY).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(NotFittedError):
        NASFusionRegressor().predict(X)


def test_nested_parameters() -> None:
    found = NASFusionClassifier()
    params = found.get_params()
    assert params["space__operations"] == "all"
    assert params["reading__text_form"] == "counted"
    assert "strategy__normal_samples" in params
    found.set_params(space__cells=1, reading__modalities=["one"], strategy__both=True)
    assert found.space == Fusion(cells=1)
    assert found.reading == ModalityReading(modalities=["one"])
    assert clone(found).get_params() == found.get_params()


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
    with pytest.raises(UsageError, match="task itself; leave it out of reading"):
        NASFusionClassifier(**TINY, reading=ModalityReading(task="regression")).fit(X, y)
    with pytest.raises(DataError, match="rows of unequal length"):
        NASFusionClassifier(**TINY).fit(X, [[0, 1], [1]] * 40)
    with pytest.raises(DataError, match="'target y' has 79"):
        NASFusionClassifier(**TINY).fit(as_frame(X), y[:-1])


def test_a_frozen_network_reads_a_modality_first() -> None:
    X, y = samples()
    frozen = ModalityReading(frozen_backbones={"one": "torch.nn:Tanh"})
    clf = NASFusionClassifier(**TINY, reading=frozen).fit(X, y)
    again = clone(clf)
    assert again.reading.frozen_backbones == {"one": "torch.nn:Tanh"}
    assert clf.encode(X).shape == (len(y), 1 + 4 + 1 + 2)
    assert clf.predict_proba(X).shape == (len(y), 3)
    with pytest.raises(UsageError, match="either trained along or frozen"):
        again.set_params(space__backbones={"one": "torch.nn:Tanh"}).fit(X, y)
