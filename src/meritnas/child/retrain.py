from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meritnas.child.metrics import score
from meritnas.child.train import outputs_of, train_child
from meritnas.data.bundle import Bundle
from meritnas.families.family import Family
from meritnas.search.recipe import TrainRecipe
from meritnas.search.store import RunStore
from meritnas.space.architecture import Architecture


@dataclass(frozen=True)
class Retrained:
    """The chosen architecture, trained from scratch several times.

    Attributes:
        test: metric -> mean over the seeds on the held-out test part.
        test_spread: metric -> standard deviation over the seeds (0 for a single one).
        results: for each seed its validation loss, best epoch and test scores.
        seconds: how long all of them took.
    """

    test: dict[str, float]
    test_spread: dict[str, float]
    results: tuple[dict[str, Any], ...]
    seconds: float = field(compare=False)


def retrain_child(
    family: Family,
    architecture: Architecture,
    bundle: Bundle,
    recipe: TrainRecipe,
    epochs: int,
    seeds: list[int],
    store: RunStore,
    listen: Callable[[dict[str, Any]], None],
) -> Retrained:
    """Train the architecture from scratch for every seed; the run keeps the best of them.

    Which one is best is told by the validation loss; the test part is only scored. Finished
    seeds are kept in `retrain.json`, so an interrupted retraining goes on with the next one; the
    run's trained network is replaced when all of them are done.
    """
    results: list[dict[str, Any]] = []
    plan = {"architecture": architecture.text, "epochs": epochs, "seeds": seeds}
    if store.has("retrain.json"):
        saved = store.read_json("retrain.json", "plan", "results")
        done = len(saved["results"]) == len(seeds) and store.has("model.safetensors")
        if saved["plan"] == plan and (done or store.has("retrain.safetensors")):
            results = saved["results"]
    spent = float(store.read_json("timing.json", "retrain")["retrain"]) if results else 0.0
    store.write_json("retrain.json", {"plan": plan, "results": results})
    for number in range(len(results), len(seeds)):
        begun = time.perf_counter()
        module = family.child(architecture, seed=seeds[number]).to(bundle.train.inputs.device)

        def tell(epoch: int, number: int = number) -> None:
            listen(
                {
                    "kind": "retrain",
                    "step": number * epochs + epoch,
                    "steps": len(seeds) * epochs,
                    "seed": seeds[number],
                    "epoch": epoch,
                }
            )

        trained = train_child(
            module,
            bundle.train,
            bundle.valid,
            bundle.task.loss,
            recipe,
            epochs,
            seeds[number],
            tell,
        )
        results.append(
            {
                "seed": seeds[number],
                "valid_loss": trained.valid_loss,
                "best_epoch": trained.best_epoch,
                "train_losses": list(trained.train_losses),
                "valid_losses": list(trained.valid_losses),
                "test": score(
                    bundle.task, outputs_of(trained.module, bundle.test.inputs), bundle.test.target
                ),
            }
        )
        if trained.valid_loss <= min(result["valid_loss"] for result in results):
            store.write_weights(
                "retrain.safetensors",
                dict(trained.module.state_dict()),
                {"architecture": architecture.text},
            )
        spent += time.perf_counter() - begun
        # Apart from the results, which are the same however often the training was interrupted.
        store.write_json("timing.json", {"retrain": spent})
        store.write_json("retrain.json", {"plan": plan, "results": results})
    store.rename("retrain.safetensors", "model.safetensors")
    names = list(results[0]["test"])
    values = {name: [result["test"][name] for result in results] for name in names}
    return Retrained(
        test={name: float(np.mean(found)) for name, found in values.items()},
        test_spread={
            name: float(np.std(found, ddof=1)) if len(found) > 1 else 0.0
            for name, found in values.items()
        },
        results=tuple(results),
        seconds=spent,
    )
