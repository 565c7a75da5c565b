"""Does tasks, some at a time, and does again what was lost with its worker."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Future
from dataclasses import dataclass
from functools import partial
from itertools import count
from queue import SimpleQueue
from typing import Any, Protocol

from meritnas.errors import WorkersError
from meritnas.tasks.at_work import Failed
from meritnas.tasks.task import Material, Task, Tell, pickled

TRIES = 3
"""How often a task is begun whose worker ends before it has."""


class LostWorkerError(BrokenExecutor):
    """A worker has ended before its task had."""


class Crew(Protocol):
    """Does tasks, some at a time."""

    @property
    def size(self) -> int:
        """How many at a time."""
        ...

    @property
    def threads(self) -> int | None:
        """CPU threads of each; None for as many as one alone has."""
        ...

    def begin(self, task: Task, material: Material, hear: Tell) -> None:
        """Have a task done; at most `size` of them are begun and have not been waited for.

        Args:
            task: what to do.
            material: what it shares with others.
            hear: is told how far it is, in this thread, while others are waited for.
        """
        ...

    def wait(self) -> tuple[Task, Any]:
        """The next task that has ended, and what it came to."""
        ...


class Alone:
    """This process, which does one task after the other."""

    size = 1
    threads = None

    def __init__(self) -> None:
        self._begun: tuple[Task, Material, Tell] | None = None

    def begin(self, task: Task, material: Material, hear: Tell) -> None:
        """Put it off until it is waited for."""
        self._begun = task, material, hear

    def wait(self) -> tuple[Task, Any]:
        """Do it."""
        assert self._begun is not None
        task, material, hear = self._begun
        return task, task(material.value, hear)


ALONE = Alone()


class Hands(Protocol):
    """Who works: an executor that is given tasks."""

    @property
    def size(self) -> int:
        """How many tasks it does at a time."""
        ...

    def submit_task(self, task: bytes, material: Material, tell: Tell) -> Future[bytes]:
        """Have a task done; what it comes to is pickled.

        Args:
            task: pickled.
            material: what it needs.
            tell: is told how far it is, from another thread.
        """
        ...


@dataclass(frozen=True)
class _Flight:
    """A task that is being done."""

    task: Task
    material: Material
    hear: Tell
    tries: int
    future: Future[bytes]


class Hired:
    """Others, who do tasks for this process.

    A worker that ends before its task costs that task, which is begun again, at most `TRIES` times.

    Args:
        hands: who works.
        threads: of each task.
    """

    def __init__(self, hands: Hands, threads: int) -> None:
        self.threads: int | None = threads
        self._hands = hands
        self._flights: dict[int, _Flight] = {}
        self._numbers = count()
        self._heard: SimpleQueue[tuple[int, Callable[[], None] | None]] = SimpleQueue()

    @property
    def size(self) -> int:
        """How many at a time."""
        return self._hands.size

    def begin(self, task: Task, material: Material, hear: Tell) -> None:
        """Give it to whoever is free."""
        self._begin(task, material, hear, 1)

    def _begin(self, task: Task, material: Material, hear: Tell, tries: int) -> None:
        number = next(self._numbers)

        def told(said: Any) -> None:
            self._heard.put((number, partial(hear, said)))

        try:
            future = self._hands.submit_task(pickled(task), material, told)
        except BrokenExecutor as error:
            raise WorkersError(f"nobody is left for {task.name} ({error})") from error
        self._flights[number] = _Flight(task, material, hear, tries, future)
        future.add_done_callback(lambda _: self._heard.put((number, None)))

    def wait(self) -> tuple[Task, Any]:
        """The next one that has ended; what others have to say is heard meanwhile.

        Raises:
            WorkersError: A task was lost too often.
        """
        while True:
            number, say = self._heard.get()
            if number not in self._flights:  # late words of one that has ended
                continue
            if say is not None:
                say()
                continue
            flight = self._flights.pop(number)
            try:
                found = pickle.loads(flight.future.result())
            except (BrokenExecutor, CancelledError) as error:
                self._again(flight, error)
                continue
            if isinstance(found, Failed):
                raise found.error()
            return flight.task, found

    def _again(self, lost: _Flight, error: BaseException) -> None:
        if lost.tries >= TRIES:
            raise WorkersError(
                f"{lost.task.name} was begun {lost.tries} times, and its worker ended each time: "
                f"{error}"
            ) from error
        self._begin(lost.task, lost.material, lost.hear, lost.tries + 1)

    def give_up(self) -> None:
        """Have nothing begun any more that has not been."""
        for flight in self._flights.values():
            flight.future.cancel()
        self._flights = {}


def all_do(crew: Crew, task: Task, material: Material) -> list[Any]:
    """What a task comes to when as many as there are do it at the same time."""
    for _ in range(crew.size):
        crew.begin(task, material, _nobody)
    return [crew.wait()[1] for _ in range(crew.size)]


def _nobody(said: Any) -> None:
    del said
