from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from meritnas.credit.game import Counted
from meritnas.credit.permutation_shapley import PermutationSampler
from meritnas.credit.settled import settled
from meritnas.credit.supernet_game import Players, SupernetGame
from meritnas.supernet.probe import Probe


@dataclass(frozen=True)
class Estimate:
    """How Shapley values of a supernet's options are found.

    Attributes:
        players: the options that play.
        permutations: M.
        truncation: eta, or None.
        antithetic: whether every other permutation is the reverse of the one before, where their
            number is even.
        judged_rows: how many rows of validation data a permutation is judged on, at least.
        lower: how many standard deviations over the permutations are taken off a value (the
            released code: 1; undocumented).
        confidence: an estimate ends before M where the ranking within each decision is this
            certain; None never ends it.
    """

    players: Players
    permutations: int
    truncation: float | None
    antithetic: bool = True
    judged_rows: int = 256
    lower: float = 0.0
    confidence: float | None = None

    @property
    def turns(self) -> int:
        """How many turns of the sampler M permutations take."""
        return self.permutations // 2 if self._paired else self.permutations

    @property
    def _paired(self) -> bool:
        return self.antithetic and self.permutations % 2 == 0

    def sampler(self, rng: np.random.Generator) -> PermutationSampler:
        """A new estimate."""
        count = len(self.players.names)
        return PermutationSampler(count, rng, self.truncation, antithetic=self._paired)

    def game(self, probe: Probe, rows: Sequence[Tensor]) -> Counted:
        """The mixture with these weights as a game."""
        return Counted(SupernetGame(probe, self.players, rows, self.judged_rows))

    def enough(self, sampler: PermutationSampler) -> bool:
        """Whether more permutations would not change the ranking."""
        if self.confidence is None:
            return False
        return settled(sampler.samples(), self.players.groups, self.confidence)

    def values(self, sampler: PermutationSampler) -> np.ndarray:
        """[players], what counts."""
        return sampler.values() - self.lower * sampler.deviation()
