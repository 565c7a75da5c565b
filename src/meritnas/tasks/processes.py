"""Processes of this machine that do tasks."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from meritnas.errors import whole_number
from meritnas.settings.request import MOST_JOBS
from meritnas.tasks.at_work import keep, perform
from meritnas.tasks.crew import LostWorkerError
from meritnas.tasks.task import Material, Tell

P = ParamSpec("P")
T = TypeVar("T")

_LAST_WORDS = 5.0
"""Seconds in which the system says how a process has ended."""


class LocalProcesses(Executor):
    """Processes of this machine, each of which does one task at a time.

    They are started when there is something to do, and are fresh ones, not copies of this process.
    Each is the only one of a `ProcessPoolExecutor`, so that one that is killed takes nothing with
    it but its own task; the next task gets another process. They end with this one, however it
    ends, and at once where a `with` block is left by an error.

    Args:
        jobs: how many there are.
    """

    def __init__(self, jobs: int) -> None:
        self.size = whole_number("jobs", jobs, 1, MOST_JOBS)
        self._asked: SimpleQueue[_Asked | None] = SimpleQueue()
        self._workers = [_Worker() for _ in range(self.size)]
        self._threads = [
            threading.Thread(target=self._serve, args=(worker,), daemon=True)
            for worker in self._workers
        ]
        self._lock = threading.Lock()
        self._closed = False
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have a function called in one of the processes."""
        call = partial(fn, *args, **kwargs)
        return self._ask(lambda worker: worker.call(call))

    def submit_task(self, task: bytes, material: Material, tell: Tell) -> Future[bytes]:
        """Have a task done; each process is given its material once."""
        return self._ask(lambda worker: worker.perform(task, material, tell))

    def _ask(self, do: Callable[[_Worker], Any]) -> Future[Any]:
        with self._lock:
            if self._closed:
                raise RuntimeError("these processes have ended: nothing more can be submitted")
            asked = _Asked(do)
            self._asked.put(asked)
        return asked.future

    def _serve(self, worker: _Worker) -> None:
        """Have one thing after the other done by a process."""
        while (asked := self._asked.get()) is not None:
            if not asked.future.set_running_or_notify_cancel():
                continue
            try:
                asked.future.set_result(asked.do(worker))
            except BaseException as error:
                asked.future.set_exception(error)
        worker.end()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes when all that was submitted is done, or what is left is cancelled."""
        with self._lock:
            if not self._closed:
                self._closed = True
                left = self._taken_back() if cancel_futures else []
                for asked in left:
                    asked.future.cancel()
                for _ in self._threads:
                    self._asked.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def _taken_back(self) -> list[_Asked]:
        found = []
        while not self._asked.empty():
            asked = self._asked.get()
            if asked is not None:
                found.append(asked)
        return found

    def kill(self) -> None:
        """End the processes at once, whatever they do."""
        for worker in self._workers:
            worker.kill()
        self.shutdown(cancel_futures=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the processes: at once after an error."""
        if kind is None:
            self.shutdown()
        else:
            self.kill()


@dataclass(frozen=True)
class _Asked:
    """Something to do, and its future."""

    do: Callable[[_Worker], Any]
    future: Future[Any] = field(default_factory=Future)


class _Worker:
    """One process after the other, as long as each lives; used by one thread."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._process: BaseProcess | None = None
        self._material = ""
        self._telling: tuple[Tell, threading.Event] | None = None
        self._killed = threading.Event()
        self._lock = threading.Lock()

    def call(self, do: Callable[[], T]) -> T:
        """What a function comes to in the process.

        Raises:
            LostWorkerError: The process has ended.
        """
        try:
            if self._pool is None:
                self._start()
            assert self._pool is not None
            return self._pool.submit(do).result()
        except BrokenExecutor as error:
            why = self._why()
            self.end()
            raise LostWorkerError(why) from error

    def perform(self, task: bytes, material: Material, tell: Tell) -> bytes:
        """What a task comes to in the process."""
        if self._material != material.token:
            self.call(partial(keep, material.token, material.pickled()))
            self._material = material.token
        all_said = threading.Event()
        self._telling = tell, all_said
        found = self.call(partial(_perform_and_tell, material.token, task))
        all_said.wait(_LAST_WORDS)  # what it says takes another way than what it comes to
        return found

    def _start(self) -> None:
        with self._lock:
            if self._killed.is_set():
                raise BrokenExecutor
            context = multiprocessing.get_context("spawn")
            ours, theirs = context.Pipe(duplex=False)
            self._pool = ProcessPoolExecutor(1, context, _begin, (theirs,))
            with _no_interrupts():
                number = self._pool.submit(os.getpid)
            theirs.close()
        threading.Thread(target=self._listen, args=(ours,), daemon=True).start()
        number.result()
        children = multiprocessing.active_children()
        self._process = next(each for each in children if each.pid == number.result())
        if self._killed.is_set():
            self._process.kill()

    def _listen(self, said: Connection) -> None:
        """Pass on what the process says, until it ends."""
        with said:
            while True:
                try:
                    is_end, found = said.recv()
                except (EOFError, OSError):
                    return
                assert self._telling is not None
                tell, all_said = self._telling
                if is_end:
                    all_said.set()
                else:
                    tell(found)

    def _why(self) -> str:
        """How the process has ended."""
        if self._process is None:
            return (
                "its process ended while it started; in a script, let what searches stand under "
                "if __name__ == '__main__':"
            )
        self._process.join(_LAST_WORDS)
        code = self._process.exitcode
        if code is not None and code < 0:
            hint = ", perhaps for lack of memory" if -code == signal.SIGKILL else ""
            return f"its process was killed by {signal.Signals(-code).name}{hint}"
        return f"its process ended with exit code {code}"

    def kill(self) -> None:
        """End the process now, and start no other."""
        with self._lock:
            self._killed.set()
        if self._process is not None:
            self._process.kill()

    def end(self) -> None:
        """End the process, which has nothing to do; the next task starts another."""
        if self._process is not None:
            self._process.kill()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._pool, self._process, self._material = None, None, ""


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Processes that start inherit that Ctrl-C is not for them: this one hears it and ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_SAID: list[Connection] = []
"""In such a process: where it says how far it is."""


def _begin(said: Connection) -> None:
    """Make ready in a process that has just started: it must not outlive who started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ.pop("TORCHELASTIC_RUN_ID", None)  # torchrun has started the parent, and not this one
    _SAID.append(said)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _perform_and_tell(token: str, task: bytes) -> bytes:
    try:
        return perform(token, task, _say)
    finally:
        _say(None, is_end=True)


def _say(said: Any, *, is_end: bool = False) -> None:
    with suppress(OSError):  # nobody listens any more
        _SAID[0].send((is_end, said))
