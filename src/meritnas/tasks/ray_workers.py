"""Workers of Ray that do tasks: on this machine, or in a cluster."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from functools import partial
from queue import SimpleQueue
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

_PERMITS = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_MODE")
"""What says, in the environment, who may use a cluster."""

_PATIENCE = 10.0
"""Seconds that a cluster has to answer."""

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
        self._place: tempfile.TemporaryDirectory[str] | None = None
        self._permit = ""
        if self._begun:
            self._begin(address, wanted)
        self.size = wanted or max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._perform = self._ray.remote(num_cpus=1, max_retries=0)(_perform_and_tell)
        self._call = self._ray.remote(num_cpus=1, max_retries=0)(_call)
        self._ears = self._ray.remote(num_cpus=0)(_Ears).remote()
        self._telling: dict[int, Tell] = {}
        self._number = 0
        self._kept: tuple[str, Any] = "", None
        self._ended: SimpleQueue[tuple[Future[Any], Future[Any]]] = SimpleQueue()
        self._something = threading.Event()
        self._closed = False
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _begin(self, address: str, jobs: int | None) -> None:
        own: dict[str, Any] = {"address": address}
        if address == HERE:
            own |= self._cluster_here(jobs)
        try:
            _knock(address)
            with _own_signals():
                self._ray.init(**own, log_to_driver=False, logging_level="error")
        except (OSError, RuntimeError, ValueError) as error:
            self._end()
            reason = " ".join(str(error).split())
            raise UsageError(
                f"there is no Ray at '{address}' ({reason}); start it with ray start --head, name "
                "another address, or leave it out for a cluster of this machine"
            ) from error

    def _cluster_here(self, jobs: int | None) -> dict[str, Any]:
        """A cluster of this machine, which nobody else reaches and of which nothing is left."""
        self._place = tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True)
        if not any(name in os.environ for name in _PERMITS):  # else Ray leaves one in the home
            self._permit = _PERMITS[0]
            os.environ[self._permit] = secrets.token_hex(32)
        # Workers of this machine find the same modules as this process does.
        places = os.pathsep.join(place for place in sys.path if place)
        return {
            "num_cpus": jobs,
            "include_dashboard": False,
            "runtime_env": {"env_vars": {"PYTHONPATH": places}},
            "_temp_dir": self._place.name,
            "_node_ip_address": "127.0.0.1",
        }

    def _end(self) -> None:
        """End a cluster that was begun here, and remove what it has left."""
        if self._begun:
            self._ray.shutdown()
        if self._permit:
            os.environ.pop(self._permit, None)
        if self._place is not None:
            self._place.cleanup()

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
        found.set_running_or_notify_cancel()
        asked.future().add_done_callback(lambda theirs: self._settle(found, theirs))
        return found

    def _settle(self, found: Future[Any], theirs: Future[Any]) -> None:
        """Have a promise kept by the thread that listens, once it has heard all that was said."""
        self._ended.put((found, theirs))
        self._something.set()

    def _listen(self) -> None:
        while not self._closed:
            self._something.wait(_SECONDS_BETWEEN)
            self._something.clear()
            ended = [self._ended.get() for _ in range(self._ended.qsize())]
            # When Ray has ended, whoever waits for a task is told by its promise.
            with suppress(Exception):
                for number, said in self._ray.get(self._ears.drain.remote()):
                    self._telling[number](said)
            for found, theirs in ended:
                self._keep(found, theirs)

    def _keep(self, found: Future[Any], theirs: Future[Any]) -> None:
        error, lost = theirs.exception(), self._ray.exceptions
        if error is None:
            found.set_result(theirs.result())
        elif isinstance(error, lost.RayTaskError):
            found.set_exception(error.as_instanceof_cause())
        elif isinstance(error, lost.RayError):
            first = str(error).split("\n")[0]
            found.set_exception(LostWorkerError(f"Ray says: {first}"))
        else:
            found.set_exception(error)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Stop listening, and end a cluster that was begun with this executor."""
        del wait, cancel_futures
        self._closed = True
        self._something.set()
        self._listener.join()
        self._end()

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
    import ray

    said: list[Any] = []

    def tell(what: Any) -> None:
        said[:] = [ears.hear.remote(number, what)]

    found = perform_with(token, material, task, tell)
    ray.get(said)  # so that all is heard before the end
    return found


def _call(do: Callable[[], T]) -> T:
    return do()


@contextmanager
def _own_signals() -> Iterator[None]:
    """A polite kill ends this process as it did before, and not as Ray has it: in an abort."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    if before is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, before)


def _knock(address: str) -> None:
    """Complain at once where nobody answers: Ray waits for minutes.

    Raises:
        OSError: Nobody does.
    """
    host, mark, port = address.removeprefix("ray://").rpartition(":")
    if mark and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()


def _imported() -> Any:
    try:
        import ray
    except ImportError as error:
        raise UsageError(
            "Ray is not installed; install it with: pip install 'meritnas[ray]', or give jobs for "
            "processes of this machine"
        ) from error
    return ray
