"""Means of agents drawn towards those of their kin: against a dense normal model, and simulated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from meritnas.policy.pooled import Kin, _given, kin_of, pooled_means
from meritnas.space.decision import Decision, Option
from meritnas.space.space import HyphenText, Space

CELLS, EDGES, OPTIONS = 14, 14, 8


def test_expectations_and_likelihood_are_those_of_the_normal_model() -> None:
    """Three agents on one edge, two on another, three operations; some never drawn."""
    rng = np.random.default_rng(0)
    edge_of = np.array([0, 0, 0, 1, 1])
    times = rng.integers(0, 4, size=(5, 3)).astype(float)
    times[0, 0] = 0.0
    means = np.where(times > 0, rng.normal(size=(5, 3)), 0.0)
    parts = (0.7, 0.4, 0.9)
    found, likely = _given(means, times / 2.0, np.array([0, 3]), *parts)
    total = 0.0
    for k in range(3):
        same = edge_of[:, None] == edge_of
        prior = parts[0] + parts[1] * same + parts[2] * np.eye(5)
        drawn = times[:, k] > 0
        noise = np.diag(2.0 / times[drawn, k])
        inner = prior[np.ix_(drawn, drawn)] + noise
        expected = prior[:, drawn] @ np.linalg.solve(inner, means[drawn, k])
        assert found[:, k] == pytest.approx(expected)
        law = stats.multivariate_normal(np.zeros(drawn.sum()), inner)
        total += law.logpdf(means[drawn, k]) + 0.5 * drawn.sum() * np.log(2 * np.pi)
    assert likely == pytest.approx(total)


def test_kin_have_the_same_options_and_an_edge_is_a_place_of_a_cell() -> None:
    two = tuple(Option(name) for name in ("a", "b"))
    other = tuple(Option(name) for name in ("a", "c"))
    decisions = tuple(
        Decision(f"d{i}", some) for i, some in enumerate((two, two, two, two, other, two))
    )
    space = Space(decisions, HyphenText())
    first, second = kin_of(space, ((0, 1), (2, 3)))
    assert first.agents.tolist() == [0, 2, 1, 3, 5]
    assert first.starts.tolist() == [0, 2, 4]
    assert second.agents.tolist() == [4]
    (alone, _) = kin_of(space, ())
    assert alone.starts.tolist() == [0, 1, 2, 3, 4]


def simulated(seed: int, rounds: int, operation: float, edge: float) -> tuple[float, float]:
    """Shares of the possible gain that agents' own means and pooled ones find.

    Losses are sums over 196 agents; of what options differ by, parts are due to the operation, to
    it on that edge in all cells, and the rest to each agent alone.
    """
    rng = np.random.default_rng(seed)
    effects = (
        np.sqrt(operation) * rng.normal(size=(1, 1, OPTIONS))
        + np.sqrt(edge) * rng.normal(size=(1, EDGES, OPTIONS))
        + np.sqrt(1 - operation - edge) * rng.normal(size=(CELLS, EDGES, OPTIONS))
    ).reshape(-1, OPTIONS)
    agents = np.arange(len(effects))
    sums, times = np.zeros_like(effects), np.zeros_like(effects)
    drawn = rng.integers(OPTIONS, size=(rounds, len(agents)))
    losses = np.array([effects[agents, picks].sum() for picks in drawn])
    losses -= losses.mean()
    for picks, loss in zip(drawn, losses, strict=True):
        sums[agents, picks] += loss
        times[agents, picks] += 1
    means = np.where(times > 0, sums / np.maximum(times, 1), np.inf)
    order = np.arange(CELLS * EDGES).reshape(CELLS, EDGES).T.ravel()
    kin = Kin(order, np.arange(EDGES) * CELLS)
    pooled = np.array(pooled_means(list(means), list(times), float(losses.var()), [kin]))
    centred = effects - effects.mean(axis=1, keepdims=True)
    most = -centred.min(axis=1).sum()
    own, together = (-centred[agents, rows.argmin(axis=1)].sum() for rows in (means, pooled))
    return float(own / most), float(together / most)


@pytest.mark.parametrize(
    ("operation", "edge", "least"), [(0.0, 0.5, 1.5), (0.5, 0.0, 3.0), (0.25, 0.25, 2.5)]
)
def test_in_27_rounds_pooling_gains_where_half_of_the_variance_is_shared(
    operation: float, edge: float, least: float
) -> None:
    found = np.mean([simulated(seed, 27, operation, edge) for seed in range(8)], axis=0)
    assert found[1] > least * found[0]


@pytest.mark.parametrize("rounds", [27, 75])
def test_it_loses_little_where_nothing_is_shared(rounds: int) -> None:
    found = np.mean([simulated(seed, rounds, 0.0, 0.0) for seed in range(8)], axis=0)
    assert found[1] > 0.9 * found[0]


def test_nothing_drawn_or_no_spread_says_nothing() -> None:
    kin = [Kin(np.array([0, 1]), np.array([0]))]
    rows = [np.full(2, np.inf), np.full(2, np.inf)]
    assert not np.any(pooled_means(rows, [np.zeros(2)] * 2, 1.0, kin))
    assert not np.any(pooled_means([np.ones(2)] * 2, [np.ones(2)] * 2, 0.0, kin))
