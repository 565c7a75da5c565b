"""Small helpers for messages: suggestions for misspelt names, lists of names, what is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that do something to a terminal instead of being seen, turn the text around them, or
are halves of characters, which cannot be printed at all."""

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str) -> str:
    r"""A text from anywhere as a terminal may be given it, on one line.

    What would not be seen stands there as an escape: `\x1b` for the start of a terminal's command.
    """
    return _UNSEEN.sub(_escape, text)


def visible_lines(text: str) -> str:
    """The same for a text whose lines are its own."""
    return "\n".join(map(visible, text.split("\n")))


def _escape(found: re.Match[str]) -> str:
    number = ord(found[0])
    return _SHORT.get(found[0]) or (f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}")


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
