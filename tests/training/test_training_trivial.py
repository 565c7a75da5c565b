from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from meritnas.data.bundle import Part
from meritnas.data.task import Task
from meritnas.training.metrics import score
from meritnas.training.trivial import is_worse, telling_metrics, trivial_scores


def part(target: list[float], kind: torch.dtype = torch.float32) -> Part:
    return Part(torch.zeros(len(target), 1), torch.tensor(target, dtype=kind))


def test_two_classes_are_answered_by_their_frequency() -> None:
    task = Task("binary", "y", ("no", "yes"))
    found = trivial_scores(task, part([0] * 70 + [1] * 28), part([0, 0, 0, 1]))
    assert found["accuracy"] == 0.75
    assert found["balanced_error"] == 0.5
    assert found["log_loss"] == pytest.approx(-(3 * math.log(0.71) + math.log(0.29)) / 4)


def test_a_class_that_is_not_among_the_train_rows_costs_but_is_no_obstacle() -> None:
    task = Task("multiclass", "y", ("a", "b", "c"))
    train, test = part([0, 0, 0, 1], torch.int64), part([0, 2], torch.int64)
    found = trivial_scores(task, train, test)
    assert found["accuracy"] == 0.5
    assert found["log_loss"] == pytest.approx(-(math.log(4 / 7) + math.log(1 / 7)) / 2)


def test_labels_are_answered_by_their_frequency() -> None:
    task = Task("multilabel", "y", ("a", "b"))
    often = torch.tensor([[1.0, 0.0]] * 9 + [[0.0, 1.0]])
    found = trivial_scores(task, Part(often, often), Part(often, often))
    assert found["f1_weighted"] == pytest.approx(9 / 10 * 18 / 19)


def test_words_are_answered_by_their_frequency() -> None:
    task = Task("language", "words", words=3)
    train = part([0] * 5 + [1] * 2, torch.int64)
    found = trivial_scores(task, train, part([0, 1, 2], torch.int64))
    loss = -sum(math.log(share) for share in (0.6, 0.3, 0.1)) / 3
    assert found == {"log_loss": pytest.approx(loss), "perplexity": pytest.approx(math.exp(loss))}


@pytest.mark.parametrize(("miss", "worse"), [(0.5, False), (1.5, True)])
def test_numbers_are_to_be_better_than_their_mean(miss: float, worse: bool) -> None:
    task = Task("regression", "y")
    target = torch.tensor([-1.0, 1.0, -1.0, 1.0])
    found = score(task, (target + miss)[:, None], target)
    trivial = trivial_scores(task, part([0.0]), part([0.0]))
    for fair in (True, False):
        assert is_worse(telling_metrics(task, fair), found, trivial) is worse


@pytest.mark.parametrize(
    ("sure", "right", "worse"),
    [
        (9.0, 0.9, False),  # sure of too much, but its labels are good
        (9.0, 0.4, True),
        (0.01, 0.4, False),  # wrong about labels, and it knows
    ],
)
def test_classes_have_two_sides(sure: float, right: float, worse: bool) -> None:
    task = Task("binary", "y", ("no", "yes"))
    target = torch.tensor([0.0, 1.0] * 50)
    sign = torch.tensor(np.where(np.arange(100) < 100 * right, 1.0, -1.0))
    found = score(task, ((2 * target - 1) * sign * sure)[:, None], target)
    trivial = {"accuracy": 0.5, "log_loss": 0.75, "balanced_error": 0.5}
    assert is_worse(telling_metrics(task, fair=True), found, trivial) is worse
    unfair = is_worse(telling_metrics(task, fair=False), found, trivial)
    assert unfair is (right < 0.5)
