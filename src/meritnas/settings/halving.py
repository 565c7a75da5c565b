"""How a race divides its time between many networks and long trainings."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Halving:
    """When short rounds of a race end, and how long its trainings may get.

    The defaults suit tables: short trainings decide badly between networks that are nearly alike.
    Mean validation loss of the winner over 20 searches (`digits` and `wine`, five seeds each), with
    about as many epochs in all: .088 for three finalists without rounds; .090 for eight of which
    two are trained to the end, .091 for six and for twelve of which three are; .097 for four
    without rounds; .093 and .104 for eight and four of which one is. So there rounds are a way to
    look at many; they do not beat three without rounds.

    Attributes:
        to_the_end: so many finalists or fewer are not halved any more.
        least_epochs: of a short training: what is shorter says nothing.
        before_more: trainings get up to so many times as long as usual before further favourites
            of the search take part.
        longest: and up to so many times as long when all do.
        search_share: of the time for everything, the most that the search before has. However much
            there is, a search is not longer than by default: more finalists gain more.
        slowest: where time is limited, an epoch of a finalist takes at most so many times as long
            as one of the mean plain network.
    """

    to_the_end: int = 3
    least_epochs: int = 4
    before_more: int = 1
    longest: int = 2
    search_share: float = 0.35
    slowest: float = math.inf


TABLES = Halving()

IMAGES = Halving(
    to_the_end=1, least_epochs=2, before_more=4, longest=6, search_share=0.2, slowest=1.5
)
"""Networks for images differ by more than chance does after a few epochs, and are far from done
then: one of the search's favourites is trained to the end, and for longer; more of the time goes
into training."""
