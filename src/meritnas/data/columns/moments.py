"""How many numbers there are, how large they are, and how far apart, seen piece by piece."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Moments:
    """What is kept of numbers that have been seen.

    Attributes:
        count: How many.
        mean: Of them.
        variance: Mean of the squared distances from the mean.
        low: The smallest; infinite before the first.
        high: The largest.
    """

    count: int = 0
    mean: float = 0.0
    variance: float = 0.0
    low: float = math.inf
    high: float = -math.inf

    @staticmethod
    def of(numbers: np.ndarray) -> Moments:
        """Of an array without NaN; as numpy has them."""
        if not len(numbers):
            return Moments()
        ends = float(numbers.min()), float(numbers.max())
        return Moments(len(numbers), float(numbers.mean()), float(numbers.var()), *ends)

    def __add__(self, other: Moments) -> Moments:
        """Of both together (Chan, Golub and LeVeque, 1979)."""
        count = self.count + other.count
        if not self.count or not other.count:
            return self if self.count else other
        apart = other.mean - self.mean
        share = other.count / count
        within = (1.0 - share) * self.variance + share * other.variance
        return Moments(
            count,
            self.mean + apart * share,
            within + apart * apart * share * (1.0 - share),
            min(self.low, other.low),
            max(self.high, other.high),
        )

    @property
    def deviation(self) -> float:
        """The standard deviation; 1 where differences are too small for a square, or none."""
        found = math.sqrt(self.variance)
        return found if found > 0 else 1.0
