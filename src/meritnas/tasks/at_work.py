"""What a worker does: these functions run in its process."""

from __future__ import annotations

import pickle
import threading
from dataclasses import dataclass
from typing import Any

from meritnas.errors import MeritNASError
from meritnas.tasks.task import Tell

_TURN = threading.RLock()
"""One at a time: trainings draw from a generator, and set a number of threads, of the process."""

_KEPT: dict[str, Any] = {}
"""The material that came last, by its token."""


@dataclass(frozen=True)
class Failed:
    """What a task ended with that users can cause."""

    kind: type[MeritNASError]
    text: str

    def error(self) -> MeritNASError:
        """The same error; some make their text of other words when they are called."""
        found: MeritNASError = self.kind.__new__(self.kind, self.text)
        return found


def keep(token: str, material: bytes) -> None:
    """Have material at hand, in place of what was before."""
    with _TURN:
        if token not in _KEPT:
            _KEPT.clear()
            _KEPT[token] = pickle.loads(material)


def perform(token: str, task: bytes, tell: Tell) -> bytes:
    """Do a task with the material that is at hand.

    What goes from process to process is pickled here: executors have their own ways with tensors,
    which take shared memory.
    """
    with _TURN:
        try:
            found = pickle.loads(task)(_KEPT[token], tell)
        except MeritNASError as error:
            found = Failed(type(error), str(error))
        return pickle.dumps(found, pickle.HIGHEST_PROTOCOL)


def perform_with(token: str, material: bytes, task: bytes, tell: Tell | None = None) -> bytes:
    """Do a task that brings its material along."""
    with _TURN:
        keep(token, material)
        return perform(token, task, tell or _nobody)


def _nobody(said: Any) -> None:
    del said
