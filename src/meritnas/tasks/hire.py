"""Who does the tasks of a run, by what its options say."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from meritnas.settings.request import RunOptions
from meritnas.tasks.any_executor import AnyExecutor
from meritnas.tasks.crew import Alone, Crew, Hired
from meritnas.tasks.processes import LocalProcesses
from meritnas.tasks.ray_workers import RayWorkers


@contextmanager
def hired(options: RunOptions) -> Iterator[Crew]:
    """Those who do tasks, while they are needed.

    Args:
        options: `jobs`, `ray` or `executor`, and the `threads` of each task, else one.
    """
    with executor_of(options) as executor:
        if executor is None:
            yield Alone()
            return
        crew = Hired(_hands(executor), options.threads or 1)
        try:
            yield crew
        finally:
            crew.give_up()


@contextmanager
def executor_of(options: RunOptions) -> Iterator[Executor | None]:
    """The executor that options ask for; None where this process does all by itself.

    What is begun here ends here; an executor that was given is left as it is.
    """
    if options.executor is not None:
        yield options.executor
    elif options.ray is not None:
        with RayWorkers(options.ray, options.jobs) as workers:
            yield workers
    elif options.jobs is not None and options.jobs > 1:
        with LocalProcesses(options.jobs) as processes:
            yield processes
    else:
        yield None


def _hands(executor: Executor) -> LocalProcesses | RayWorkers | AnyExecutor:
    if isinstance(executor, LocalProcesses | RayWorkers):
        return executor
    return AnyExecutor(executor)
