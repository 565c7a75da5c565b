from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.terms import CostTerms
from meritnas.credit.baseline import Baseline, MovingAverage, Paired
from meritnas.credit.reward import AbsReward, MnasNetMaxReward, MnasNetReward, Quality, Reward
from meritnas.data.suggest import did_you_mean
from meritnas.errors import UsageError, whole_number
from meritnas.policy.laws import (
    Conditional,
    Law,
    MonteCarloRejection,
    Rejection,
    Uncorrected,
    Unrestricted,
)
from meritnas.policy.policy import Policy
from meritnas.strategy.bayesian import BayesianProposer
from meritnas.strategy.black_box import BlackBox, Proposer, RandomProposer
from meritnas.strategy.evolution import EvolutionProposer
from meritnas.strategy.final_choice import FinalChoice, Largest, Mode, Ranked
from meritnas.strategy.policy_gradient import PolicyGradient
from meritnas.strategy.strategy import Strategy

_LARGE_TABLE = 100_000

Sampling = Literal["conditional", "rejection", "monte-carlo", "uncorrected"]
WeightDraws = Literal["policy", "feasible"]
BaselineName = Literal["average", "paired"]


@dataclass(frozen=True)
class Learning:
    """How a policy gradient learns, whatever its law and reward.

    Attributes:
        policy_rate: the policy's learning rate; None for `default_policy_rate`.
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


@dataclass(frozen=True)
class Problem:
    """What a strategy is built for.

    Attributes:
        feasible: the space and the architectures of it that keep the limits.
        costs: what architectures cost, by the cost's name.
        joint_steps: how many weight steps will have a turn of learning beside them.
        seed: where all the strategy's randomness comes from.
        judgements: how many architectures a strategy that learns after the weights may judge.
    """

    feasible: FeasibleSet
    costs: Mapping[str, CostTerms]
    joint_steps: int
    seed: int
    judgements: int = 100

    def rng(self) -> np.random.Generator:
        """The strategy's own generator."""
        return np.random.default_rng([self.seed, 1])


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
    law = _named("sampling", sampling, laws)
    choose = _named("final", final, choices)
    learning = Learning(policy_rate, samples, weight_draws, baseline)
    return _policy_gradient(problem, law, Quality(), choose, learning)


def reinforce(
    problem: Problem,
    *,
    policy_rate: float | None = None,
    samples: int | None = None,
    weight_draws: WeightDraws = "policy",
    baseline: BaselineName = "average",
) -> Strategy:
    """REINFORCE that learns nothing of the limit; only its final choice keeps it."""
    return _oblivious(problem, Quality(), Learning(policy_rate, samples, weight_draws, baseline))


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


def random(problem: Problem) -> Strategy:
    """Uniform feasible networks, judged by one-shot loss."""
    return _black_box(problem, RandomProposer())


def evolution(
    problem: Problem, *, population: int | None = None, tournament: int | None = None
) -> Strategy:
    """Mutation and crossover within the limit, judged by one-shot loss."""
    # A third of the judgements start the population, so that there is something left to evolve.
    size = min(50, max(4, problem.judgements // 3)) if population is None else population
    entrants = max(2, size // 5) if tournament is None else tournament
    size, entrants = whole_number("population", size, 1), whole_number("tournament", entrants, 1)
    if entrants > size:
        raise UsageError(f"1 <= tournament <= population must hold, got {entrants} and {size}")
    return _black_box(problem, EvolutionProposer(size, entrants))


def bayesian(problem: Problem, *, initial: int | None = None) -> Strategy:
    """A Gaussian process with expected improvement over feasible networks, by one-shot loss."""
    first = min(20, max(4, problem.judgements // 3)) if initial is None else initial
    proposer = BayesianProposer(whole_number("initial", first, 2))
    return BlackBox(problem.feasible, proposer, problem.rng(), most_judgements=200)


RECIPES: Mapping[str, Callable[..., Strategy]] = {
    "tabnas": tabnas,
    "reinforce": reinforce,
    "abs-reward": abs_reward,
    "mnasnet": mnasnet,
    "mnasnet-max": mnasnet_max,
    "random": random,
    "evolution": evolution,
    "bayesian": bayesian,
}


def check_strategy(name: str, options: Mapping[str, Any]) -> None:
    """Complain about a strategy that does not exist or an option that it does not take."""
    if name not in RECIPES:
        raise UsageError(
            f"no strategy '{name}';{did_you_mean(name, RECIPES)} there are {', '.join(RECIPES)}"
        )
    known = [p for p in inspect.signature(RECIPES[name]).parameters if p != "problem"]
    for option in options:
        if option not in known:
            takers = [n for n, r in RECIPES.items() if option in inspect.signature(r).parameters]
            raise UsageError(
                f"strategy '{name}' has no option '{option}' "
                f"(it has {', '.join(known) or 'none'}); "
                f"strategies that have it: {', '.join(takers) or 'none'}"
            )


def make_strategy(name: str, problem: Problem, options: Mapping[str, Any]) -> Strategy:
    """The strategy of this name, with options by keyword."""
    check_strategy(name, options)
    return RECIPES[name](problem, **options)


def _check_beta(beta: float) -> None:
    if not -np.inf < beta < 0:
        raise UsageError(f"beta must be below 0 and finite, to make cost count, got {beta}")


def _named(what: str, name: str, choices: Mapping[str, Any]) -> Any:
    if name not in choices:
        raise UsageError(f"{what} must be one of {', '.join(choices)}, got '{name}'")
    return choices[name]


def _policy_gradient(
    problem: Problem, law: Law, reward: Reward, choose: FinalChoice, learning: Learning
) -> Strategy:
    baselines: dict[str, type[Baseline]] = {"average": MovingAverage, "paired": Paired}
    baseline = _named("baseline", learning.baseline, baselines)()
    least = 2 if learning.baseline == "paired" else 1
    usual = 16 if problem.feasible.diagram.transitions > _LARGE_TABLE else 8
    samples = whole_number(
        f"samples (with baseline '{learning.baseline}')",
        usual if learning.samples is None else learning.samples,
        least,
    )
    _named("weight_draws", learning.weight_draws, {"policy": 0, "feasible": 0})
    updates = max(1, problem.joint_steps // samples)
    rate = learning.policy_rate
    rate = default_policy_rate(updates) if rate is None else rate
    if not 0 < rate < np.inf:
        raise UsageError(f"the policy's learning rate must be above 0 and finite, got {rate}")
    return PolicyGradient(
        policy=Policy(problem.feasible.space.sizes, rate),
        feasible=problem.feasible,
        law=law,
        reward=reward,
        choose=choose,
        rng=problem.rng(),
        samples=samples,
        weight_draws=learning.weight_draws,
        baseline=baseline,
    )


def default_policy_rate(updates: int) -> float:
    """TabNAS' .005 where there are many policy steps, more where there are few.

    Adam moves a logit by about its rate a step, so rate * steps says how decided the policy can
    become; the paper's searches have hundreds of thousands of steps, ours often hundreds.
    """
    return float(np.clip(20.0 / updates, 0.005, 0.1))


def _oblivious(problem: Problem, reward: Reward, learning: Learning) -> Strategy:
    return _policy_gradient(problem, Unrestricted(), reward, Mode(), learning)


def _black_box(problem: Problem, proposer: Proposer) -> Strategy:
    return BlackBox(problem.feasible, proposer, problem.rng())


def _counted(problem: Problem) -> str:
    """The cost that 'largest' and the soft rewards look at: the first limit's, else params."""
    limits = problem.feasible.limits
    return limits[0].name if limits else next(iter(problem.costs))


def _target(problem: Problem, name: str) -> tuple[CostTerms, int]:
    if not problem.feasible.limits:
        raise UsageError(f"strategy '{name}' needs a limit to aim at; give one with --max-params")
    limit = problem.feasible.limits[0]
    return problem.costs[limit.name], limit.maximum
