"""MANAS with least squares: agents that are blamed by a regression of losses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from meritnas.clock import Clock
from meritnas.cost.feasible import FeasibleSet
from meritnas.credit.least_squares import LeastSquares
from meritnas.credit.pairwise import Pairwise
from meritnas.errors import whole_number
from meritnas.policy.agents import Agents, Sampling
from meritnas.space.architecture import Architecture
from meritnas.strategy.algorithms.agent_strategy import (
    DRAWN_AT_ONCE,
    AgentStrategy,
    least_blamed,
    recommendation,
)
from meritnas.strategy.problem import Problem
from meritnas.strategy.strategy import Learnt
from meritnas.strategy.turns import Turns
from meritnas.supernet.gates import Gates, one_path
from meritnas.supernet.probe import Probe

_TOGETHER = 8
_LOSSES_FOR_AN_UNKNOWN = 2
_LOSSES_A_STEP = 2

PSEUDO_DRAWS = 1.0
"""The ridge of regressions."""


class Regression(Protocol):
    """Which options losses are due to."""

    def add(self, picks: np.ndarray, losses: np.ndarray) -> None:
        """Joint actions [n, agents] and their losses [n] on one batch."""
        ...

    def solve(self) -> list[np.ndarray]:
        """Each option's share, a row for each agent that sums to zero."""
        ...

    def seen(self) -> list[np.ndarray]:
        """For each agent booleans [options]: which of them occurred."""
        ...

    def best(self, feasible: FeasibleSet) -> Architecture | None:
        """The best network, where that is another one than the agents' least blamed options."""
        ...

    def forget(self, share: float) -> None:
        """Let what was seen count less; 1 for not at all."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """All that is needed to go on."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        ...


@dataclass
class RegressedAgents(AgentStrategy):
    """MANAS with blame from least squares (appendix B.1).

    Weights are trained for an epoch on what the agents propose; then they rest while losses of
    proposals are collected, turn by turn, more of them than there are unknowns; after the last
    turn the regression is solved and the agents change their minds.

    Deviations: several proposals are judged on each batch, whose difficulty the regression
    sets aside. An option that was not drawn has the coefficient 0 of the smallest norm, which adds
    nothing to cumulative blame; among ranks it might come first, and is put last.

    Attributes:
        regression: of the losses since the weights last changed, and what is left of earlier ones.
        chance: what a network that knows nothing loses; losses are divided by it.
        together: proposals judged on each batch.
        turns: when; as many after an epoch as an estimate takes.
        memory: how much earlier estimates' losses count, between 0 and 1.
        adds_up: whether blame is cumulative, as EXP3 has it, or that of the last estimate, of
            which only the order counts.
    """

    regression: Regression
    chance: float
    together: int
    turns: Turns
    memory: float = 0.0
    adds_up: bool = False
    _turn: int = field(default=0, init=False)
    _paths: list[list[int]] = field(default_factory=list, init=False)

    def sample(self, clock: Clock) -> Gates:
        """A path that the agents propose."""
        del clock
        if not self._paths:
            self._paths = self.agents.propose(DRAWN_AT_ONCE, self.rng).picks.tolist()
        return one_path(self._paths.pop())

    def update(self, probe: Probe, clock: Clock) -> Learnt | None:
        """Losses of a few proposals; the last turn of an estimate solves for blame."""
        del clock
        picks = self.agents.propose(self.together, self.rng).picks
        losses = probe.losses(picks, probe.valid_batch()) / self.chance
        self.regression.add(picks, losses)
        self._turn += 1
        if self._turn == self.turns.each_epoch:
            self._change_minds()
        return Learnt(
            {
                "reward": 1.0 - float(losses.mean()),
                "used": float(len(losses)),
                "samples": float(self.together * (self.turns.each_epoch or 0)),
                "chance_loss": self.chance,
                **self.agents.sampling.settings,
            }
        )

    def _change_minds(self) -> None:
        found = self.regression.solve()
        if self.adds_up:
            rounds = self._turn * self.together  # those that memory keeps were counted before
            blame = zip(self.agents.blame, found, strict=True)
            draws = zip(self.agents.draws, self.regression.seen(), strict=True)
            self.agents.learn(
                [before + rounds * row for before, row in blame],
                [before + rounds * seen for before, seen in draws],
            )
        else:
            seen = self.regression.seen()
            known = zip(found, seen, strict=True)
            self.agents.learn(
                [np.where(drawn, row, row.max() + 1e-9) for row, drawn in known],
                [drawn.astype(float) for drawn in seen],
            )
        self.regression.forget(1.0 - self.memory)
        self._turn = 0
        self._paths = []

    def leader(self) -> Architecture:
        """The regression's best network, or the one with the least blame."""
        return self.regression.best(self.agents.feasible) or super().leader()

    def derive(self, probe: Probe) -> list[Architecture]:
        """The leader, unless a draw is asked for."""
        return [self.leader()] if self.final is least_blamed else super().derive(probe)

    def state_dict(self) -> dict[str, Any]:
        """What agents know, the regression, generator and what was drawn ahead."""
        return {
            **super().state_dict(),
            "regression": self.regression.state_dict(),
            "turn": self._turn,
            "paths": [list(path) for path in self._paths],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        super().load_state_dict(state)
        self.regression.load_state_dict(state["regression"])
        self._turn = state["turn"]
        self._paths = [list(path) for path in state["paths"]]


@dataclass(frozen=True)
class Estimates:
    """How many losses the regressions of a search take.

    Attributes:
        most: estimates.
        turns: of each.
        together: losses of a turn.
    """

    most: int
    turns: int
    together: int

    @property
    def rounds(self) -> int:
        """Losses in all."""
        return self.most * self.turns * self.together


def affordable_estimates(problem: Problem, samples: int | None) -> Estimates:
    """What there is time for.

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
    return Estimates(max(1, min(affordable, epochs)), turns, together)


def regressed_agents(
    problem: Problem,
    sampling: Sampling,
    estimates: Estimates,
    memory: float,
    final: str,
    *,
    adds_up: bool,
    pairs: bool = False,
) -> RegressedAgents:
    """Agents before their first estimate, of main effects or also of pairs."""
    sizes = problem.feasible.space.sizes
    return RegressedAgents(
        agents=Agents(problem.feasible, sampling),
        regression=Pairwise(sizes) if pairs else LeastSquares(sizes, PSEUDO_DRAWS),
        rng=problem.rng(),
        final=recommendation(final),
        chance=problem.chance_loss,
        together=estimates.together,
        turns=Turns("frozen", estimates.most * estimates.turns, estimates.turns),
        memory=memory,
        adds_up=adds_up,
    )
