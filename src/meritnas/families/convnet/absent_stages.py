"""The rule of networks in stages: what a stage that is not there answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from meritnas.space.decision import Decision
from meritnas.space.rule import ABSENT, Levels

UNUSED = "unused"
"""The tag of the one option that a decision of an absent stage has."""

_DECISIONS = 3
"""Of each stage: how many blocks, which, how wide."""


@dataclass(frozen=True)
class AbsentStages:
    """After a stage that is absent there is none; blocks and width of an absent one are not asked.

    So that every network is written in one way, its decisions have the option tagged `unused` then.
    """

    def __str__(self) -> str:
        return "no stage follows one that is absent, and an absent one has no blocks and no width"

    def levels(self, decisions: Sequence[Decision]) -> Levels:
        """State 0 while stages are there, state 1 after the last one."""
        found = []
        for place, decision in enumerate(decisions):
            after = np.zeros((2, len(decision)), dtype=np.int64)
            if place == 0:  # the size of images
                after[1] = -1
            elif (place - 1) % _DECISIONS == 0:
                absent = np.array([ABSENT in option.tags for option in decision.options])
                after[0] = np.where(absent, 1, 0)
                after[1] = np.where(absent, 1, -1)
            else:
                unused = np.array([UNUSED in option.tags for option in decision.options])
                after[1] = np.where(unused, 1, -1)
            found.append(after)
        found[-1] = np.where(found[-1] > 0, 0, found[-1])
        return tuple(found)
