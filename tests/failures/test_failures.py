from __future__ import annotations

import base64
import io
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from sklearn import metrics
from torch import Tensor, nn

from meritnas.data.bundle import Bundle, Part
from meritnas.data.held_out import MOST_ROWS
from meritnas.data.images.encoder import ImageEncoder
from meritnas.data.kind import DataKind
from meritnas.data.kinds import kind_named
from meritnas.data.task import Task
from meritnas.failures.curves import precision_recall, roc
from meritnas.failures.failures import failures_on
from meritnas.failures.of_words import of_words

TABLES = kind_named("table")


def failures(
    task: Task,
    outputs: Any,
    target: Any,
    cells: pd.DataFrame | None = None,
    kind: DataKind = TABLES,
    encoder: Any = None,
) -> dict[str, Any]:
    """Of a network whose inputs are its outputs."""
    test = Part(torch.as_tensor(outputs), torch.as_tensor(target))
    bundle: Bundle[Any] = Bundle("some", test, test, test, encoder, task)
    found = failures_on(nn.Identity(), bundle, task, kind, cells)
    assert json.loads(json.dumps(found)) == found
    return found


def test_confusion_and_scores_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=(300, 4)).astype(np.float32)
    outputs[:, 3] = -9  # a class that is never answered
    codes = rng.integers(4, size=300)
    found = failures(Task.of_classes("y", ("a", "b", "c", "d")), outputs, codes)
    guess = outputs.argmax(axis=1)
    counts = metrics.confusion_matrix(codes, guess)
    assert found["classes"]["confusion"]["counts"] == counts.tolist()
    expected = metrics.precision_recall_fscore_support(codes, guess, zero_division=np.nan)
    for place, one in enumerate(found["classes"]["each"]):
        assert one["support"] == expected[3][place]
        assert one["recall"] == pytest.approx(expected[1][place], abs=1e-5)
        if place < 3:
            assert one["precision"] == pytest.approx(expected[0][place], abs=1e-5)
            assert one["f1"] == pytest.approx(expected[2][place], abs=1e-5)
        else:
            assert one["precision"] is None
    assert found["classes"]["pairs"][0][2] == (counts - np.diag(np.diag(counts))).max()
    worst = found["worst"]
    assert all(one["truth"] != one["said"] for one in worst)
    chances = [one["of_truth"] for one in worst]
    assert chances == sorted(chances)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), min_size=2, max_size=60))
def test_curves_are_those_of_scikit_learn(rows: list[tuple[bool, int]]) -> None:
    truth = np.array([one for one, _ in rows])
    scores = np.array([score / 9 for _, score in rows])
    if truth.all() or not truth.any():
        truth[0] = not truth[0]
    marked = scores > 0.5
    found = roc(truth, scores, marked)
    assert found["area"] == pytest.approx(metrics.roc_auc_score(truth, scores), abs=1e-5)
    x, y, _ = metrics.roc_curve(truth, scores, drop_intermediate=False)
    assert [one[:2] for one in found["points"]] == pytest.approx(np.c_[x, y], abs=1e-5)
    assert any(one[:2] == found["chosen"] for one in found["points"])
    found = precision_recall(truth, scores, marked)
    expected = metrics.average_precision_score(truth, scores)
    assert found["area"] == pytest.approx(expected, abs=1e-5)
    assert (found["chosen"] is None) == (not marked.any())


def test_the_chosen_threshold_is_a_point_of_the_curves() -> None:
    task = Task("binary", "y", ("no", "yes"), metric="f1", positive=0, threshold=0.8)
    outputs = torch.linspace(-3, 3, 200)[:, None]
    target = (torch.arange(200) % 3 > 0).float()
    found = failures(task, outputs, target)["classes"]
    said = (outputs[:, 0].sigmoid() <= 0.8).numpy()  # the positive class is the first
    truth = target.numpy() == 0
    assert found["positive"] == "no"
    assert found["roc"]["chosen"][1] == pytest.approx((said & truth).sum() / truth.sum(), abs=1e-5)
    precision = (said & truth).sum() / said.sum()
    assert found["precision_recall"]["chosen"][1] == pytest.approx(precision, abs=1e-5)


def test_numbers_come_with_their_residuals_and_worst_rows() -> None:
    task = Task("regression", "y", mean=10.0, scale=2.0)
    target = torch.linspace(-1, 1, 50)
    outputs = target[:, None].clone()
    outputs[7] += 3
    outputs[9] -= 1
    cells = pd.DataFrame({"a": np.arange(50.0), "b": pd.Series(["\ud800"] * 50, dtype=object)})
    found = failures(task, outputs, target, cells.set_axis(pd.Index(range(50), name="row")))
    assert [one["number"] for one in found["worst"]] == [7, 9]
    assert found["worst"][0]["off"] == pytest.approx(6, abs=1e-4)
    assert found["worst"][0]["cells"] == {"a": "7", "b": "\\ud800"}
    assert sum(found["numbers"]["counts"]) == 50
    assert found["numbers"]["bias"] == pytest.approx(4 / 50, abs=1e-4)


def test_labels_are_scored_each_by_itself() -> None:
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=(80, 3)).astype(np.float32)
    truth = (rng.random((80, 3)) > 0.5).astype(np.float32)
    found = failures(Task("multilabel", "y", ("a", "b", "c")), outputs, truth)
    given_ = 1 / (1 + np.exp(-outputs)) > 0.3
    expected = metrics.f1_score(truth > 0, given_, average=None)
    assert [one["f1"] for one in found["labels"]["each"]] == pytest.approx(expected, abs=1e-5)
    assert found["labels"]["all_right"] == pytest.approx((given_ == (truth > 0)).all(1).mean())


def test_the_worst_pictures_are_those_that_came_in() -> None:
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (6, 8, 8, 3), dtype=np.uint8)
    encoder = ImageEncoder.fit(pictures)
    inputs = encoder.transform(pictures)
    assert (encoder.pixels(inputs) == pictures).all()

    class First(nn.Module):
        def forward(self, images: Tensor) -> Tensor:
            return torch.full((len(images), 1), -5.0)

    task, target = Task.of_classes("y", ("a", "b")), torch.tensor([0.0, 0, 0, 1, 0, 0])
    test = Part(inputs, target)
    bundle: Bundle[Any] = Bundle("some", test, test, test, encoder, task)
    found = failures_on(First(), bundle, task, kind_named("images"), None)
    (worst,) = found["worst"]
    seen = Image.open(io.BytesIO(base64.b64decode(worst["pictures"]["image"])))
    assert (np.asarray(seen) == pictures[3]).all()


def test_words_that_cost_most_come_first() -> None:
    class Always(nn.Module):
        """The second word, whatever comes."""

        def forward(self, words: Tensor) -> Tensor:
            return torch.nn.functional.one_hot(torch.ones_like(words), 4) * 5.0

    target = torch.tensor([[1, 1, 1, 2], [1, 1, 3, 2]])
    found = of_words(Always(), Part(torch.zeros_like(target), target), ("<unk>", "a", "b", "c"))
    assert (found["count"], found["first"]) == (8, 5 / 8)
    assert [row["name"] for row in found["dearest"]] == ["b", "c", "a"]
    assert sum(row["share"] for row in found["by_rank"]) == pytest.approx(1, abs=1e-4)
    assert sum(row["count"] for row in found["by_rank"]) == 8


def test_what_is_kept_does_not_grow_with_rows_and_classes() -> None:
    rng = np.random.default_rng(0)
    names = tuple(f"class {k}" for k in range(150))
    outputs = rng.normal(size=(MOST_ROWS + 5_000, 150)).astype(np.float32)
    codes = rng.integers(150, size=len(outputs))
    cells = pd.DataFrame({f"column {k}": np.zeros(MOST_ROWS) for k in range(60)})
    found = failures(Task.of_classes("y", names), outputs, codes, cells)
    assert (found["rows"], found["of"]) == (MOST_ROWS, len(outputs))
    assert sum(one["support"] for one in found["classes"]["each"]) == MOST_ROWS
    assert found["classes"]["confusion"]["left_out"] == 126
    assert len(json.dumps(found)) < 150_000
