"""How a search ended: whether it had made up its mind, and its shared weights had been trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

NEARLY_UNIFORM = 0.95
"""Entropy of beliefs from here on, 1 being that of equal ones, says next to nothing.

Beliefs by rank (Zipf's law) have .87 to .92 however sure they are.
"""

SETTLED_MOVES = 4
SETTLED_SHARE = 0.9
"""Beliefs that hardly differ may still be sure, as Shapley values' are, whose steps are small: if
so many of their last moves left the favourite option of this share of decisions as it was.
"""

NEARLY_CHANCE = 0.9
"""Of the loss of what knows nothing: what loses more has hardly learnt."""

STILL_FALLING = 0.03
"""Of the same, from the third to the last quarter of the weight steps: weights still improve."""

TWICE = 2.0
"""How much longer, where a search of the usual length was not enough: a guess, and called so."""


@dataclass(frozen=True)
class Ending:
    """How a search ended.

    Attributes:
        undecided: whether the beliefs are nearly uniform and have not settled either.
        undertrained: whether weights were still improving fast at the end or, in a search shorter
            than usual, are hardly better than what knows nothing.
        entropy: of the beliefs, 1 for uniform ones; None for strategies without beliefs.
        loss: of the shared weights at the end, 1 for what knows nothing; None where unknown.
        weight_steps: steps that trained weights.
        usual_steps: those of a search of the usual length on this data.
        times_longer: how many times as long a search should be; 1 where this one was enough.
    """

    undecided: bool
    undertrained: bool
    entropy: float | None
    loss: float | None
    weight_steps: int
    usual_steps: int
    times_longer: float

    def to_json(self) -> dict[str, Any]:
        """Plain data for `ending_text`."""
        return asdict(self)


def ending_of(
    events: Sequence[Mapping[str, Any]],
    *,
    believes: bool,
    chance_loss: float,
    weight_steps: int,
    usual_steps: int,
) -> Ending:
    """Judge a search by the events of its log.

    Args:
        events: in order.
        believes: whether what is chosen follows from beliefs.
        chance_loss: of what knows nothing.
        weight_steps: steps that trained weights.
        usual_steps: those of a search of the usual length.
    """
    losses = [float(event["train_loss"]) / chance_loss for event in events if "train_loss" in event]
    loss = _mean_of_quarter(losses, 3)
    entropy = float(events[-1]["entropy"]) if believes and events else None
    undecided = entropy is not None and entropy >= NEARLY_UNIFORM and not _settled(events)
    short = weight_steps < usual_steps
    falling = len(losses) >= 4 and _mean_of_quarter(losses, 2) - loss > STILL_FALLING
    undertrained = bool(losses) and (falling or (short and loss > NEARLY_CHANCE))
    longer = usual_steps / max(1, weight_steps) if short else TWICE
    return Ending(
        undecided=undecided,
        undertrained=undertrained,
        entropy=entropy,
        loss=round(loss, 6) if losses else None,
        weight_steps=weight_steps,
        usual_steps=usual_steps,
        times_longer=round(longer, 4) if undecided or undertrained else 1.0,
    )


def ending_text(ending: Mapping[str, Any], seconds: float) -> str:
    """What to tell a user, or an empty string where all is well.

    Args:
        ending: as `Ending.to_json`.
        seconds: that the search took.
    """
    said = []
    if ending["undecided"]:
        said.append(
            f"ended undecided (entropy {ending['entropy']:.2f} of 1, so that its network is little "
            "more than one at random)"
        )
    if ending["undertrained"]:
        said.append(
            "left shared weights that are hardly trained (loss "
            f"{ending['loss']:.2f} of what knows nothing)"
        )
    if not said:
        return ""
    steps, usual = int(ending["weight_steps"]), int(ending["usual_steps"])
    longer = float(ending["times_longer"])
    time = f"about {_rounded(seconds * longer)} at its pace"
    if steps < usual:
        needed = f"one of the usual {usual:,} takes {time}"
    else:
        needed = f"twice as many, which is a guess, take {time}"
    return f"the search of {steps:,} weight steps {' and '.join(said)}; {needed}"


def _settled(events: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the last moves of the beliefs left nearly all favourite options as they were."""
    moved = [
        event["beliefs"]
        for before, event in pairwise(events)
        if event["beliefs"] != before["beliefs"]
    ]
    last = moved[len(moved) // 2 :]
    if len(last) < SETTLED_MOVES:
        return False
    favourites = np.array([[int(np.argmax(row)) for row in beliefs] for beliefs in last])
    return float((favourites == favourites[-1]).all(axis=0).mean()) >= SETTLED_SHARE


def _mean_of_quarter(values: Sequence[float], quarter: int) -> float:
    """The mean of the first (0) to last (3) quarter of some values; of all where there are few."""
    size = len(values)
    some = values[quarter * size // 4 : (quarter + 1) * size // 4] or values
    return float(np.mean(some)) if some else 0.0


def _rounded(seconds: float) -> str:
    """A time that is an estimate: 40 s, 3 min, 2.5 h."""
    if seconds < 99.5:
        return f"{max(1.0, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5970 else f"{seconds / 3600:.1f} h"
