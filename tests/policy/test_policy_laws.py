from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from scipy import stats

from meritnas import tabular_space
from meritnas.policy.laws import (
    Conditional,
    Draw,
    Law,
    MonteCarloRejection,
    Rejection,
    Uncorrected,
    Unrestricted,
)
from meritnas.policy.policy import Policy

SPACE = tabular_space(2, 1, 3, (2, 3, 4))
FEASIBLE = SPACE.feasible(max_params=38)
EVERY = list(itertools.product(range(3), repeat=3))
FITTING = [p for p in EVERY if SPACE.cost(SPACE.space.architecture(p)) <= 38]


def policy_of(seed: int = 0) -> Policy:
    policy = Policy((3, 3, 3), 0.1)
    policy.logits.copy_(torch.from_numpy(np.random.default_rng(seed).normal(size=9)))
    return policy


def weights_of(policy: Policy, architectures: list[tuple[int, ...]]) -> np.ndarray:
    rows = policy.probabilities()
    return np.array(
        [np.prod([row[p] for row, p in zip(rows, a, strict=True)]) for a in architectures]
    )


def enumerated_marginals(policy: Policy) -> list[np.ndarray]:
    weights = weights_of(policy, FITTING) / weights_of(policy, FITTING).sum()
    return [
        np.array(
            [sum(w for w, a in zip(weights, FITTING, strict=True) if a[i] == j) for j in range(3)]
        )
        for i in range(3)
    ]


def all_draws(law: Law, policy: Policy, n: int, calls: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    return np.concatenate([law.draw(policy, n, rng).picks for _ in range(calls)])


def test_the_limit_binds_here() -> None:
    assert 5 < len(FITTING) < 22


@pytest.mark.parametrize("law", [Conditional(FEASIBLE), Rejection(FEASIBLE)], ids=["cond", "rej"])
def test_the_center_is_the_mean_of_onehot_under_the_law(law: Law) -> None:
    for seed in range(5):
        policy = policy_of(seed)
        drawn = law.draw(policy, 4, np.random.default_rng(0))
        for found, expected in zip(drawn.center, enumerated_marginals(policy), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-10)
        assert drawn.probability == pytest.approx(weights_of(policy, FITTING).sum(), rel=1e-10)


def test_the_unrestricted_center_is_the_policy() -> None:
    policy = policy_of()
    drawn = Unrestricted().draw(policy, 4, np.random.default_rng(0))
    assert drawn.probability is None
    for found, expected in zip(drawn.center, policy.probabilities(), strict=True):
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(
    ("law", "support"),
    [
        (Conditional(FEASIBLE), FITTING),
        (Rejection(FEASIBLE), FITTING),
        (MonteCarloRejection(FEASIBLE, 100), FITTING),
        (Uncorrected(FEASIBLE), FITTING),
        (Unrestricted(), EVERY),
    ],
    ids=["conditional", "rejection", "monte-carlo", "uncorrected", "unrestricted"],
)
def test_draws_follow_the_law(law: Law, support: list[tuple[int, ...]]) -> None:
    policy = policy_of(1)
    picks = all_draws(law, policy, 4000, 3)
    weights = weights_of(policy, support)
    counts = [int((picks == a).all(axis=1).sum()) for a in support]
    assert sum(counts) == len(picks)
    assert len(picks) > 2000
    expected = len(picks) * weights / weights.sum()
    assert stats.chisquare(counts, expected).pvalue > 0.001


def test_conditional_draws_are_never_lost_and_rejected_ones_are() -> None:
    policy = policy_of(2)
    share = weights_of(policy, FITTING).sum()
    assert len(all_draws(Conditional(FEASIBLE), policy, 500, 1)) == 500
    kept = len(all_draws(Rejection(FEASIBLE), policy, 2000, 1))
    assert abs(kept / 2000 - share) < 4 * np.sqrt(share * (1 - share) / 2000)


def test_the_monte_carlo_estimate_of_the_probability_is_unbiased() -> None:
    policy = policy_of(3)
    exact = weights_of(policy, FITTING).sum()
    law = MonteCarloRejection(FEASIBLE, 20)
    estimates = [
        law.estimate(policy.probabilities(), np.random.default_rng(seed))[0] for seed in range(1000)
    ]
    error = np.std(estimates) / np.sqrt(1000)
    assert np.std(estimates) > 0.01
    assert abs(np.mean(estimates) - exact) < 4 * error


def test_the_monte_carlo_center_is_the_mean_of_its_feasible_samples() -> None:
    policy = policy_of(3)
    # Chunks must not matter to what is estimated.
    for law in (
        MonteCarloRejection(FEASIBLE, 200_000),
        MonteCarloRejection(FEASIBLE, 200_000, 7001),
    ):
        share, center = law.estimate(policy.probabilities(), np.random.default_rng(0))
        assert share == pytest.approx(weights_of(policy, FITTING).sum(), abs=0.005)
        for found, expected in zip(center, enumerated_marginals(policy), strict=True):
            assert found.sum() == pytest.approx(1.0)
            np.testing.assert_allclose(found, expected, atol=0.006)


def test_without_a_feasible_sample_nothing_is_learnt() -> None:
    policy = policy_of(4)
    law = MonteCarloRejection(FEASIBLE, 1)
    found: list[Draw] = [law.draw(policy, 6, np.random.default_rng(seed)) for seed in range(60)]
    blind = [drawn for drawn in found if drawn.probability == 0]
    assert 0 < len(blind) < 60
    assert all(len(drawn.picks) == 0 for drawn in blind)
    assert any(len(drawn.picks) for drawn in found)
    assert all(np.isfinite(row).all() for drawn in found for row in drawn.center)


def test_a_policy_sure_of_an_infeasible_network_still_gives_conditional_draws() -> None:
    policy = Policy((3, 3, 3), 0.1)
    policy.logits.copy_(torch.tensor([0.0, 0.0, 300.0] * 3))
    assert (2, 2, 2) not in FITTING
    drawn = Conditional(FEASIBLE).draw(policy, 50, np.random.default_rng(0))
    assert len(drawn.picks) == 50
    assert FEASIBLE.contains(drawn.picks).all()
    rejected = Rejection(FEASIBLE).draw(policy, 50, np.random.default_rng(0))
    assert len(rejected.picks) == 0


def log_chances(logits: torch.Tensor, architectures: list[tuple[int, ...]]) -> torch.Tensor:
    rows = logits.view(3, 3).log_softmax(dim=1)
    return torch.stack([rows[range(3), list(picks)].sum() for picks in architectures])


def test_leaving_out_the_probability_and_not_differentiating_it_are_one_law() -> None:
    policy = policy_of(5)
    logits = policy.logits.clone().requires_grad_()
    log_feasible = log_chances(logits, FITTING).logsumexp(0)
    estimate, _ = MonteCarloRejection(FEASIBLE, 50).estimate(
        policy.probabilities(), np.random.default_rng(0)
    )
    assert estimate > 0
    assert abs(estimate - weights_of(policy, FITTING).sum()) > 1e-3
    corrections = {
        "left out": torch.zeros(()),
        "exact, not differentiated": log_feasible.detach(),
        "estimated, not differentiated": torch.tensor(estimate).log(),
        "differentiated": log_feasible,
    }
    laws = {"uncorrected": Uncorrected(FEASIBLE), "exact": Rejection(FEASIBLE)}
    centers = {
        name: np.concatenate(law.draw(policy, 1, np.random.default_rng(0)).center)
        for name, law in laws.items()
    }
    assert np.abs(centers["uncorrected"] - centers["exact"]).max() > 0.05
    for k, picks in enumerate(FITTING):
        onehot = np.concatenate([np.eye(3)[pick] for pick in picks])
        for name, correction in corrections.items():
            score = log_chances(logits, FITTING)[k] - correction
            (found,) = torch.autograd.grad(score, logits, retain_graph=True)
            law = "exact" if name == "differentiated" else "uncorrected"
            np.testing.assert_allclose(found.numpy(), onehot - centers[law], atol=1e-12)
