from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from meritnas.data.bundle import Part
from meritnas.data.modalities.row_layout import RowLayout
from meritnas.data.task import Task
from meritnas.explanation import modality_use as subject
from meritnas.explanation.modality_use import modality_use
from meritnas.training.resampled_scores import resampled_scores

TASKS = {
    "binary": Task("binary", "y", ("a", "b")),
    "multiclass": Task("multiclass", "y", ("a", "b", "c")),
    "regression": Task("regression", "y"),
    "multilabel": Task("multilabel", "y", ("a", "b", "c", "d")),
}


def answers(kind: str, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Outputs and targets; one label never occurs, another is never given."""
    task = TASKS[kind]
    outputs = torch.randn(n, task.outputs, generator=generator)
    if kind == "multiclass":
        return outputs, torch.randint(3, (n,), generator=generator)
    if kind == "regression":
        return outputs, 100.0 + torch.randn(n, generator=generator)
    if kind == "binary":
        return outputs, (torch.rand(n, generator=generator) < 0.5).float()
    target = (torch.rand(n, 4, generator=generator) < 0.3).float()
    target[:, 3] = 0.0
    outputs[:, 2] = -9.0
    return outputs, target


@pytest.mark.parametrize("kind", sorted(TASKS))
def test_resamples_score_what_the_task_says_of_them_one_by_one(kind: str) -> None:
    generator = torch.Generator().manual_seed(0)
    outputs, target = answers(kind, 40, generator)
    rows = torch.randint(40, (20, 40), generator=generator)
    counts = torch.stack([torch.bincount(row, minlength=40) for row in rows]).double()
    found = resampled_scores(TASKS[kind], outputs, target, counts)
    expected = [TASKS[kind].score(outputs[row], target[row]).item() for row in rows]
    # Squares of numbers near 100, of which `score` keeps float32.
    torch.testing.assert_close(
        found, torch.tensor(expected).double(), rtol=1e-4 if kind == "regression" else 1e-6, atol=0
    )


class Voices(nn.Module):
    """Adds up what the modalities say, each with its loudness, and a product of the first two."""

    def __init__(self, layout: RowLayout, loudness: list[float]) -> None:
        super().__init__()
        self.layout = layout
        self.loudness = loudness

    def forward(self, inputs: Tensor) -> Tensor:
        said = [inputs[:, self.layout.values(k)] for k in range(len(self.loudness))]
        total = 0.5 * said[0] * said[1]
        for loud, one in zip(self.loudness, said, strict=True):
            total = total + loud * one
        return total


def example(count: int, task: Task, n: int = 60) -> tuple[Voices, Part, RowLayout]:
    layout = RowLayout(tuple((f"m{k}", ((1,),)) for k in range(count)))
    inputs = torch.ones(n, layout.width)
    generator = torch.Generator().manual_seed(1)
    for k in range(count):
        inputs[:, layout.values(k)] = torch.randn(n, 1, generator=generator)
    voices = Voices(layout, [1.0 / (k + 1) for k in range(count)])
    clean = voices(inputs)[:, 0]
    target = (clean > 0).float() if task.kind == "binary" else clean
    return voices, Part(inputs, target), layout


def by_definition(module: Voices, part: Part, layout: RowLayout, task: Task) -> list[float]:
    """The mean of what each adds over all orders in which they come."""
    count = len(layout.names)

    def score(members: frozenset[int]) -> float:
        inputs = part.inputs.clone()
        for k in set(range(count)) - members:
            inputs[:, [layout.flag(k), layout.values(k).start]] = 0.0
        return float(task.score(module(inputs), part.target))

    worth = [0.0] * count
    for order in itertools.permutations(range(count)):
        for place, k in enumerate(order):
            before = frozenset(order[:place])
            worth[k] += (score(before | {k}) - score(before)) / math.factorial(count)
    return worth


@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_few_modalities_have_exact_values(kind: str) -> None:
    task = TASKS[kind]
    module, part, layout = example(4, task)
    found = modality_use(module, task, part, layout)
    np.testing.assert_allclose(found.values, by_definition(module, part, layout, task), atol=1e-5)
    assert (found.low <= found.values).all()
    assert (found.values <= found.high).all()
    assert found.values.sum() == pytest.approx(found.score - found.nothing, abs=1e-6)
    assert found.score > found.without.max()


def test_values_of_many_modalities_are_estimated_from_some_sets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 8, both ways are possible: few sets come close to all, within wider intervals."""
    task = TASKS["regression"]
    module, part, layout = example(8, task)
    exact = modality_use(module, task, part, layout)
    monkeypatch.setattr(subject, "_COALITIONS", 120)
    some = modality_use(module, task, part, layout)
    assert not np.array_equal(some.values, exact.values)
    np.testing.assert_allclose(some.values, exact.values, atol=0.02)
    np.testing.assert_allclose(some.alone, exact.alone)
    assert some.values.sum() == pytest.approx(exact.score - exact.nothing)
    assert ((some.low < exact.values) & (exact.values < some.high)).all()


def test_twelve_modalities_are_not_too_many() -> None:
    task = TASKS["binary"]
    module, part, layout = example(12, task, n=30)
    found = modality_use(module, task, part, layout)
    assert found.values.argmax() == 0
    assert np.isfinite([found.low, found.high]).all()
    assert (found.low <= found.values).all()
    assert found.values.sum() == pytest.approx(found.score - found.nothing)
