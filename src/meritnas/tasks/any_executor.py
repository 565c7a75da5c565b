"""Any `concurrent.futures` executor as one who does tasks."""

from __future__ import annotations

import os
from concurrent.futures import Executor, Future

from meritnas.tasks.at_work import perform_with
from meritnas.tasks.task import Material, Tell


class AnyExecutor:
    """An executor of a user's own.

    Tasks bring their material along, and say nothing until they are done: such an executor has no
    way for that. It is not shut down.

    Args:
        executor: it.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._token, self._material = "", b""

    @property
    def size(self) -> int:
        """As many workers as it says that it has, or as there are processors here."""
        found = getattr(self._executor, "_max_workers", None)
        return found if isinstance(found, int) and found > 0 else os.cpu_count() or 1

    def submit_task(self, task: bytes, material: Material, tell: Tell) -> Future[bytes]:
        """Have a task done."""
        del tell
        if self._token != material.token:
            self._token, self._material = material.token, material.pickled()
        return self._executor.submit(perform_with, self._token, self._material, task)
