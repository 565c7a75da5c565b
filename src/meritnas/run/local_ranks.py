"""Starts the processes of a search on this machine, watches them, and ends them."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from types import TracebackType
from typing import IO

from meritnas.errors import WorkersError
from meritnas.run.pickled_task import Task, pickled
from meritnas.settings.settings import SearchSettings
from meritnas.workers.torch_workers import PATIENCE, TorchWorkers, opened_store
from meritnas.workers.workers import ONE, Workers

_BEGIN = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from meritnas.run.rank import main; main()"
)
"""With the same modules in reach as here, and without running the user's script again.

Python is told not to look into the current folder (`-P`) before it knows these places.
"""

_LAST_WORDS = 5.0
"""Seconds that a process whose connection is broken has to end."""

_LAST_MOMENT = 5.0
"""Seconds that processes have to end by themselves when they are not needed any more."""


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
        size: how many processes there are, this one included.
        threads: of each of them.
        task: what the others do.
        patience: seconds that each waits for the others in one exchange.
    """

    def __init__(self, size: int, threads: int, task: Task, patience: float = PATIENCE) -> None:
        self._size = size
        self._threads = threads
        self._task = task
        self._patience = patience
        self._processes: list[subprocess.Popen[bytes]] = []
        self._said: list[IO[bytes]] = []

    def __enter__(self) -> Workers:
        """Start them."""
        if self._size == 1:
            return ONE
        task = pickled(self._task)
        try:
            store, port = opened_store()
            for rank in range(1, self._size):
                self._start(rank, port)
            for process in self._processes:
                _hand_over(process, task)
            return TorchWorkers(0, self._size, store, self._watch, self._patience)
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
        self._end(_LAST_MOMENT if error is None else 0.0)

    def _start(self, rank: int, port: int) -> None:
        said = tempfile.TemporaryFile()  # noqa: SIM115 (open for as long as the process is)
        self._said.append(said)
        words = [sys.executable, "-P", "-c", _BEGIN, json.dumps([str(place) for place in sys.path])]
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
        """How a rank has ended: a signal, or its last line."""
        code = self._processes[rank - 1].returncode
        if code < 0:
            hint = ", perhaps for lack of memory" if -code == signal.SIGKILL else ""
            return f"it was killed by {signal.Signals(-code).name}{hint}"
        said = self._said[rank - 1]
        said.seek(0)
        lines = said.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return last or f"exit code {code}"

    def _end(self, patience: float) -> None:
        """End all; those that do not end by themselves in time are killed."""
        until = time.monotonic() + patience
        try:
            for process in self._processes:
                assert process.stdin is not None
                with suppress(OSError):  # it has ended, and not read all that was written
                    process.stdin.close()
            for process in self._processes:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(max(0.0, until - time.monotonic()))
        finally:  # by a second Ctrl-C as well
            for process in self._processes:
                process.kill()
            for process in self._processes:
                process.wait()
            for said in self._said:
                said.close()
            self._processes, self._said = [], []


def _hand_over(process: subprocess.Popen[bytes], task: bytes) -> None:
    """The pipe stays open: a rank ends when it is closed."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # whoever waits for it will see that it has ended, and say why
        process.stdin.write(struct.pack("<Q", len(task)))
        process.stdin.write(task)
        process.stdin.flush()
