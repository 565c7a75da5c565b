"""Shapley values of the path game, on weights that are trained by single paths."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meritnas.clock import Clock
from meritnas.cost.feasible import FeasibleSet
from meritnas.credit.judged_paths import JudgedPaths
from meritnas.credit.path_game import MOST_ORDERS, estimated_values, free_share
from meritnas.policy.balanced import balanced_draws
from meritnas.space.architecture import Architecture
from meritnas.strategy.problem import Problem
from meritnas.strategy.strategy import Learnt, rng_state, set_rng_state
from meritnas.strategy.turns import Turns
from meritnas.supernet.gates import Gates, one_path
from meritnas.supernet.probe import Probe

_TOGETHER = 16
_PATHS_FOR_AN_OPTION = 20
_LEAST_PATHS_FOR_AN_OPTION = 2
_JUDGED_TOO = 2
_ORDERS_ON_THE_WAY = 10


@dataclass(frozen=True)
class PathValues:
    """What options are worth in the path game.

    Attributes:
        values: a row for each decision.
        evidence: how far options are below the best one of their decision, in standard errors;
            likewise.
    """

    values: list[np.ndarray]
    evidence: list[np.ndarray]


@dataclass
class PathShapley:
    """Weights are trained on uniform feasible paths; then values are found from judged ones.

    The values do not steer the training, so there is one estimate, when weights are done: turn by
    turn a few more uniform feasible paths are judged by their loss on common validation rows.
    Values so far rest on the first 1, 2, 4, 8 ... turns, at the end on all. The final choice is
    the feasible architecture with the largest sum of values; after it come the best that were
    judged.

    Attributes:
        feasible: the architectures that may be drawn and chosen.
        rng: where all draws come from.
        paths: how many are judged.
        judged_rows: on how many rows of validation data, at least.
        seed: of the orders of players.
    """

    feasible: FeasibleSet
    rng: np.random.Generator
    paths: int
    judged_rows: int
    seed: int
    turns: Turns = field(init=False)
    judged: JudgedPaths = field(init=False)
    _ahead: list[list[int]] = field(init=False, default_factory=list)
    _found: tuple[int, PathValues] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        count = -(-self.paths // _TOGETHER)
        self.turns = Turns("frozen", count, count)
        self.judged = JudgedPaths(len(self.feasible.space.sizes))

    def sample(self, clock: Clock) -> Gates:
        """A uniform feasible path."""
        del clock
        if not self._ahead:
            self._ahead = balanced_draws(self.feasible, _TOGETHER, self.rng).tolist()
        return one_path(self._ahead.pop())

    def update(self, probe: Probe, clock: Clock) -> Learnt | None:
        """A few more paths on common rows."""
        del clock
        left = self.paths - len(self.judged)
        picks = balanced_draws(self.feasible, max(2, min(_TOGETHER, left)), self.rng)
        losses = probe.losses(picks, probe.valid_rows(self.judged_rows))
        self.judged.add(picks, losses)
        return Learnt({"reward": 1.0 - float(losses.mean()), "used": float(len(losses))})

    def found(self) -> PathValues:
        """The values so far."""
        blocks = len(self.judged.blocks)
        if self.turns.most is not None and blocks < self.turns.most:
            blocks = 1 << (blocks.bit_length() - 1) if blocks else 0
        if self._found is None or self._found[0] != blocks:
            orders = MOST_ORDERS if blocks == self.turns.most else _ORDERS_ON_THE_WAY
            self._found = (blocks, self._values(self.judged.first(blocks), orders))
        return self._found[1]

    def _values(self, judged: JudgedPaths, orders: int) -> PathValues:
        rng = np.random.default_rng([self.seed, 2])
        values, fitted = estimated_values(self.feasible, judged, rng, orders)
        evidence = []
        for row, errors in zip(values, fitted.errors, strict=True):
            error = free_share(len(row)) * float(np.sqrt(np.mean(errors**2)))
            evidence.append((row - row.max()) / error if error > 0 else np.zeros(len(row)))
        return PathValues(values, evidence)

    def beliefs(self) -> list[np.ndarray]:
        """The softmax of values in standard errors: equal options while little was judged."""
        rows = [np.exp(row) for row in self.found().evidence]
        return [row / row.sum() for row in rows]

    def leader(self) -> Architecture:
        """The feasible architecture whose options have the largest sum of values."""
        return self.feasible.best(self.found().values)

    def derive(self, probe: Probe) -> list[Architecture]:
        """The leader, then the best of what was judged, by how far they are above their block."""
        del probe
        found = [self.leader()]
        scores, cuts = self.judged.scores, np.cumsum(self.judged.blocks)[:-1]
        parts = np.split(scores, cuts) if len(scores) else []
        above = np.concatenate([np.zeros(0), *(part - part.mean() for part in parts)])
        for k in np.argsort(-above, kind="stable"):
            architecture = self.feasible.space.architecture(self.judged.picks[k])
            if architecture not in found:
                found.append(architecture)
            if len(found) > _JUDGED_TOO:
                break
        return found

    def state_dict(self) -> dict[str, Any]:
        """Generator, what was judged and the paths drawn ahead."""
        return {
            "rng": rng_state(self.rng),
            "judged": self.judged.state_dict(),
            "ahead": [list(path) for path in self._ahead],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        set_rng_state(self.rng, state["rng"])
        self.judged.load_state_dict(state["judged"])
        self._ahead = [list(path) for path in state["ahead"]]
        self._found = None


def affordable_paths(problem: Problem) -> int:
    """20 for each option, but no more than joint weight steps, and 2 for each option at least."""
    options = sum(problem.feasible.space.sizes)
    most = max(_LEAST_PATHS_FOR_AN_OPTION * options, problem.joint_steps)
    return min(_PATHS_FOR_AN_OPTION * options, most)
