from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn import metrics

from meritnas.data.task import Task
from meritnas.errors import DataError


def find(values: Any, kind: str | None = None, dtype: Any = None) -> Task:
    series = pd.Series(values, name="y", dtype=dtype)
    return Task.find(series, np.arange(len(series)), kind)


NUMBERS = list(np.linspace(0.5, 9.7, 40))


@pytest.mark.parametrize(
    ("values", "kind", "classes"),
    [
        (["b", "a"] * 10, "binary", ("a", "b")),
        (["b", "a", "c"] * 10, "multiclass", ("a", "b", "c")),
        ([True, False] * 10, "binary", (False, True)),
        ([3, 1] * 3, "binary", (1, 3)),
        ([2, 0, 1] * 10, "multiclass", (0, 1, 2)),
        ([2.0, 0.0, 1.0] * 10, "multiclass", (0.0, 1.0, 2.0)),
        (pd.Categorical([5, 3, 4] * 3), "multiclass", (3, 4, 5)),
        ([2.5, 0.5] * 10, "regression", ()),
        (NUMBERS, "regression", ()),
        (list(range(40)), "regression", ()),
        (list(range(60)) * 30, "regression", ()),
    ],
)
def test_kinds(values: Any, kind: str, classes: tuple[Any, ...]) -> None:
    task = find(values)
    assert task.kind == kind
    assert task.classes == classes
    assert [type(c) for c in task.classes] == [type(c) for c in classes]
    assert task.outputs == (len(classes) if kind == "multiclass" else 1)


@pytest.mark.parametrize("dtype", ["string", "Int64", "int8", "boolean", "float32", "category"])
def test_dtypes_give_plain_labels(dtype: str) -> None:
    values = ["0", "1"] if dtype == "string" else [0, 1]
    task = find(values * 5, dtype=dtype)
    assert task.kind == "binary"
    assert all(type(label) in (str, int, float, bool) for label in task.classes)
    assert Task.from_json(json.loads(json.dumps(task.to_json()))) == task
    again = task.encode(pd.Series(values * 2, dtype=dtype))
    assert again.tolist() == [0, 1, 0, 1]


def test_forced_kinds() -> None:
    assert find([1, 2, 3] * 10, "regression").kind == "regression"
    assert find(["1.5", "2.5"] * 10, "regression").mean == 2.0
    assert find([0.5, 1.5] * 10, "classification").classes == (0.5, 1.5)
    with pytest.raises(DataError, match="no task kind 'rank'; use 'classification' or"):
        find([1, 2] * 10, "rank")
    with pytest.raises(DataError, match=r"'y' holds 'a' .*no number"):
        find(["a", "b"] * 10, "regression")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["a"] * 20, "one class 'a'"),
        ([7] * 20, "one class 7"),
        ([0.5] * 20, "one value 0.5"),
        ([1.5, np.inf] * 20, "'y' holds inf in 20 rows.*infinite"),
        ([1.5, 1e300] * 20, "too large"),
        ([1.5, None] * 20, "missing in 20 rows"),
        (["a", "b"] * 20 + ["rare"] * 2, "class 'rare' of the target 'y' has 2 rows.*validation"),
        ([f"id{i}" for i in range(100)], "100 classes in 100 rows.*identifier"),
        (["a", 1] * 20, "labels of type int, str"),
        (pd.date_range("2024-01-01", periods=40), "labels of type Timestamp"),
    ],
)
def test_targets_that_cannot_be_learned(values: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        find(values)


def test_scale_comes_from_the_train_rows_only() -> None:
    values = pd.Series([1.5, 3.5, 1000.25], name="y")
    task = Task.find(values, np.array([0, 1]))
    assert (task.mean, task.scale) == (2.5, 1.0)
    assert task.encode(values).tolist() == [-1.0, 1.0, 997.75]


def test_constant_train_rows_leave_the_scale_at_one() -> None:
    assert Task.find(pd.Series([1.5, 1.5, 2.5]), np.array([0, 1])).scale == 1.0


def test_encode() -> None:
    binary = find(["no", "yes"] * 5).encode(pd.Series(["yes", "no"]))
    assert binary.dtype == torch.float32
    assert binary.tolist() == [1.0, 0.0]
    several = find([10, 20, 30] * 10).encode(pd.Series([30.0, 10.0]))
    assert several.dtype == torch.int64
    assert several.tolist() == [2, 0]
    assert find(NUMBERS).encode(pd.Series(NUMBERS)).dtype == torch.float32


@pytest.mark.parametrize("strange", ["maybe", None])
def test_unseen_label(strange: str | None) -> None:
    words = r"'y' holds (None|nan|'maybe').*classes: no, yes"
    with pytest.raises(DataError, match=words):
        find(["no", "yes"] * 5).encode(pd.Series(["no", strange]))


def test_losses_are_the_textbook_ones() -> None:
    outputs = torch.tensor([[2.0], [-1.0]])
    p = torch.sigmoid(outputs[:, 0])
    loss = find(["a", "b"] * 5).loss(outputs, torch.tensor([1.0, 0.0]))
    assert loss.item() == pytest.approx(-(p[0].log() + (1 - p[1]).log()).item() / 2, rel=1e-5)
    outputs = torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
    loss = find([0, 1, 2] * 10).loss(outputs, torch.tensor([2, 0]))
    expected = -(outputs.softmax(1)[0, 2].log() + outputs.softmax(1)[1, 0].log()) / 2
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    loss = find(NUMBERS).loss(torch.tensor([[1.0], [3.0]]), torch.tensor([0.0, 1.0]))
    assert loss.item() == pytest.approx(2.5)
    assert loss.shape == ()


def test_probabilities() -> None:
    binary = find(["a", "b"] * 5).probabilities(torch.tensor([[0.0], [30.0], [-30.0]]))
    assert binary.shape == (3, 2)
    assert binary[0].tolist() == [0.5, 0.5]
    assert 0 < binary[1, 0].item() < 1e-12
    several = find([0, 1, 2] * 10).probabilities(torch.randn(4, 3))
    assert torch.allclose(several.sum(1), torch.ones(4))
    with pytest.raises(DataError, match="no class probabilities; ask for labels"):
        find(NUMBERS).probabilities(torch.zeros(1, 1))


def test_labels_are_the_original_ones() -> None:
    binary = find(["no", "yes"] * 5)
    assert binary.labels(torch.tensor([[-0.1], [0.1]])).tolist() == ["no", "yes"]
    outputs = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0]], requires_grad=True)
    several = find([10, 20, 30] * 10).labels(outputs)
    assert several.tolist() == [20, 30]
    assert several.dtype.kind == "i"
    assert find([True, False] * 5).labels(torch.tensor([[1.0]])).dtype == bool


def test_regression_labels_undo_the_encoding() -> None:
    task = find(NUMBERS)
    back = task.labels(task.encode(pd.Series(NUMBERS))[:, None])
    np.testing.assert_allclose(back, NUMBERS, rtol=1e-5)


@pytest.mark.parametrize(
    "values", [["a", "b"] * 5, [1, 2] * 5, [1.0, 2.0] * 5, [True, False] * 5, NUMBERS]
)
def test_json_keeps_label_types_and_every_bit(values: list[Any]) -> None:
    task = find(values)
    again = Task.from_json(json.loads(json.dumps(task.to_json())))
    assert again == task
    assert [type(c) for c in again.classes] == [type(c) for c in task.classes]


@pytest.mark.parametrize("labels", [["a", "b"], ["a", "b", "c", "d"]], ids=["two", "four"])
def test_chance_loses_what_equal_probabilities_lose(labels: list[str]) -> None:
    values = pd.Series(labels * 6, name="y")
    task = Task.find(values, np.arange(len(values)), "classification")
    equal = torch.zeros(len(values), task.outputs)
    assert float(task.loss(equal, task.encode(values))) == pytest.approx(task.chance_loss)


def test_chance_loses_the_variance_of_numbers() -> None:
    values = pd.Series(np.random.default_rng(0).normal(3, 5, size=50), name="y")
    task = Task.find(values, np.arange(50), "regression")
    loss = task.loss(torch.zeros(50, 1), task.encode(values))
    assert float(loss) == pytest.approx(task.chance_loss, rel=1e-4)


def labelled(rows: Any, labels: list[str] | None = None) -> pd.DataFrame:
    names = labels or [f"l{place}" for place in range(np.shape(rows)[1])]
    return pd.DataFrame(rows, columns=pd.Index(names, name="tags"))


SEVERAL = labelled([[1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 0, 0]] * 10, ["b", "a", "c"])


def test_several_labels_a_row() -> None:
    task = Task.find_multilabel(SEVERAL)
    assert (task.kind, task.target, task.classes) == ("multilabel", "tags", ("b", "a", "c"))
    assert task.outputs == 3
    assert Task.from_json(json.loads(json.dumps(task.to_json()))) == task
    target = task.encode(SEVERAL)
    assert target.dtype == torch.float32
    assert target.tolist() == SEVERAL.to_numpy().tolist()
    loss = task.loss(torch.zeros(40, 3), target)
    assert float(loss) == pytest.approx(task.chance_loss) == pytest.approx(np.log(2))


def test_several_labels_in_any_form() -> None:
    task = Task.find_multilabel(SEVERAL)
    wanted = [[1, 0, 1], [0, 1, 0]]
    assert task.encode(pd.Series(["c|b", "a"])).tolist() == wanted
    assert task.encode(pd.Series([["b", "c"], ["a"]])).tolist() == wanted
    assert task.encode(labelled([[1, 0], [0, 1]], ["c", "a"])).tolist() == [[0, 0, 1], [0, 1, 0]]
    with pytest.raises(DataError, match=r"'tags' holds 'd', which is none of its labels.*b, a, c"):
        task.encode(pd.Series(["c|d", "a"]))


def test_answers_with_several_labels() -> None:
    task = Task.find_multilabel(SEVERAL)
    # A probability of 0.3 is a logit of -0.847.
    outputs = torch.tensor([[-0.84, -0.86, 3.0], [-1.0, -1.0, -1.0]])
    assert task.labels(outputs).tolist() == ["b|c", ""]
    assert torch.equal(task.probabilities(outputs), outputs.sigmoid())


@pytest.mark.parametrize("seed", range(4))
def test_the_score_of_several_labels_is_their_weighted_f1(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = (rng.random((50, 5)) < [0.5, 0.3, 0.1, 0.02, 0.0]).astype(int)
    outputs = torch.tensor(rng.normal(-1, 1.5, (50, 5)) + truth).float()
    outputs[:, 4] = -5 if seed % 2 else outputs[:, 4]
    weights = rng.integers(1, 4, 50)
    task = Task.find_multilabel(labelled(truth))
    target = task.encode(labelled(truth))
    guess = outputs.sigmoid().numpy() > 0.3
    for own in (None, weights):
        found = task.score(outputs, target, None if own is None else torch.tensor(own).float())
        wanted = metrics.f1_score(
            truth, guess, average="weighted", zero_division=0, sample_weight=own
        )
        assert float(found) == pytest.approx(wanted, rel=1e-5)


def test_the_score_of_labels_that_do_not_occur_is_zero() -> None:
    task = Task.find_multilabel(SEVERAL)
    assert float(task.score(torch.ones(4, 3), torch.zeros(4, 3))) == 0.0
    assert float(task.score(-9 * torch.ones(4, 3), torch.zeros(4, 3))) == 0.0


def test_rows_count_by_their_weight_in_the_loss_of_several_labels() -> None:
    task = Task.find_multilabel(SEVERAL)
    outputs, target = torch.randn(4, 3), task.encode(SEVERAL)[:4]
    each = torch.stack([task.loss(outputs[[row]], target[[row]]) for row in range(4)])
    assert task.loss(outputs, target).item() == pytest.approx(each.mean().item(), rel=1e-5)
    weights = torch.tensor([2.0, 0.0, 1.0, 1.0])
    weighed = task.loss(outputs, target, weights)
    assert weighed.shape == ()
    assert weighed.item() == pytest.approx((each * weights).mean().item(), rel=1e-5)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (labelled([[1], [0]] * 10), "'tags' has the labels l0, and none of them tells"),
        (labelled([[1, 0]] * 20), "l0, l1, and none of them tells rows apart"),
        (labelled(np.eye(30)), "30 labels in 30 rows and looks like text"),
        (labelled([[1, 0], [0, 1]] * 10, ["a|b", "c"]), r"the label 'a\|b' .* rename it"),
    ],
)
def test_labels_that_cannot_be_learned(values: pd.DataFrame, words: str) -> None:
    with pytest.raises(DataError, match=words):
        Task.find_multilabel(values)
