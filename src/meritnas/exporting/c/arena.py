"""Where each buffer stands in the arena: no two that are needed at the same time overlap.

No plan is smaller than the most that is needed at once. Buffers are put, one by one, at the lowest
place that is free while they are needed; which order gives the least is searched for. Some order
gives a plan that is as good as any, since in any plan buffers can be moved down until they lie on
each other.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from meritnas.exporting.c.operations import Buffer

_TRIES, _MOST_PLACED = 4000, 400_000
"""Orders that are tried, and how often a buffer is given a place for that."""


def needed_at_once(buffers: Mapping[int, Buffer]) -> int:
    """The most numbers that are needed at one time."""
    times = {one.born for one in buffers.values()}
    return max(
        sum(one.numbers for one in buffers.values() if one.born <= time <= one.dies)
        for time in times
    )


def planned(buffers: Mapping[int, Buffer]) -> tuple[dict[int, int], int]:
    """(where each buffer begins, how many numbers the arena has): the best plan that is found."""
    least = needed_at_once(buffers)
    beside = _neighbours(buffers)
    best: tuple[int, dict[int, int]] | None = None
    rng = random.Random(0)
    tries = min(_TRIES, _MOST_PLACED // len(buffers)) // len(_ORDERS)
    for key in _ORDERS:
        order = sorted(buffers, key=lambda name: key(buffers[name]))
        for _ in range(max(1, tries)):
            places, size = _placed(order, buffers, beside)
            if best is None or size < best[0]:
                best = size, places
            if size == least:
                return places, size
            order = _changed(order, places, size, buffers, rng)
    assert best is not None
    return best[1], best[0]


_ORDERS: Sequence[Callable[[Buffer], tuple[int, int]]] = (
    lambda one: (-one.numbers, one.born),
    lambda one: (one.born - one.dies, -one.numbers),
    lambda one: (one.born, -one.dies),
    lambda one: (-one.numbers * (one.dies - one.born + 1), one.born),
)


def _neighbours(buffers: Mapping[int, Buffer]) -> dict[int, list[int]]:
    """Of each buffer those that are needed at a time when it is."""
    return {
        a: [
            b
            for b, other in buffers.items()
            if b != a and one.born <= other.dies and other.born <= one.dies
        ]
        for a, one in buffers.items()
    }


def _placed(
    order: Sequence[int], buffers: Mapping[int, Buffer], beside: Mapping[int, Sequence[int]]
) -> tuple[dict[int, int], int]:
    """Each at the lowest place that is free."""
    places: dict[int, int] = {}
    for name in order:
        taken = sorted(
            (places[other], places[other] + buffers[other].numbers)
            for other in beside[name]
            if other in places
        )
        place = 0
        for begin, end in taken:
            if place + buffers[name].numbers <= begin:
                break
            place = max(place, end)
        places[name] = place
    return places, max(place + buffers[name].numbers for name, place in places.items())


def _changed(
    order: Sequence[int],
    places: Mapping[int, int],
    size: int,
    buffers: Mapping[int, Buffer],
    rng: random.Random,
) -> list[int]:
    """Another order: what stands too high is placed earlier, or two change their turns."""
    found = list(order)
    if rng.random() < 0.7:
        highest = [name for name in order if places[name] + buffers[name].numbers == size]
        moved = rng.choice(highest)
        old = found.index(moved)
        found.insert(rng.randrange(old + 1), found.pop(old))
    else:
        a, b = rng.randrange(len(found)), rng.randrange(len(found))
        found[a], found[b] = found[b], found[a]
    return found
