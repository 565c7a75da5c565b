from __future__ import annotations

from typing import Any

import pytest
import torch

from meritnas.data.bundle import Bundle, Part
from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.task import Task
from meritnas.run.outcome import outcome_notes
from meritnas.training.race import Race
from meritnas.training.retrain import Retrained

GOOD = {"r2": 0.5, "rmse": 1.0}


def bundle(task: Task, weights: torch.Tensor | None = None) -> Bundle[Any]:
    part = Part(torch.zeros(4, 1), torch.tensor([0.0, 1.0, 0.0, 0.0]), weights)
    return Bundle("table", part, part, part, TableEncoder((), (), ()), task)


def trained(test: dict[str, float], losses: tuple[float | None, ...] = (0.5,)) -> Retrained:
    race = Race(("8-8",), (0.0,), (0,), 1)
    results = tuple({"valid_loss": loss} for loss in losses)
    return Retrained(race, "8-8", test, {}, {}, results, 1.0)


def notes(test: dict[str, float], task: Task, weights: torch.Tensor | None = None) -> list[str]:
    return outcome_notes(bundle(task, weights), trained(test), [], [])


def test_a_good_network_has_no_notes() -> None:
    assert notes(GOOD, Task("regression", "y")) == []
    assert notes({}, Task("regression", "y")) == []  # without test rows nothing is known


@pytest.mark.parametrize("weights", [None, torch.ones(4)])
def test_a_number_worse_than_the_mean(weights: torch.Tensor | None) -> None:
    (note,) = notes({"r2": -125818.0, "rmse": 9.0}, Task("regression", "y"), weights)
    assert "no better than always answering the mean (R2 -1.26e+05 against 0 on held-out" in note


def test_classes_worse_than_the_most_frequent_one() -> None:
    task = Task("binary", "y", ("no", "yes"))
    bad = {"accuracy": 0.5, "log_loss": 2.0, "balanced_error": 0.4}
    (note,) = notes(bad, task)
    assert "(accuracy 0.5 against 0.75, log loss 2 against 0.5" in note
    assert notes(bad, task, torch.ones(4)) == []  # where classes count alike, it is of use
    (weighted,) = notes({**bad, "balanced_error": 0.6}, task, torch.ones(4))
    assert "(balanced error 0.6 against 0.5 on" in weighted


def test_trainings_that_diverged_are_counted() -> None:
    found = trained(GOOD, (None, 0.5, None))
    (note,) = outcome_notes(bundle(Task("regression", "y")), found, [], [])
    assert note.startswith("2 of 3 trainings diverged and are in no score")


def test_limits_without_a_network_are_named() -> None:
    ladder = [{"limit": 4000}, {"limit": 2000}, {"limit": 1000}]
    data = bundle(Task("regression", "y"))
    (note,) = outcome_notes(data, trained(GOOD), ladder, [{"limit": 2000}])
    assert note == "there is no network for at most 4,000, 1,000 parameters: training diverged"
