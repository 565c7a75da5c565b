"""MANAS with coordinated descent: agents that are blamed for the loss of what they propose."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from meritnas.clock import Clock
from meritnas.credit.baseline import Baseline, MovingAverage
from meritnas.credit.coordinated import coordinated_descent
from meritnas.data.stream import Batch
from meritnas.policy.agents import Agents, Proposals, Sampling
from meritnas.policy.pooled import kin_of
from meritnas.strategy.algorithms.agent_strategy import (
    DRAWN_AT_ONCE,
    AgentStrategy,
    recommendation,
)
from meritnas.strategy.problem import Problem
from meritnas.strategy.strategy import Learnt
from meritnas.strategy.turns import WITH_WEIGHTS, Turns
from meritnas.supernet.gates import Gates, one_path
from meritnas.supernet.probe import Probe


class Judge(Protocol):
    """What architectures lost on a batch: 1 for what knows nothing, at least 0."""

    def __call__(self, probe: Probe, picks: np.ndarray, batch: Batch) -> np.ndarray:
        """Of architectures [n, decisions], [n]."""
        ...


@dataclass(frozen=True)
class ScaledLoss:
    """loss / what a network that knows nothing loses."""

    chance: float

    def __call__(self, probe: Probe, picks: np.ndarray, batch: Batch) -> np.ndarray:
        """One pass without gradients for each."""
        return probe.losses(picks, batch) / self.chance


def error_rate(probe: Probe, picks: np.ndarray, batch: Batch) -> np.ndarray:
    """The share of rows not recognised, or of variance not explained."""
    return 1.0 - probe.scores([one_path(row) for row in picks.tolist()], batch)


@dataclass
class BlamedAgents(AgentStrategy):
    """MANAS: every decision is an agent that is blamed for losses (algorithm 1, coordinated).

    In a round the agents propose one network; its loss on a validation batch moves them; then its
    weights, and no others, are trained. With several workers as many networks are proposed, judged
    on one batch and trained, and each moves the agents like a round of its own.

    Deviations: where limits make a draw costly, several rounds' networks are drawn at once; each
    is divided by the probabilities that it was drawn with. Blame needs losses in [0, 1], as the
    proofs assume, and they are cut at 1; the paper does not say how they get there. What is
    recommended at the end is not what has the least blame, but what has the least mean excess,
    sum((L - b) / pi) / sum(1 / pi) for each option: b is a moving average of losses, which fall
    while weights are trained, and L is not cut, since networks that are hardly trained lose
    more than one that knows nothing and would all be alike.

    Attributes:
        judge: what a network lost.
        baseline: taken off the losses, or None as in the paper.
        workers: how many networks are proposed in a round.
    """

    turns: ClassVar[Turns] = WITH_WEIGHTS
    saved: ClassVar[tuple[str, ...]] = ("blame", "draws", "excess", "times")

    judge: Judge
    baseline: Baseline | None = None
    workers: int = 1
    _average: MovingAverage = field(default_factory=MovingAverage, init=False)
    _squares: float = field(default=0.0, init=False)
    _ahead: Proposals | None = field(default=None, init=False)
    _judged: list[np.ndarray] = field(default_factory=list, init=False)

    def beliefs(self) -> list[np.ndarray]:
        """What the agents recommend, not what they draw by, which explores on purpose."""
        return self.agents.recommended()

    def sample(self, clock: Clock) -> Gates:
        """A path that was judged just now; in the warm-up a new one."""
        del clock
        path = self._judged.pop(0) if self._judged else self._next()[0]
        return one_path(path.tolist())

    def _next(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """A proposal [agents] and the probabilities it was drawn with."""
        if self._ahead is None or not len(self._ahead.picks):
            self._ahead = self.agents.propose(1 if self.agents.free else DRAWN_AT_ONCE, self.rng)
        first, rest = self._ahead.picks[0], self._ahead.picks[1:]
        marginals = self._ahead.marginals
        self._ahead = Proposals(rest, marginals)
        return first, marginals

    def update(self, probe: Probe, clock: Clock) -> Learnt | None:
        """One round: propose, judge, blame."""
        del clock
        proposed = [self._next() for _ in range(self.workers)]
        picks = np.array([one for one, _ in proposed])
        lost = self.judge(probe, picks, probe.valid_batch()).tolist()
        for (one, marginals), own in zip(proposed, lost, strict=True):
            self._blame(one, marginals, own)
        self._set_noise()
        self._judged = list(picks)
        reward = 1.0 - float(np.minimum(lost, 1.0).mean())
        used = float(len(proposed))
        return Learnt({"reward": reward, "used": used, **self.agents.sampling.settings})

    def _blame(self, picks: np.ndarray, marginals: list[np.ndarray], lost: float) -> None:
        """What the agents learn from a proposal [agents] that was drawn with these chances."""
        loss = min(1.0, lost)
        blamed = loss if self.baseline is None else -self.baseline.signals([-loss])[0]
        excess = -self._average.signals([-lost])[0]
        agents, ones = self.agents, [np.ones_like(row) for row in marginals]
        known = (
            (agents.blame, blamed, marginals),
            (agents.draws, 1.0, marginals),
            (agents.excess, excess, marginals),
            (agents.times, 1.0, ones),
        )
        agents.learn(
            *(
                coordinated_descent(rows, picks[None], np.array([added]), chances)
                for rows, added, chances in known
            )
        )
        self._squares += excess**2

    def _set_noise(self) -> None:
        """The mean square of a round's excess."""
        self.agents.noise = self._squares / max(1.0, float(self.agents.times[0].sum()))

    def state_dict(self) -> dict[str, Any]:
        """What agents know, baseline, generator and what was drawn ahead."""
        ahead = self._ahead
        return {
            **super().state_dict(),
            "squares": self._squares,
            "average": self._average.state_dict(),
            "baseline": None if self.baseline is None else self.baseline.state_dict(),
            "judged": [path.tolist() for path in self._judged],
            "ahead": None if ahead is None else ahead.picks.tolist(),
            "marginals": None if ahead is None else [row.tolist() for row in ahead.marginals],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        super().load_state_dict(state)
        self._squares = state["squares"]
        self._set_noise()
        self._average.load_state_dict(state["average"])
        if self.baseline is not None:
            self.baseline.load_state_dict(state["baseline"])
        self._judged = _paths_of(state["judged"])
        self._ahead = None
        if state["ahead"] is not None:
            picks = np.array(state["ahead"], dtype=np.int64).reshape(-1, len(self.agents.blame))
            self._ahead = Proposals(picks, [np.array(row) for row in state["marginals"]])


def _paths_of(judged: Any) -> list[np.ndarray]:
    """The paths that wait to be trained; earlier versions kept the only one, or None."""
    if not judged:
        return []
    return list(np.atleast_2d(np.array(judged, dtype=np.int64)))


def blamed_agents(
    problem: Problem, sampling: Sampling, judged_by: str, baseline: str, final: str, pooling: str
) -> BlamedAgents:
    """Agents at their first round.

    They are judged by `loss` or `error`, against `none` or `average`, and `shrinkage` pools what
    they know for the recommendation.
    """
    kin = kin_of(problem.feasible.space, problem.tables) if pooling == "shrinkage" else ()
    return BlamedAgents(
        agents=Agents(problem.feasible, sampling, kin=kin),
        judge=ScaledLoss(problem.chance_loss) if judged_by == "loss" else error_rate,
        rng=problem.rng(),
        final=recommendation(final),
        baseline=MovingAverage() if baseline == "average" else None,
        workers=problem.workers,
    )
