"""Rows that count more or less than others, from the table to the trained network."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from flat_search import search
from meritnas import DataError, UsageError, tabular_space
from meritnas.data.bundle import Part
from meritnas.data.stream import BatchStream
from meritnas.data.tables.bundle import encode_table, outline_table
from meritnas.data.tables.reading import TableReading
from meritnas.data.tables.source import load_source
from meritnas.data.task import Task
from meritnas.settings.recipe import TrainRecipe
from meritnas.supernet.probe import Probe
from meritnas.training.train import train_child

KINDS: dict[Literal["binary", "multiclass", "regression"], Task] = {
    "binary": Task("binary", "y", (0, 1)),
    "multiclass": Task("multiclass", "y", (0, 1, 2)),
    "regression": Task("regression", "y"),
}


def answers(task: Task, rows: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    outputs = torch.randn(rows, task.outputs, generator=generator, dtype=torch.float64)
    if task.kind == "multiclass":
        return outputs, torch.randint(3, (rows,), generator=generator)
    target = torch.randn(rows, generator=generator, dtype=torch.float64)
    return outputs, (target > 0).double() if task.kind == "binary" else target


@pytest.mark.parametrize("task", KINDS.values(), ids=KINDS)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=12).filter(any), st.integers(0, 99))
def test_a_whole_weight_is_as_if_the_row_were_there_so_often(
    task: Task, counts: list[int], seed: int
) -> None:
    outputs, target = answers(task, len(counts), seed)
    often = torch.tensor(counts)
    weights = often.double() / often.double().mean()  # 1 on average, as parts have them
    repeated = task.loss(
        outputs.repeat_interleave(often, dim=0), target.repeat_interleave(often, dim=0)
    )
    torch.testing.assert_close(task.loss(outputs, target, weights), repeated)
    ones = torch.ones(len(counts), dtype=torch.float64)
    torch.testing.assert_close(task.loss(outputs, target, ones), task.loss(outputs, target))


def part(weights: torch.Tensor | None, rows: int = 60) -> Part:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(rows, 3, generator=generator)
    return Part(inputs, inputs[:, 0] * inputs[:, 1], weights)


def test_batches_carry_the_weights_of_their_rows() -> None:
    # Rows are known by their first number, and so are their weights.
    weighted = part(None)
    weighted = Part(weighted.inputs, weighted.target, weighted.inputs[:, 0].exp())
    stream = BatchStream(weighted, 7, 0)
    for _ in range(20):
        batch = stream.next()
        assert batch.weights is not None
        assert torch.equal(batch.weights, batch.inputs[:, 0].exp())
        first = batch.first(3)
        assert first.weights is not None
        assert torch.equal(first.weights, first.inputs[:, 0].exp())
    piece = weighted.slice(5, 9)
    assert piece.weights is not None
    assert torch.equal(piece.weights, piece.inputs[:, 0].exp())
    unweighted = BatchStream(part(None), 7, 0)
    assert unweighted.next().weights is None
    assert unweighted.next().first(2).weights is None
    order = [BatchStream(p, 7, 3).next().inputs for p in (weighted, part(None))]
    assert torch.equal(*order)  # weights do not change what is drawn


def trained(train: Part, valid: Part, epochs: int = 4) -> dict[str, Any]:
    child = tabular_space(3, 1, 1, (4,)).child("4", seed=1)
    found = train_child(
        child, train, valid, KINDS["regression"].loss, TrainRecipe(batch_size=16), epochs, 0
    )
    return {
        "weights": [param.detach() for param in found.module.parameters()],
        "valid": found.valid_losses,
        "train": found.train_losses,
    }


def test_weights_of_one_train_the_same_network_as_none() -> None:
    ones = trained(part(torch.ones(60)), part(torch.ones(60)))
    none = trained(part(None), part(None))
    assert ones["valid"] == pytest.approx(none["valid"], rel=1e-4)
    for a, b in zip(ones["weights"], none["weights"], strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)


def test_rows_of_no_weight_do_not_teach_and_do_not_judge() -> None:
    weights = torch.where(torch.arange(60) < 30, 2.0, 0.0)
    broken = part(weights)
    lies = Part(broken.inputs, torch.where(weights > 0, broken.target, 1e3), weights)
    honest, fooled = trained(broken, broken), trained(lies, lies)
    assert honest["valid"] == fooled["valid"]
    for a, b in zip(honest["weights"], fooled["weights"], strict=True):
        assert torch.equal(a, b)
    assert trained(part(None), part(None))["valid"] != honest["valid"]


def test_a_probe_weighs_rows_in_training_and_in_judging() -> None:
    weights = torch.where(torch.arange(60) < 20, 3.0, 0.0)
    family = tabular_space(3, 1, 2, (2, 4))
    supernet = family.supernet(0)
    whole = part(weights)
    streams = BatchStream(whole, 60, 0), BatchStream(whole, 60, 1)
    probe = Probe(supernet, KINDS["regression"].loss, *streams, whole)
    picks = np.array([[1, 0]])
    child = family.child("4-2")
    child.load_state_dict(supernet.extract(picks[0]))
    counted = whole.slice(0, 20)
    expected = (child(counted.inputs)[:, 0] - counted.target).square().mean().item()
    assert probe.losses(picks, probe.valid_batch())[0] == pytest.approx(expected, rel=1e-5)
    assert probe.held_out_loss(picks[0]) == pytest.approx(expected, rel=1e-5)
    own = dict(supernet.named_parameters())
    loss = probe.loss(supernet.whole(), probe.train_batch(), own)
    widest = family.child("4-4")
    widest.load_state_dict(supernet.extract([1, 1]))
    expected = (widest(counted.inputs)[:, 0] - counted.target).square().mean().item()
    assert float(loss.detach()) == pytest.approx(expected, rel=1e-5)


def imbalanced(rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=rows), "b": rng.normal(size=rows)})
    frame["y"] = np.where(frame["a"] + rng.normal(size=rows) > 2.2, "rare", "usual")
    return frame


def test_balanced_classes_weigh_alike_in_every_part() -> None:
    source = load_source(imbalanced(), "y")
    outline = outline_table(source, 0, TableReading(class_weight="balanced"))
    bundle = encode_table(source, outline)
    for rows in (bundle.train, bundle.valid, bundle.test):
        assert rows.weights is not None
        assert float(rows.weights.mean()) == pytest.approx(1.0, abs=1e-5)
        sums = [float(rows.weights[rows.target == label].sum()) for label in (0, 1)]
        # Classes are as frequent in a part as in the table, but for a rounded row.
        assert sums[0] == pytest.approx(sums[1], rel=0.1)
        assert len({float(w) for w in rows.weights}) == 2
    plain = encode_table(source, outline_table(source, 0))
    assert plain.train.weights is None


def test_balanced_classes_find_more_of_the_rare_one(tmp_path: Path) -> None:
    quick: dict[str, Any] = {"layers": 1, "widths": (4, 8), "epochs": 2, "retrain_epochs": 20}
    quick |= {"retrain_seeds": 1, "scaling": "standard", "target": "y"}
    frame = imbalanced()
    rare = frame["y"] == "rare"
    assert 0.03 < rare.mean() < 0.12
    recall, balanced_error = {}, {}
    for kind in (None, "balanced"):
        run = tmp_path / str(kind)
        found = search(frame, class_weight=kind, out=run, **quick)  # type: ignore[arg-type]
        recall[kind] = (found.predict(frame) == frame["y"])[rare].mean()
        balanced_error[kind] = found.test["balanced_error"]
    assert recall["balanced"] > recall[None] + 0.3
    assert balanced_error["balanced"] < balanced_error[None]


def test_weights_of_classes_need_classes(tmp_path: Path) -> None:
    frame = imbalanced().drop(columns="y").assign(y=np.linspace(0, 1, 600))
    with pytest.raises(DataError, match="the target 'y' is a number"):
        search(frame, "y", class_weight="balanced", out=tmp_path / "run")
    with pytest.raises(UsageError, match="must be 'balanced'"):
        search(imbalanced(), "y", class_weight="blanced", out=tmp_path / "run")  # type: ignore[arg-type]
    assert not (tmp_path / "run").exists()
