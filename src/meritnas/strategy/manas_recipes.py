from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from meritnas.credit.baseline import MovingAverage
from meritnas.credit.least_squares import LeastSquares
from meritnas.errors import UsageError, whole_number
from meritnas.policy.agents import (
    Agents,
    Sampling,
    Softmax,
    Zipf,
    exp3_exploration,
    exp3_rate,
)
from meritnas.space.architecture import Architecture
from meritnas.strategy.algorithms.manas import Judge, Manas, ScaledLoss, error_rate
from meritnas.strategy.algorithms.manas_linear import ManasLinear
from meritnas.strategy.policy_recipes import named
from meritnas.strategy.problem import Problem
from meritnas.strategy.strategy import Strategy
from meritnas.strategy.turns import Turns

JudgedBy = Literal["loss", "error"]
Compared = Literal["none", "average"]
Final = Literal["mode", "draw"]

_TOGETHER = 8
_LOSSES_FOR_AN_UNKNOWN = 2
_LOSSES_A_STEP = 2

PSEUDO_DRAWS = 1.0
"""The ridge of regressions."""


def manas(
    problem: Problem,
    *,
    policy_rate: float | None = None,
    exploration: float | None = None,
    judged_by: JudgedBy = "loss",
    baseline: Compared = "none",
    final: Final = "mode",
) -> Strategy:
    """MANAS: an agent for each decision, by EXP3.

    Step and exploration follow from the number of rounds. Losses are divided by that of chance,
    or are error rates. With a baseline it learns faster and is no longer EXP3. The choice at the
    end is the least blamed network, or (`draw`, algorithm 1's last line) a draw.
    """
    rounds = problem.joint_steps
    sampling = _softmax(problem, rounds, policy_rate, exploration)
    return _coordinated(problem, sampling, judged_by, baseline, final)


def manas_coordinated_zipf(
    problem: Problem,
    *,
    judged_by: JudgedBy = "loss",
    baseline: Compared = "none",
    final: Final = "mode",
) -> Strategy:
    """An agent for each decision, who draws by the ranks of cumulative losses."""
    return _coordinated(problem, Zipf(), judged_by, baseline, final)


def manas_ls(
    problem: Problem,
    *,
    samples: int | None = None,
    memory: float = 0.0,
    final: Final = "mode",
) -> Strategy:
    """MANAS-LS: an agent for each decision, who draws by the ranks of a regression."""
    return _linear(problem, Zipf(), samples, memory, final, adds_up=False)


def manas_linear_softmax(
    problem: Problem,
    *,
    policy_rate: float | None = None,
    exploration: float | None = None,
    samples: int | None = None,
    memory: float = 0.0,
    final: Final = "mode",
) -> Strategy:
    """An agent for each decision, by EXP3 on the coefficients of a regression."""
    most, turns, together = _estimates(problem, samples)
    sampling = _softmax(problem, most * turns * together, policy_rate, exploration)
    return _linear(problem, sampling, samples, memory, final, adds_up=True)


def _softmax(
    problem: Problem, rounds: int, rate: float | None, exploration: float | None
) -> Sampling:
    options = max(problem.feasible.space.sizes)
    eta = exp3_rate(options, rounds) if rate is None else rate
    gamma = exp3_exploration(options, rounds) if exploration is None else exploration
    if not 0 < eta < np.inf:
        raise UsageError(f"the policy's learning rate must be above 0 and finite, got {eta}")
    if not 0 <= gamma <= 1:
        raise UsageError(f"exploration must lie between 0 and 1, got {gamma}")
    return Softmax(eta, gamma)


def _coordinated(
    problem: Problem, sampling: Sampling, judged_by: str, baseline: str, final: str
) -> Strategy:
    judges: dict[str, Judge] = {"loss": ScaledLoss(problem.chance_loss), "error": error_rate}
    judge = named("judged_by", judged_by, judges)
    averages = named("baseline", baseline, {"none": False, "average": True})
    return Manas(
        agents=Agents(problem.feasible, sampling),
        judge=judge,
        rng=problem.rng(),
        final=_final(final),
        baseline=MovingAverage() if averages else None,
    )


def _linear(
    problem: Problem,
    sampling: Sampling,
    samples: int | None,
    memory: float,
    final: str,
    *,
    adds_up: bool,
) -> Strategy:
    if not 0 <= memory < 1:
        raise UsageError(f"memory must be at least 0 and below 1, got {memory}")
    most, turns, together = _estimates(problem, samples)
    return ManasLinear(
        agents=Agents(problem.feasible, sampling),
        regression=LeastSquares(problem.feasible.space.sizes, PSEUDO_DRAWS),
        rng=problem.rng(),
        final=_final(final),
        chance=problem.chance_loss,
        together=together,
        turns=Turns("frozen", most * turns, turns),
        memory=memory,
        adds_up=adds_up,
    )


def _estimates(problem: Problem, samples: int | None) -> tuple[int, int, int]:
    """(the most estimates, turns of each, losses of a turn).

    An estimate takes more losses than there are options, twice as many unless `samples` says how
    many, and more than there are unknowns: an option's difference to another of its agent, and how
    difficult each batch is. All of them together take at most 2 for each weight step, about as
    long as the step itself, and none comes before an epoch of weight steps is over, but there is
    one at least.
    """
    sizes = problem.feasible.space.sizes
    options = sum(sizes)
    wanted = _LOSSES_FOR_AN_UNKNOWN * options
    if samples is not None:
        differences = options - len(sizes)
        told = -(-(differences + 1) * _TOGETHER // (_TOGETHER - 1))  # by all but one of a batch
        rule = "samples (more than options in all, and than unknowns)"
        wanted = whole_number(rule, samples, max(options + 1, told))
    together = min(_TOGETHER, wanted)
    turns = -(-wanted // together)
    affordable = _LOSSES_A_STEP * problem.joint_steps // (turns * together)
    epochs = round(problem.joint_steps / problem.epoch_steps)
    return max(1, min(affordable, epochs)), turns, together


def _final(name: str) -> Callable[[Agents, np.random.Generator], Architecture]:
    choices = {"mode": _least_blamed, "draw": _drawn}
    found: Callable[[Agents, np.random.Generator], Architecture] = named("final", name, choices)
    return found


def _least_blamed(agents: Agents, rng: np.random.Generator) -> Architecture:
    del rng
    return agents.favourite()


def _drawn(agents: Agents, rng: np.random.Generator) -> Architecture:
    return agents.one_draw(rng)
