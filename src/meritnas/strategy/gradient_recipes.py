from __future__ import annotations

import numpy as np

from meritnas.errors import UsageError
from meritnas.policy.tags import mixable
from meritnas.strategy.algorithms.best_seen import BestSeen
from meritnas.strategy.algorithms.darts import INITIAL_SPREAD, Softmax, Unrolled
from meritnas.strategy.algorithms.dense import Dense
from meritnas.strategy.algorithms.gdas import Gdas
from meritnas.strategy.algorithms.nasp import Nasp
from meritnas.strategy.algorithms.pace import make_policy
from meritnas.strategy.algorithms.pc_darts import EdgeNormalised
from meritnas.strategy.algorithms.proxyless import Proxyless
from meritnas.strategy.algorithms.snas import Concrete
from meritnas.strategy.policy_recipes import Final, final_choice
from meritnas.strategy.problem import Problem
from meritnas.strategy.strategy import Strategy


def darts(problem: Problem, *, policy_rate: float | None = None) -> Strategy:
    """DARTS: all options at once, weighted by a softmax that learns by gradient."""
    options = softmax_weights(problem, "darts", policy_rate, problem.rng())
    return Dense(problem.feasible, options)


def darts_2nd(problem: Problem, *, policy_rate: float | None = None) -> Strategy:
    """DARTS that looks one step of the weights ahead; four passes a step."""
    options = softmax_weights(problem, "darts", policy_rate, problem.rng())
    return Dense(problem.feasible, options, Unrolled(problem.weight_rate))


def pc_darts(
    problem: Problem, *, policy_rate: float | None = None, edge_normalisation: bool = True
) -> Strategy:
    """PC-DARTS: DARTS on a part of the channels, with weights for edges too."""
    if not problem.nodes:
        raise UsageError(
            "strategy 'pc-darts' trains a part of a cell's channels and this space has no cells; "
            "use 'darts'"
        )
    rng = problem.rng()
    options = softmax_weights(problem, "pc-darts", policy_rate, rng)
    if not edge_normalisation:
        return Dense(problem.feasible, options)
    sizes = tuple(len(node) for node in problem.nodes)
    initial = INITIAL_SPREAD * rng.standard_normal(sum(sizes))
    edges = make_policy("pc-darts", sizes, problem.joint_steps, policy_rate, initial)
    return Dense(problem.feasible, EdgeNormalised(options, edges, problem.nodes))


def snas(problem: Problem, *, policy_rate: float | None = None) -> Strategy:
    """SNAS: all options at once, weighted by soft draws that harden."""
    rng = problem.rng()
    options = softmax_weights(problem, "snas", policy_rate, rng)
    return Dense(problem.feasible, Concrete(options, rng))


def nasp(problem: Problem, *, policy_rate: float | None = None) -> Strategy:
    """NASP: gradients of all options at the best single network so far."""
    rng = problem.rng()
    sizes = problem.feasible.space.sizes
    initial = 0.5 + INITIAL_SPREAD * rng.standard_normal(sum(sizes))
    policy = make_policy("nasp", sizes, problem.joint_steps, policy_rate, initial)
    return Nasp(policy, problem.feasible, rng)


def gdas(
    problem: Problem, *, final: Final = "argmax", policy_rate: float | None = None
) -> Strategy:
    """GDAS: one sampled network, whose gradient goes through a soft draw."""
    seen = BestSeen()
    sizes = problem.feasible.space.sizes
    policy = make_policy("gdas", sizes, problem.joint_steps, policy_rate)
    return Gdas(policy, problem.feasible, final_choice(problem, final, seen), problem.rng(), seen)


def proxyless(problem: Problem, *, policy_rate: float | None = None) -> Strategy:
    """ProxylessNAS: two options of each choice at once, one of which counts."""
    sizes = problem.feasible.space.sizes
    policy = make_policy("proxyless", sizes, problem.joint_steps, policy_rate)
    return Proxyless(policy, problem.feasible, problem.rng())


def softmax_weights(
    problem: Problem, pace: str, rate: float | None, rng: np.random.Generator
) -> Softmax:
    """DARTS' weights of options, from small noise on."""
    space = problem.feasible.space
    initial = INITIAL_SPREAD * rng.standard_normal(sum(space.sizes))
    policy = make_policy(pace, space.sizes, problem.joint_steps, rate, initial)
    return Softmax(policy, mixable(space))
