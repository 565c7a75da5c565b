"""A network's training from scratch as a task that anybody can do."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

from torch import Tensor, nn

from meritnas.data.bundle import Bundle
from meritnas.data.rows import Rows
from meritnas.devices.placement import on_cpu, placed
from meritnas.errors import DivergedError
from meritnas.families.family import Family
from meritnas.settings.recipe import TrainRecipe
from meritnas.tasks.task import Tell
from meritnas.training.chosen_metric import chosen_threshold, judged
from meritnas.training.metrics import scores_on
from meritnas.training.race import Training
from meritnas.training.teacher import mean_answers
from meritnas.training.threads import limited_threads
from meritnas.training.train import Trained, outputs_of, train_child


class Ground(NamedTuple):
    """What all trainings of a run share."""

    family: Family
    bundle: Bundle[Any]


@dataclass(frozen=True)
class Outcome:
    """What a training came to.

    Attributes:
        result: architecture, dropout, seed, epochs, losses, best epoch and test scores; no losses
            and scores where it diverged.
        weights: those of the best epoch; None where it diverged.
        seconds: how long it took.
    """

    result: dict[str, Any]
    weights: dict[str, Tensor] | None
    seconds: float


@dataclass(frozen=True)
class OneTraining:
    """A network to train from scratch.

    Attributes:
        training: which, and how long.
        recipe: how.
        epochs: as many as there is time for, up to those planned.
        seconds: after which it ends with the epoch that is closest, if it has not been fitted into
            the time; they count from when it begins.
        threads: of the CPU; None for as many as there are.
        teachers: architectures and weights of networks whose mean answer it learns from, too.
    """

    training: Training
    recipe: TrainRecipe
    epochs: int
    seconds: float = math.inf
    threads: int | None = None
    teachers: tuple[tuple[str, Mapping[str, Tensor]], ...] = field(default=(), compare=False)

    @property
    def name(self) -> str:
        """What it is, for messages."""
        one = self.training
        return f"the training of {one.architecture} (seed {one.seed}, {one.epochs} epochs)"

    def __call__(self, material: Ground, tell: Tell) -> Outcome:
        """Train it; `tell` is told the number of each finished epoch."""
        begun = time.perf_counter()
        with nullcontext() if self.threads is None else limited_threads(self.threads):
            try:
                trained = self._train(material, tell, begun)
                result = _result(self.training, trained, material.bundle)
            except DivergedError:
                return Outcome(_no_result(self.training), None, time.perf_counter() - begun)
        weights = _kept_weights(trained.module)
        return Outcome(result, weights, time.perf_counter() - begun)

    def _train(self, material: Ground, tell: Tell, begun: float) -> Trained:
        family, bundle = material
        one, recipe = self.training, recipe_for(family, self.training.architecture, self.recipe)
        module = family.child(
            one.architecture,
            seed=one.seed,
            dropout=one.dropout,
            auxiliary=recipe.auxiliary > 0,
        )

        def after(epoch: int) -> bool:
            tell(epoch)
            gone = time.perf_counter() - begun
            return gone + 0.5 * gone / epoch > self.seconds and epoch < self.epochs

        return train_child(
            placed(module, bundle.valid.inputs.device),
            self._taught(material) if self.teachers else bundle.train,
            bundle.valid,
            bundle.task.loss,
            recipe,
            self.epochs,
            one.seed,
            after,
        )

    def _taught(self, material: Ground) -> Rows:
        """The rows to train on, with what the teachers say."""
        family, bundle = material
        rows, networks = bundle.train.sample, []
        for architecture, weights in self.teachers:
            module = family.child(architecture)
            own = family.own_weights(architecture, weights)
            module.load_state_dict(own, strict=False)  # but for a head that only helps to train
            networks.append(placed(module, rows.inputs.device))
        return replace(rows, taught=mean_answers(bundle.task, networks, rows.inputs))


def key_of(training: Training, recipe: TrainRecipe, threads: int | None) -> str:
    """What a training computes, but for the data and the space, which are its run's: a digest.

    Its result may take the place of another's that has the same.
    """
    said = {**training.to_json(), "recipe": asdict(recipe), "threads": threads}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def digest_of(weights: Mapping[str, Tensor]) -> str:
    """What weights are, in a few letters."""
    found = hashlib.sha256()
    for name, value in sorted(weights.items()):
        found.update(name.encode())
        found.update(on_cpu(value.detach()).contiguous().numpy().tobytes())
    return found.hexdigest()


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


def about(result: Mapping[str, Any]) -> dict[str, str]:
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
        **training.to_json(),
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
        **training.to_json(),
        "valid_loss": None,
        "best_epoch": None,
        "train_losses": [],
        "valid_losses": [],
        "test": {},
    }
