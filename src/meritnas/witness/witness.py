"""What every witness can do."""

from __future__ import annotations

from typing import Protocol

import numpy as np


class Witness(Protocol):
    """Says how good networks are without training them."""

    @property
    def name(self) -> str:
        """What it is called in records and reports."""
        ...

    def judge(self, picks: np.ndarray) -> np.ndarray:
        """A number [n] for each architecture [n, decisions]; the larger, the better.

        Only their order counts. NaN or minus infinity where a network cannot be judged. The same
        architectures get the same numbers each time.
        """
        ...
