"""The toy example of TabNAS' figure 1, where a fake probe knows every loss."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from meritnas import tabular_space
from meritnas.clock import Clock
from meritnas.strategy.algorithms.policy_gradient import PolicyGradient
from meritnas.strategy.catalogue import strategy_spec
from meritnas.strategy.problem import Problem

TOY = tabular_space(2, 1, 2, (2, 3, 4))
FEASIBLE = TOY.feasible(max_params=25)
LOSSES = np.array([[0.9, 0.9, 0.66], [0.9, 0.66, 0.3], [0.6, 0.3, 0.1]])
# Of 100 searches, 77 with conditional sampling and 21 with the absolute reward end at 4-2. Whether
# half of fewer searches do tells the two apart: by the binomial law, of 30 with the first odds less
# than half end there 3 times in 10,000, and of 30 with the second half or more 4 times in 10,000.
SEEDS = 30
STEPS = 500


class KnowingProbe:
    """Answers from the table."""

    def valid_batch(self) -> None:
        return None

    def losses(self, picks: np.ndarray, batch: None) -> np.ndarray:
        del batch
        return LOSSES[picks[:, 0], picks[:, 1]]

    def held_out_loss(self, picks: np.ndarray) -> float:
        return float(LOSSES[picks[0], picks[1]])

    def held_out_losses(self, picks: np.ndarray) -> np.ndarray:
        return LOSSES[picks[:, 0], picks[:, 1]]


def is_decided(name: str, strategy: Any) -> bool:
    """Whether the rest of the steps can be spared: what is drawn is all but certain."""
    rows = strategy.policy.rows()
    likely = FEASIBLE.marginals(rows) if name == "tabnas" else strategy.beliefs()
    return all(row.max() > 0.97 for row in likely)


def ends(name: str, seeds: int = SEEDS, steps: int = STEPS, **options: Any) -> Counter[str]:
    """How often a search ends at each architecture."""
    found: Counter[str] = Counter()
    probe: Any = KnowingProbe()
    for seed in range(seeds):
        problem = Problem(FEASIBLE, TOY.costs, steps, seed)
        settings = {"policy_rate": 0.1, "samples": 1, **options}
        strategy = strategy_spec(name, settings).make(problem)
        for step in range(steps):
            strategy.update(probe, Clock(step, steps, "joint", step, steps))
            if step % 20 == 0 and is_decided(name, strategy):
                break
        chosen = strategy.derive(probe)
        assert all(FEASIBLE.admits(architecture) for architecture in chosen)
        found[chosen[0].text] += 1
    return found


def test_conditional_sampling_ends_at_the_best_feasible_network() -> None:
    found = ends("tabnas", final="mode")
    assert found["4-2"] >= SEEDS / 2


def test_the_absolute_reward_mostly_does_not() -> None:
    found = ends("abs-reward", beta=-2.0)
    assert found["4-2"] < SEEDS / 2
    assert found["3-3"] >= SEEDS / 2


@pytest.mark.parametrize("sampling", ["rejection", "monte-carlo", "uncorrected"])
def test_the_papers_own_sampling_ends_feasible_too(sampling: str) -> None:
    drawn = {"mc_samples": 5} if sampling == "monte-carlo" else {}
    found = ends("tabnas", seeds=6, sampling=sampling, final="largest", **drawn)
    assert sum(found.values()) == 6


def test_the_ranked_choice_takes_the_smallest_loss_of_its_candidates() -> None:
    # Nothing was learnt: draws are uniform over six, so that the best is among the largest three.
    problem = Problem(FEASIBLE, TOY.costs, 1, 0)
    probe: Any = KnowingProbe()
    ranked = strategy_spec("tabnas", {"final": "ranked"}).make(problem).derive(probe)
    losses = [probe.held_out_loss(np.array(TOY.space.picks(a))) for a in ranked]
    assert losses == sorted(losses)
    assert len(set(ranked)) == len(ranked)
    assert ranked[0].text == "4-2"


def test_the_largest_choice_takes_the_most_expensive_and_breaks_ties_by_frequency() -> None:
    problem = Problem(FEASIBLE, TOY.costs, 1, 0)
    for favourite, first in ((1, "3-3"), (2, "4-2")):
        strategy = strategy_spec("tabnas", {"final": "largest"}).make(problem)
        assert isinstance(strategy, PolicyGradient)
        strategy.policy.logits[favourite] = 2.0
        probe: Any = KnowingProbe()
        ranked = [a.text for a in strategy.derive(probe)]
        assert ranked[0] == first
        assert set(ranked[:2]) == {"3-3", "4-2"}
        assert [TOY.cost(a) for a in ranked] == [25, 25, 23]


def test_a_constant_reward_moves_nothing() -> None:
    class ConstantProbe(KnowingProbe):
        def losses(self, picks: np.ndarray, batch: None) -> np.ndarray:
            del batch
            return np.full(len(picks), 0.4)

    probe: Any = ConstantProbe()
    for name in ("tabnas", "reinforce"):
        strategy = strategy_spec(name, {"samples": 2}).make(Problem(FEASIBLE, TOY.costs, 50, 0))
        assert isinstance(strategy, PolicyGradient)
        for step in range(0, 50, 2):
            strategy.update(probe, Clock(step, 50, "joint", step, 50))
        assert strategy.policy.logits.abs().max() < 1e-6


def test_an_update_happens_once_in_as_many_steps_as_it_has_samples() -> None:
    strategy = strategy_spec("tabnas", {"samples": 8}).make(Problem(FEASIBLE, TOY.costs, 64, 0))
    probe: Any = KnowingProbe()
    learnt = [strategy.update(probe, Clock(s, 64, "joint", s, 64)) for s in range(64)]
    assert [k for k, found in enumerate(learnt) if found] == list(range(0, 64, 8))
    assert all(found.values["used"] == 8 for found in learnt if found)


def test_an_update_without_a_feasible_draw_changes_nothing() -> None:
    options = {"samples": 2, "sampling": "rejection"}
    strategy = strategy_spec("tabnas", options).make(Problem(FEASIBLE, TOY.costs, 10, 0))
    assert isinstance(strategy, PolicyGradient)
    strategy.policy.logits[[2, 5]] = 60.0  # sure of 4-4, which does not fit
    before = strategy.policy.logits.clone()
    probe: Any = KnowingProbe()
    learnt = strategy.update(probe, Clock(0, 10, "joint", 0, 10))
    assert learnt is not None
    assert learnt.values["used"] == 0
    assert (strategy.policy.logits == before).all()
