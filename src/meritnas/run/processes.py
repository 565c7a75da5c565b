"""The processes that compute a search: torchrun's, or those that this one starts."""

from __future__ import annotations

from contextlib import AbstractContextManager

from meritnas.run.joined_ranks import JoinedRanks
from meritnas.run.local_ranks import LocalRanks, ranks_here
from meritnas.run.pickled_task import Task
from meritnas.settings.settings import SearchSettings
from meritnas.workers.launch import launched
from meritnas.workers.workers import Workers


def processes(settings: SearchSettings, task: Task) -> AbstractContextManager[Workers]:
    """This process and those that do the task beside it while the block lasts.

    A search with one worker has one process, whoever has started it.
    """
    launch = launched() if settings.workers > 1 else None
    if launch is not None:
        return JoinedRanks(launch, settings.workers, settings.threads, settings.device, task)
    return LocalRanks(ranks_here(settings), settings.threads, task)
