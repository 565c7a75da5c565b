"""Small helpers for messages: suggestions for misspelt names, lists of names, plain letters."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Returns " did you mean 'x'?" for the known name closest to `word`, or an empty string."""
    by_lower = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), list(by_lower), n=1, cutoff=0.6)
    return f" did you mean '{by_lower[close[0]]}'?" if close else ""


def visible(text: str) -> str:
    """Returns a text without what a terminal would obey: names in files may hold anything."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter == "\n" else ascii(letter)[1:-1] for letter in text
    )


def visible_line(text: str) -> str:
    """Returns the same on one line."""
    return visible(text).replace("\n", "\\n")


def listed(names: Iterable[object], most: int = 20) -> str:
    """Returns the names joined by commas, cut after `most` of them with a count of the rest."""
    every = list(names)
    shown = ", ".join(shortened(str(name)) for name in every[:most])
    return shown if len(every) <= most else f"{shown}, ... and {len(every) - most} more"


def shortened(text: str, most: int = 100) -> str:
    """Returns a text, or its beginning and its end where it is longer than that."""
    half = (most - 5) // 2
    return text if len(text) <= most else f"{text[:half]} ... {text[-half:]}"
