"""Why a process that helps in a search ends before its time."""

from __future__ import annotations

from meritnas.errors import lacks_memory

FAILED = 3
"""Its exit code."""


def last_words(error: BaseException) -> str:
    """One line, which the first process quotes."""
    if lacks_memory(error):
        return f"there is not enough memory for it ({_first_line(error)})"
    return f"{type(error).__name__}: {_first_line(error)}"


def _first_line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else ""
