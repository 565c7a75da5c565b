from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from meritnas.cost.terms import CostTerms
from meritnas.credit.advantage import Advantage
from meritnas.credit.baseline import Baseline, MovingAverage, Paired
from meritnas.credit.credit import Credit
from meritnas.credit.importance import Importance
from meritnas.credit.reward import AbsReward, MnasNetMaxReward, MnasNetReward, Quality, Reward
from meritnas.credit.whole_reward import WholeReward
from meritnas.errors import UsageError, whole_number
from meritnas.policy.laws import (
    Conditional,
    Law,
    MonteCarloRejection,
    Rejection,
    Uncorrected,
    feasible_law,
    valid_law,
)
from meritnas.strategy.algorithms.best_seen import BestSeen
from meritnas.strategy.algorithms.final_choice import (
    Favourites,
    FinalChoice,
    Largest,
    Mode,
    ProcessBest,
    Ranked,
)
from meritnas.strategy.algorithms.pace import make_policy
from meritnas.strategy.algorithms.policy_gradient import PolicyGradient
from meritnas.strategy.problem import Problem
from meritnas.strategy.strategy import Strategy

_LARGE_TABLE = 100_000

Sampling = Literal["conditional", "rejection", "monte-carlo", "uncorrected"]
WeightDraws = Literal["policy", "feasible"]
BaselineName = Literal["average", "paired"]
Final = Literal["argmax", "process-best"]


@dataclass(frozen=True)
class Learning:
    """How a policy gradient learns, whatever its law and reward.

    Attributes:
        policy_rate: the policy's learning rate; None for `PACES`.
        samples: networks judged for each policy step, which comes every so many weight steps;
            None for 8 (as many as TabNAS has cores), or 16 where the table of the feasible set
            that they share is large.
        weight_draws: whether weight steps draw from the policy or from its feasible part.
        baseline: what rewards are compared with.
    """

    policy_rate: float | None
    samples: int | None
    weight_draws: WeightDraws
    baseline: BaselineName


def tabnas(
    problem: Problem,
    *,
    sampling: Sampling = "conditional",
    mc_samples: int | None = None,
    final: Literal["ranked", "largest", "mode"] = "ranked",
    policy_rate: float | None = None,
    samples: int | None = None,
    weight_draws: WeightDraws = "policy",
    baseline: BaselineName = "average",
) -> Strategy:
    """TabNAS: reward of sampled networks, corrected for a hard limit."""
    if mc_samples is not None and sampling != "monte-carlo":
        raise UsageError(f"mc_samples goes with sampling 'monte-carlo', got sampling '{sampling}'")
    drawn = 3072 if mc_samples is None else whole_number("mc_samples", mc_samples, 1)
    feasible = problem.feasible
    if sampling == "rejection" and not feasible.exact:
        raise UsageError(
            f"sampling 'rejection' needs an exact feasible set, but here {feasible.note}; "
            "use 'conditional'"
        )
    laws: dict[str, Law] = {
        "conditional": Conditional(feasible),
        "rejection": Rejection(feasible),
        "monte-carlo": MonteCarloRejection(feasible, drawn),
        "uncorrected": Uncorrected(feasible),
    }
    largest = Largest(problem.costs[_counted(problem)])
    choices: dict[str, FinalChoice] = {
        "ranked": Ranked(largest),
        "largest": largest,
        "mode": Mode(),
    }
    law = named("sampling", sampling, laws)
    choose = named("final", final, choices)
    learning = Learning(policy_rate, samples, weight_draws, baseline)
    return _rewarded(problem, law, Quality(), choose, learning)


def reinforce(
    problem: Problem,
    *,
    sampling: Literal["conditional", "unrestricted"] = "conditional",
    final: Final = "argmax",
    policy_rate: float | None = None,
    samples: int | None = None,
    weight_draws: WeightDraws = "feasible",
    baseline: BaselineName = "average",
) -> Strategy:
    """REINFORCE: every choice of a sampled network gets its whole reward.

    With sampling `unrestricted` it learns nothing of a limit; only its final choice keeps it.
    """
    laws = {
        "conditional": feasible_law(problem.feasible),
        "unrestricted": valid_law(problem.feasible),
    }
    seen = BestSeen()
    return _rewarded(
        problem,
        named("sampling", sampling, laws),
        Quality(),
        final_choice(problem, final, seen),
        Learning(policy_rate, samples, weight_draws, baseline),
        seen,
    )


def advantage(
    problem: Problem,
    *,
    final: Final = "argmax",
    policy_rate: float | None = None,
    samples: int = 1,
    weight_draws: WeightDraws = "feasible",
) -> Strategy:
    """AdvantageNAS: each choice of a sampled network gets what its own output did."""
    seen = BestSeen()
    return _policy_gradient(
        problem,
        "advantage",
        feasible_law(problem.feasible),
        Advantage(problem.feasible),
        final_choice(problem, final, seen),
        seen,
        whole_number("samples", samples, 1),
        policy_rate,
        weight_draws,
        paths_at_once=2,
    )


def parsec(
    problem: Problem,
    *,
    form: Literal["paper", "code"] = "paper",
    final: Final = "argmax",
    policy_rate: float | None = None,
    samples: int = 8,
    weight_draws: WeightDraws = "feasible",
) -> Strategy:
    """PARSEC: several sampled networks pull with their share of the likelihood."""
    seen = BestSeen()
    named("form", form, {"paper": 0, "code": 0})
    return _policy_gradient(
        problem,
        "parsec",
        feasible_law(problem.feasible),
        Importance(form),
        final_choice(problem, final, seen),
        seen,
        whole_number("samples", samples, 2),
        policy_rate,
        weight_draws,
    )


def abs_reward(
    problem: Problem,
    *,
    beta: float = -1.0,
    policy_rate: float | None = None,
    samples: int | None = None,
    weight_draws: WeightDraws = "policy",
    baseline: BaselineName = "average",
) -> Strategy:
    """TuNAS' reward, with a penalty for any distance from the limit."""
    _check_beta(beta)
    cost, target = _target(problem, "abs-reward")
    reward = AbsReward(cost, target, beta)
    return _oblivious(problem, reward, Learning(policy_rate, samples, weight_draws, baseline))


def mnasnet(
    problem: Problem,
    *,
    beta: float = -0.07,
    policy_rate: float | None = None,
    samples: int | None = None,
    weight_draws: WeightDraws = "policy",
    baseline: BaselineName = "average",
) -> Strategy:
    """MnasNet's reward, scaled by the cost relative to the limit."""
    _check_beta(beta)
    cost, target = _target(problem, "mnasnet")
    reward = MnasNetReward(cost, target, beta)
    return _oblivious(problem, reward, Learning(policy_rate, samples, weight_draws, baseline))


def mnasnet_max(
    problem: Problem,
    *,
    beta: float = -0.07,
    policy_rate: float | None = None,
    samples: int | None = None,
    weight_draws: WeightDraws = "policy",
    baseline: BaselineName = "average",
) -> Strategy:
    """MnasNet's reward, scaled only above the limit."""
    _check_beta(beta)
    cost, target = _target(problem, "mnasnet-max")
    reward = MnasNetMaxReward(cost, target, beta)
    return _oblivious(problem, reward, Learning(policy_rate, samples, weight_draws, baseline))


def named(what: str, name: str, choices: Mapping[str, Any]) -> Any:
    """The choice of this name."""
    if name not in choices:
        raise UsageError(f"{what} must be one of {', '.join(choices)}, got '{name}'")
    return choices[name]


def final_choice(problem: Problem, final: str, seen: BestSeen) -> FinalChoice:
    """The final choice of the strategies whose updates judge whole architectures.

    The choice that was asked for comes first; the largest of the policy's draws and the other
    choice follow.
    """
    choices: dict[str, FinalChoice] = {"argmax": Mode(), "process-best": ProcessBest(seen)}
    first = named("final", final, choices)
    others = [choice for name, choice in choices.items() if name != final]
    if problem.costs:
        others.insert(0, Largest(problem.costs[_counted(problem)], keep=1))
    return Favourites(first, tuple(others))


def _rewarded(
    problem: Problem,
    law: Law,
    reward: Reward,
    choose: FinalChoice,
    learning: Learning,
    seen: BestSeen | None = None,
) -> Strategy:
    baselines: dict[str, type[Baseline]] = {"average": MovingAverage, "paired": Paired}
    baseline = named("baseline", learning.baseline, baselines)()
    least = 2 if learning.baseline == "paired" else 1
    usual = 16 if problem.feasible.diagram.transitions > _LARGE_TABLE else 8
    samples = whole_number(
        f"samples (with baseline '{learning.baseline}')",
        usual if learning.samples is None else learning.samples,
        least,
    )
    return _policy_gradient(
        problem,
        "tabnas",
        law,
        WholeReward(reward, baseline),
        choose,
        seen or BestSeen(),
        samples,
        learning.policy_rate,
        learning.weight_draws,
    )


def _policy_gradient(
    problem: Problem,
    pace: str,
    law: Law,
    credit: Credit,
    choose: FinalChoice,
    seen: BestSeen,
    samples: int,
    policy_rate: float | None,
    weight_draws: WeightDraws,
    paths_at_once: int = 16,
) -> Strategy:
    feasible = problem.feasible
    weight_laws = {"policy": valid_law, "feasible": feasible_law}
    make_law = named("weight_draws", weight_draws, weight_laws)
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
    )


def _oblivious(problem: Problem, reward: Reward, learning: Learning) -> Strategy:
    return _rewarded(problem, valid_law(problem.feasible), reward, Mode(), learning)


def _check_beta(beta: float) -> None:
    if not -np.inf < beta < 0:
        raise UsageError(f"beta must be below 0 and finite, to make cost count, got {beta}")


def _counted(problem: Problem) -> str:
    """The cost that 'largest' and the soft rewards look at: the first limit's, else params."""
    limits = problem.feasible.limits
    return limits[0].name if limits else next(iter(problem.costs))


def _target(problem: Problem, name: str) -> tuple[CostTerms, int]:
    if not problem.feasible.limits:
        raise UsageError(f"strategy '{name}' needs a limit to aim at; give one with --max-params")
    limit = problem.feasible.limits[0]
    return problem.costs[limit.name], limit.maximum
