"""Remembers intermediate results while networks that share parts are evaluated."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from meritnas.supernet.gates import Gate

T = TypeVar("T")


class Memory(Protocol):
    """Where parts of a network look before they compute."""

    def recall(self, place: Hashable, made_from: tuple[object, ...], make: Callable[[], T]) -> T:
        """What `make` gives at this place, perhaps from an earlier time.

        Args:
            place: who asks.
            made_from: all that the result depends on and that may change.
            make: computes it.
        """
        ...


class Forgetful:
    """Computes everything every time."""

    def recall(self, place: Hashable, made_from: tuple[object, ...], make: Callable[[], T]) -> T:
        """What `make` gives."""
        del place, made_from
        return make()


class Remembering:
    """Keeps the last result of every place while what it was made from is the same.

    Tensors are the same if they are one object; gates if they run the same options with the same
    tensor of weights. Nothing here notices that weights of a network were trained: a memory is to
    be dropped before that.
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[tuple[object, ...], object]] = {}

    def recall(self, place: Hashable, made_from: tuple[object, ...], make: Callable[[], T]) -> T:
        """The last result where nothing has changed."""
        kept = self._kept.get(place)
        if kept is not None and _same(kept[0], made_from):
            return kept[1]  # type: ignore[return-value]
        self._kept.pop(place, None)  # before the new one takes its room
        found = make()
        self._kept[place] = (made_from, found)
        return found


FORGETFUL = Forgetful()


@contextmanager
def remembering(network: Any) -> Iterator[None]:
    """Inside, a network that has a `memory` keeps what it can; afterwards it forgets all."""
    network.memory = Remembering()
    try:
        yield
    finally:
        network.memory = FORGETFUL


def _same(before: tuple[object, ...], now: tuple[object, ...]) -> bool:
    return len(before) == len(now) and all(map(_same_part, before, now))


def _same_part(before: object, now: object) -> bool:
    if before is now:
        return True
    if isinstance(before, Gate) and isinstance(now, Gate):
        return before.active == now.active and before.weights is now.weights
    return False
