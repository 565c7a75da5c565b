"""How Shapley values of a supernet's options are found: by permutations or by regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from torch import Tensor

from meritnas.credit.certain_ranks import settled
from meritnas.credit.game import Counted
from meritnas.credit.permutation_shapley import PermutationSampler
from meritnas.credit.regression_shapley import RegressionSampler
from meritnas.credit.supernet_game import Players, SupernetGame, players_of
from meritnas.strategy.problem import Problem
from meritnas.supernet.probe import Probe

PERMUTATIONS = 10
"""As many as the paper has after every epoch."""

JUDGED_ROWS = 256
TRUNCATION = 0.5

_EVALUATIONS_A_STEP = 6
_LEAST_ESTIMATES = 3


class Sampler(Protocol):
    """An estimate that grows turn by turn."""

    @property
    def everybody(self) -> float:
        """What everybody scored together last."""
        ...

    def advance(self, game: Counted) -> None:
        """One more turn."""
        ...

    def values(self) -> np.ndarray:
        """[players], so far."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """All that is needed to go on."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        ...


class Judging(Protocol):
    """What an estimate of Shapley values looks at, and for how long."""

    @property
    def players(self) -> Players:
        """The options that play."""
        ...

    @property
    def judged_rows(self) -> int:
        """How many rows of validation data a turn is judged on, at least."""
        ...

    @property
    def turns(self) -> int:
        """How many turns an estimate takes."""
        ...


class Estimate(Judging, Protocol):
    """How Shapley values of a supernet's options are found."""

    def begin(self, rng: np.random.Generator) -> Sampler:
        """A new estimate."""
        ...

    def values(self, sampler: Any) -> np.ndarray:
        """[players], what counts of what the sampler found."""
        ...

    def enough(self, sampler: Any) -> bool:
        """Whether more turns would not change the ranking."""
        ...


@dataclass(frozen=True)
class ByPermutations:
    """Shapley-NAS' own way: M permutations.

    Attributes:
        players: the options that play.
        judged_rows: rows of validation data for each permutation, at least.
        permutations: M.
        truncation: eta, or None.
        antithetic: whether every other permutation is the reverse of the one before, where their
            number is even; a turn is then two of them.
        lower: how many standard deviations over the permutations are taken off a value (the
            released code: 1; undocumented).
        confidence: an estimate ends before M where the ranking within each decision is this
            certain; None never ends it.
    """

    players: Players
    judged_rows: int
    permutations: int
    truncation: float | None
    antithetic: bool = True
    lower: float = 0.0
    confidence: float | None = None

    @property
    def turns(self) -> int:
        """A turn for each permutation or pair."""
        return self.permutations // 2 if self._paired else self.permutations

    @property
    def _paired(self) -> bool:
        return self.antithetic and self.permutations % 2 == 0

    def begin(self, rng: np.random.Generator) -> PermutationSampler:
        """No permutation yet."""
        count = len(self.players.names)
        return PermutationSampler(count, rng, self.truncation, antithetic=self._paired)

    def values(self, sampler: PermutationSampler) -> np.ndarray:
        """The mean over permutations, less a part of their deviation."""
        return sampler.values() - self.lower * sampler.deviation()

    def enough(self, sampler: PermutationSampler) -> bool:
        """Whether the ranking within each decision is settled."""
        if self.confidence is None:
            return False
        return settled(sampler.samples(), self.players.groups, self.confidence)


@dataclass(frozen=True)
class ByRegression:
    """As many evaluations as permutations without truncation take, for a regression.

    Attributes:
        players: the options that play.
        judged_rows: rows of validation data for each turn, at least.
        permutations: whose evaluations are taken; a turn is two of them.
    """

    players: Players
    judged_rows: int
    permutations: int

    @property
    def turns(self) -> int:
        """One for two permutations."""
        return max(1, self.permutations // 2)

    def begin(self, rng: np.random.Generator) -> RegressionSampler:
        """No coalition yet."""
        heard = int((~self.players.null).sum())
        evaluations = self.permutations * heard // self.turns
        return RegressionSampler(self.players.null, rng, (evaluations - 2) // 2)

    def values(self, sampler: RegressionSampler) -> np.ndarray:
        """The regression's."""
        return sampler.values()

    def enough(self, sampler: RegressionSampler) -> bool:
        """Never."""
        del sampler
        return False


def affordable(problem: Problem) -> tuple[int, int]:
    """(the most estimates, permutations of each) within 6 evaluations a weight step."""
    heard = int((~players_of(problem.feasible.space).null).sum())
    evaluations = _EVALUATIONS_A_STEP * problem.joint_steps
    count = evaluations // (_LEAST_ESTIMATES * max(1, heard))
    count = min(PERMUTATIONS, max(2, count - count % 2))
    return max(1, evaluations // (count * max(1, heard))), count


def make_estimate(
    problem: Problem,
    estimator: str,
    permutations: int,
    truncation: float | None,
    judged_rows: int = JUDGED_ROWS,
    confidence: float = 0.0,
    *,
    antithetic: bool = True,
    lower: float = 0.0,
) -> Estimate:
    """An estimate by `permutation` or by `regression`.

    Args:
        problem: whose options play.
        estimator: which of the two.
        permutations: how many, or as many as a regression takes evaluations.
        truncation: as a share of everybody's score; None for the usual one, 0 for none.
        judged_rows: of validation data.
        confidence: that ends permutations early; 0 for never.
        antithetic: see `ByPermutations`.
        lower: see `ByPermutations`.
    """
    players = players_of(problem.feasible.space)
    if estimator == "regression":
        return ByRegression(players, judged_rows, permutations)
    eta = (TRUNCATION if truncation is None else truncation) or None
    sure = confidence or None
    return ByPermutations(players, judged_rows, permutations, eta, antithetic, lower, sure)


def game_of(estimate: Judging, probe: Probe, rows: Sequence[Tensor]) -> Counted:
    """The mixture with these weights as a game."""
    return Counted(SupernetGame(probe, estimate.players, rows, estimate.judged_rows))
