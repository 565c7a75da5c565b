"""Trains the finalists of a search from scratch and keeps the best."""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from torch import Tensor, nn

from meritnas.data.bundle import Bundle
from meritnas.errors import DivergedError
from meritnas.families.family import Family
from meritnas.settings.recipe import TrainRecipe
from meritnas.store.run_store import RunStore
from meritnas.training.chosen_metric import chosen_threshold, judged
from meritnas.training.metrics import scores_on
from meritnas.training.race import Race, Training, best_of, has_diverged
from meritnas.training.train import Trained, outputs_of, train_child

_WORTH_BEGINNING = 0.5
"""With less than this part of a training's time left, the next one is not begun; with less than the
whole, it is planned with as many epochs as fit."""

_MOST_SEEDS = 10
"""Of a winner that is trained again because there is time left."""

Listener = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Retrained:
    """What won the race of networks trained from scratch.

    Attributes:
        race: as it was run, which is shorter than planned where the time was over.
        architecture: the winner.
        test: metric -> mean over the winner's trainings on the held-out test part, without those
            that diverged or that time has cut short; empty where there is no such part.
        test_spread: metric -> standard deviation over them (0 for a single one).
        test_best: metric -> of the one with the smallest validation loss, whose weights are kept:
            what papers report as the best of several runs.
        results: every training: architecture, dropout, seed, epochs, losses, best epoch, test
            scores; no losses, best epoch and scores of one that diverged.
        seconds: how long all of them took.
        seeds: how many trainings of the winner there are, without those that time has cut short
            where others are whole.
    """

    race: Race
    architecture: str
    test: dict[str, float]
    test_spread: dict[str, float]
    test_best: dict[str, float]
    results: tuple[dict[str, Any], ...]
    seconds: float = field(compare=False)
    seeds: int = 1


def retrain_child(
    family: Family,
    race: Race,
    bundle: Bundle[Any],
    recipe: TrainRecipe,
    store: RunStore,
    listen: Listener,
    seconds: float = math.inf,
    reserves: Sequence[str] = (),
) -> Retrained:
    """Run the race; the run keeps the weights of the best training.

    Validation rows decide everything, also a metric's threshold; the test part is only scored.
    Finished trainings are kept in `retrain.json`, so an interrupted race goes on with the next one;
    the run's trained network is replaced when all of them are done.

    Where they take longer than `seconds` in all, because the machine has become slower since
    the race was planned, the last training has fewer epochs or ends early, and the race with it.
    Where there is time left, those whom short rounds have left out and then `reserves` are trained
    to the end, too, and at last the winner with further seeds. Without a limit nobody joins.

    Raises:
        DivergedError: All trainings have diverged.
    """
    results, spent = _kept(race, store)
    an_epoch: dict[str, float] = {}  # seconds, of each network's last training
    store.write_json("retrain.json", {"plan": race.to_json(), "results": results})
    while (training := race.next(results)) is not None:
        begun = time.perf_counter()
        end = begun + seconds - spent
        fitting = _fitting(training, seconds - spent, an_epoch)
        try:
            trained = _train(training, family, race, bundle, recipe, results, listen, end, fitting)
            results.append(_result(training, trained, bundle))
        except DivergedError:
            results.append(_no_result(training))
        else:
            if best_of(results) is results[-1]:
                store.write_weights(
                    "retrain.safetensors",
                    _kept_weights(trained.module),
                    _about(results[-1]),
                )
        took = time.perf_counter() - begun
        spent += took
        an_epoch.pop(training.architecture, None)  # so that it is the last one
        an_epoch[training.architecture] = took / max(1, len(results[-1]["valid_losses"]))
        race = _in_time(race, results, reserves, seconds - spent, an_epoch)
        # Apart from the results, which are the same however often the training was interrupted.
        store.write_json("timing.json", {"retrain": spent})
        store.write_json("retrain.json", {"plan": race.to_json(), "results": results})
    if has_diverged(best_of(results)):
        raise DivergedError
    store.rename("retrain.safetensors", "model.safetensors")
    return summarise(race, results, spent)


def _in_time(
    race: Race,
    results: Sequence[dict[str, Any]],
    reserves: Sequence[str],
    left: float,
    an_epoch: Mapping[str, float],
) -> Race:
    """The race as the time allows it: cut short, as it is, or with more to train.

    Args:
        race: so far.
        results: so far.
        reserves: who may join, best first.
        left: seconds.
        an_epoch: seconds that one takes, of each network that was trained.
    """

    def worth_beginning(architecture: str, epochs: int) -> bool:
        return _WORTH_BEGINNING * epochs * _seconds_of(architecture, an_epoch) <= left

    if left < math.inf:
        race = race.fitted(results, lambda text: _seconds_of(text, an_epoch), left)
    following = race.next(results)
    if following is not None:
        worth = worth_beginning(following.architecture, following.epochs)
        return race if worth else race.cut(results)
    if left == math.inf:
        return race
    waiting = race.waiting(results, reserves)
    joining = waiting[0] if waiting else str(best_of(results)["architecture"])
    if not worth_beginning(joining, race.epochs):
        return race
    if waiting:
        return race.joined_by(joining)
    return race.seeded_by(max(race.seeds) + 1) if len(race.seeds) < _MOST_SEEDS else race


def _fitting(training: Training, left: float, an_epoch: Mapping[str, float]) -> int:
    """As many epochs as there is time for, where that is known, up to those planned."""
    if not an_epoch or left == math.inf:
        return training.epochs
    seconds = _seconds_of(training.architecture, an_epoch)
    return max(1, min(training.epochs, int(left / seconds)))


def _seconds_of(architecture: str, an_epoch: Mapping[str, float]) -> float:
    """Of an epoch: the network's own, or those of the last one that was trained."""
    return an_epoch.get(architecture, list(an_epoch.values())[-1])


def summarise(race: Race, results: list[dict[str, Any]], seconds: float) -> Retrained:
    """The outcome of a race that is over; what time has cut short says nothing about its winner."""
    own = race.winners(results)
    whole = [one for one in own if len(one["valid_losses"]) >= one["epochs"]]
    winners = whole or [best_of(own)]
    cut = len(own) - len(winners)
    values = {name: [one["test"][name] for one in winners] for name in winners[0]["test"]}
    return Retrained(
        race=race,
        architecture=winners[0]["architecture"],
        test={name: float(np.mean(found)) for name, found in values.items()},
        test_spread={
            name: float(np.std(found, ddof=1)) if len(found) > 1 else 0.0
            for name, found in values.items()
        },
        test_best=dict(best_of(winners)["test"]),
        seeds=len(race.seeds) - cut,
        results=tuple(results),
        seconds=seconds,
    )


def _kept(race: Race, store: RunStore) -> tuple[list[dict[str, Any]], float]:
    """The trainings that an interrupted race has finished, and how long they took."""
    if not store.has("retrain.json"):
        return [], 0.0
    saved = store.decode("retrain.json", _as_saved)
    # Runs of 0.1 have trainings of one length only, which they do not say.
    results = [{**one, "epochs": one.get("epochs", race.epochs)} for one in saved["results"]]
    done = race.next(results) is None and store.has("model.safetensors")
    whole = done or store.has("retrain.safetensors") or all(map(has_diverged, results))
    if saved["plan"] != race or not whole:
        return [], 0.0
    spent = float(store.read_json("timing.json", "retrain")["retrain"]) if results else 0.0
    return results, spent


def _as_saved(found: dict[str, Any]) -> dict[str, Any]:
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
    return {"plan": Race.from_json(found["plan"]), "results": list(found["results"])}


def _train(
    training: Training,
    family: Family,
    race: Race,
    bundle: Bundle[Any],
    recipe: TrainRecipe,
    results: Sequence[dict[str, Any]],
    listen: Listener,
    end: float,
    epochs: int,
) -> Trained:
    recipe = recipe_for(family, training.architecture, recipe)
    module = family.child(
        training.architecture,
        seed=training.seed,
        dropout=training.dropout,
        auxiliary=recipe.auxiliary > 0,
    )

    before = sum(one["epochs"] for one in results)
    begun = time.perf_counter()

    def tell(epoch: int) -> bool:
        listen(
            {
                "kind": "retrain",
                "step": before + epoch,
                "steps": max(race.length, before + training.epochs),
                "architecture": training.architecture,
                "seed": training.seed,
                "epoch": epoch,
            }
        )
        now = time.perf_counter()
        # A training that has not been fitted into the time ends with the epoch closest to its end.
        return now + 0.5 * (now - begun) / epoch > end and epoch < epochs

    return train_child(
        module.to(bundle.train.inputs.device),
        bundle.train,
        bundle.valid,
        bundle.task.loss,
        recipe,
        epochs,
        training.seed,
        tell,
    )


def recipe_for(family: Family, architecture: str, recipe: TrainRecipe) -> TrainRecipe:
    """The recipe as it is for a network: only the cells that were asked for have a second head."""
    if family.of(architecture) is family.asked:
        return recipe
    return replace(recipe, auxiliary=0.0)


def _kept_weights(module: nn.Module) -> dict[str, Tensor]:
    """A network's weights but for its auxiliary head's, which only training needs."""
    return {
        name: value
        for name, value in module.state_dict().items()
        if not name.startswith("auxiliary.")
    }


def _about(result: Mapping[str, Any]) -> dict[str, str]:
    """What stands beside weights: the network, and the threshold that was chosen for them."""
    own = {"threshold": repr(result["threshold"])} if "threshold" in result else {}
    return {"architecture": str(result["architecture"]), **own}


def _result(training: Training, trained: Trained, bundle: Bundle[Any]) -> dict[str, Any]:
    test, task = bundle.test, bundle.task
    judging: dict[str, Any] = {}
    if task.metric:
        outputs, target = outputs_of(trained.module, bundle.valid.inputs), bundle.valid.target
        threshold = chosen_threshold(task, outputs, target)
        task = replace(task, threshold=threshold)
        judging = {"judged": judged(task, outputs, target)}
        judging |= {"threshold": threshold} if threshold != 0.5 else {}
    return {
        "architecture": training.architecture,
        "dropout": training.dropout,
        "seed": training.seed,
        "epochs": training.epochs,
        "valid_loss": trained.valid_loss,
        "best_epoch": trained.best_epoch,
        "train_losses": list(trained.train_losses),
        "valid_losses": list(trained.valid_losses),
        **judging,
        "test": scores_on(trained.module, task, test) if len(test) else {},
    }


def _no_result(training: Training) -> dict[str, Any]:
    """Of a training that diverged."""
    return {
        "architecture": training.architecture,
        "dropout": training.dropout,
        "seed": training.seed,
        "epochs": training.epochs,
        "valid_loss": None,
        "best_epoch": None,
        "train_losses": [],
        "valid_losses": [],
        "test": {},
    }
