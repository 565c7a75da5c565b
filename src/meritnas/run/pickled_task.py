"""What the first process of a search gives the others to do."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from meritnas.errors import UsageError

if TYPE_CHECKING:  # a process that is just beginning has not loaded torch yet
    from meritnas.workers.workers import Workers

Task: TypeAlias = "Callable[[Workers], object]"
"""What the other ranks do; it is pickled."""


def pickled(task: Task) -> bytes:
    """As bytes; complains about what no other process could find."""
    try:
        return pickle.dumps(task)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise UsageError(
            f"this search cannot be given to other processes ({error}); put classes and functions "
            "of your own at the top of a module, or search with workers=1"
        ) from error


def unpickled(task: bytes) -> Task:
    """The task again; only what the first process itself has sent may come here."""
    found: Task = pickle.loads(task)
    return found
