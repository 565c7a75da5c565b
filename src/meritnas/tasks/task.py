"""What can be computed by itself, by whoever is free, and what several such tasks share."""

from __future__ import annotations

import pickle
import secrets
from collections.abc import Callable
from typing import Any, Protocol

from meritnas.errors import UsageError

Tell = Callable[[Any], None]
"""Says how far a task is."""


class Task(Protocol):
    """What can be computed by itself; whoever does it, and however often, it comes to the same."""

    @property
    def name(self) -> str:
        """What it is, for messages."""
        ...

    def __call__(self, material: Any, tell: Tell) -> Any:
        """Do it.

        Args:
            material: what it shares with others.
            tell: is told how far it is.
        """
        ...


class Material:
    """What many tasks share, such as data; each worker is given it once, if that is possible.

    Args:
        value: anything that can be pickled where others than this process work.
    """

    def __init__(self, value: Any) -> None:
        self.value = value
        self.token = secrets.token_hex(16)

    def pickled(self) -> bytes:
        """The value for another process."""
        return pickled(self.value)


def pickled(value: Any) -> bytes:
    """A value for another process.

    Raises:
        UsageError: Other processes cannot be given it.
    """
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise UsageError(
            f"these trainings cannot be given to other processes ({error}); put classes and "
            "functions of your own at the top of a module, or leave out jobs, ray and executor"
        ) from error
