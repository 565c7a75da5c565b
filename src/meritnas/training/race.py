"""Which networks are trained from scratch, in which order, until the best is known."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

_LONGEST = 2

Result = Mapping[str, Any]
"""What one training gave; `architecture`, `dropout`, `seed` and `valid_loss` matter here.

The loss is None where training diverged: whoever did loses to everyone who did not.
"""


@dataclass(frozen=True)
class Training:
    """One network to train from scratch."""

    architecture: str
    dropout: float
    seed: int


@dataclass(frozen=True)
class Race:
    """Which networks are trained alone, one after the other, until the best is known.

    TabNAS' algorithm 3 ends with up to three architectures, all of which are trained. Here the
    first one is trained with each dropout, the others with the dropout that did better, and the
    winner again with the other seeds, for the spread of its score. Validation loss decides.

    Attributes:
        finalists: texts of architectures, the search's favourite first.
        dropouts: shares to try.
        seeds: the first is everyone's, the others are for the winner.
        epochs: of every training.
    """

    finalists: tuple[str, ...]
    dropouts: tuple[float, ...]
    seeds: tuple[int, ...]
    epochs: int

    @property
    def trainings(self) -> int:
        """How many trainings there are in all."""
        return len(self.dropouts) + len(self.finalists) - 1 + len(self.seeds) - 1

    def share(self, rungs: int) -> float:
        """The part of all trainings that are the race's own, beside those of so many rungs."""
        others = rungs * (len(self.dropouts) + len(self.seeds) - 1)
        return self.trainings / (self.trainings + others)

    def next(self, results: Sequence[Result]) -> Training | None:
        """What to train after these results, or None when the race is over.

        It is also over where all that were to qualify have diverged.
        """
        done, tried = len(results), len(self.dropouts)
        if done < tried:
            return Training(self.finalists[0], self.dropouts[done], self.seeds[0])
        if done < tried + len(self.finalists) - 1:
            dropout = best_of(results[:tried])["dropout"]
            return Training(self.finalists[done - tried + 1], dropout, self.seeds[0])
        qualifying = tried + len(self.finalists) - 1
        winner = best_of(results[:qualifying])
        if done < self.trainings and not has_diverged(winner):
            seed = self.seeds[done - qualifying + 1]
            return Training(winner["architecture"], winner["dropout"], seed)
        return None

    def cut(self, done: int) -> Race:
        """The race that is over after so many of its trainings, at least one."""
        tried, qualifying = len(self.dropouts), len(self.dropouts) + len(self.finalists) - 1
        return Race(
            self.finalists[: max(1, min(done, qualifying) - tried + 1)],
            self.dropouts[:done],
            self.seeds[: max(1, done - qualifying + 1)],
            self.epochs,
        )

    def joined_by(self, architecture: str) -> Race:
        """The race with another finalist, who comes last."""
        return replace(self, finalists=(*self.finalists, architecture))

    def winners(self, results: Sequence[Result]) -> list[Result]:
        """All trainings of the winner that have not diverged, when the race is over."""
        qualifying = len(self.dropouts) + len(self.finalists) - 1
        winner = best_of(results[:qualifying])
        same = ("architecture", "dropout")
        own = [one for one in results if all(one[key] == winner[key] for key in same)]
        return [one for one in own if not has_diverged(one)]

    def to_json(self) -> dict[str, Any]:
        """Plain data for `from_json`."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Race:
        """The inverse of `to_json`."""
        finalists, dropouts, seeds = (data[key] for key in ("finalists", "dropouts", "seeds"))
        race = Race(
            tuple(map(str, finalists)),
            tuple(map(float, dropouts)),
            tuple(map(operator.index, seeds)),
            operator.index(data["epochs"]),
        )
        if not (race.finalists and race.dropouts and race.seeds and race.epochs > 0):
            raise ValueError("it has nothing to train")
        if not all(0.0 <= share < 1.0 for share in race.dropouts):
            raise ValueError(f"dropouts must be from 0 to below 1, got {race.dropouts}")
        return race


def timed_race(race: Race, favourites: Sequence[str], rungs: int, epochs: int, usual: int) -> Race:
    """The race that so many epochs of training allow in all.

    Where they are plenty, more of the search's favourites take part, and then trainings get longer
    than usual, up to `_LONGEST` times; where they are few, fewer finalists do, as long as that
    helps to give each at least half of the usual epochs.

    Args:
        race: as it would be if time did not matter; its epochs do not count.
        favourites: all that the search has ranked, best first.
        rungs: how many networks of smaller limits are trained besides.
        epochs: what can be afforded.
        usual: the epochs of a training where time does not matter.
    """
    alone = len(race.dropouts) + len(race.seeds) - 1
    others = alone * (1 + rungs)
    most = epochs // usual - others + 1
    finalists = len(race.finalists)
    if most > finalists:
        finalists = min(most, len(favourites))
    while finalists > 1 and epochs // (others + finalists - 1) < usual // 2:
        finalists -= 1
    length = min(max(1, epochs // (others + finalists - 1)), _LONGEST * usual)
    return replace(race, finalists=tuple(favourites[:finalists]), epochs=length)


def best_of(results: Sequence[Result]) -> Result:
    """The smallest validation loss, the earlier where equal."""
    return min(results, key=lambda one: math.inf if has_diverged(one) else one["valid_loss"])


def has_diverged(result: Result) -> bool:
    """Whether a training has left the finite numbers, so that there is no network."""
    return result["valid_loss"] is None
