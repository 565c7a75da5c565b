"""The memory of networks of which nothing else is known: each is run and looked at."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import torch

from meritnas.cost.maximum import Bound, LargestSum
from meritnas.cost.terms import CostTerms, Factor, amount_text
from meritnas.devices.placement import placed
from meritnas.errors import SpaceError
from meritnas.families.family import Family
from meritnas.families.live_memory import PEAK_UNIT, peak_bytes

_MOST_MEASURED = 1024


@dataclass(frozen=True)
class MeasuredPeak:
    """What `families.live_memory` finds of a child.

    Attributes:
        family: whose children.
        device: where they are run: `meta`, or `cpu` where a user's own code needs numbers.
        fewer: how there would be fewer of them, for an error.
        unit: what is counted.
    """

    family: Family
    device: str = "meta"
    fewer: str = "offer fewer options"
    unit: str = PEAK_UNIT

    @property
    def most(self) -> int:
        """Nothing is known about that."""
        return 2**62

    def text(self, amount: int) -> str:
        """In kilobytes."""
        return amount_text(amount, 1000)

    def of(self, picks: np.ndarray) -> np.ndarray:
        """Costs [n] of a pick matrix [n, decisions]."""
        return np.array([self._of(tuple(row)) for row in picks.tolist()], dtype=np.int64)

    def _of(self, picks: tuple[int, ...]) -> int:
        with torch.device(self.device):
            child = self.family.child(self.family.space.architecture(picks)).eval()
            child = placed(child, self.device)
            return peak_bytes(*self.family.running(child, self.device))

    def bound(self, most: int) -> Bound:
        """All networks are looked at, where they are few."""
        sizes = self.family.space.sizes
        if math.prod(sizes) > _MOST_MEASURED:
            raise SpaceError(
                f"the memory of networks of this space is known network by network, and can be "
                f"limited where there are at most {_MOST_MEASURED:,} of them, not "
                f"{math.prod(sizes):,}; {self.fewer}, or leave max_peak_kb out"
            )
        every = np.array(list(itertools.product(*map(range, sizes))))
        valid = self.family.space.valid(every)
        costs = np.full(len(every), most + 1, dtype=np.int64)  # what is not valid is never asked
        costs[valid] = self.of(every[valid])
        factor = Factor(tuple(range(len(sizes))), costs.reshape(sizes))
        moment = CostTerms(sizes, 0, (factor,), self.unit, 1000)
        return LargestSum(sizes, (moment,), self.unit, 1000).bound(most)
