"""A race while it is run: what is done, who trains at the moment, what can be begun."""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from meritnas.errors import StoreError
from meritnas.settings.recipe import TrainRecipe
from meritnas.store.run_store import RunStore
from meritnas.training.one_training import OneTraining, Outcome, about, digest_of, key_of
from meritnas.training.race import Race, Training, best_of, has_diverged

_WORTH_BEGINNING = 0.5
"""With less than this part of a training's time left, the next one is not begun; with less than the
whole, it is planned with as many epochs as fit."""

_MOST_SEEDS = 10
"""Of a winner that is trained again because there is time left."""

_MOST_THREADS = 4096

_WEIGHTS = "retrain.safetensors"
"""Of the best training so far."""

_FINALISTS = "finalists.safetensors"
"""Of all that are trained to the end, while they are to teach the winner."""

Weights = Mapping[str, Tensor]


class RunningRace:
    """A race that is run, of which the run's folder has all that is done.

    Args:
        race: who takes part.
        recipe: how they are trained.
        store: the run, or a folder in it.
        seconds: that all trainings may take.
        reserves: who takes part where there is time left.
        size: how many trainings are done at a time.
        threads: of each; None for as many as there are.
    """

    def __init__(
        self,
        race: Race,
        recipe: TrainRecipe,
        store: RunStore,
        seconds: float = math.inf,
        reserves: Sequence[str] = (),
        size: int = 1,
        threads: int | None = None,
    ) -> None:
        self.race = race
        self.store = store
        self.flying: list[OneTraining] = []
        self._recipe = recipe
        self._seconds = seconds
        self._reserves = reserves
        self._size = size
        self._threads = threads
        self._an_epoch: dict[str, float] = {}  # seconds, of each network's last training
        self._finalists = self._kept_finalists()
        self.results, self._earlier = self._kept()
        self._earlier_again = self._kept_again()
        self._again, self._busy = 0.0, 0.0  # seconds of the winner's further trainings, and of all
        self.spent = self._earlier
        """Seconds until the last training had ended, those before an interruption included."""
        self._begun: float | None = None
        self._write()

    def begin(self) -> OneTraining | None:
        """The next training that can be begun now; None where others must end first, or all are."""
        flying = [one.training for one in self.flying]
        ready = [each for each in self.race.ready(self.results) if each not in flying]
        if not ready:
            return None
        left, training = self._seconds - self._gone(), ready[0]
        if flying and not _is_worth(training.architecture, training.epochs, left, self._an_epoch):
            return None  # it is decided when the others have ended
        epochs = _fitting(training, left, self._an_epoch)
        teachers = self._teachers() if training.taught else ()
        task = OneTraining(training, self._recipe, epochs, left, self._threads, teachers)
        self.flying.append(task)
        return task

    def take(self, task: OneTraining, outcome: Outcome) -> None:
        """A training has ended: keep it, and see how the race goes on."""
        self.flying.remove(task)
        own = {**outcome.result, "key": self._key(task.training)}
        if outcome.weights is not None:
            own["weights"] = digest_of(outcome.weights)
            self._keep_finalist(own, outcome.weights)
        self.results = self.race.in_order([*self.results, own])
        if outcome.weights is not None and best_of(self.results) is own:
            self.store.write_weights(_WEIGHTS, outcome.weights, about(own))
        text = task.training.architecture
        self._an_epoch.pop(text, None)  # so that it is the last one
        self._an_epoch[text] = outcome.seconds / max(1, len(own["valid_losses"]))
        self.spent = self._gone()
        if not self.flying:
            left = self._seconds - self.spent
            self.race = in_time(
                self.race, self.results, self._reserves, left, self._an_epoch, self._size
            )
        self._busy += outcome.seconds
        if task.training.taught or task.training.seed != self.race.seeds[0]:
            self._again += outcome.seconds
        # Apart from the results, which are the same however often the training was interrupted.
        before = self.store.read_json("timing.json") if self.store.has("timing.json") else {}
        spent = {"retrain": self.spent, "again": self._spent_again()}
        self.store.write_json("timing.json", {**before, **spent})
        self._write()

    def _spent_again(self) -> float:
        """What of the time went into the winner, who was known; of several at a time its part."""
        own = self.spent - self._earlier
        return self._earlier_again + (own * self._again / self._busy if self._busy else 0.0)

    def _gone(self) -> float:
        """Seconds until now, from when the first training begins."""
        now = time.perf_counter()
        self._begun = now if self._begun is None else self._begun
        return self._earlier + now - self._begun

    def end(self) -> None:
        """Put the winner's weights in the place of the run's network."""
        self.store.rename(_WEIGHTS, "model.safetensors")
        if self.store.has(_FINALISTS):
            self.store.remove(_FINALISTS)

    def _teachers(self) -> tuple[tuple[str, Weights], ...]:
        """Whoever was trained to the end by labels alone, in the order of the race."""
        own = [one for one in self.results if self._is_finalist(one)]
        return tuple((str(one["architecture"]), self._finalists[one["weights"]]) for one in own)

    def _is_finalist(self, result: Mapping[str, Any]) -> bool:
        training = Training.of(result)
        whole = training.epochs == self.race.epochs and not training.taught
        return whole and not has_diverged(result)

    def _keep_finalist(self, result: Mapping[str, Any], weights: Weights) -> None:
        """Keep a network's weights where it is to teach; before it is said that it is there."""
        if self.race.taught and self._is_finalist(result):
            self._finalists[result["weights"]] = weights
            named = {
                f"{digest}/{name}": value
                for digest, one in self._finalists.items()
                for name, value in one.items()
            }
            self.store.write_weights(_FINALISTS, named, {})

    def _kept_finalists(self) -> dict[str, Weights]:
        """By digest; those that their digest belongs to."""
        if not self.store.has(_FINALISTS):
            return {}
        found: dict[str, dict[str, Tensor]] = {}
        for name, value in self.store.read_weights(_FINALISTS)[0].items():
            digest, _, own = name.partition("/")
            found.setdefault(digest, {})[own] = value
        return {digest: one for digest, one in found.items() if digest_of(one) == digest}

    def _write(self) -> None:
        threads = {} if self._threads is None else {"threads": self._threads}
        kept = {"plan": self.race.to_json(), **threads, "results": self.results}
        self.store.write_json("retrain.json", kept)

    def _key(self, training: Training) -> str:
        return key_of(training, self._recipe, self._threads)

    def _kept(self) -> tuple[list[dict[str, Any]], float]:
        """The trainings that an interrupted race has finished, and how long they took."""
        if not self.store.has("retrain.json"):
            return [], 0.0
        saved = self.store.decode("retrain.json", as_saved)
        if saved["plan"] != self.race:
            return [], 0.0
        # Runs of 0.1 have trainings of one length only, which they do not say.
        all_kept = [
            {**one, "epochs": one.get("epochs", self.race.epochs)} for one in saved["results"]
        ]
        results = [one for one in all_kept if self._is_own(one)]
        done = self.race.next(results) is None and self.store.has("model.safetensors")
        if not (done or self.store.has(_WEIGHTS) or all(map(has_diverged, results))):
            return [], 0.0
        if not done and self.race.taught:
            results = [one for one in results if self._is_there(one)]
        spent = self.store.read_json("timing.json", "retrain")["retrain"] if results else 0.0
        return self._whose_weights_are_here(results), float(spent)

    def _kept_again(self) -> float:
        """What of the earlier time went into the winner, who was known."""
        if not self._earlier:
            return 0.0
        return self.store.decode("timing.json", lambda kept: float(kept.get("again", 0.0)))

    def _is_there(self, result: Mapping[str, Any]) -> bool:
        """Whether a network that is to teach is there with its weights."""
        return not self._is_finalist(result) or result.get("weights") in self._finalists

    def _is_own(self, result: Mapping[str, Any]) -> bool:
        """Whether a result is of a training as this race has them; those of before do not say."""
        key = self._key(Training.of(result))
        return bool(result.get("key", key) == key)

    def _whose_weights_are_here(self, results: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Without the best, where a kill has left the weights of a better one that is not known."""
        if not results or not self.store.has(_WEIGHTS):
            return results
        best = best_of(results)
        try:
            weights, _ = self.store.read_weights(_WEIGHTS)
        except StoreError:  # who needs them says so
            return results
        if best.get("weights") in (None, digest_of(weights)):  # runs of before do not say
            return results
        return [one for one in results if one is not best]


def as_saved(found: dict[str, Any]) -> dict[str, Any]:
    """A retrain.json, which has the losses and scores of every training."""
    for one in found["results"]:
        loss = one["valid_loss"]
        if loss is not None and not math.isfinite(loss):
            raise ValueError(f"{loss} is no loss")
        if not math.isfinite(one.get("judged", 0.0)) or not 0 < one.get("threshold", 0.5) < 1:
            raise ValueError("what a training came to is no number, or its threshold no chance")
        operator.index(one.get("epochs", 1))  # which runs of 0.1 do not say
        numbers = (one["dropout"], one["seed"], *dict(one["test"]).values())
        if not isinstance(one["architecture"], str) or not all(map(math.isfinite, numbers)):
            raise TypeError("a training has an architecture, a dropout, a seed and scores")
    threads = found.get("threads")
    if threads is not None and not 1 <= operator.index(threads) <= _MOST_THREADS:
        raise ValueError(f"{threads} is no number of threads")
    return {
        "plan": Race.from_json(found["plan"]),
        "results": list(found["results"]),
        "threads": threads,
    }


def in_time(
    race: Race,
    results: Sequence[dict[str, Any]],
    reserves: Sequence[str],
    left: float,
    an_epoch: Mapping[str, float],
    size: int = 1,
) -> Race:
    """The race as the time allows it: cut short, as it is, or with more to train.

    Args:
        race: so far, while nobody trains.
        results: so far.
        reserves: who may join, best first.
        left: seconds.
        an_epoch: seconds that one takes, of each network that was trained.
        size: how many trainings are done at a time.
    """
    if left < math.inf:
        race = race.fitted(results, lambda text: _seconds_of(text, an_epoch), left, size)
    following = race.next(results)
    if following is not None:
        worth = _is_worth(following.architecture, following.epochs, left, an_epoch)
        return race if worth else race.cut(results)
    if left == math.inf:
        return race
    waiting = race.waiting(results, reserves)
    winner = str(best_of(results)["architecture"])
    for text in (waiting or [winner] * size)[:size]:
        if not _is_worth(text, race.epochs, left, an_epoch):
            break
        if waiting:
            race = race.joined_by(text)
        elif len(race.seeds) < _MOST_SEEDS:
            race = race.seeded_by(max(race.seeds) + 1)
    return race


def _is_worth(architecture: str, epochs: int, left: float, an_epoch: Mapping[str, float]) -> bool:
    """Whether there is time enough to begin a training, as far as anything is known about that."""
    if left == math.inf or not an_epoch:
        return True
    return _WORTH_BEGINNING * epochs * _seconds_of(architecture, an_epoch) <= left


def _fitting(training: Training, left: float, an_epoch: Mapping[str, float]) -> int:
    """As many epochs as there is time for, where that is known, up to those planned."""
    if not an_epoch or left == math.inf:
        return training.epochs
    seconds = _seconds_of(training.architecture, an_epoch)
    return max(1, min(training.epochs, int(left / seconds)))


def _seconds_of(architecture: str, an_epoch: Mapping[str, float]) -> float:
    """Of an epoch: the network's own, or those of the last one that was trained."""
    return an_epoch.get(architecture, list(an_epoch.values())[-1])
