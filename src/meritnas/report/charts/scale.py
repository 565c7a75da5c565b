"""From numbers to places along an axis of a chart, and the round numbers beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from meritnas.report.charts.svg import ticks


@dataclass(frozen=True)
class Scale:
    """An axis: `low` is drawn at `start`, `high` at `end`.

    Attributes:
        low: the least number.
        high: the greatest.
        start: the place of the least, in the picture's units.
        end: the place of the greatest.
        log: whether it is logarithmic; then all numbers are above 0.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The place of a number."""
        low, high = self.low, self.high
        if self.log:
            value, low, high = math.log(value), math.log(low), math.log(high)
        share = 0.5 if high == low else (value - low) / (high - low)
        return self.start + share * (self.end - self.start)

    def ticks(self, about: int = 4) -> list[float]:
        """Round numbers along it, about so many; on a logarithmic one 1, 2, 5, 10, 20, ..."""
        return _log_ticks(self.low, self.high) if self.log else ticks(self.low, self.high, about)


def padded(low: float, high: float) -> tuple[float, float]:
    """A little more than from low to high, so that nothing is drawn on the edge."""
    pad = 0.06 * (high - low) or abs(low) * 0.1 or 1.0
    return low - pad, high + pad


def _log_ticks(low: float, high: float) -> list[float]:
    found = [
        factor * 10.0**power
        for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for factor in (1, 2, 5)
    ]
    inside = [value for value in found if low <= value <= high]
    if len(inside) < 3:
        return ticks(low, high)
    return inside[:: max(1, len(inside) // 5)]
