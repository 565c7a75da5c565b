"""Starts the processes of a search on this machine, watches them, and ends them."""

from __future__ import annotations

import json
import os
import pickle
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from types import TracebackType
from typing import IO

from meritnas.errors import UsageError, WorkersError
from meritnas.settings.settings import SearchSettings
from meritnas.workers.torch_workers import TorchWorkers, opened_store
from meritnas.workers.workers import ONE, Workers

Task = Callable[[Workers], object]
"""What the other ranks do; it is pickled."""

_BEGIN = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from meritnas.run.rank import main; main()"
)
"""With the same modules in reach as here, and without running the user's script again."""

_LAST_WORDS = 5.0
"""Seconds that a process whose connection is broken has to end."""

_LAST_STEPS = 60.0
"""Seconds that processes have to end after the last exchange."""


def ranks_here(settings: SearchSettings) -> int:
    """How many processes compute a search: as many as its workers, if there are cores for them.

    With fewer cores, the most that divide the number of workers. Another device than the CPU has
    one process.
    """
    if settings.device != "cpu":
        return 1
    room = min(settings.workers, max(1, cores() // settings.threads))
    return max(size for size in range(1, room + 1) if settings.workers % size == 0)


def cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LocalRanks:
    """The other processes of a search while they are needed; this one is rank 0.

    Whatever ends the block ends them: they are killed where it is left by an error, and end by
    themselves where this process is killed, as their standard input ends with it.

    Args:
        settings: the search's.
        task: what they do.
    """

    def __init__(self, settings: SearchSettings, task: Task) -> None:
        self._size = ranks_here(settings)
        self._threads = settings.threads
        self._task = task
        self._processes: list[subprocess.Popen[bytes]] = []
        self._said: list[IO[bytes]] = []

    def __enter__(self) -> Workers:
        """Start them."""
        if self._size == 1:
            return ONE
        task = _pickled(self._task)
        try:
            store, port = opened_store()
            for rank in range(1, self._size):
                self._start(rank, port)
            for process in self._processes:
                _hand_over(process, task)
            return TorchWorkers(0, self._size, store, self._watch)
        except BaseException:
            self._end(0.0)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End them."""
        self._end(_LAST_STEPS if error is None else 0.0)

    def _start(self, rank: int, port: int) -> None:
        said = tempfile.TemporaryFile()  # noqa: SIM115 (open for as long as the process is)
        self._said.append(said)
        words = [sys.executable, "-c", _BEGIN, json.dumps(sys.path)]
        words += [str(number) for number in (rank, self._size, port, self._threads)]
        threads = str(self._threads)
        self._processes.append(
            subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=said,
                env={**os.environ, "OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads},
            )
        )

    def _watch(self, broken: bool) -> None:
        """Complain about a process that has ended; after a broken connection wait for that."""
        until = time.monotonic() + (_LAST_WORDS if broken else 0.0)
        while True:
            for rank, process in enumerate(self._processes, start=1):
                if process.poll() is not None:
                    raise WorkersError(f"process {rank} of the search has ended: {self._why(rank)}")
            if time.monotonic() >= until:
                return
            time.sleep(0.02)

    def _why(self, rank: int) -> str:
        """A rank's last line, or how it ended."""
        said = self._said[rank - 1]
        said.seek(0)
        lines = said.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        if last:
            return last
        code = self._processes[rank - 1].returncode
        if code >= 0:
            return f"exit code {code}"
        name = signal.Signals(-code).name
        hint = ", perhaps for lack of memory" if -code == signal.SIGKILL else ""
        return f"it was ended by {name}{hint}"

    def _end(self, patience: float) -> None:
        until = time.monotonic() + patience
        for process in self._processes:
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
            finally:
                if process.poll() is None:  # a second Ctrl-C
                    process.kill()
        for process in self._processes:
            process.wait()
            if process.stdin is not None:
                process.stdin.close()
        for said in self._said:
            said.close()
        self._processes, self._said = [], []


def _pickled(task: Task) -> bytes:
    try:
        return pickle.dumps(task)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise UsageError(
            f"this search cannot be given to other processes ({error}); put classes and functions "
            "of your own at the top of a module, or search with workers=1"
        ) from error


def _hand_over(process: subprocess.Popen[bytes], task: bytes) -> None:
    """The pipe stays open: a rank ends when it is closed."""
    assert process.stdin is not None
    try:
        process.stdin.write(struct.pack("<Q", len(task)))
        process.stdin.write(task)
        process.stdin.flush()
    except BrokenPipeError:
        pass  # whoever waits for it will see that it has ended, and say why
