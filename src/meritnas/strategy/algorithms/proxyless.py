"""ProxylessNAS: two options of each decision run, one of them counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from meritnas.clock import Clock
from meritnas.policy.laws import Law, feasible_law
from meritnas.policy.neighbours import fitting_options, restricted
from meritnas.policy.tags import silent
from meritnas.strategy.algorithms.policy_strategy import PolicyStrategy
from meritnas.strategy.strategy import Learnt
from meritnas.supernet.gates import Gates, one_path, two_paths
from meritnas.supernet.probe import Probe


@dataclass
class TwoPaths(PolicyStrategy):
    """Two options of each decision run, one of them counts (ProxylessNAS; Cai et al., 2019).

    A path y is drawn, and for each decision a second option z. Both run, with gates (1, 0); the
    gradient passes through the softmax over the two logits alone. After the optimiser's step the
    two logits are shifted so that their joint mass, exp(a_y) + exp(a_z), is what it was, so that
    options that were not looked at keep their probability (section 3.2.1).

    Deviations: the original draws the pair without replacement and the active one of the two by
    their softmax; here y is drawn first, by the policy given the limits, and z from the row
    restricted to the options that are feasible while the other picks stay. So y follows the
    policy, which in the original it does with two options only (with more, likely options are
    active more often than the policy says). A decision whose active option gives only zeros, or
    that has no second option, learns nothing from that draw. Two options run at once, so there is
    no `process best` to offer.
    """

    _law: Law = field(init=False)
    _silent: list[np.ndarray] = field(init=False)

    def __post_init__(self) -> None:
        self._law = feasible_law(self.feasible)
        self._silent = silent(self.feasible.space)

    def sample(self, clock: Clock) -> Gates:
        """A path drawn from the feasible part of the policy."""
        del clock
        return one_path(self._law.draw(self.policy, 1, self.rng).picks[0].tolist())

    def update(self, probe: Probe, clock: Clock) -> Learnt | None:
        """One policy step from one pair of options for each decision."""
        del clock
        picks = self._law.draw(self.policy, 1, self.rng).picks[0]
        others = self._others(picks)
        gates, rows = two_paths(picks.tolist(), others, self.policy.sizes)
        loss, slopes = probe.gradients(gates, probe.valid_batch(), rows)
        before = [row.copy() for row in self.policy.rows()]
        self.policy.ascend(-pair_gradient(before, picks, others, slopes))
        keep_mass(self.policy.rows(), before, picks, others)
        pairs = sum(other is not None for other in others)
        return Learnt({"reward": 1.0 - loss, "used": 1.0, "pairs": float(pairs)})

    def _others(self, picks: np.ndarray) -> list[int | None]:
        """For each decision another feasible option, or None."""
        fits = fitting_options(picks, self.feasible)
        for kept, pick in zip(fits, picks, strict=True):
            kept[pick] = False
        marks = self.rng.random(len(picks))
        found: list[int | None] = []
        rows = restricted(self.policy.probabilities(), fits)
        for i, (row, mark) in enumerate(zip(rows, marks, strict=True)):
            ladder = np.cumsum(row)
            if ladder[-1] == 0.0 or self._silent[i][picks[i]]:
                found.append(None)
            else:
                found.append(int(np.searchsorted(ladder, mark * ladder[-1], side="right")))
        return found


def pair_gradient(
    logits: Sequence[np.ndarray],
    picks: Sequence[int] | np.ndarray,
    others: Sequence[int | None],
    slopes: Sequence[Tensor],
) -> np.ndarray:
    """The gradient of the loss by the logits, all rows in one array.

    With p = softmax(a_y, a_z) and g the derivatives by the two gates, a_y gets
    p_y * p_z * (g_y - g_z) and a_z the opposite.
    """
    found = [np.zeros(len(row)) for row in logits]
    for i, (y, z) in enumerate(zip(picks, others, strict=True)):
        if z is not None:
            share = 1.0 / (1.0 + np.exp(logits[i][z] - logits[i][y]))
            slope = share * (1.0 - share) * float(slopes[i][y] - slopes[i][z])
            found[i][y], found[i][z] = slope, -slope
    return np.concatenate(found)


def keep_mass(
    logits: Sequence[np.ndarray],
    before: Sequence[np.ndarray],
    picks: Sequence[int] | np.ndarray,
    others: Sequence[int | None],
) -> None:
    """Shift, in place, both logits of each pair so that their sum of exp is as before."""
    for row, old, y, z in zip(logits, before, picks, others, strict=True):
        if z is not None:
            shift = np.logaddexp(old[y], old[z]) - np.logaddexp(row[y], row[z])
            row[[y, z]] += shift
