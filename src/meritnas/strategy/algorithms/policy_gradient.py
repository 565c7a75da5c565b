"""REINFORCE, PARSEC and AdvantageNAS: a policy that moves by the credit of what it draws."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from meritnas.clock import Clock
from meritnas.credit.baseline import Baseline, MovingAverage, Paired
from meritnas.credit.credit import Credit
from meritnas.credit.reward import Reward
from meritnas.credit.whole_reward import WholeReward
from meritnas.policy.laws import Law, Unrestricted, feasible_law, valid_law
from meritnas.strategy.algorithms.best_seen import BestSeen
from meritnas.strategy.algorithms.final_choice import FinalChoice
from meritnas.strategy.algorithms.pace import make_policy
from meritnas.strategy.algorithms.policy_strategy import JudgingStrategy
from meritnas.strategy.problem import Problem
from meritnas.strategy.strategy import Learnt
from meritnas.supernet.gates import Gates, one_path
from meritnas.supernet.probe import Probe

_LARGE_TABLE = 100_000

PATHS_OF_FEW = 2
"""`paths_at_once` where the policy moves after every step, by one draw, as in AdvantageNAS."""


@dataclass
class PolicyGradient(JudgingStrategy):
    """A policy that moves by the credit of what it draws.

    REINFORCE (TabNAS, algorithms 1 and 2), PARSEC and AdvantageNAS (algorithm 1) are this
    strategy with their own `credit`. One update every `samples` weight steps learns from
    `samples` draws on one validation batch: as many passes as one draw a step, but one table of
    the feasible set serves them all (TabNAS averages over eight cores likewise, appendix B.2.2).
    With several workers each weight step trains as many networks, and an update learns from as many
    times the draws.

    Deviation: weight steps draw their paths `paths_at_once` at a time, because drawing one costs
    as much as drawing many, so a path may come from a policy a few updates old.

    Attributes:
        law: what is learnt from.
        credit: how much each option gets of a draw's loss.
        samples: weight steps for each update, and draws of each worker.
        weight_law: what the weights are trained on.
        paths_at_once: see above.
        workers: how many networks a weight step trains.
    """

    law: Law
    credit: Credit
    samples: int = 8
    weight_law: Law = field(default_factory=Unrestricted)
    paths_at_once: int = 16
    workers: int = 1
    _paths: list[list[int]] = field(default_factory=list, init=False)

    def sample(self, clock: Clock) -> Gates:
        """A path drawn by the weight steps' law."""
        del clock
        if not self._paths:
            picks = self.weight_law.draw(self.policy, self.paths_at_once, self.rng).picks
            self._paths = picks.tolist()
        return one_path(self._paths.pop())

    def update(self, probe: Probe, clock: Clock) -> Learnt | None:
        """One policy step from several draws judged on one validation batch."""
        if clock.phase_step % self.samples:
            return None
        drawn = self.law.draw(self.policy, self.samples * self.workers, self.rng)
        values = {"used": float(len(drawn.picks))}
        if len(drawn.picks):
            found = self.credit.assign(probe, probe.valid_batch(), drawn, self.policy)
            self.policy.ascend(found.gradient)
            self.seen.notice(drawn.picks, found.losses, self.feasible)
            values |= found.values
        return Learnt(values)

    def state_dict(self) -> dict[str, Any]:
        """Policy, generator, the best seen, credit and the paths drawn ahead."""
        paths = [list(path) for path in self._paths]
        return {**super().state_dict(), "credit": self.credit.state_dict(), "paths": paths}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        super().load_state_dict(state)
        self.credit.load_state_dict(state["credit"])
        self._paths = [list(path) for path in state["paths"]]


class Rewarding(Protocol):
    """What a policy gradient can be told that compares rewards."""

    @property
    def policy_rate(self) -> float | None:
        """The policy's learning rate; None for `PACES`."""
        ...

    @property
    def samples(self) -> int | None:
        """Networks judged for each policy step, which comes every so many weight steps.

        None for 8 (as many as TabNAS has cores), or 16 where the table of the feasible set that
        they share is large.
        """
        ...

    @property
    def weight_draws(self) -> str:
        """Whether weight steps draw from the `policy` or from its `feasible` part."""
        ...

    @property
    def baseline(self) -> str:
        """What rewards are compared with: their `average`, or those `paired` with them."""
        ...


def by_credit(
    problem: Problem,
    *,
    pace: str,
    policy_rate: float | None,
    samples: int,
    weight_draws: str,
    law: Law,
    credit: Credit,
    choose: FinalChoice,
    seen: BestSeen,
    paths_at_once: int = 16,
) -> PolicyGradient:
    """A policy gradient at its first step."""
    feasible = problem.feasible
    make_law = {"policy": valid_law, "feasible": feasible_law}[weight_draws]
    updates = max(1, problem.joint_steps // samples)
    return PolicyGradient(
        policy=make_policy(pace, feasible.space.sizes, updates, policy_rate),
        feasible=feasible,
        law=law,
        credit=credit,
        choose=choose,
        rng=problem.rng(),
        samples=samples,
        weight_law=make_law(feasible),
        seen=seen,
        paths_at_once=paths_at_once,
        workers=problem.workers,
    )


def by_reward(
    problem: Problem,
    told: Rewarding,
    law: Law,
    reward: Reward,
    choose: FinalChoice,
) -> PolicyGradient:
    """A policy gradient whose draws get their whole reward."""
    baseline: Baseline = Paired() if told.baseline == "paired" else MovingAverage()
    usual = 16 if problem.feasible.diagram.transitions > _LARGE_TABLE else 8
    return by_credit(
        problem,
        pace="tabnas",
        policy_rate=told.policy_rate,
        samples=usual if told.samples is None else told.samples,
        weight_draws=told.weight_draws,
        law=law,
        credit=WholeReward(reward, baseline),
        choose=choose,
        seen=BestSeen(),
    )
