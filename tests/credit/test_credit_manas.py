"""Blame for losses: coordinated descent and least squares (MANAS)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meritnas.credit.coordinated import coordinated_descent
from meritnas.credit.least_squares import LeastSquares
from meritnas.policy.agents import Softmax, exp3_exploration, exp3_rate


def actions(picks: np.ndarray, options: int) -> np.ndarray:
    """One-hot columns, [agents * options, n]."""
    n, agents = picks.shape
    found = np.zeros((n, agents * options))
    for i in range(agents):
        found[np.arange(n), i * options + picks[:, i]] = 1.0
    return found.T


def linear_losses(
    rng: np.random.Generator, agents: int, options: int, n: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(each option's share, [n, agents] joint actions, [n] their losses)."""
    truth = rng.normal(size=(agents, options))
    picks = rng.integers(options, size=(n, agents))
    return truth, picks, truth[np.arange(agents), picks].sum(axis=1)


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_expected_blame_is_the_loss_of_an_option(seed: int) -> None:
    """E[L * 1{a_i = k} / pi_i[k]] = E[L | a_i = k], by enumeration of all joint actions."""
    rng = np.random.default_rng(seed)
    sizes = (2, 3, 2)
    rows = [rng.dirichlet(np.ones(size)) for size in sizes]
    losses = rng.random(sizes)
    expected = [np.zeros(size) for size in sizes]
    for picks in itertools.product(*map(range, sizes)):
        chance = np.prod([row[p] for row, p in zip(rows, picks, strict=True)])
        none = [np.zeros(size) for size in sizes]
        added = coordinated_descent(none, np.array([picks]), np.array([losses[picks]]), rows)
        expected = [e + chance * a for e, a in zip(expected, added, strict=True)]
    for i in range(3):
        others = [j for j in range(3) if j != i]
        law = np.multiply.outer(rows[others[0]], rows[others[1]])
        own = np.moveaxis(losses, i, 0)
        assert expected[i] == pytest.approx([(law * own[k]).sum() for k in range(sizes[i])])


def test_blame_adds_up_over_calls_and_rows() -> None:
    rng = np.random.default_rng(0)
    rows = [np.array([0.2, 0.8]), np.array([0.5, 0.3, 0.2])]
    picks = np.stack([rng.integers(2, size=6), rng.integers(3, size=6)], axis=1)
    losses = rng.random(6)
    at_once = coordinated_descent([np.zeros(2), np.zeros(3)], picks, losses, rows)
    one_by_one = [np.zeros(2), np.zeros(3)]
    for row, loss in zip(picks, losses, strict=True):
        one_by_one = coordinated_descent(one_by_one, row[None], np.array([loss]), rows)
    for a, b in zip(at_once, one_by_one, strict=True):
        assert a == pytest.approx(b)


def test_an_agent_of_four_options_finds_the_best_and_not_the_worst() -> None:
    """The sign that the paper prints would end with all probability on the worst option."""
    rounds, means = 4000, np.array([0.2, 0.4, 0.6, 0.8])
    sampling = Softmax(exp3_rate(4, rounds), exp3_exploration(4, rounds))
    rng = np.random.default_rng(0)
    blame, total = [np.zeros(4)], 0.0
    for _ in range(rounds):
        weights = np.exp(sampling.logits(blame[0]))
        row = (1 - sampling.exploration) * weights / weights.sum() + sampling.exploration / 4
        pick = rng.choice(4, p=row)
        loss = float(rng.random() < means[pick])
        total += loss
        blame = coordinated_descent(blame, np.array([[pick]]), np.array([loss]), [row])
    assert weights.argmax() == 0
    assert weights[0] / weights.sum() > 0.99
    assert total - rounds * 0.2 < 2 * np.sqrt(rounds * 4 * np.log(4))


@pytest.mark.parametrize(("agents", "options", "rank"), [(6, 5, 25), (14, 8, 99)])
def test_linear_losses_without_noise_give_every_difference_within_an_agent(
    agents: int, options: int, rank: int
) -> None:
    rng = np.random.default_rng(agents)
    truth, picks, losses = linear_losses(rng, agents, options, 4 * rank)
    z = actions(picks, options)
    assert np.linalg.matrix_rank(z @ z.T) == rank == agents * (options - 1) + 1
    squares = LeastSquares((options,) * agents)
    squares.add(picks, losses)
    found = np.array(squares.solve())
    assert found == pytest.approx(truth - truth.mean(axis=1, keepdims=True), abs=1e-10)
    assert found.sum(axis=1) == pytest.approx(np.zeros(agents), abs=1e-10)


@pytest.mark.parametrize("n", [400, 60, 12])
def test_the_solution_is_that_of_smallest_norm_with_many_and_with_few_losses(n: int) -> None:
    """pinv(Z Z') Z L of centred columns, whether the factor exists or not."""
    rng = np.random.default_rng(n)
    _, picks, losses = linear_losses(rng, 6, 5, n)
    losses = losses + rng.normal(size=n)
    z = actions(picks, 5)
    z = z - z.mean(axis=1, keepdims=True)
    squares = LeastSquares((5,) * 6)
    squares.add(picks, losses)
    expected = np.linalg.pinv(z @ z.T, rcond=1e-10, hermitian=True) @ z @ (losses - losses.mean())
    assert np.concatenate(squares.solve()) == pytest.approx(expected, abs=1e-8)


def test_a_ridge_is_a_draw_of_each_option_at_which_nothing_was_lost() -> None:
    rng = np.random.default_rng(7)
    _, picks, losses = linear_losses(rng, 6, 5, 40)
    squares = LeastSquares((5,) * 6, ridge=1.5)
    squares.add(picks, losses)
    z = actions(picks, 5)
    z = z - z.mean(axis=1, keepdims=True)
    expected = np.linalg.solve(z @ z.T + 1.5 * np.eye(30), z @ (losses - losses.mean()))
    assert np.concatenate(squares.solve()) == pytest.approx(expected, abs=1e-10)
    assert np.array(squares.solve()).sum(axis=1) == pytest.approx(np.zeros(6), abs=1e-10)


def test_a_ridge_keeps_what_was_drawn_once_from_the_extremes_and_vanishes_with_draws() -> None:
    """Pure noise: an option drawn once in 96 rounds; then linear losses without noise."""
    extreme = {0.0: 0, 1.0: 0}
    for seed in range(100):
        rng = np.random.default_rng(seed)
        picks = rng.integers(8, size=(96, 6))
        picks[:, 0] = rng.integers(7, size=96)
        picks[5, 0] = 7
        losses = rng.normal(size=96)
        for ridge in extreme:
            squares = LeastSquares((8,) * 6, ridge)
            squares.add(picks, losses)
            extreme[ridge] += int(abs(squares.solve()[0]).argmax() == 7)
    assert extreme[0.0] > 60
    assert extreme[1.0] < 0.7 * extreme[0.0]
    truth, picks, losses = linear_losses(np.random.default_rng(0), 3, 3, 3000)
    truth -= truth.mean(axis=1, keepdims=True)
    far = []
    for n in (300, 3000):
        squares = LeastSquares((3,) * 3, ridge=1.0)
        squares.add(picks[:n], losses[:n])
        far.append(float(abs(np.array(squares.solve()) - truth).max() / abs(truth).max()))
    assert far[0] < 0.03
    assert far[1] < 0.003


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_the_difficulty_of_a_batch_does_not_matter(seed: int) -> None:
    """And it is the regression with an intercept for every batch."""
    rng = np.random.default_rng(seed)
    _, picks, losses = linear_losses(rng, 3, 3, 48)
    losses = losses + 0.3 * rng.normal(size=48)
    easy, hard = LeastSquares((3, 3, 3)), LeastSquares((3, 3, 3))
    for batch in range(6):
        own = slice(8 * batch, 8 * batch + 8)
        easy.add(picks[own], losses[own])
        hard.add(picks[own], losses[own] + 100 * rng.random())
    assert np.concatenate(hard.solve()) == pytest.approx(np.concatenate(easy.solve()), abs=1e-8)
    design = np.concatenate([actions(picks, 3).T, np.kron(np.eye(6), np.ones((8, 1)))], axis=1)
    table = np.linalg.lstsq(design, losses, rcond=None)[0][:9].reshape(3, 3)
    centred = table - table.mean(axis=1, keepdims=True)
    assert np.array(easy.solve()) == pytest.approx(centred, abs=1e-8)


def test_what_never_occurred_is_known_and_does_not_spoil_the_rest() -> None:
    rng = np.random.default_rng(3)
    truth, picks, _ = linear_losses(rng, 4, 4, 200)
    picks = np.where(picks == 2, 1, picks)  # option 2 is never drawn
    losses = truth[np.arange(4), picks].sum(axis=1)
    squares = LeastSquares((4,) * 4)
    squares.add(picks, losses)
    for row, seen, own in zip(squares.solve(), squares.seen(), truth, strict=True):
        assert seen.tolist() == [True, True, False, True]
        assert row[2] == 0.0
        kept = own[[0, 1, 3]]
        assert row[[0, 1, 3]] == pytest.approx(kept - kept.mean(), abs=1e-9)


def test_memory_keeps_a_share_of_earlier_losses_and_survives_a_state() -> None:
    rng = np.random.default_rng(4)
    truth, picks, losses = linear_losses(rng, 2, 3, 40)
    squares = LeastSquares((3, 3))
    squares.add(picks, losses)
    squares.forget(0.25)
    assert np.array(squares.solve()) == pytest.approx(truth - truth.mean(axis=1, keepdims=True))
    other = LeastSquares((3, 3))
    other.load_state_dict(squares.state_dict())
    for one in (squares, other):
        one.add(picks[:7], losses[:7] ** 2)
    assert np.concatenate(other.solve()).tolist() == np.concatenate(squares.solve()).tolist()
    squares.forget(1.0)
    assert not any(row.any() for row in squares.seen())


def test_losses_of_many_batches_count_whether_taken_in_at_once_or_a_few_at_a_time() -> None:
    """And a state that is saved in between keeps those that wait."""
    rng = np.random.default_rng(5)
    _, picks, losses = linear_losses(rng, 5, 4, 1200)
    losses = losses + rng.normal(size=1200)
    squares, resumed = LeastSquares((4,) * 5), LeastSquares((4,) * 5)
    for first in range(0, 1200, 8):
        own = slice(first, first + 8)
        squares.add(picks[own], losses[own])
        if first == 600:
            resumed.load_state_dict(squares.state_dict())
        if first > 600:
            resumed.add(picks[own], losses[own])
    found = np.concatenate(squares.solve())
    assert np.concatenate(resumed.solve()).tolist() == found.tolist()
    batches = np.kron(np.eye(150), np.ones((8, 1)))
    design = np.concatenate([actions(picks, 4).T, batches], axis=1)
    table = np.linalg.lstsq(design, losses, rcond=None)[0][:20].reshape(5, 4)
    assert found == pytest.approx((table - table.mean(axis=1, keepdims=True)).ravel(), abs=1e-8)
