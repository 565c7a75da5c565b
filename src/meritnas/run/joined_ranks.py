"""The processes of a group that torchrun has started: the first leads, the others help.

Every process of the group is the same command. The first one does what it says; the others take no
notice of it, and do the tasks that the first one sends, until it is over. So data are read once,
and no process can see other data than the first.

They find each other in torchrun's store, which may outlive them: after a restart it still holds
what earlier processes wrote. So each helper is spoken to by a name that it alone has.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import TracebackType
from typing import Any

import torch
import torch.distributed

from meritnas.devices.several import VISIBLE, check_device_of_each, visible_gpu
from meritnas.errors import UsageError, WorkersError
from meritnas.run.last_words import FAILED, last_words
from meritnas.run.pickled_task import Task, pickled, unpickled
from meritnas.version import __version__
from meritnas.workers.launch import Launch
from meritnas.workers.torch_workers import PATIENCE, Store, TorchWorkers, Watch, nobody
from meritnas.workers.workers import Workers

_dist: Any = torch.distributed

_OVER = "over"
_WORDS = "words"
_KIND = "kind of device"
_LOOK = 0.05
"""Seconds between looks at whether there is something to do."""

_LAST_WORDS = 10.0
"""Seconds that the first process has to hear why another fails: torchrun ends it soon after."""

_LEAVING = 120.0
"""Seconds that the first process waits until the others know that all is over."""

_INTERRUPTED = 130


class JoinedRanks:
    """The other processes of torchrun's group while they are needed; this one is rank 0.

    Args:
        launch: the group.
        workers: into how many shares the search divides its work.
        threads: of each process.
        device: that each computes on.
        task: what the others do.
        patience: seconds that each waits for the others in one exchange.
    """

    def __init__(
        self,
        launch: Launch,
        workers: int,
        threads: int,
        device: str,
        task: Task,
        patience: float = PATIENCE,
    ) -> None:
        self._launch = launch
        self._workers = workers
        self._threads = threads
        self._device = device
        self._task = task
        self._patience = patience
        self._met: tuple[TorchWorkers, Store, Watch] | None = None

    def __enter__(self) -> Workers:
        """Send them the task; complains about a process of another version."""
        if self._launch.rank:
            raise UsageError(
                "only the first process that torchrun starts may search; let torchrun start the "
                "command itself: torchrun --nproc-per-node 2 -m meritnas search ..."
            )
        check_shares(self._launch, self._workers)
        check_device_of_each(self._device)
        task = pickled(self._task)
        store = _group_store(self._launch)
        meeting = uuid.uuid4().hex
        watch = partial(_call_and_listen, store, self._launch.size, meeting)
        kind = torch.device(self._device).type
        _dist.PrefixStore(meeting, store).set(_KIND, kind)
        watch(False)
        ranks = _join(self._launch, store, meeting, kind, self._patience, watch)
        ranks.send(f"{self._patience} {self._threads} ".encode() + task)
        self._met = ranks, _dist.PrefixStore(meeting, store), watch
        return ranks

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """They go back to waiting; torchrun ends them where this process fails.

        Whoever leaves a group breaks its connections at once, so the first to end waits for all.
        """
        if self._met is None or error is not None:
            return
        _, store, watch = self._met
        until = time.monotonic() + self._patience
        while not store.check([_done(rank) for rank in range(1, self._launch.size)]):
            watch(False)
            if time.monotonic() > until:
                raise WorkersError(
                    "a process of the search has not ended its part within "
                    f"{self._patience:.0f} seconds of the first one"
                )
            time.sleep(_LOOK)
        self._met = None


def check_shares(launch: Launch, workers: int) -> None:
    """Complain where some processes would have more to do than others, or nothing."""
    if workers % launch.size:
        raise UsageError(
            f"torchrun has started {launch.size} processes, and --workers {workers} cannot be "
            f"dealt out evenly over them; take --workers {launch.size} or a multiple of it"
        )


def help_the_first(launch: Launch) -> None:
    """What all processes of the group but the first do; ends the process."""
    # Torchrun passes Ctrl-C on to all, and waits for all of them to end.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(_INTERRUPTED))
    helper = _Helper(launch)
    gpu = visible_gpu(launch.local_rank, os.environ, torch.cuda.device_count())
    if gpu is not None:  # nothing has looked for it yet
        os.environ[VISIBLE] = gpu
    try:
        helper.work()
    except BaseException as error:
        if not helper.first_knows(error):
            said = f"process {launch.rank} of the search: {last_words(error)}"
            print(said, file=sys.stderr, flush=True)
        os._exit(FAILED)
    os._exit(0)


@contextmanager
def leading(launch: Launch) -> Iterator[None]:
    """The first process' work; the others end with it.

    Torchrun would wait for them for ever where the first ends well, and ends them where it fails.
    """
    try:
        yield
    except SystemExit as end:
        _leave(launch, 0.0 if end.code else _LEAVING)
        raise
    except BaseException:
        _leave(launch, 0.0)
        raise
    _leave(launch, _LEAVING)


class _Helper:
    """A process that does what the first one sends."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._name = uuid.uuid4().hex
        self._store: Store = None
        self._meeting = ""
        self._ranks: TorchWorkers | None = None
        """Kept until the first process calls again: until then others may still read."""

    def work(self) -> None:
        """Do task after task, until all is over."""
        self._store = _group_store(self._launch)
        self._store.set(_place(self._launch.rank), self._name)
        while (said := self._said()) != _OVER:
            if said == self._meeting:
                time.sleep(_LOOK)
                continue
            self._meeting = said
            meeting = _dist.PrefixStore(said, self._store)
            kind = meeting.get(_KIND).decode()
            self._ranks = _join(self._launch, self._store, said, kind, PATIENCE)
            patience, threads, task = self._ranks.received().split(b" ", 2)
            self._ranks.patience = float(patience)
            torch.set_num_threads(int(threads))
            unpickled(task)(self._ranks)
            meeting.set(_done(self._launch.rank), "")
        self._store.set(_gone(self._name), "")

    def first_knows(self, error: BaseException) -> bool:
        """Tell the first process why this one fails; whether it needs no telling, or has heard."""
        try:
            if self._meeting and not isinstance(error, WorkersError):
                said = f"process {self._launch.rank} of the search has ended: {last_words(error)}"
                _dist.PrefixStore(self._meeting, self._store).set(_WORDS, said)
            until = time.monotonic() + _LAST_WORDS
            while self._said() != _OVER:
                if time.monotonic() > until:
                    return False
                time.sleep(_LOOK)
        except Exception:  # there is no store any more, or never was
            return False
        return True

    def _said(self) -> str:
        if not self._store.check([self._name]):
            return ""
        return str(self._store.get(self._name).decode())


def _call_and_listen(store: Store, size: int, meeting: str, broken: bool) -> None:
    """Call the helpers to a meeting, as they come; complain where one of them has failed.

    Whoever fails by itself says so before its connection breaks; one that is killed does not, and
    is to be named at once: torchrun ends all others within a tenth of a second.
    """
    called = _dist.PrefixStore(meeting, store)
    if called.check([_WORDS]):
        raise WorkersError(called.get(_WORDS).decode())
    if not broken and not called.check([f"here{rank}" for rank in range(size)]):
        _tell(store, size, meeting)


def _tell(store: Store, size: int, what: str) -> list[str]:
    """Say something to all helpers that are there; their names."""
    names = []
    for rank in range(1, size):
        if store.check([_place(rank)]):
            names.append(store.get(_place(rank)).decode())
            store.set(names[-1], what)
    return names


def _leave(launch: Launch, patience: float) -> None:
    """Tell the others that all is over, and wait until they have heard it."""
    with suppress(Exception):  # whoever started the group may be gone already, and they with it
        store = _group_store(launch)
        until = time.monotonic() + patience
        while True:
            names = _tell(store, launch.size, _OVER)
            all_called = len(names) == launch.size - 1
            if all_called and store.check([_gone(name) for name in names]):
                return
            if time.monotonic() >= until:
                return
            time.sleep(_LOOK)


def _done(rank: int) -> str:
    return f"done{rank}"


def _place(rank: int) -> str:
    return f"meritnas helper {rank}"


def _gone(name: str) -> str:
    return f"{name} has gone"


def _group_store(launch: Launch) -> Store:
    """Where the processes of a group find each other."""
    try:
        handler = _dist.rendezvous("env://", rank=launch.rank, world_size=launch.size)
        return next(handler)[0]
    except (RuntimeError, ValueError, OSError) as error:
        raise WorkersError(
            f"process {launch.rank} of the search does not reach {launch.address}:{launch.port}, "
            f"where torchrun's processes meet ({str(error).splitlines()[0]})"
        ) from error


def _join(
    launch: Launch,
    store: Store,
    meeting: str,
    kind: str,
    patience: float,
    watch: Watch = nobody,
) -> TorchWorkers:
    return TorchWorkers(
        launch.rank,
        launch.size,
        _dist.PrefixStore(meeting, store),
        watch=watch,
        patience=patience,
        about=_about(),
        everywhere=not launch.on_one_machine,
        kind=kind,
    )


def _about() -> str:
    """What must be the same on all machines."""
    python = ".".join(map(str, sys.version_info[:2]))
    return f"meritnas {__version__}, torch {torch.__version__}, Python {python}"
