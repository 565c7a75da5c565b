"""Numbers as people read them: counts, shares, scores, times."""

from __future__ import annotations

import math

_SMALL_SHARE = 1e-4
_BIG_NUMBER = 10**15
_SMALL_VALUE = 1e-6
_NOTHING = 1e-12
"""What differences of scores are off by where they are computed in another order."""


def count_text(number: int) -> str:
    """A whole number for people: 41,153; beyond a thousand million millions 1.05e+26."""
    return f"{number:,}" if abs(number) < _BIG_NUMBER else f"{number:.3g}"


def share_text(share: float) -> str:
    """A part of a whole: 12 %, 0.23 %, 1 in 8.3 million; only the whole itself is 100 %."""
    if share <= 0.0 or share >= 1.0:
        return "0 %" if share <= 0.0 else "100 %"
    if share < _SMALL_SHARE:
        return f"1 in {_words(1.0 / share)}"
    percent = 100.0 * share
    digits = 0 if 10.0 <= percent < 99.0 else 1 if 1.0 <= percent < 99.9 else 2
    factor = 10**digits
    # Cut, not rounded: 3,999 of 4,000 are not all.
    return f"{math.floor(percent * factor + 1e-9) / factor:.{digits}f} %"


def score_text(mean: float, spread: float | None = None) -> str:
    """A score, and how much it varies: 0.965 ± 0.014."""
    digits = _decimals(mean)
    if spread is None:
        return _fixed(mean, digits)
    return f"{_fixed(mean, digits)} ± {_fixed(spread, digits)}"


def signed_text(value: float) -> str:
    """What something adds or takes: +0.0961, -0.00012, +3.4e-07; nothing, without a sign, is 0."""
    size = abs(value)
    if size < _NOTHING:
        return "0.0000"
    if size < _SMALL_VALUE:
        return f"{value:+.1e}"
    digits = 1 - math.floor(math.log10(size)) if size < 1e-3 else 4
    return f"{value:+.{digits}f}"


def interval_text(low: float, high: float) -> str:
    """From where to where: +0.0263 to +0.1659."""
    return f"{signed_text(low)} to {signed_text(high)}"


def duration_text(seconds: float) -> str:
    """A time: 7.4 s, 2 min 05 s, 1 h 03 min."""
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60:02d} min"


def chance_text(p: float) -> str:
    """The chance of something, of which nobody needs to know how small it is: 0.024, <0.001."""
    return "<0.001" if p < 0.001 else f"{p:.2g}"


def _words(number: float) -> str:
    for size, name in ((1e9, "thousand million"), (1e6, "million")):
        if size <= number < 1000 * size:
            return f"{number / size:.3g} {name}"
    return f"{number:,.0f}" if number < 1e6 else f"{number:.1e}"


def _decimals(value: float) -> int:
    """Decimals for about three digits that matter, and three behind the point around 1."""
    size = abs(value)
    if size == 0.0 or 0.1 <= size < 10.0:
        return 3
    return min(8, max(0, 2 - math.floor(math.log10(size))))


def _fixed(value: float, digits: int) -> str:
    if value != 0.0 and abs(value) < 1e-6:
        return f"{value:.2e}"
    return f"{value:,.{digits}f}"
