"""Workers of Ray that do tasks: on this machine, or in a cluster."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from meritnas.errors import UsageError, whole_number
from meritnas.settings.request import MOST_JOBS
from meritnas.tasks.at_work import perform_with
from meritnas.tasks.crew import LostWorkerError
from meritnas.tasks.task import Material, Tell

P = ParamSpec("P")
T = TypeVar("T")

HERE = "local"
"""The address of a cluster of this machine, which is started and ended with the executor."""

_SECONDS_BETWEEN = 0.2
"""How often workers are asked how far they are."""


class RayWorkers(Executor):
    """Workers of Ray, each of which does one task at a time and has one processor.

    Args:
        address: of a cluster, as Ray writes it; `local` for one on this machine, of `jobs`
            processors, which is started and ended with this executor.
        jobs: how many tasks at a time; None for as many as there are processors.
    """

    def __init__(self, address: str = HERE, jobs: int | None = None) -> None:
        self._ray = _imported()
        wanted = None if jobs is None else whole_number("jobs", jobs, 1, MOST_JOBS)
        self._begun = not self._ray.is_initialized()
        if self._begun:
            self._begin(address, wanted)
        self.size = wanted or max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._perform = self._ray.remote(num_cpus=1, max_retries=0)(_perform_and_tell)
        self._call = self._ray.remote(num_cpus=1, max_retries=0)(_call)
        self._ears = self._ray.remote(num_cpus=0)(_Ears).remote()
        self._telling: dict[int, Tell] = {}
        self._number = 0
        self._kept: tuple[str, Any] = "", None
        self._closed = threading.Event()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _begin(self, address: str, jobs: int | None) -> None:
        here = {"num_cpus": jobs, "include_dashboard": False} if address == HERE else {}
        # Workers of this machine find the same modules as this process does.
        places = os.pathsep.join(place for place in sys.path if place)
        own = {"env_vars": {"PYTHONPATH": places}} if address == HERE else {}
        try:
            self._ray.init(
                address=address, log_to_driver=False, logging_level="error", runtime_env=own, **here
            )
        except (ConnectionError, RuntimeError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise UsageError(
                f"there is no Ray at '{address}' ({reason}); start it with ray start --head, name "
                f"another address, or leave it out for a cluster of this machine"
            ) from error

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have a function called by a worker."""
        return self._future(self._call.remote(partial(fn, *args, **kwargs)))

    def submit_task(self, task: bytes, material: Material, tell: Tell) -> Future[bytes]:
        """Have a task done; its material is put where all workers find it, once."""
        if self._kept[0] != material.token:
            self._kept = material.token, self._ray.put(material.pickled())
        self._number += 1
        self._telling[self._number] = tell
        token, kept = self._kept
        return self._future(self._perform.remote(self._ears, self._number, token, kept, task))

    def _future(self, asked: Any) -> Future[Any]:
        """What Ray promises, with the errors that executors have."""
        found: Future[Any] = Future()
        lost = self._ray.exceptions

        def ended(theirs: Future[Any]) -> None:
            error = theirs.exception()
            if error is None:
                found.set_result(theirs.result())
            elif isinstance(error, lost.RayTaskError):
                found.set_exception(error.as_instanceof_cause())
            elif isinstance(error, lost.RayError):
                first = str(error).split("\n")[0]
                found.set_exception(LostWorkerError(f"Ray says: {first}"))
            else:
                found.set_exception(error)

        found.set_running_or_notify_cancel()
        asked.future().add_done_callback(ended)
        return found

    def _listen(self) -> None:
        while not self._closed.wait(_SECONDS_BETWEEN):
            try:
                heard = self._ray.get(self._ears.drain.remote())
            except Exception:  # Ray has ended: whoever waits for a task is told
                return
            for number, said in heard:
                self._telling[number](said)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Stop listening, and end a cluster that was begun with this executor."""
        del wait, cancel_futures
        self._closed.set()
        self._listener.join()
        if self._begun:
            self._ray.shutdown()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it at once."""
        self.shutdown()


class _Ears:
    """Hears what all workers say; an actor of Ray."""

    def __init__(self) -> None:
        self._heard: list[tuple[int, Any]] = []

    def hear(self, number: int, said: Any) -> None:
        """What a task says."""
        self._heard.append((number, said))

    def drain(self) -> list[tuple[int, Any]]:
        """What was said since this was asked last."""
        found, self._heard = self._heard, []
        return found


def _perform_and_tell(ears: Any, number: int, token: str, material: bytes, task: bytes) -> bytes:
    return perform_with(token, material, task, lambda said: ears.hear.remote(number, said))


def _call(do: Callable[[], T]) -> T:
    return do()


def _imported() -> Any:
    try:
        import ray
    except ImportError as error:
        raise UsageError(
            "Ray is not installed; install it with: pip install 'meritnas[ray]', or give jobs for "
            "processes of this machine"
        ) from error
    return ray
