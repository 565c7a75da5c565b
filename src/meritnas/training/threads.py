"""Limits the number of CPU threads for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits


@contextmanager
def limited_threads(threads: int) -> Iterator[None]:
    """Compute with this many CPU threads, then leave the number as it was.

    Rounding depends on how sums are split between threads, so the number is part of what makes a
    run repeatable, in torch and in the linear algebra under numpy and scikit-learn alike.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with threadpool_limits(threads):
            yield
    finally:
        torch.set_num_threads(before)
