"""The errors that users can cause, and checks that raise them."""

from __future__ import annotations

import operator


class MeritNASError(Exception):
    """Root of all errors a user can cause: the rule, the value that broke it, the way out."""


class DataError(MeritNASError, ValueError):
    """The data cannot be used as asked."""


class SpaceError(MeritNASError, ValueError):
    """A search space or an architecture is not well formed."""


class InfeasibleError(MeritNASError, ValueError):
    """No architecture fits the limits."""


class StoreError(MeritNASError):
    """A run folder is missing, foreign, damaged, or cannot be written."""


class DivergedError(MeritNASError):
    """Training has left the finite numbers."""

    def __init__(self, what: str = "the loss is no finite number any more") -> None:
        super().__init__(
            f"training has diverged: {what}; start a new run with a smaller learning rate"
        )


class WorkersError(MeritNASError):
    """A process that computes for a search has ended or does not answer."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}; all processes of the search were ended: continue it with --resume RUN, or "
            "start it again"
        )


class UsageError(MeritNASError, ValueError):
    """Arguments contradict each other or name something that does not exist."""


def lacks_memory(error: BaseException) -> bool:
    """Whether memory is what is missing, which torch says in words."""
    return isinstance(error, MemoryError) or "tried to allocate" in str(error).lower()


def whole_number(
    name: str, value: object, least: int | None = None, most: int | None = None
) -> int:
    """The value as an integer, if it is one (numpy's count too, True is none) and in bounds."""
    try:
        if isinstance(value, bool):
            raise TypeError("an answer, no number")
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError as error:
        raise UsageError(f"{name} must be a whole number, got {told(value)}") from error
    if least is not None and number < least:
        raise UsageError(f"{name} must be at least {least}, got {told(number)}")
    if most is not None and number > most:
        bound = f"{most:,}" if most < 10**15 else f"{most:.0e}"
        raise UsageError(f"{name} must be at most {bound}, got {told(number)}")
    return number


def told(value: object) -> str:
    """A value that somebody gave, for a message of one line: as it is written, or what it is."""
    try:
        written = repr(value)
    except Exception:  # numbers of thousands of digits, and objects of users' own
        written = ""
    if not written or "\n" in written or len(written) > _LONGEST:
        return f"a value of type {type(value).__name__}"
    return written


_LONGEST = 200
"""Of a value in a message, in letters."""
