"""The witness who takes the larger network for the better one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meritnas.cost.terms import CostTerms

NAME = "size"
WORK = "flops"
"""Multiply-adds: of networks with as many weights, those that use them more often tend to be
better."""


@dataclass(frozen=True)
class Size:
    """What networks cost: among those that keep a limit, larger ones tend to be better.

    TabNAS' algorithm 3 takes the largest of its draws for that reason. One-shot losses say the
    opposite too often: large networks have weights that take longest to train.

    Attributes:
        cost: what is counted.
        name: as records have it.
    """

    cost: CostTerms
    name: str = NAME

    def judge(self, picks: np.ndarray) -> np.ndarray:
        """The costs."""
        return self.cost.of(picks).astype(np.float64)
