from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from meritnas import tabular_space
from meritnas.data.bundle import Part
from meritnas.data.stream import BatchStream
from meritnas.supernet.probe import Probe
from meritnas.witness import one_shot
from meritnas.witness.beliefs import Beliefs
from meritnas.witness.one_shot import OneShot
from meritnas.witness.size import Size

FAMILY = tabular_space(3, 1, 2, (2, 4, 8))
EVERY = np.array(list(itertools.product(range(3), range(3))))


def mean_square(
    outputs: torch.Tensor, target: torch.Tensor, weights: torch.Tensor | None = None
) -> torch.Tensor:
    losses = (outputs[:, 0] - target).square()
    return losses.mean() if weights is None else (losses * weights).mean()


def made_probe(rows: int, bad: bool = False) -> Probe:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(rows, 3, generator=generator)
    weights = torch.rand(rows, generator=generator)
    # In the order of the target: its first rows stand for nothing but themselves.
    part = Part(inputs[inputs[:, 0].argsort()], inputs[:, 0].sort().values, weights)
    if bad:
        part.target[0] = float("nan")
    streams = BatchStream(part, 10, 0), BatchStream(part, 10, 1)
    return Probe(FAMILY.supernet(0), mean_square, *streams, part)


def test_one_shot_is_minus_the_held_out_loss_where_there_are_few_rows() -> None:
    probe = made_probe(50)
    expected = [-probe.held_out_loss(row) for row in EVERY]
    before = probe.passes
    np.testing.assert_array_equal(OneShot(probe).judge(EVERY), expected)
    assert probe.passes - before == len(EVERY) * probe.evaluation_passes


def test_common_rows_are_few_the_same_for_all_and_from_everywhere() -> None:
    probe = made_probe(500)
    found = probe.common_losses(EVERY, 40)
    assert probe.passes == len(EVERY) * 4  # 40 rows are four batches
    again = [probe.common_losses(row[None], 40)[0] for row in EVERY[::-1]]
    assert found.tolist() == again[::-1]
    whole = np.array([probe.held_out_loss(row) for row in EVERY])
    assert not np.array_equal(found, whole)
    assert np.corrcoef(found, whole)[0, 1] > 0.8
    first = probe._losses_on(probe._held.slice(0, 40), EVERY)
    assert np.corrcoef(first, whole)[0, 1] < 0.2


def test_many_rows_are_cut_to_what_is_affordable(monkeypatch: pytest.MonkeyPatch) -> None:
    probe = made_probe(500)
    monkeypatch.setattr("meritnas.supernet.probe.rows_at_once", lambda _: 20)
    OneShot(probe).judge(EVERY)
    assert probe.passes == len(EVERY) * 20 * one_shot._LOOKS // 10 < len(EVERY) * 50


def test_a_network_without_a_loss_cannot_be_judged() -> None:
    assert np.isnan(OneShot(made_probe(50, bad=True)).judge(EVERY)).all()


def test_size_is_the_counted_cost() -> None:
    said = Size(FAMILY.costs["params"]).judge(EVERY)
    assert said.tolist() == [FAMILY.cost(FAMILY.space.architecture(row)) for row in EVERY]


def test_beliefs_are_the_logs_of_probabilities_and_may_rule_a_network_out() -> None:
    rows = [np.array([0.5, 0.25, 0.25]), np.array([0.0, 0.9, 0.1])]
    found = Beliefs(rows).judge(EVERY)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(found, [np.log(rows[0][a] * rows[1][b]) for a, b in EVERY])
    assert np.isneginf(found[EVERY[:, 1] == 0]).all()
    assert EVERY[found.argmax()].tolist() == [0, 1]
