from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from scipy import stats

from meritnas.errors import UsageError
from meritnas.policy.policy import Ascent, Policy, draw


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


def test_weight_decay_clipping_and_the_cosine_are_what_they_say() -> None:
    ascent = Ascent(betas=(0.5, 0.99), eps=1e-8, weight_decay=0.1, clip=1.0, falls_over=6)
    start = np.array([0.5, -1.0, 0.0, 2.0, 1.0])
    policy = Policy((2, 3), 0.05, ascent, start)
    reference = torch.from_numpy(start).clone().requires_grad_()
    adam = torch.optim.Adam([reference], lr=0.05, betas=(0.5, 0.99), eps=1e-8, weight_decay=0.1)
    rng = np.random.default_rng(0)
    for step in range(6):
        gradient = rng.normal(size=5) * (3.0 if step % 2 else 0.1)
        adam.param_groups[0]["lr"] = 0.05 * 0.5 * (1 + np.cos(np.pi * step / 6))
        reference.grad = -torch.from_numpy(gradient.copy())
        torch.nn.utils.clip_grad_norm_([reference], 1.0)
        adam.step()
        policy.ascend(gradient)
        np.testing.assert_allclose(policy.logits.numpy(), reference.detach(), rtol=1e-5)
    before = policy.logits.clone()
    policy.ascend(np.ones(5))  # the rate has fallen to zero
    assert torch.equal(before, policy.logits)


def test_weight_decay_pulls_towards_equal_options() -> None:
    policy = Policy((3,), 0.01, Ascent(weight_decay=0.1), np.array([1.0, -1.0, 0.5]))
    entropies = []
    for _ in range(50):
        policy.ascend(np.zeros(3))
        row = policy.probabilities()[0]
        entropies.append(-(row * np.log(row)).sum())
    assert entropies == sorted(entropies)


def test_a_falling_rate_goes_on_after_a_pause() -> None:
    ascent = Ascent(falls_over=10)
    policy, other = Policy((3,), 0.1, ascent), Policy((3,), 0.1, ascent)
    gradient = np.array([1.0, -1.0, 0.5])
    for _ in range(4):
        policy.ascend(gradient)
    other.load_state_dict(policy.state_dict())
    for _ in range(4):
        policy.ascend(gradient)
        other.ascend(gradient)
    assert torch.equal(policy.logits, other.logits)


def test_the_differentiable_logits_are_a_leaf_of_their_own() -> None:
    policy = Policy((2, 2), 0.1, initial=np.array([1.0, 2.0, 3.0, 4.0]))
    leaf = policy.differentiable()
    assert leaf.is_leaf
    assert leaf.requires_grad
    assert leaf.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert not policy.logits.requires_grad


@pytest.mark.parametrize(("options", "entropy"), [(4, 1.3863), (5, 1.6094), (10, 2.3026)])
def test_the_entropy_at_the_start_is_that_of_equal_options(options: int, entropy: float) -> None:
    rows = Policy((options,) * 6, 0.1).probabilities()
    found = [-(row * np.log(row)).sum() for row in rows]
    np.testing.assert_allclose(found, entropy, atol=5e-5)


@pytest.mark.parametrize("steep", [np.inf, np.nan])
def test_beliefs_that_are_no_numbers_any_more_end_a_search(steep: float) -> None:
    policy = Policy((2, 3), 0.1)
    policy.ascend(np.ones(5))
    with pytest.raises(UsageError, match=r"no finite number any more; .* smaller policy_rate"):
        policy.ascend(np.full(5, steep))
