from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

import meritnas
from meritnas.data.answers import labels_of
from meritnas.data.metric_names import OF_CLASSES, THRESHOLDED
from meritnas.data.tables.reading import TableReading
from meritnas.data.task import Task
from meritnas.errors import UsageError
from meritnas.exporting.export import export
from meritnas.prediction.predictor import load_predictor
from meritnas.training.chosen_metric import chosen_threshold, judged, metric_value
from meritnas.training.metrics import score

TWO = Task("binary", "y", ("no", "yes"))
THREE = Task("multiclass", "y", ("a", "b", "c"))
NUMBER = Task("regression", "y", mean=10.0, scale=4.0)


def two(n: int = 60, share: float = 0.15, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < share).astype(np.float32)
    truth[:2] = [0, 1]
    logits = truth * 1.5 - 2 + rng.normal(size=n)
    return torch.tensor(logits, dtype=torch.float32)[:, None], torch.tensor(truth)


def test_metrics_of_two_classes_are_scikit_learns() -> None:
    outputs, target = two()
    truth, chance = target.numpy() > 0, outputs[:, 0].double().sigmoid().numpy()
    guess = chance > 0.3
    expected = {
        "accuracy": metrics.accuracy_score(truth, guess),
        "balanced_accuracy": metrics.balanced_accuracy_score(truth, guess),
        "log_loss": metrics.log_loss(truth, chance),
        "roc_auc": metrics.roc_auc_score(truth, chance),
        "average_precision": metrics.average_precision_score(truth, chance),
        "f1": metrics.f1_score(truth, guess),
    }
    assert set(expected) == set(OF_CLASSES)
    for metric, value in expected.items():
        task = replace(TWO, metric=metric, threshold=0.3)
        assert metric_value(task, outputs, target) == pytest.approx(value)
        sign = 1 if metric == "log_loss" else -1
        assert judged(task, outputs, target) == pytest.approx(sign * value)
        assert next(iter(score(task, outputs, target))) == metric
    other = replace(TWO, metric="f1", threshold=0.3, positive=0)
    assert metric_value(other, outputs, target) == pytest.approx(metrics.f1_score(~truth, ~guess))


def test_metrics_of_three_classes_and_of_numbers_are_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    outputs, target = torch.tensor(rng.normal(size=(50, 3))), torch.tensor(rng.integers(0, 3, 50))
    chance, truth = outputs.softmax(dim=1).numpy(), target.numpy()
    f1 = metrics.f1_score(truth, chance.argmax(axis=1), average="macro")
    assert metric_value(replace(THREE, metric="f1"), outputs, target) == pytest.approx(f1)
    area = metrics.roc_auc_score(truth, chance, multi_class="ovr")
    assert metric_value(replace(THREE, metric="roc_auc"), outputs, target) == pytest.approx(area)
    outputs, target = torch.tensor(rng.normal(size=(50, 1))), torch.tensor(rng.normal(size=50))
    found, truth = outputs[:, 0].numpy() * 4 + 10, target.numpy() * 4 + 10
    for metric, value in {
        "r2": metrics.r2_score(truth, found),
        "rmse": metrics.root_mean_squared_error(truth, found),
        "mae": metrics.mean_absolute_error(truth, found),
        "quantile=0.9": metrics.mean_pinball_loss(truth, found, alpha=0.9),
    }.items():
        own = metric_value(replace(NUMBER, metric=metric), outputs, target)
        assert own == pytest.approx(value)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(8, 40),
    st.integers(0, 10**6),
    st.sampled_from(THRESHOLDED),
    st.sampled_from([0, 1]),
)
def test_no_threshold_is_better_on_the_rows(n: int, seed: int, metric: str, rarer: int) -> None:
    outputs, target = two(n, 0.2, seed)
    outputs = (outputs * 2).round() / 2  # with ties
    task = replace(TWO, metric=metric, positive=rarer)
    threshold = chosen_threshold(task, outputs, target)
    assert 0 < threshold < 1
    if min(target.mean(), 1 - target.mean()) >= 0.4:
        assert threshold == 0.5
        return
    best = metric_value(replace(task, threshold=threshold), outputs, target)
    edges = np.unique(outputs.double().sigmoid().numpy())
    every = [1e-9, *((edges[1:] + edges[:-1]) / 2), 1 - 1e-9]
    values = [metric_value(replace(task, threshold=each), outputs, target) for each in every]
    assert best == pytest.approx(max(values))


def test_a_threshold_is_chosen_only_where_it_matters() -> None:
    outputs, target = two()
    for metric in ("", "log_loss", "roc_auc", "average_precision"):
        assert chosen_threshold(replace(TWO, metric=metric), outputs, target) == 0.5
    even = (torch.arange(60) % 2).float()
    assert chosen_threshold(replace(TWO, metric="f1"), outputs, even) == 0.5
    assert chosen_threshold(replace(TWO, metric="f1"), outputs, target) != 0.5


def test_a_metric_that_does_not_fit() -> None:
    with pytest.raises(UsageError, match=r"metric must be one of accuracy, .*; got 'auc'"):
        TableReading(metric="auc")
    with pytest.raises(UsageError, match="metric must be one of"):
        TableReading(metric="quantile=1.5")
    with pytest.raises(UsageError, match=r"the metric r2 does not fit .* use one of accuracy"):
        TWO.judged_by("r2", np.zeros(3))
    with pytest.raises(
        UsageError, match=r"the metric f1 does not fit .* is a number; use one of r2"
    ):
        NUMBER.judged_by("f1", np.zeros(3))
    assert TWO.judged_by("f1", np.array([1, 1, 1, 0])).positive == 0


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(500, 3)), columns=list("abc"))
    late = frame["a"] + frame["b"] ** 2 + rng.normal(size=500) > 3
    frame["y"] = np.where(late, "late", "on time")
    folder = tmp_path_factory.mktemp("metric") / "run"
    found = meritnas.search(
        frame,
        "y",
        max_params=200,
        epochs=3,
        reading=TableReading(metric="f1", scaling="standard"),
        retraining=meritnas.Retraining(epochs=4, seeds=2, finalists=2),
        out=folder,
    )
    frame.to_csv(folder.parent / "all.csv", index=False)
    assert found.run == folder
    return folder


def test_finalists_are_chosen_by_the_metric(run: Path) -> None:
    result = json.loads((run / "result.json").read_text())
    trainings = json.loads((run / "retrain.json").read_text())["results"]
    assert result["metric"] == "f1"
    assert next(iter(result["test"])) == "f1"
    longest = [one for one in trainings if one["epochs"] == result["retrain_epochs"]]
    best = min(longest, key=lambda one: one["judged"])
    assert best["architecture"] == result["architecture"]
    assert result["threshold"] == best["threshold"] != 0.5
    assert result["test_best"] == best["test"]
    assert any("validation f1" in note for note in result["notes"])


def test_the_threshold_goes_with_the_weights(run: Path) -> None:
    result = json.loads((run / "result.json").read_text())
    predictor = load_predictor(run)
    task = predictor.task
    assert (task.threshold, task.metric, task.positive) == (result["threshold"], "f1", 0)
    frame = pd.read_csv(run.parent / "all.csv")
    table = predictor.table(frame)
    above = table["probability_on time"] > result["threshold"]
    assert (table["predicted_y"] == np.where(above, "on time", "late")).all()
    assert (predictor.predict(frame) == table["predicted_y"]).all()
    assert 0 < (table["predicted_y"] == "late").sum() < len(table)
    folder = export(run, "python")[0].parent
    answers = json.loads((folder / "preprocessing.json").read_text())["answers"]
    assert answers["threshold"] == result["threshold"]
    card = (folder / "README.md").read_text()
    assert f"`on time` is the answer where its probability is above {task.threshold:.6g}" in card
    alone = SimpleNamespace(**json.loads((folder / "encoder.json").read_text())["task"])
    assert (labels_of(alone, predictor.outputs(frame)) == table["predicted_y"]).all()


def test_an_estimator_answers_by_the_threshold() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.where(X[:, 0] + rng.normal(size=300) > 1.5, 7, 3)
    classifier = meritnas.NASClassifier(
        max_params=200,
        epochs=2,
        random_state=0,
        reading=TableReading(metric="balanced_accuracy", scaling="standard"),
        retraining=meritnas.Retraining(epochs=3, finalists=1),
    ).fit(X, y)
    cut = classifier._task.threshold
    assert cut != 0.5
    above = classifier.predict_proba(X)[:, 1] > cut
    assert (classifier.predict(X) == np.where(above, 7, 3)).all()
