"""Ranks that talk by torch.distributed's gloo: on the loopback address, or between machines."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, TypeAlias

import torch
import torch.distributed
from torch import Tensor

from meritnas.devices.placement import beside, on_cpu
from meritnas.devices.several import backend_for
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

_PIECE = 1 << 26
"""Bytes of a message that travel at a time: data may be larger than what a socket takes at once."""

_SOON = 0.02
"""Seconds between looks at who has come, at the beginning."""

_SAYING = 3.0
"""Seconds that processes have to say that they wait, before those that do not are named."""

Watch = Callable[[bool], None]
"""Raises where another process has ended; told whether that is known, and it may take a moment."""


def nobody(broken: bool) -> None:
    """Watches nobody."""
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
        about: what must be the same for all of them, in words: versions.
        everywhere: whether some are on other machines; else only loopback is used.
        kind: of the device that they compute on; between GPUs numbers travel by nccl.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        store: Store,
        watch: Watch = nobody,
        patience: float = PATIENCE,
        about: str = "",
        everywhere: bool = False,
        kind: str = "cpu",
    ) -> None:
        self._rank, self._size = rank, size
        self._store = store
        self._watch = watch
        self.patience = patience
        self._exchange = 0
        options = _dist.ProcessGroupGloo._Options()
        options._devices = [_way_between(everywhere)]
        options._timeout = timedelta(seconds=max(patience, _MEETING))
        self._meet(about)
        try:
            self._group = _dist.ProcessGroupGloo(store, rank, size, options)
        except RuntimeError as error:
            raise self._broken(error) from error
        self._between_gpus: Any = None
        if backend_for(kind) == "nccl":
            own = _dist.PrefixStore("nccl", store)
            self._between_gpus = _dist.ProcessGroupNCCL(own, rank, size)

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
        if self._between_gpus is not None and own.device.type == "cuda":
            sent = own.new_zeros(most)
            sent[: len(own)] = own
            found = [torch.empty_like(sent) for _ in lengths]
            # Nccl has its own watch over processes that end or hang.
            self._between_gpus.allgather([found], [sent]).wait()
        else:
            sent = torch.zeros(most, dtype=own.dtype)
            sent[: len(own)] = on_cpu(own)
            found = [torch.empty_like(sent) for _ in lengths]
            self._wait(self._group.allgather([found], [sent]))
        parts = zip(found, lengths, strict=True)
        return [beside(one[:length], own) for one, length in parts]

    def broadcast(self, value: float) -> float:
        """What rank 0 gives."""
        sent = torch.tensor([value], dtype=torch.float64)
        self._broadcast(sent)
        return float(sent)

    def barrier(self) -> None:
        """Wait until all ranks have come here."""
        self._wait(self._group.barrier())

    def send(self, message: bytes) -> None:
        """Rank 0 gives the others a message; they wait for it in `received`."""
        self.broadcast(len(message))
        for start in range(0, len(message), _PIECE):
            piece = bytearray(message[start : start + _PIECE])
            self._broadcast(torch.frombuffer(piece, dtype=torch.uint8))

    def received(self) -> bytes:
        """The message that rank 0 sends."""
        message = torch.empty(int(self.broadcast(0)), dtype=torch.uint8)
        for start in range(0, len(message), _PIECE):  # `split` has a piece of nothing, too
            self._broadcast(message[start : start + _PIECE])
        return message.numpy().tobytes()

    def _broadcast(self, numbers: Tensor) -> None:
        options = _dist.BroadcastOptions()
        options.rootRank = 0
        options.rootTensor = 0
        self._wait(self._group.broadcast([numbers], options))

    def _meet(self, about: str) -> None:
        """Wait until all are there; without looks at them, one that is dead would cost minutes."""
        store = self._store
        store.set(f"here{self._rank}", about)
        until = time.monotonic() + _MEETING
        for rank in range(self._size):
            while not store.check([f"here{rank}"]):
                self._watch(False)
                if time.monotonic() > until:
                    raise WorkersError(
                        f"process {rank} of the search has not begun within {_MEETING:.0f} seconds"
                    )
                time.sleep(_SOON)
            other = store.get(f"here{rank}").decode()
            if other != about:
                raise WorkersError(
                    f"process {rank} of the search runs {other}, and process {self._rank} {about}; "
                    "install the same versions wherever it runs"
                )

    def _wait(self, work: Any) -> None:
        """Wait in short pieces, so that Ctrl-C and processes that end are noticed."""
        until = time.monotonic() + self.patience
        self._exchange += 1
        waits = False
        while True:
            try:
                work.wait(timedelta(seconds=_LOOK))
                return
            except RuntimeError as error:
                if work.is_completed():
                    raise self._broken(error) from error
                self._watch(False)
                if not waits:
                    self._tell_that_this_waits()
                    waits = True
                if time.monotonic() > until:
                    raise WorkersError(
                        f"process {' or '.join(self._silent())} of the search has not answered for "
                        f"{self.patience:.0f} seconds"
                    ) from error

    def _tell_that_this_waits(self) -> None:
        """So that the others can tell who does not; all ranks count their exchanges alike."""
        with suppress(RuntimeError):  # where there is no store any more
            self._store.set(f"waits{self._rank}", str(self._exchange))

    def _silent(self) -> list[str]:
        """Who of the others is not in this exchange; all of them where nobody says so."""
        others = [rank for rank in range(self._size) if rank != self._rank]
        silent = others
        until = time.monotonic() + _SAYING
        with suppress(RuntimeError):
            while len(silent) > 1 and time.monotonic() < until:
                time.sleep(_SOON)
                silent = [rank for rank in silent if not self._is_in_exchange(rank)]
        return [str(rank) for rank in silent or others]

    def _is_in_exchange(self, rank: int) -> bool:
        name = f"waits{rank}"
        # Who hands on what another lacks may be an exchange ahead of one that waits as well.
        return self._store.check([name]) and int(self._store.get(name)) >= self._exchange - 1

    def _broken(self, error: Exception) -> WorkersError:
        self._tell_that_this_waits()
        self._watch(True)
        return WorkersError(
            f"the connection to process {' or '.join(self._silent())} of the search broke "
            f"({_first_line(error)})"
        )


def _way_between(everywhere: bool) -> Any:
    """How ranks reach each other: `GLOO_SOCKET_IFNAME` may name the network between machines."""
    gloo = _dist.ProcessGroupGloo
    if not everywhere:
        return gloo.create_device(hostname=LOOPBACK)
    name = os.environ.get("GLOO_SOCKET_IFNAME", "").split(",")[0]
    return gloo.create_device(interface=name) if name else gloo.create_default_device()


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
