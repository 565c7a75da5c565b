"""The program of the ranks of a search other than the first; `local_ranks` starts it."""

from __future__ import annotations

import os
import signal
import struct
import sys
import threading

from meritnas.run.last_words import FAILED, last_words
from meritnas.run.pickled_task import unpickled


def main() -> None:
    """Do what standard input says, as rank `argv[2]` of `argv[3]`; end when it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the first rank, which ends all
    rank, size, port, threads = map(int, sys.argv[2:6])
    (length,) = struct.unpack("<Q", _read(8))
    task = _read(length)
    threading.Thread(target=_end_with_the_first, daemon=True).start()
    try:
        _work(task, rank, size, port, threads)
    except BaseException as error:
        print(last_words(error), file=sys.stderr, flush=True)
        os._exit(FAILED)
    # The first rank may still read what this one has sent: it says when all is over.
    threading.Event().wait()


def _work(task: bytes, rank: int, size: int, port: int, threads: int) -> None:
    import torch

    from meritnas.workers.torch_workers import TorchWorkers, joined_store

    torch.set_num_threads(threads)
    unpickled(task)(TorchWorkers(rank, size, joined_store(port)))


def _read(length: int) -> bytes:
    found = sys.stdin.buffer.read(length)
    if len(found) < length:  # the first rank has ended
        os._exit(FAILED)
    return found


def _end_with_the_first() -> None:
    while sys.stdin.buffer.read(1):
        pass
    os._exit(FAILED)
