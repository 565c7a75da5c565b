"""The witness who looks at networks with shared weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meritnas.supernet.probe import Probe

NAME = "one-shot"

_LOOKS = 2
"""Rows are at most so many times what a network is given at a time: about 250 images of 32 x 32,
or 16,384 rows of a table. What shared weights say of a network changes more from one moment of
their training to the next than from one such sample to another."""


@dataclass(frozen=True)
class OneShot:
    """Minus the loss by shared weights, on validation rows that are the same for all networks.

    Attributes:
        probe: counts the passes.
    """

    probe: Probe

    @property
    def name(self) -> str:
        """As records have it."""
        return NAME

    def judge(self, picks: np.ndarray) -> np.ndarray:
        """Minus the losses."""
        return -self.probe.common_losses(picks, _LOOKS * self.probe.rows_at_once)
