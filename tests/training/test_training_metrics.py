from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn import metrics

from meritnas.data.task import Task
from meritnas.errors import DivergedError
from meritnas.training.metrics import main_metric, score


@pytest.mark.parametrize("seed", range(4))
def test_two_classes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, 80)
    logits = rng.normal(size=80) + truth
    task = Task("binary", "y", ("no", "yes"))
    found = score(task, torch.tensor(logits)[:, None].float(), torch.tensor(truth).float())
    chance = 1 / (1 + np.exp(-logits))
    guess = (logits > 0).astype(int)
    assert found == {
        "accuracy": pytest.approx(metrics.accuracy_score(truth, guess)),
        "balanced_error": pytest.approx(1 - metrics.balanced_accuracy_score(truth, guess)),
        "log_loss": pytest.approx(metrics.log_loss(truth, chance), rel=1e-5),
        "roc_auc": pytest.approx(metrics.roc_auc_score(truth, chance)),
    }


@pytest.mark.parametrize("seed", range(4))
def test_several_classes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = np.concatenate([np.arange(4), rng.choice(4, 96, p=[0.6, 0.2, 0.15, 0.05])])
    logits = rng.normal(size=(100, 4)) + np.eye(4)[truth]
    task = Task("multiclass", "y", ("a", "b", "c", "d"))
    found = score(task, torch.tensor(logits).float(), torch.tensor(truth))
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    guess = logits.argmax(axis=1)
    assert found == {
        "accuracy": pytest.approx(metrics.accuracy_score(truth, guess)),
        "balanced_error": pytest.approx(1 - metrics.balanced_accuracy_score(truth, guess)),
        "log_loss": pytest.approx(metrics.log_loss(truth, chances), rel=1e-5),
    }


@pytest.mark.parametrize("seed", range(4))
def test_numbers_are_scored_on_their_own_scale(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.normal(500, 30, size=60)
    guess = truth + rng.normal(0, 10, size=60)
    task = Task("regression", "y", (), 480.0, 25.0)
    encoded = torch.tensor((truth - 480) / 25).float()
    outputs = torch.tensor((guess - 480) / 25).float()[:, None]
    found = score(task, outputs, encoded)
    assert found == {
        "r2": pytest.approx(metrics.r2_score(truth, guess), rel=1e-4),
        "rmse": pytest.approx(metrics.root_mean_squared_error(truth, guess), rel=1e-4),
    }


def test_extreme_outputs_have_a_finite_loss() -> None:
    task = Task("binary", "y", (0, 1))
    outputs = torch.tensor([[200.0], [-200.0], [200.0]])
    found = score(task, outputs, torch.tensor([1.0, 0.0, 0.0]))
    assert all(np.isfinite(value) for value in found.values())
    assert found["log_loss"] > 10


def test_a_class_missing_from_the_scored_rows_is_left_out_of_the_balanced_error() -> None:
    task = Task("multiclass", "y", ("a", "b", "c"))
    found = score(task, torch.eye(3)[[0, 1, 0, 0]] * 5, torch.tensor([0, 1, 1, 0]))
    assert found["balanced_error"] == pytest.approx(0.25)


def test_the_first_metric_is_among_those_scored() -> None:
    assert main_metric(Task("regression", "y")) == "r2"
    assert main_metric(Task("binary", "y", (0, 1))) == "accuracy"
    assert main_metric(Task("multilabel", "y", ("a", "b"))) == "f1_weighted"


@pytest.mark.parametrize("seed", range(4))
def test_several_labels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = (rng.random((60, 4)) < [0.5, 0.3, 0.1, 0.0]).astype(int)
    logits = rng.normal(-1, 1.5, (60, 4)) + truth
    chances = 1 / (1 + np.exp(-logits))
    task = Task("multilabel", "y", ("a", "b", "c", "d"))
    found = score(task, torch.tensor(logits).float(), torch.tensor(truth).float())
    f1 = [
        metrics.f1_score(truth[:, label], chances[:, label] > 0.3, zero_division=0)
        for label in range(4)
    ]
    losses = -np.where(truth == 1, np.log(chances), np.log(1 - chances))
    assert found == {
        "f1_weighted": pytest.approx(np.average(f1, weights=truth.sum(axis=0))),
        "f1_macro": pytest.approx(np.mean(f1)),
        "log_loss": pytest.approx(losses.mean(), rel=1e-5),
    }
    assert found["f1_weighted"] == pytest.approx(
        float(task.score(torch.tensor(logits).float(), torch.tensor(truth).float())), rel=1e-5
    )
    assert main_metric(task) in found


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize(
    "task",
    [Task("binary", "y", ("no", "yes")), Task("regression", "y"), Task("multilabel", "y", ("a",))],
)
def test_outputs_that_are_no_numbers_have_no_score(task: Task, value: float) -> None:
    outputs = torch.tensor([[0.5], [value], [0.1]])
    target = torch.tensor([1.0, 0.0, 1.0])
    with pytest.raises(DivergedError, match="outputs are no finite numbers"):
        score(task, outputs, target[:, None] if task.kind == "multilabel" else target)
