"""Small helpers for messages: suggestions for misspelt names, lists of names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Returns " did you mean 'x'?" for the known name closest to `word`, or an empty string."""
    by_lower = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), list(by_lower), n=1, cutoff=0.6)
    return f" did you mean '{by_lower[close[0]]}'?" if close else ""


def listed(names: Iterable[object], most: int = 20) -> str:
    """Returns the names joined by commas, cut after `most` of them with a count of the rest."""
    every = [str(name) for name in names]
    shown = ", ".join(every[:most])
    return shown if len(every) <= most else f"{shown}, ... and {len(every) - most} more"
