"""The witness who repeats what the search believes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

NAME = "beliefs"


@dataclass(frozen=True)
class Beliefs:
    """How probable networks are under the search's beliefs.

    What a search has learned about an option comes from many networks, so it is steadier than what
    shared weights say about a single one.

    Attributes:
        rows: how probable each option is, a row for each decision.
    """

    rows: Sequence[np.ndarray]

    @property
    def name(self) -> str:
        """As records have it."""
        return NAME

    def judge(self, picks: np.ndarray) -> np.ndarray:
        """Logs of their probabilities, as if decisions were independent."""
        with np.errstate(divide="ignore"):  # an option may have no probability left
            logs = [np.log(row) for row in self.rows]
        found: np.ndarray = np.sum([row[picks[:, d]] for d, row in enumerate(logs)], axis=0)
        return found
