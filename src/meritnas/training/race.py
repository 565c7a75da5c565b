"""Which networks are trained from scratch, in which order, until the best is known."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from meritnas.settings.halving import TABLES, Halving

Result = Mapping[str, Any]
"""What one training gave; the attributes of `Training` and `valid_loss` matter here.

The loss is None where training diverged: whoever did loses to everyone who did not. Where a user
has named a metric, `judged` is what it came to on validation rows, turned so that less is better.
"""


@dataclass(frozen=True)
class Training:
    """One network to train from scratch; `taught` by those that were trained before it."""

    architecture: str
    dropout: float
    seed: int
    epochs: int
    taught: bool = False

    @staticmethod
    def of(result: Result) -> Training:
        """The one that gave a result."""
        own = Training(*(result[key] for key in ("architecture", "dropout", "seed", "epochs")))
        return replace(own, taught=bool(result.get("taught", False)))

    def to_json(self) -> dict[str, Any]:
        """Plain data that `of` reads; most are not taught, and do not say it."""
        return {name: value for name, value in asdict(self).items() if value is not False}


@dataclass(frozen=True)
class Race:
    """Which networks are trained alone, one after the other, until the best is known.

    Successive halving (Jamieson and Talwalkar, 2016): in each round all that are left have a short
    training, and the better half goes on to the next, which is twice as long, until few are left.
    Each training begins anew and ends its own schedule: with a rate that falls along a cosine, a
    training that was stopped half way has not been to the small rates that decide how good it gets,
    and one that has been there cannot go on. Beginning anew costs at most as much again.

    Of several plain networks beside them one is left when there are rounds: they have a training as
    long as those of the last round, and the best goes on, whatever others have done.

    Those who are left are trained to the end, as TabNAS' algorithm 3 trains up to three networks:
    the first with each dropout, others with the dropout that did better, and the winner again with
    the other seeds, for the spread of its score. Without rounds these are all finalists. Validation
    loss decides, or the metric that a user has named.

    The winner may then be trained once more with these seeds, taught by all that were trained to
    the end: what comes of it wins where it is better.

    Attributes:
        finalists: texts of architectures, the search's favourite first.
        dropouts: shares to try; short trainings have the first.
        seeds: the first is everyone's, the others are for the winner.
        epochs: of a training to the end.
        rounds: the epochs of a training in each short round.
        late: architectures that are trained to the end beside those that the rounds have left.
        plain: architectures of which at least one is trained to the end, too.
        taught: with how many of the seeds the winner is trained once more, taught by the others.
    """

    finalists: tuple[str, ...]
    dropouts: tuple[float, ...]
    seeds: tuple[int, ...]
    epochs: int
    rounds: tuple[int, ...] = ()
    late: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    taught: int = 0

    @staticmethod
    def halving(
        finalists: tuple[str, ...],
        dropouts: tuple[float, ...],
        seeds: tuple[int, ...],
        epochs: int,
        halving: Halving = TABLES,
    ) -> Race:
        """The race whose last short round is a quarter as long as a training to the end.

        All rounds together cost about as much as three trainings to the end, or as one where all
        but one are left out. Where finalists are few or trainings short, there are fewer rounds or
        none.
        """
        rounds: list[int] = []
        left, length = len(finalists), epochs // 4
        while left > halving.to_the_end and length >= halving.least_epochs:
            rounds.insert(0, length)
            left, length = (left + 1) // 2, length // 2
        return Race(finalists, dropouts, seeds, epochs, tuple(rounds))

    @property
    def trainings(self) -> int:
        """How many trainings there are in all."""
        return sum(self._sizes[:-1]) + len(self._heat) + self._to_the_end

    @property
    def length(self) -> int:
        """How many epochs all trainings have together."""
        return self.span(1)

    def span(self, size: int) -> int:
        """How many epochs follow on each other where so many trainings are done at a time."""
        counts = list(zip(self._sizes, self.rounds, strict=False))
        if self._heat:  # which may run beside any round
            counts[-1] = (counts[-1][0] + len(self._heat), self.rounds[-1])
        short = sum(math.ceil(count / size) * epochs for count, epochs in counts)
        last = sum(math.ceil(count / size) for count in self._last_stages)
        return short + last * self.epochs

    @property
    def _sizes(self) -> list[int]:
        """How many are in each round, and after the last."""
        sizes = [len(self.finalists)]
        for _ in self.rounds:
            sizes.append((sizes[-1] + 1) // 2)
        return sizes

    @property
    def _to_the_end(self) -> int:
        return sum(self._last_stages)

    @property
    def _last_stages(self) -> tuple[int, ...]:
        """How many are trained to the end at the same time, if there is room: see `_in_order`."""
        field = self._sizes[-1] + len(self.late) + (1 if self._heat else len(self.plain))
        again = len(self.seeds) - 1, self.taught
        if len(self.dropouts) == 1:
            return field, *again
        return len(self.dropouts), field - 1, *again

    @property
    def _heat(self) -> list[Training]:
        """The short trainings that decide between plain networks; none where there is one."""
        if not self.rounds or len(self.plain) < 2:
            return []
        short = self.dropouts[0], self.seeds[0], self.rounds[-1]
        return [Training(text, *short) for text in self.plain]

    def share(self, rungs: int, size: int = 1) -> float:
        """The part of the time that is the race's own, beside so many rungs.

        Args:
            rungs: how many networks for smaller limits are trained besides.
            size: how many trainings are done at a time.
        """
        own = self.span(size)
        return own / (own + math.ceil(rungs * self.beside / size) * self.epochs)

    @property
    def beside(self) -> int:
        """How many trainings to the end each network for a smaller limit has."""
        return len(self.dropouts) + len(self.seeds) - 1

    def next(self, results: Sequence[Result]) -> Training | None:
        """What to train after these results, or None when the race is over.

        It is also over where all that were to qualify have diverged.
        """
        return next(iter(self.ready(results)), None)

    def ready(self, results: Sequence[Result]) -> list[Training]:
        """All that can be trained after these results, in the order in which one would do them."""
        found = {Training.of(one): one for one in results}
        return [each for each in self._in_order(found) if each not in found]

    def in_order(self, results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Results as they would come one after the other, whichever came first."""
        found = {Training.of(one): one for one in results}
        place = {each: number for number, each in enumerate(self._in_order(found))}
        return sorted(results, key=lambda one: place.get(Training.of(one), len(place)))

    def _in_order(self, found: Mapping[Training, Result]) -> Iterator[Training]:
        """All trainings of which it is decided, by the results of others, that they are needed."""
        for own in self._short(found):
            yield from own
        yield from self._heat
        field = self._field(found)
        if not field:
            return
        first = [Training(field[0], each, self.seeds[0], self.epochs) for each in self.dropouts]
        yield from first
        if len(first) > 1 and not _all_in(found, first):
            return
        tried = [found[each] for each in first if each in found]
        dropout = best_of(tried)["dropout"] if tried else self.dropouts[0]
        others = [Training(text, dropout, self.seeds[0], self.epochs) for text in field[1:]]
        yield from others
        if not _all_in(found, [*first, *others]):
            return
        # Only a winner has had other seeds, and keeps what they have won until it is beaten.
        winner = self._winner(found)
        again = [replace(winner, seed=seed) for seed in self.seeds[1:]]
        if has_diverged(found[winner]):
            return
        yield from again
        if _all_in(found, again):
            for seed in self.seeds[: self.taught]:
                yield replace(winner, seed=seed, taught=True)

    def _winner(self, found: Mapping[Training, Result]) -> Training:
        """The best that was trained to the end by labels alone."""
        own = [one for one in found if one.epochs == self.epochs and not one.taught]
        return Training.of(best_of([found[each] for each in own]))

    def _short(self, found: Mapping[Training, Result]) -> Iterator[list[Training]]:
        """The trainings of each short round, up to one whose results are not all there."""
        field = self.finalists
        for epochs in self.rounds:
            own = [Training(text, self.dropouts[0], self.seeds[0], epochs) for text in field]
            yield own
            if not _all_in(found, own):
                return
            field = _better_half([found[each] for each in own])

    def _field(self, found: Mapping[Training, Result]) -> tuple[str, ...]:
        """Who is trained to the end, once all short ones are; nobody before, or if all diverged."""
        left, rounds = self.finalists, list(self._short(found))
        if not all(_all_in(found, own) for own in (*rounds, self._heat)):
            return ()
        for own in rounds:
            left = _better_half([found[each] for each in own])
        heat = [found[each] for each in self._heat]
        plain = _better_half(heat)[:1] if heat else self.plain
        return tuple(dict.fromkeys((*left, *plain, *(self.late if left or plain else ()))))

    def cut(self, results: Sequence[Result]) -> Race:
        """The race that is over after these results, at least one.

        In a short round it is the leader's training alone; later, what was trained to the end.
        """
        found = {Training.of(one): one for one in results}
        leader = Training.of(best_of(results))
        following = self.next(results)
        if leader.epochs < self.epochs or (following and following.epochs < self.epochs):
            one = (leader.architecture,), (leader.dropout,), (leader.seed,)
            return Race(*one, leader.epochs)
        done = [each for each in found if each.epochs == self.epochs]
        field = [each.architecture for each in done if each.seed == self.seeds[0]]
        own = {each.seed for each in done if replace(each, seed=leader.seed) == leader}
        winner = self._winner(found)
        own &= {each.seed for each in done if replace(each, seed=winner.seed) == winner}
        seeds = tuple(seed for seed in self.seeds if seed in own)
        again = [replace(winner, seed=seed, taught=True) for seed in seeds]
        return Race(
            tuple(dict.fromkeys(field)),
            tuple(d for d in self.dropouts if any(each.dropout == d for each in done)),
            seeds,
            self.epochs,
            taught=len([*itertools.takewhile(found.__contains__, again)]),
        )

    def fitted(
        self,
        results: Sequence[Result],
        an_epoch: Callable[[str], float],
        left: float,
        size: int = 1,
    ) -> Race:
        """The race whose trainings to the end, when none has begun, fit into the time.

        After short rounds it is known how long epochs really take.

        Args:
            results: so far.
            an_epoch: seconds of one, by architecture.
            left: seconds.
            size: how many trainings are done at a time.
        """
        found = {Training.of(one): one for one in results}
        following = self.next(results)
        begun = any(each.epochs == self.epochs for each in found)
        if not self.rounds or begun or following is None or following.epochs != self.epochs:
            return self
        first, *others = [an_epoch(text) for text in self._field(found)]
        tried = [first] * len(self.dropouts)
        again = [max([first, *others])] * (len(self.seeds) - 1)
        taught = [max([first, *others])] * self.taught
        stages = [[*tried, *others], again] if len(tried) == 1 else [tried, others, again]
        stages.append(taught)
        fitting = int(left / sum(seconds_together(stage, size) for stage in stages))
        return replace(self, epochs=min(self.epochs, max(self.rounds[-1] + 1, fitting)))

    def joined_by(self, architecture: str) -> Race:
        """The race with another network that is trained to the end."""
        return replace(self, late=(*self.late, architecture))

    def seeded_by(self, seed: int) -> Race:
        """The race whose winner is trained with another seed."""
        return replace(self, seeds=(*self.seeds, seed))

    def waiting(self, results: Sequence[Result], reserves: Sequence[str]) -> list[str]:
        """Who could join, first those that got farthest in the rounds, then the reserves."""
        dropped = sorted((one for one in results if not has_diverged(one)), key=_rank)
        done = {one["architecture"] for one in results if one["epochs"] == self.epochs}
        known = (*(one["architecture"] for one in dropped), *reserves)
        return [text for text in dict.fromkeys(known) if text not in done]

    def winners(self, results: Sequence[Result]) -> list[Result]:
        """All trainings of the winner that have not diverged, when the race is over."""
        leader = Training.of(best_of(results))
        own = [one for one in results if replace(Training.of(one), seed=leader.seed) == leader]
        return [one for one in own if not has_diverged(one)]

    def to_json(self) -> dict[str, Any]:
        """Plain data for `from_json`; without what is empty, as runs of 0.1 have it."""
        found = {name: value for name, value in asdict(self).items() if value not in ((), 0)}
        return {n: list(value) if isinstance(value, tuple) else value for n, value in found.items()}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Race:
        """The inverse of `to_json`."""
        finalists, dropouts, seeds = (data[key] for key in ("finalists", "dropouts", "seeds"))
        race = Race(
            tuple(map(str, finalists)),
            tuple(map(float, dropouts)),
            tuple(map(operator.index, seeds)),
            operator.index(data["epochs"]),
            tuple(map(operator.index, data.get("rounds", ()))),
            tuple(map(str, data.get("late", ()))),
            tuple(map(str, data.get("plain", ()))),
            operator.index(data.get("taught", 0)),
        )
        if not (race.finalists and race.dropouts and race.seeds and race.epochs > 0):
            raise ValueError("it has nothing to train")
        if not all(0 < length < race.epochs for length in race.rounds):
            raise ValueError(f"short rounds must be shorter than {race.epochs}, got {race.rounds}")
        if not 0 <= race.taught <= len(race.seeds):
            raise ValueError(f"with {race.taught} of {len(race.seeds)} seeds nobody is taught")
        if not all(0.0 <= share < 1.0 for share in race.dropouts):
            raise ValueError(f"dropouts must be from 0 to below 1, got {race.dropouts}")
        return race


def seconds_together(each: Sequence[float], size: int) -> float:
    """How long trainings take, so many at a time, each begun as soon as there is room."""
    ends = [0.0] * size
    for seconds in each:
        ends.sort()
        ends[0] += seconds
    return max(ends)


def _all_in(found: Mapping[Training, Result], wanted: Sequence[Training]) -> bool:
    return all(each in found for each in wanted)


def _better_half(results: Sequence[Result]) -> tuple[str, ...]:
    """The half with the smaller losses, best first; without those that diverged."""
    ranked = sorted((one for one in results if not has_diverged(one)), key=_rank)
    return tuple(str(one["architecture"]) for one in ranked[: (len(results) + 1) // 2])


def _rank(result: Result) -> tuple[bool, int, float]:
    """The smaller, the better: a training to the end is better than any short one."""
    loss = result.get("judged", result["valid_loss"])
    return has_diverged(result), -result["epochs"], math.inf if loss is None else loss


def best_of(results: Sequence[Result]) -> Result:
    """The best of the longest trainings, the earlier where equal: by `judged`, or the loss."""
    return min(results, key=_rank)


def has_diverged(result: Result) -> bool:
    """Whether a training has left the finite numbers, so that there is no network."""
    return result["valid_loss"] is None
