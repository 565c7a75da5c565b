from __future__ import annotations

import io

import numpy as np
import torch
from scipy import stats

from meritnas.policy.policy import Policy, draw


def test_all_options_are_equal_at_the_start() -> None:
    for size, row in zip((3, 1, 4), Policy((3, 1, 4), 0.1).probabilities(), strict=True):
        np.testing.assert_allclose(row, np.full(size, 1 / size))


def test_draws_follow_the_probabilities() -> None:
    rows = [np.array([0.1, 0.6, 0.3]), np.array([0.5, 0.5]), np.array([0.0, 1.0, 0.0])]
    picks = draw(rows, 20_000, np.random.default_rng(0))
    assert picks.shape == (20_000, 3)
    joint = np.bincount(picks[:, 0] * 2 + picks[:, 1], minlength=6)
    expected = 20_000 * np.outer(rows[0], rows[1]).ravel()
    assert stats.chisquare(joint, expected).pvalue > 0.001
    assert (picks[:, 2] == 1).all()


def test_rows_are_the_logits_and_their_softmax_the_probabilities() -> None:
    policy = Policy((2, 3), 0.1)
    policy.logits.copy_(torch.tensor([0.0, 1.0, 800.0, -800.0, 799.0]))
    rows = policy.rows()
    np.testing.assert_allclose(rows[0], [0.0, 1.0])
    np.testing.assert_allclose(policy.probabilities()[0], torch.tensor(rows[0]).softmax(0))
    np.testing.assert_allclose(policy.probabilities()[1], [0.731058, 0, 0.268941], atol=1e-5)


def test_ascending_is_adam_that_maximises() -> None:
    policy = Policy((2, 3), 0.05)
    reference = torch.zeros(5, dtype=torch.float64, requires_grad=True)
    adam = torch.optim.Adam([reference], lr=0.05, betas=(0.9, 0.999), eps=1e-3)
    rng = np.random.default_rng(0)
    for _ in range(5):
        gradient = rng.normal(size=5)
        policy.ascend(gradient)
        reference.grad = -torch.from_numpy(gradient)
        adam.step()
        np.testing.assert_allclose(policy.logits.numpy(), reference.detach().numpy(), rtol=1e-9)


def test_a_saved_policy_continues_bit_for_bit() -> None:
    rng = np.random.default_rng(1)
    policy = Policy((2, 3), 0.05)
    for _ in range(4):
        policy.ascend(rng.normal(size=5))
    blob = io.BytesIO()
    torch.save(policy.state_dict(), blob)
    blob.seek(0)
    other = Policy((2, 3), 0.05)
    other.load_state_dict(torch.load(blob, weights_only=True))
    for _ in range(4):
        gradient = rng.normal(size=5)
        policy.ascend(gradient)
        other.ascend(gradient)
    assert torch.equal(policy.logits, other.logits)
    assert [row.tolist() for row in policy.rows()] == [row.tolist() for row in other.rows()]
