"""Ranks that talk by torch.distributed's gloo, on this machine's loopback address alone."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeAlias

import torch
import torch.distributed
from torch import Tensor

from meritnas.errors import WorkersError

_dist: Any = torch.distributed  # its types say little of what it has
Store: TypeAlias = Any
"""A `torch.distributed.Store`."""

LOOPBACK = "127.0.0.1"
PATIENCE = 300.0
"""Seconds that a rank waits for the others in one exchange."""

_MEETING = 120.0
"""Seconds until all ranks must have met at the beginning: they import torch first."""

_LOOK = 0.5
"""Seconds between looks at whether the other processes are alive and nobody has pressed Ctrl-C."""

_SOON = 0.02
"""Seconds between looks at who has come, at the beginning."""

Watch = Callable[[bool], None]
"""Raises where another process has ended; told whether that is known, and it may take a moment."""


def _nobody(broken: bool) -> None:
    del broken


def opened_store() -> tuple[Store, int]:
    """Where ranks find each other, for rank 0, and its port.

    Left to itself the store would listen on all of the machine's addresses.
    """
    with socket.socket() as listening:
        listening.bind((LOOPBACK, 0))
        listening.listen()
        port = int(listening.getsockname()[1])
        return _store(port, leads=True, master_listen_fd=listening.detach()), port


def joined_store(port: int) -> Store:
    """The same for the other ranks."""
    return _store(port, leads=False)


def _store(port: int, *, leads: bool, **more: Any) -> Store:
    patience = timedelta(seconds=_MEETING)
    return _dist.TCPStore(LOOPBACK, port, None, leads, patience, wait_for_workers=False, **more)


class TorchWorkers:
    """A rank of several that exchange numbers by gloo.

    The group is its own, not the process' default one: a user may have that already.

    Args:
        rank: which one this is.
        size: how many there are.
        store: where they find each other.
        watch: asked now and then while the others let this one wait.
        patience: seconds that it waits for them in one exchange.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        store: Store,
        watch: Watch = _nobody,
        patience: float = PATIENCE,
    ) -> None:
        self._rank, self._size = rank, size
        self._watch = watch
        self._patience = patience
        options = _dist.ProcessGroupGloo._Options()
        options._devices = [_dist.ProcessGroupGloo.create_device(hostname=LOOPBACK)]
        options._timeout = timedelta(seconds=max(patience, _MEETING))
        self._meet(store)
        try:
            self._group = _dist.ProcessGroupGloo(store, rank, size, options)
        except RuntimeError as error:
            raise self._broken(error) from error

    @property
    def rank(self) -> int:
        """Which one this is."""
        return self._rank

    @property
    def size(self) -> int:
        """How many there are."""
        return self._size

    def gather(self, own: Tensor, lengths: Sequence[int]) -> list[Tensor]:
        """What all ranks give; it travels in one message, filled up to the longest."""
        most = max(lengths)
        if most == 0:
            return [own for _ in lengths]
        sent = torch.zeros(most, dtype=own.dtype)
        sent[: len(own)] = own
        found = [torch.empty_like(sent) for _ in lengths]
        self._wait(self._group.allgather([found], [sent]))
        parts = zip(found, lengths, strict=True)
        return [one[:length].to(own.device) for one, length in parts]

    def broadcast(self, value: float) -> float:
        """What rank 0 gives."""
        sent = torch.tensor([value], dtype=torch.float64)
        options = _dist.BroadcastOptions()
        options.rootRank = 0
        options.rootTensor = 0
        self._wait(self._group.broadcast([sent], options))
        return float(sent)

    def barrier(self) -> None:
        """Wait until all ranks have come here."""
        self._wait(self._group.barrier())

    def _meet(self, store: Store) -> None:
        """Wait until all are there; without looks at them, one that is dead would cost minutes."""
        store.set(f"here{self._rank}", "")
        until = time.monotonic() + _MEETING
        for rank in range(self._size):
            while not store.check([f"here{rank}"]):
                self._watch(False)
                if time.monotonic() > until:
                    raise WorkersError(
                        f"process {rank} of the search has not begun within {_MEETING:.0f} seconds"
                    )
                time.sleep(_SOON)

    def _wait(self, work: Any) -> None:
        """Wait in short pieces, so that Ctrl-C and processes that end are noticed."""
        until = time.monotonic() + self._patience
        while True:
            try:
                work.wait(timedelta(seconds=_LOOK))
                return
            except RuntimeError as error:
                if work.is_completed():
                    raise self._broken(error) from error
                self._watch(False)
                if time.monotonic() > until:
                    others = [str(rank) for rank in range(self._size) if rank != self._rank]
                    raise WorkersError(
                        f"process {' or '.join(others)} of the search has not answered for "
                        f"{self._patience:.0f} seconds"
                    ) from error

    def _broken(self, error: Exception) -> WorkersError:
        self._watch(True)
        return WorkersError(
            f"the connection between the processes of the search broke ({_first_line(error)})"
        )


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
