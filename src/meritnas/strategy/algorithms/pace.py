"""How fast policies make up their minds: all default learning rates, in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from meritnas.policy.policy import Ascent, Policy


@dataclass(frozen=True)
class Pace:
    """How fast a strategy makes up its mind, unless it is told otherwise.

    Adam moves a logit by about its rate a step, so rate * updates says how decided a policy can
    become. The papers' 3e-4 goes with some 20,000 updates; ours are hundreds to thousands, so it
    is the product that is kept.

    Attributes:
        way: rate * updates, how far a logit can get.
        least: the smallest rate, however many updates there are.
        most: the largest rate, however few.
        ascent: the rest of how the policy moves.
        falls: whether the rate falls to zero along a cosine over all updates.
    """

    way: float
    least: float
    most: float
    ascent: Ascent
    falls: bool = False

    def rate(self, updates: int) -> float:
        """The learning rate for so many updates."""
        return float(np.clip(self.way / max(1, updates), self.least, self.most))


_DARTS = Ascent(betas=(0.5, 0.999), eps=1e-8, weight_decay=1e-3)
_PAPERS = Pace(way=6.0, least=3e-4, most=0.1, ascent=_DARTS)

PACES: Mapping[str, Pace] = {
    "tabnas": Pace(way=20.0, least=0.005, most=0.1, ascent=Ascent()),
    "parsec": Pace(way=20.0, least=0.005, most=0.1, ascent=Ascent(eps=1e-8)),
    "advantage": Pace(
        way=12.0,
        least=3e-4,
        most=0.1,
        ascent=Ascent(betas=(0.5, 0.999), eps=1e-8, clip=1.0),
        falls=True,
    ),
    "darts": _PAPERS,
    "pc-darts": replace(_PAPERS, way=12.0, least=6e-4),
    "snas": _PAPERS,
    "nasp": replace(_PAPERS, ascent=replace(_DARTS, weight_decay=0.0)),
    "gdas": _PAPERS,
    "proxyless": replace(
        _PAPERS, way=12.0, ascent=Ascent(betas=(0.0, 0.999), eps=1e-8, weight_decay=0.0)
    ),
}
"""All default rates, in one place.

`tabnas` (appendix B.1; the soft rewards too): Adam (.9, .999), eps 1e-3, and .005
where there are many updates. `advantage` (appendix D; REINFORCE too): Adam (.5, .999), norm
clipped to 1, falling along a cosine. Its weight decay of 3e-3 is left out: gradients of a small
supernet, whose advantages sum over few cells, are of that size themselves, and the policy would
stay where it began (entropy 1.34 of 1.39 after 1,200 updates on CIFAR-10, with 3 cells).
`darts`, `snas`, `gdas`: Adam (.5, .999), weight decay 1e-3, as DARTS; `pc-darts` has twice its
rate. `nasp` has no weight decay, which would pull its weights to 0 and not to each other.
`proxyless`: no momentum and no weight decay, as its authors, so that a logit that was not sampled
does not move.
"""


def make_policy(
    name: str,
    sizes: tuple[int, ...],
    updates: int,
    rate: float | None,
    initial: np.ndarray | None = None,
) -> Policy:
    """A policy that moves at the pace of this name, or with this rate."""
    pace = PACES[name]
    chosen = pace.rate(updates) if rate is None else rate
    ascent = replace(pace.ascent, falls_over=max(1, updates)) if pace.falls else pace.ascent
    return Policy(sizes, chosen, ascent, initial)
