"""Rows to train on, wherever they are: in memory all at once, or read a few groups at a time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import torch

    from meritnas.data.bundle import Part


class Rows(Protocol):
    """What weights are trained on. A `Part` is one group of rows, in memory."""

    @property
    def columns(self) -> int | None:
        """Where pieces of a text continue each other, how many lie side by side; else None."""
        ...

    @property
    def groups(self) -> Sequence[int]:
        """How many rows each group has that is read at once."""
        ...

    @property
    def sample(self) -> Part:
        """Some of the rows, drawn fairly, in memory; all of them where they are there anyway."""
        ...

    def __len__(self) -> int:
        """How many rows there are in all."""
        ...

    def window(self, groups: Sequence[int]) -> Part:
        """The rows of these groups, in their order."""
        ...

    def share(self, share: float) -> Rows:
        """The first so much of it."""
        ...

    def origin(self) -> str:
        """A digest, in hex, of what they are read from; empty where they are in memory."""
        ...

    def to(self, device: torch.device | str) -> Rows:
        """The same with tensors on a device."""
        ...


def seconds_a_row(rows: Rows) -> float:
    """How long it takes to read a row, measured; about nothing where rows are in memory."""
    begun = time.perf_counter()
    rows.window([0])
    return (time.perf_counter() - begun) / rows.groups[0]
