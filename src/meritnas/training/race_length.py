"""How long the trainings of a race may be, and how many take part, in the time that there is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from meritnas.settings.halving import TABLES, Halving
from meritnas.training.race import Race


def timed_race(
    race: Race,
    favourites: Sequence[str],
    rungs: int,
    epochs: int,
    usual: int,
    halving: Halving = TABLES,
    size: int = 1,
) -> Race:
    """The race that so many epochs of training allow in all.

    Where they are plenty, trainings get longer than usual and more of the search's favourites take
    part, as far and in the order that `halving` says; where they are few, fewer finalists do, as
    long as that helps to give each at least half of the usual epochs.

    Args:
        race: as it would be if time did not matter; its epochs do not count.
        favourites: all that the search has ranked, best first.
        rungs: how many networks of smaller limits are trained besides.
        epochs: what can be afforded, one after the other.
        usual: the epochs of a training where time does not matter.
        halving: how the time is divided.
        size: how many trainings are done at a time.
    """
    beside = math.ceil(rungs * race.beside / size)

    def of(finalists: int, length: int) -> Race:
        own = tuple(favourites[:finalists])
        plain = tuple(text for text in race.plain if text not in own)
        found = Race.halving(own, race.dropouts, race.seeds, length, halving)
        return replace(found, plain=plain, taught=race.taught)

    def affordable(finalists: int, length: int) -> bool:
        return of(finalists, length).span(size) + beside * length <= epochs

    def longest(finalists: int) -> int:
        lengths = range(halving.longest * usual, 1, -1)
        return next((length for length in lengths if affordable(finalists, length)), 1)

    finalists, enough = len(race.finalists), halving.before_more * usual
    while finalists < len(favourites) and affordable(finalists + 1, enough):
        finalists += 1
    while finalists > 1 and longest(finalists) < usual // 2:
        finalists -= 1
    return of(finalists, longest(finalists))
