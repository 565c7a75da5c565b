from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from meritnas.data.answers import unanswered
from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.task import Task
from meritnas.errors import DataError
from meritnas.prediction.known_answers import score_known
from meritnas.prediction.predictor import Predictor, load_predictor
from meritnas.prediction.writer import write_text

RUNS = Path(__file__).parent.parent / "store" / "runs_of_0_1"
OUTPUTS = torch.tensor([[2.0], [float("nan")], [-2.0], [float("inf")], [1.0]])
BINARY = Task("binary", "y", ("no", "yes"))


def answers(task: Task, outputs: torch.Tensor) -> pd.DataFrame:
    return Predictor(TableEncoder((), (), ()), task, nn.Identity()).answers(outputs)


def test_rows_are_unanswered_if_any_output_is_no_number() -> None:
    assert unanswered(OUTPUTS).tolist() == [1, 3]
    several = torch.tensor([[1.0, float("-inf")], [1.0, 2.0]])
    assert unanswered(several).tolist() == [0]
    assert unanswered(torch.ones(3, 2)).tolist() == []


@pytest.mark.parametrize(
    ("classes", "first"), [(("no", "yes"), "yes"), ((3, 7), 7), ((False, True), True)]
)
def test_unanswered_rows_have_nothing_and_the_others_are_as_ever(
    classes: tuple[Any, ...], first: Any
) -> None:
    task = Task("binary", "y", classes)
    found = answers(task, OUTPUTS)
    assert found.isna().all(axis=1).tolist() == [False, True, False, True, False]
    whole = answers(task, OUTPUTS[[0, 2, 4]])
    assert found["predicted_y"][0] == first
    lines = found.to_csv(index=False).splitlines()
    assert [lines[k] for k in (0, 1, 3, 5)] == whole.to_csv(index=False).splitlines()


def test_numbers_that_are_none_are_not_written() -> None:
    found = answers(Task("regression", "y", (), 5.0, 2.0), OUTPUTS)
    np.testing.assert_array_equal(found["predicted_y"], [9.0, np.nan, 1.0, np.nan, 7.0])


def test_only_rows_with_both_answers_are_scored() -> None:
    truth = pd.Series(["yes", "yes", "yes", None, "yes"], name="y")
    found = score_known(BINARY, OUTPUTS, truth)
    assert (found.rows, found.unknown, found.why_not) == (3, 1, "")
    assert found.scores["accuracy"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("truth", "why"),
    [
        (["yes", "yes", None, "no", None], "1 rows with an answer and a known 'y' are too few"),
        (["yes", "no"], "has 2 rows where there are 5 samples"),
        (["yes", "no", "perhaps", "no", "no"], "holds 'perhaps', which is none of its classes"),
    ],
)
def test_why_nothing_is_scored(truth: list[Any], why: str) -> None:
    found = score_known(BINARY, OUTPUTS, pd.Series(truth, dtype=object, name="y"))
    assert found.scores == {}
    assert why in found.why_not


def test_a_number_too_far_off_is_no_reason_to_break_down() -> None:
    task = Task("regression", "y", (), 0.0, 1.0)
    found = score_known(task, torch.ones(3, 1), pd.Series([1.0, 2.0, 1e30], name="y"))
    assert found.scores == {}
    assert "1e+15 standard deviations" in found.why_not


def test_a_language_model_without_scores_does_not_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "text"
    shutil.copytree(RUNS / "text", folder)
    predictor = load_predictor(folder)
    assert write_text(predictor, "the cat", words=2)
    with torch.no_grad():
        for weight in predictor.module.parameters():
            weight.fill_(float("nan"))
    with pytest.raises(DataError, match="no finite numbers"):
        write_text(predictor, "the cat", words=2)
