from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import recall_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_sample_weight

import meritnas
from meritnas.data.images.reading import ImageReading
from meritnas.data.tables.reading import TableReading
from meritnas.errors import DataError, InfeasibleError, UsageError
from meritnas.estimators.tables import NASClassifier, NASRegressor
from meritnas.families.presets import tables
from meritnas.families.tabular.spec import Tabular
from meritnas.settings.training import Retraining, Training
from meritnas.strategy.evolution import Evolution
from meritnas.strategy.tabnas import Tabnas

QUICK: dict[str, Any] = {
    "space": Tabular(layers=2, widths=(4, 8)),
    "epochs": 2,
    "reading": TableReading(scaling="standard"),
    "random_state": 0,
}
ONE: dict[str, Any] = {**QUICK, "space": Tabular(layers=1, widths=(4,))}  # nothing to choose


@pytest.fixture(autouse=True)
def _short_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "default_train_epochs", lambda _rows, _size: 3)


def numbers(rows: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(seed).normal(size=(rows, 3)).astype(np.float32)
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)


def mixed(rows: int = 120) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=rows),
            "category": pd.Categorical(rng.choice(list("abc"), rows)),
            "flag": rng.random(rows) > 0.5,
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, rows), "D"),
            "text": rng.choice(np.array(["x", "y", None], dtype=object), rows),
        }
    )
    frame.loc[::7, "number"] = np.nan
    frame.loc[3, "day"] = pd.NaT
    return frame, np.where(frame["flag"] ^ (frame["category"] == "a"), "yes", "no")


def trainings(estimator: Any) -> list[dict[str, Any]]:
    return [event for event in estimator.history_ if event["kind"] == "training"]


def test_the_front_door_has_the_estimators() -> None:
    assert meritnas.NASClassifier is NASClassifier
    assert meritnas.NASRegressor is NASRegressor


def test_tables_with_columns_of_all_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "default_train_epochs", lambda _rows, _size: 40)
    X, y = mixed(240)
    before = X.copy()
    found = NASClassifier(**QUICK).fit(X, y)
    pd.testing.assert_frame_equal(X, before)  # the caller's table is not touched
    assert list(found.classes_) == ["no", "yes"]
    assert found.score(X, y) > 0.9
    chances = found.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert (found.predict(X) == found.classes_[chances.argmax(axis=1)]).all()
    strange = X.assign(category="never seen", number=np.nan, text=None)
    assert np.isfinite(found.predict_proba(strange)).all()
    other_rows = X.iloc[::-1]  # whatever its row labels are
    assert (found.predict(other_rows) == found.predict(X)[::-1]).all()


def test_a_regressor_answers_on_the_targets_own_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "default_train_epochs", lambda _rows, _size: 40)
    X, _ = numbers(200)
    y = 1000 + 50 * X[:, 0] - 20 * X[:, 1]
    found = NASRegressor(**QUICK).fit(X, y)
    assert found.score(X, y) > 0.8
    assert found.predict(X).shape == (200,)
    assert set(found.test_) == {"r2", "rmse"}


@pytest.mark.parametrize("kind", ["mixed", "numbers"])
def test_parameters_are_counted_and_limited(kind: str) -> None:
    X, y = mixed() if kind == "mixed" else numbers()
    for most in (125, 200) if kind == "mixed" else (80, 113):
        found = NASClassifier(**QUICK, max_params=most).fit(X, y)
        counted = sum(param.numel() for param in found.module_.parameters())
        assert found.n_params_ == found.costs_["params"] == counted <= most
        assert found.architecture_ in {"4-4", "4-8", "8-4", "8-8"}


def test_all_limits_at_once() -> None:
    X, y = numbers()
    limits = {"max_params": 90, "max_flops": 70, "max_size_kb": 0.9, "max_latency_ms": 1000.0}
    found = NASClassifier(**QUICK, **limits).fit(X, y)
    assert found.costs_["params"] <= 90
    assert found.costs_["flops"] <= 70
    assert found.costs_["size"] <= 900
    assert 0 < found.costs_["latency"] <= 1_000_000


def test_sparse_tables_give_what_dense_ones_do() -> None:
    X, y = numbers()
    X[np.abs(X) < 0.7] = 0.0
    dense = NASClassifier(**QUICK).fit(X, y)
    expected = dense.predict_proba(X)
    assert (dense.predict_proba(sparse.csr_matrix(X)) == expected).all()
    for form in (sparse.csr_matrix, sparse.csc_array):
        found = NASClassifier(**QUICK).fit(form(X), y)
        assert (found.predict_proba(form(X)) == expected).all()
        assert found.architecture_ == dense.architecture_


def test_the_same_random_state_gives_the_same_network_bit_for_bit() -> None:
    X, y = mixed()
    first = NASClassifier(**QUICK).fit(X, y)
    torch.manual_seed(99)
    np.random.seed(99)  # noqa: NPY002 - what others draw must not matter
    again = clone(first).fit(X, y)
    assert again.architecture_ == first.architecture_
    assert again.history_ == first.history_
    assert (again.predict_proba(X) == first.predict_proba(X)).all()
    other = clone(first).set_params(random_state=1).fit(X, y)
    assert (other.predict_proba(X) != first.predict_proba(X)).any()
    drawn = [
        clone(first).set_params(random_state=np.random.RandomState(5)).fit(X, y) for _ in range(2)
    ]
    assert (drawn[0].predict_proba(X) == drawn[1].predict_proba(X)).all()


def test_a_clone_is_unfitted_and_has_the_same_parameters() -> None:
    found = NASClassifier(**QUICK, max_params=100, class_weight="balanced").fit(*numbers())
    copy = clone(found)
    assert copy.get_params() == found.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(numbers()[0])


def test_parameters_can_be_read_set_and_seen() -> None:
    space = Tabular(widths=(8, 16))
    found = NASRegressor(max_params=400, space=space)
    assert found.get_params()["max_params"] == 400
    assert found.get_params()["space"] is space  # kept as given
    assert found.set_params(max_params=50, strategy="random") is found
    assert (found.max_params, found.strategy) == (50, "random")
    told = "NASRegressor(max_params=50, space=Tabular(layers=3, widths=(8, 16), embedding=None, "
    assert " ".join(repr(found).split()) == told + "widest=None), strategy='random')"
    with pytest.raises(ValueError, match="Invalid parameter 'max_parms'"):
        found.set_params(max_parms=3)
    assert "class_weight" in NASClassifier().get_params()
    assert "class_weight" not in NASRegressor().get_params()
    assert not hasattr(NASClassifier(), "set_output")  # it predicts, it does not transform


def test_options_of_specs_and_settings_are_nested_parameters() -> None:
    found = NASClassifier(retraining=Retraining(seeds=2), strategy=Tabnas(samples=4))
    params = found.get_params(deep=True)
    assert params["strategy"] == Tabnas(samples=4)
    assert params["strategy__samples"] == 4
    assert params["strategy__sampling"] == "conditional"
    assert params["space__layers"] == 3  # of what the name "tabular" stands for
    assert params["retraining__seeds"] == 2
    assert params["retraining__finalists"] is None
    assert params["training__learning_rate"] is None
    assert params["reading__scaling"] == "auto"
    assert not [name for name in found.get_params(deep=False) if "__" in name]
    assert (found.space, found.training, found.reading) == ("tabular", None, None)


def test_nested_parameters_can_be_set() -> None:
    found = NASClassifier()
    assert found.set_params(space__layers=2, space__widths=(4, 8), training__clip=1.0) is found
    assert found.space == Tabular(layers=2, widths=(4, 8))
    assert found.training == Training(clip=1.0)
    found.set_params(retraining__seeds=3, reading__scaling="quantile")
    assert (found.retraining, found.reading) == (
        Retraining(seeds=3),
        TableReading(scaling="quantile"),
    )
    found.set_params(strategy="evolution", strategy__population=20)  # of the new one
    assert found.strategy == Evolution(population=20)
    for order in (1, -1):  # either is refused without the other
        both = {"strategy__sampling": "monte-carlo", "strategy__mc_samples": 64}
        asked = dict(list(both.items())[::order])
        other = NASClassifier().set_params(**asked)
        assert other.strategy == Tabnas(sampling="monte-carlo", mc_samples=64)
    again = clone(found)
    assert again.get_params() == found.get_params()
    assert pickle.loads(pickle.dumps(found)).get_params() == found.get_params()


@pytest.mark.parametrize(
    ("params", "says"),
    [
        (
            {"space__layer": 2},
            "no parameter 'space__layer' of NASClassifier; did you mean 'space__layers'? there "
            "are space__layers, space__widths, space__embedding, space__widest",
        ),
        ({"strategy__population": 4}, "no parameter 'strategy__population' .* strategy__samples"),
        ({"reading__image_size": 4}, "no parameter 'reading__image_size' .* reading__scaling"),
        ({"epochs__more": 4}, "no parameter 'epochs__more' .* there are .*, epochs, "),
        ({"spade__layers": 4}, "no parameter 'spade__layers' .* space, "),
        ({"strategy": "tabnsa", "strategy__samples": 4}, "no parameter 'strategy__samples'"),
        ({"space__layers": 2.5}, "layers must be a whole number"),
        ({"reading__scaling": "log"}, "scaling must be one of auto, standard, quantile"),
        ({"strategy__sampling": "reject"}, "sampling must be one of"),
    ],
)
def test_wrong_nested_parameters_are_refused_with_those_there_are(
    params: dict[str, Any], says: str
) -> None:
    with pytest.raises(ValueError, match=says.replace("?", r"\?")):
        NASClassifier().set_params(**params)


def test_a_wrong_name_can_be_read_and_mended() -> None:
    found = NASClassifier(strategy="tabnsa", space="tabluar")
    assert found.get_params()["strategy"] == "tabnsa"
    assert found.set_params(strategy="tabnas", space="tabular").get_params()["space__layers"] == 3


def test_specs_and_settings_reach_the_search() -> None:
    X, y = numbers()
    asked = {**QUICK, "strategy": Tabnas(sampling="rejection"), "training": Training(batch_size=16)}
    again = Retraining(epochs=2, seeds=2, finalists=1, dropout=0.0)
    found = NASClassifier(**asked, retraining=again).fit(X, y)
    assert [len(one["train_losses"]) for one in trainings(found)] == [2, 2]
    assert {one["dropout"] for one in trainings(found)} == {0.0}
    named = NASClassifier(**{**QUICK, "space": "tabular"})
    named.set_params(space__layers=2, space__widths=(4, 8))
    assert (
        named.fit(X, y).predict_proba(X) == NASClassifier(**QUICK).fit(X, y).predict_proba(X)
    ).all()


def test_pickling_keeps_the_predictions() -> None:
    for estimator, (X, y) in (
        (NASClassifier(**QUICK), mixed()),
        (NASRegressor(**QUICK), (mixed()[0], numbers()[0][:, 0])),
    ):
        found = estimator.fit(X, y)
        again = pickle.loads(pickle.dumps(found))
        assert (again.predict(X) == found.predict(X)).all()
        assert again.get_params() == found.get_params()
        assert torch.equal(again.encode(X), found.encode(X))


_ELSEWHERE = """
import pickle, sys
sys.modules["meritnas"] = None  # importing it is an error
import torch
torch.set_num_threads(1)
for name in sys.argv[1:]:
    inputs, pickled = torch.load(name + ".inputs.pt")
    module = torch.load(name + ".module.pt", weights_only=False)
    other = pickle.loads(pickled)
    with torch.no_grad():
        torch.save([module(inputs), other(inputs)], name + ".outputs.pt")
    assert not module.training
"""


def test_the_module_works_where_the_library_is_not_installed(tmp_path: Path) -> None:
    X, _ = numbers()
    tables = {"mixed": mixed(), "numbers": numbers(), "three": (X, np.digitize(X[:, 0], [-1, 1]))}
    expected = {}
    for name, (X, y) in tables.items():
        found = NASClassifier(**QUICK).fit(X, y)
        inputs = found.encode(X)
        assert inputs.dtype == torch.float32
        with torch.no_grad():
            expected[name] = found.module_(inputs)
        chances = found._task.probabilities(expected[name]).numpy()
        np.testing.assert_allclose(chances, found.predict_proba(X), atol=1e-5)
        torch.save([inputs, pickle.dumps(found.module_)], tmp_path / f"{name}.inputs.pt")
        torch.save(found.module_, tmp_path / f"{name}.module.pt")
    places = [str(tmp_path / name) for name in tables]
    subprocess.run([sys.executable, "-c", _ELSEWHERE, *places], check=True, cwd=tmp_path)
    for name, outputs in expected.items():
        saved = torch.load(tmp_path / f"{name}.outputs.pt")
        assert torch.equal(saved[0], outputs)
        assert torch.equal(saved[1], outputs)


def test_in_a_pipeline_after_a_transformer() -> None:
    X, y = numbers()
    pipeline = make_pipeline(StandardScaler(), NASClassifier(**QUICK)).fit(100 * X + 7, y)
    found = pipeline.predict_proba(100 * X + 7)
    assert found.shape == (len(X), 2)
    alone = NASClassifier(**QUICK).fit(StandardScaler().fit_transform(100 * X + 7), y)
    assert (alone.predict_proba(StandardScaler().fit_transform(100 * X + 7)) == found).all()


def test_a_grid_search_over_limits() -> None:
    X, y = numbers()
    grid = GridSearchCV(NASClassifier(**QUICK), {"max_params": [45, 113]}, cv=2).fit(X, y)
    assert grid.best_estimator_.n_params_ <= grid.best_params_["max_params"]
    assert np.isfinite(grid.cv_results_["mean_test_score"]).all()


def test_a_grid_search_over_options_of_specs() -> None:
    X, y = numbers()
    grid = {"space__layers": [1, 2], "strategy__samples": [1, 2]}
    searched = GridSearchCV(NASClassifier(**QUICK), grid, cv=2).fit(X, y)
    assert len(searched.cv_results_["params"]) == 4
    assert np.isfinite(searched.cv_results_["mean_test_score"]).all()
    best, chosen = searched.best_estimator_, searched.best_params_
    assert best.space == Tabular(layers=chosen["space__layers"], widths=(4, 8))
    assert best.strategy == Tabnas(samples=chosen["strategy__samples"])
    assert len(best.architecture_.split("-")) == chosen["space__layers"]


def test_a_grid_search_over_options_inside_a_pipeline() -> None:
    X, y = numbers()
    pipeline = make_pipeline(StandardScaler(), NASClassifier(**ONE))
    assert pipeline.get_params()["nasclassifier__space__layers"] == 1
    grid = {"nasclassifier__space__widths": [(2,), (4,)]}
    searched = GridSearchCV(pipeline, grid, cv=2).fit(X, y)
    chosen = searched.best_params_["nasclassifier__space__widths"]
    assert searched.best_estimator_[-1].architecture_ == str(chosen[0])


def test_cross_validation_in_two_processes_is_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = numbers(40)
    monkeypatch.undo()  # other processes know nothing of it
    found = [
        cross_val_score(NASClassifier(**ONE), X, y, cv=2, scoring="neg_log_loss", n_jobs=jobs)
        for jobs in (1, 2)
    ]
    np.testing.assert_allclose(found[0], found[1])


def test_an_eval_set_is_compared_on_and_not_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "default_train_epochs", lambda _rows, _size: 20)
    X, y = numbers()
    others, answers = numbers(60, seed=5)
    fits = [
        NASClassifier(**ONE).fit(X, y, eval_set=pair)
        for pair in ((others, answers), (others, 1 - answers), [(others[:20] + 3, answers[:20])])
    ]
    expected = trainings(fits[0])
    for found in fits[1:]:
        for ours, theirs in zip(trainings(found), expected, strict=True):
            assert ours["dropout"] == theirs["dropout"]
            assert ours["train_losses"] == theirs["train_losses"]
            assert ours["valid_losses"] != theirs["valid_losses"]
    # What the rows say about a network is what its validation loss is.
    best = min(trainings(fits[0]), key=lambda one: one["valid_loss"])
    chances = fits[0].predict_proba(others)[np.arange(60), answers]
    assert best["valid_loss"] == pytest.approx(-np.log(chances).mean(), rel=1e-4)
    assert best["valid_loss"] < min(one["valid_loss"] for one in trainings(fits[1]))


def test_with_an_eval_set_no_other_rows_are_held_back() -> None:
    X, y = numbers()
    arguments: dict[str, Any] = {**ONE, "test_fraction": 0, "validation_fraction": 0}
    found = NASClassifier(**arguments).fit(X, y, eval_set=(X, y))
    assert found.test_ == {}
    means = found.encode(X).mean(dim=0)
    assert means.abs().max() < 1e-4  # all rows are train rows, and scaled by themselves
    held = NASClassifier(**{**ONE, "test_fraction": 0}).fit(X, y)
    assert held.encode(X).mean(dim=0).abs().max() > 1e-3


def test_rows_of_weight_zero_are_as_good_as_not_there() -> None:
    X, y = numbers()
    noise, wrong = numbers(50, seed=9)
    weights = np.r_[np.ones(len(X)), np.zeros(50)]
    found = NASClassifier(**QUICK).fit(
        np.r_[X, 1e3 * noise], np.r_[y, 1 - wrong], sample_weight=weights
    )
    expected = NASClassifier(**QUICK).fit(X, y)
    assert found.architecture_ == expected.architecture_
    assert (found.predict_proba(X) == expected.predict_proba(X)).all()


def test_class_weights_are_sample_weights() -> None:
    X, y = numbers()
    y = np.where((y == 1) & (X[:, 2] > 0.5), "rare", "usual")
    plain = NASClassifier(**QUICK).fit(X, y).predict_proba(X)
    for given in ("balanced", {"rare": 7.0, "usual": 0.5}):
        weighted = NASClassifier(**QUICK, class_weight=given).fit(X, y).predict_proba(X)
        by_row = compute_sample_weight(given, y)
        by_hand = NASClassifier(**QUICK).fit(X, y, sample_weight=by_row).predict_proba(X)
        assert (weighted == by_hand).all()
        assert (weighted != plain).any()
        assert weighted[:, 0].mean() > plain[:, 0].mean()  # "rare" comes first


def test_balanced_classes_find_more_of_the_rare_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "default_train_epochs", lambda _rows, _size: 20)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = (X[:, 0] + rng.normal(size=600) > 2.2).astype(int)
    assert 0.03 < y.mean() < 0.12
    recall = {}
    for kind in (None, "balanced"):
        found = NASClassifier(**ONE, class_weight=kind).fit(X, y)
        fresh = rng.normal(size=(2000, 2))
        answers = (fresh[:, 0] + rng.normal(size=2000) > 2.2).astype(int)
        recall[kind] = recall_score(answers, found.predict(fresh))
    assert recall["balanced"] > recall[None] + 0.3


def test_rows_kept_apart_are_scored_and_only_if_there_are_any() -> None:
    X, y = numbers()
    scored = NASClassifier(**QUICK).fit(X, y)
    assert set(scored.test_) == {"accuracy", "balanced_error", "log_loss", "roc_auc"}
    assert NASClassifier(**QUICK, test_fraction=0).fit(X, y).test_ == {}
    assert NASClassifier(**QUICK).fit(X[:20], y[:20]).test_ == {}  # too few to keep some apart


def test_the_history_tells_of_the_search_and_then_of_the_trainings() -> None:
    found = NASClassifier(**QUICK).fit(*numbers())
    kinds = [event["kind"] for event in found.history_]
    searches = kinds.count("search")
    assert searches > 2
    assert kinds == ["search"] * searches + ["training"] * (len(kinds) - searches)
    assert found.architecture_ in {one["architecture"] for one in trainings(found)}


def test_the_trade_off_curve() -> None:
    X, y = numbers()
    found = NASClassifier(
        **{**QUICK, "space": Tabular(layers=2, widths=(2, 4, 8, 16))}, pareto=True
    ).fit(X, y)
    assert len(found.pareto_) >= 3
    own, *smaller = found.pareto_
    assert own["architecture"] == found.architecture_
    assert own["params"] == found.n_params_
    for row in smaller:
        assert row["params"] <= row["limit"]
        assert "folder" not in row  # it is gone by now
    assert not hasattr(NASClassifier(**QUICK).fit(X, y), "pareto_")


def test_nothing_is_left_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    NASClassifier(**ONE).fit(*numbers())
    assert list(tmp_path.iterdir()) == []


def test_verbose_prints_what_is_going_on(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = numbers()
    frame = pd.DataFrame(X).set_axis(["a", "b", "c"], axis=1).assign(same=1)
    NASClassifier(**QUICK).fit(frame, y)
    assert capsys.readouterr().out == ""
    NASClassifier(**QUICK, verbose=1).fit(frame, y)
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("[meritnas] ") for line in lines)
    assert sum("note: " in line and "'same'" in line for line in lines) == 1
    assert 1 < sum(" search " in line for line in lines) <= 10
    assert 1 < sum(" retrain " in line for line in lines) <= 10
    assert "retrain 100%" in lines[-2]
    assert "plain network" in lines[-1]


X_, Y_ = numbers()
FRAME_ = pd.DataFrame(X_, columns=["a", "b", "c"])


@pytest.mark.parametrize(
    ("arguments", "X", "y", "error", "says"),
    [
        ({}, X_, np.r_[np.nan, Y_[1:]], ValueError, "Input y contains NaN"),
        ({}, X_, Y_[:5], ValueError, "inconsistent numbers of samples"),
        ({}, X_, np.ones(120), DataError, "at least 2 classes, got 1 class"),
        ({}, X_, X_[:, 0], ValueError, "Unknown label type: continuous"),
        ({}, X_[:1], Y_[:1], DataError, "1 sample"),
        ({}, np.ones((120, 2)), Y_, DataError, r"no column is left.*'x0' \(constant"),
        ({}, FRAME_[[]], Y_, ValueError, "0 feature"),
        ({}, FRAME_[:0], Y_[:0], ValueError, "0 sample"),
        ({"strategy": "tabnsa"}, X_, Y_, UsageError, "did you mean 'tabnas'?"),
        ({"max_params": 20}, X_, Y_, InfeasibleError, "limit of 20 .* 4-4 with 41"),
        ({"max_size_kb": 0.1}, X_, Y_, InfeasibleError, r"limit of 0\.100 kB .* 4-4 with"),
        ({"max_size_kb": -1}, X_, Y_, UsageError, "max_size_kb must be above 0"),
        ({"max_latency_ms": 0.001}, X_, Y_, InfeasibleError, r"limit of 0\.001 ms .* with"),
        ({"max_params": 99.5}, X_, Y_, UsageError, "max_params must be a whole number"),
        ({"epochs": 0}, X_, Y_, UsageError, "epochs must be at least 1"),
        ({"epochs": 2, "minutes": 1}, X_, Y_, UsageError, "either epochs or minutes"),
        ({"reading": ImageReading()}, X_, Y_, UsageError, "a TableReading says how to read"),
        (
            {"reading": TableReading(class_weight="balanced")},
            X_,
            Y_,
            UsageError,
            "class_weight itself; leave it out of reading",
        ),
        (
            {"reading": TableReading(task="regression")},
            X_,
            Y_,
            UsageError,
            "task itself; leave it out of reading",
        ),
        ({"space": "darts"}, X_, Y_, UsageError, "'darts' is for images, and this is a table"),
        ({"space": "tabluar"}, X_, Y_, UsageError, "did you mean 'tabular'?"),
        ({"class_weight": "blanced"}, X_, Y_, ValueError, "class_weight.*'blanced'"),
        ({"validation_fraction": 0}, X_, Y_, DataError, "give an eval_set"),
        ({"validation_fraction": 1.5}, X_, Y_, DataError, "validation_fraction must be from 0"),
        ({"test_fraction": -0.1}, X_, Y_, DataError, "test_fraction must be from 0"),
        ({"test_fraction": 0.9}, X_, Y_, DataError, "leave nothing to train on"),
    ],
)
def test_what_cannot_work_is_a_value_error(
    arguments: dict[str, Any], X: Any, y: Any, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says) as caught:
        NASClassifier(**{**QUICK, **arguments}).fit(X, y)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("pair", "says"),
    [
        (3, "eval_set must be a pair"),
        ((X_,), "eval_set must be a pair"),
        ((X_, Y_, Y_), "eval_set must be a pair"),
        ((X_[:, :2], Y_), "X has 2 features, but NASClassifier is expecting 3"),
        ((X_, Y_[:5]), "inconsistent numbers of samples"),
        ((X_, np.r_[np.nan, Y_[1:]]), "Input y contains NaN"),
    ],
)
def test_a_wrong_eval_set_is_a_value_error(pair: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        NASClassifier(**QUICK).fit(X_, Y_, eval_set=pair)


def test_a_regressor_refuses_targets_that_are_no_numbers() -> None:
    with pytest.raises(ValueError, match="Input y contains NaN"):
        NASRegressor(**QUICK).fit(X_, np.r_[np.nan, X_[1:, 0]])
    with pytest.raises(ValueError, match="could not convert string to float"):
        NASRegressor(**QUICK).fit(X_, np.where(Y_, "a", "b"))
    with pytest.raises(DataError, match="has the one value 1"):
        NASRegressor(**QUICK).fit(X_, np.ones(120))


def test_predicting_needs_a_fit_and_the_same_columns() -> None:
    for name in ("predict", "predict_proba", "encode"):
        with pytest.raises(NotFittedError):
            getattr(NASClassifier(), name)(X_)
    found = NASClassifier(**ONE).fit(FRAME_, Y_)
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing:\n- b"):
        found.predict(FRAME_.drop(columns="b"))
    with pytest.raises(ValueError, match="must be in the same order"):
        found.predict(FRAME_[["c", "b", "a"]])
    with pytest.raises(ValueError, match="X has 2 features, but NASClassifier is expecting 3"):
        NASClassifier(**ONE).fit(X_, Y_).predict(X_[:, :2])


def test_inputs_of_the_module_have_names() -> None:
    X, y = mixed()
    estimator = NASClassifier(**ONE)
    with pytest.raises(NotFittedError):
        estimator.get_feature_names_out()
    names = estimator.fit(X, y).get_feature_names_out()
    assert len(names) == estimator.encode(X).shape[1]
    assert names[0] == "number"
    assert {"number_missing", "day_time", "category", "flag", "text"} <= set(names)
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        estimator.get_feature_names_out(["a", "b", "c", "d", "e"])
    rows, labels = numbers()
    plain = NASClassifier(**ONE).fit(rows, labels)
    assert plain.get_feature_names_out().tolist() == ["x0", "x1", "x2"]


HUGE = [1e30, 9.97e36, 1e39, -1e308]


def forms(X: np.ndarray) -> list[Any]:
    return [X, pd.DataFrame(X), sparse.csr_matrix(X)]


@pytest.mark.parametrize("value", HUGE)
def test_a_huge_cell_is_fitted_as_a_missing_one(value: float) -> None:
    X, y = numbers(60)
    filled, gap = X.astype(np.float64), X.astype(np.float64)
    filled[4, 1], gap[4, 1] = value, np.nan
    plain = NASClassifier(**ONE).fit(gap, y).predict_proba(gap)
    for form in forms(filled):
        found = NASClassifier(**ONE).fit(form, y).predict_proba(form)
        np.testing.assert_allclose(found, plain, atol=1e-5)


@pytest.mark.parametrize("value", HUGE)
def test_a_huge_cell_has_a_finite_answer(value: float) -> None:
    X, y = numbers(60)
    strange = X.astype(np.float64)
    strange[4, 1] = value
    classifier, regressor = NASClassifier(**ONE).fit(X, y), NASRegressor(**ONE).fit(X, X[:, 0])
    assert np.isfinite(regressor.predict(strange)).all()
    chances = classifier.predict_proba(strange)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    others = np.arange(60) != 4
    np.testing.assert_array_equal(chances[others], classifier.predict_proba(X)[others])


@pytest.mark.parametrize("form", range(3))
def test_infinite_cells_are_refused_as_by_others(form: int) -> None:
    X, y = numbers(60)
    strange = X.astype(np.float64)
    strange[4, 1] = np.inf
    fitted = NASClassifier(**ONE).fit(forms(X)[form], y)
    for ask in (lambda given: NASClassifier(**ONE).fit(given, y), fitted.predict):
        with pytest.raises(ValueError, match="infinit"):
            ask(forms(strange)[form])


def test_a_fill_value_in_y_is_named() -> None:
    X, _ = numbers(60)
    y = X[:, 0].astype(np.float64)
    y[3] = 1e30
    with pytest.raises(DataError, match=r"holds 1e\+30 in row 4"):
        NASRegressor(**ONE).fit(X, y)


def test_a_network_without_an_answer_does_not_make_one_up() -> None:
    X, y = numbers(60)
    fitted = NASClassifier(**ONE).fit(X, y)
    with torch.no_grad():
        for weight in fitted.module_.parameters():
            weight.fill_(float("nan"))
    for ask in (fitted.predict, fitted.predict_proba):
        with pytest.raises(DataError, match="no answer for 3 of 3 rows"):
            ask(X[:3])
