"""The ranks of a search: processes that run the same program and exchange numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor


class Workers(Protocol):
    """One of the processes that compute for a search, and its way to the others.

    All of them run the same program on the same state, so all of them call the same methods in
    the same order.
    """

    @property
    def rank(self) -> int:
        """Which one this is; rank 0 writes files and speaks to the user."""
        ...

    @property
    def size(self) -> int:
        """How many there are."""
        ...

    def gather(self, own: Tensor, lengths: Sequence[int]) -> list[Tensor]:
        """What all ranks give, in the order of ranks, on every rank.

        Args:
            own: numbers [lengths[rank]], of the same type on all ranks.
            lengths: how many each rank gives; all ranks know all of them.
        """
        ...

    def broadcast(self, value: float) -> float:
        """What rank 0 gives: for all that depends on the clock."""
        ...

    def barrier(self) -> None:
        """Wait until all ranks have come here."""
        ...


class OneWorker:
    """The only process there is."""

    rank = 0
    size = 1

    def gather(self, own: Tensor, lengths: Sequence[int]) -> list[Tensor]:
        """Its own."""
        del lengths
        return [own]

    def broadcast(self, value: float) -> float:
        """Its own."""
        return value

    def barrier(self) -> None:
        """There is nobody to wait for."""


ONE = OneWorker()
