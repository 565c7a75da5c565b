from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meritnas.clock import Clock
from meritnas.credit.least_squares import LeastSquares
from meritnas.policy.agents import Agents
from meritnas.space.architecture import Architecture
from meritnas.strategy.strategy import Learnt, rng_state, set_rng_state
from meritnas.strategy.turns import Turns
from meritnas.supernet.gates import Gates, one_path
from meritnas.supernet.probe import Probe

_DRAWN_AT_ONCE = 16


@dataclass
class ManasLinear:
    """MANAS with blame from least squares (appendix B.1).

    Weights are trained for an epoch on what the agents propose; then they rest while losses of
    proposals are collected, turn by turn, more of them than there are unknowns; after the last
    turn the regression is solved and the agents change their minds.

    Deviations: several proposals are judged on each batch, whose difficulty the regression
    sets aside. An option that was not drawn has the coefficient 0 of the smallest norm, which adds
    nothing to cumulative blame; among ranks it might come first, and is put last.

    Attributes:
        agents: who choose.
        regression: of the losses since the weights last changed, and what is left of earlier ones.
        rng: where all draws come from.
        final: the choice at the end.
        chance: what a network that knows nothing loses; losses are divided by it.
        together: proposals judged on each batch.
        turns: when; as many after an epoch as an estimate takes.
        memory: how much earlier estimates' losses count, between 0 and 1.
        adds_up: whether blame is cumulative, as EXP3 has it, or that of the last estimate, of
            which only the order counts.
    """

    agents: Agents
    regression: LeastSquares
    rng: np.random.Generator
    final: Callable[[Agents, np.random.Generator], Architecture]
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
            self._paths = self.agents.propose(_DRAWN_AT_ONCE, self.rng).picks.tolist()
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

    def beliefs(self) -> list[np.ndarray]:
        """The agents' probabilities."""
        return self.agents.probabilities()

    def leader(self) -> Architecture:
        """The feasible architecture with the least blame."""
        return self.agents.favourite()

    def derive(self, probe: Probe) -> list[Architecture]:
        """The agents' recommendation."""
        del probe
        return [self.final(self.agents, self.rng)]

    def state_dict(self) -> dict[str, Any]:
        """Blame, the regression, generator and what was drawn ahead."""
        return {
            "blame": [row.tolist() for row in self.agents.blame],
            "draws": [row.tolist() for row in self.agents.draws],
            "regression": self.regression.state_dict(),
            "rng": rng_state(self.rng),
            "turn": self._turn,
            "paths": [list(path) for path in self._paths],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.agents.learn(*([np.array(row) for row in state[key]] for key in ("blame", "draws")))
        self.regression.load_state_dict(state["regression"])
        set_rng_state(self.rng, state["rng"])
        self._turn = state["turn"]
        self._paths = [list(path) for path in state["paths"]]
