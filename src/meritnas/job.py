from __future__ import annotations

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import sklearn
import torch

from meritnas.child.predictor import read_preprocessing
from meritnas.child.retrain import Retrained, retrain_child
from meritnas.child.train import train_child
from meritnas.data.bundle import Bundle, make_bundle
from meritnas.data.source import Source, load_source
from meritnas.errors import DataError, StoreError, UsageError
from meritnas.result import SearchResult
from meritnas.search.loop import Search, run_search
from meritnas.search.pace import weight_steps_within
from meritnas.search.plan import Plan
from meritnas.search.settings import SearchSettings
from meritnas.search.setup import Ground, make_family, make_ground, make_search
from meritnas.search.store import RunStore
from meritnas.search.threads import limited_threads
from meritnas.space.architecture import Architecture
from meritnas.version import __version__

Listener = Callable[[dict[str, Any]], None]
"""Told of every event: `run`, `note`, `search`, `retrain`."""

_SEARCH_SHARE = 0.55
"""Of the minutes given, this part is for searching; the rest trains what was found."""

_MOST_TIMED_EPOCHS = 300


@dataclass(frozen=True)
class Job:
    """Settings, data and space of one run."""

    settings: SearchSettings
    source: Source
    bundle: Bundle
    ground: Ground

    @staticmethod
    def make(settings: SearchSettings, source: Source, bundle: Bundle) -> Job:
        """A new job; complains where no network fits the limits."""
        family = make_family(settings, bundle.encoder, bundle.task)
        return Job(settings, source, bundle, make_ground(family, dict(settings.limits)))

    @staticmethod
    def reopen(store: RunStore, data: pd.DataFrame | None) -> Job:
        """The job of an existing run, on the same data as then."""
        settings = store.decode("config.json", lambda c: SearchSettings.from_json(c["settings"]))
        keys = ("location", "target", "fingerprint")
        location, target, fingerprint = store.decode(
            "config.json", lambda config: [config["data"][key] for key in keys]
        )
        if data is None and location is None:
            raise UsageError(
                f"run {store.folder} was started with a data frame; give it again: data=frame"
            )
        source = load_source(location if data is None else data, target)
        if source.fingerprint != fingerprint:
            raise DataError(
                f"{source.name} has changed since run {store.folder} was started, so it cannot go "
                "on to the same result; restore the data or start a new run"
            )
        check_device(settings.device)
        bundle = make_bundle(source, settings.seed, settings.task).to(settings.device)
        if not store.has("preprocessing.json"):  # killed between the first two files of a run
            write_preprocessing(store, bundle)
        if (bundle.encoder, bundle.task) != read_preprocessing(store):
            raise DataError(
                f"this version of MeritNAS encodes {source.name} differently from the one that "
                f"made run {store.folder}; use that version or start a new run"
            )
        return Job.make(settings, source, bundle)

    def new_search(self, plan: Plan | None, weight_steps: int) -> Search:
        """A search at its first step."""
        return make_search(self.settings, self.ground, self.bundle, plan, weight_steps)

    def finish(self, store: RunStore, listen: Listener) -> SearchResult:
        """Do what is left of the run."""
        if self._is_finished(store):
            return self._result(store)
        self.announce(store, listen)
        if store.has("retrain.json"):
            text, epochs, seeds = last_retraining(store)
            return self.train_chosen(store, self.ground.family.parse(text), epochs, seeds, listen)
        with limited_threads(self.settings.threads):
            chosen = self._choose(store, listen)
            length = self.settings.retrain_epochs or self._timed_epochs(store, chosen)
        return self.train_chosen(store, chosen, length, self.settings.retrain_seeds, listen)

    @staticmethod
    def _is_finished(store: RunStore) -> bool:
        """Whether there is a network with the result of the latest retraining."""
        if not store.has("result.json"):
            return False
        result = store.read_json("result.json", "architecture", "retrain_epochs", "retrain_seeds")
        if not store.has("model.safetensors"):
            return False
        done = (result["architecture"], result["retrain_epochs"], result["retrain_seeds"])
        return not store.has("retrain.json") or done == last_retraining(store)

    @property
    def notes(self) -> list[str]:
        """What a user should know about the data and the limits, a sentence each."""
        inexact = [self.ground.feasible.note] if self.ground.feasible.note else []
        return [*self.bundle.encoder.warnings, *inexact]

    def announce(self, store: RunStore, listen: Listener) -> None:
        """Tell where the run is, so that it can be resumed, and what there is to note."""
        listen({"kind": "run", "run": str(store.folder)})
        for text in self.notes:
            listen({"kind": "note", "text": text})

    def _choose(self, store: RunStore, listen: Listener) -> Architecture:
        """The final choice."""
        if store.has("architecture.json"):
            return chosen_by_search(store)
        running = self.new_search(*self._plan(store))
        if not store.has("plan.json"):
            store.write_json(
                "plan.json",
                # The options name what the beliefs in the event log are about.
                {"search": running.plan.to_json(), "options": self.ground.searched.space.names},
            )
        state = store.read_checkpoint()
        if state is not None:
            _continue_from(state, running, store)
        ranked = run_search(running, store, listen)
        family = self.ground.family
        store.write_json(
            "architecture.json",
            {
                "chosen": ranked[0].to_json(),
                "ranked": [architecture.text for architecture in ranked],
                "costs": {name: family.cost(ranked[0], name) for name in family.costs},
                "passes": running.probe.passes,
                "seconds": running.seconds,
            },
        )
        return ranked[0]

    def _plan(self, store: RunStore) -> tuple[Plan | None, int]:
        """The plan fixed earlier, or how many weight steps a new one has."""
        if store.has("plan.json"):
            return store.decode("plan.json", lambda plan: Plan(**plan["search"])), 0
        if self.settings.minutes is not None:
            seconds = 60.0 * self.settings.minutes * _SEARCH_SHARE
            return None, weight_steps_within(seconds, self.settings, self.ground, self.bundle)
        rows, size = len(self.bundle.train), self.settings.recipe.batch_size
        return None, (self.settings.epochs or 0) * max(1, rows // size)

    def _timed_epochs(self, store: RunStore, chosen: Architecture) -> int:
        """How many epochs of retraining the rest of the time allows; fixed once measured."""
        plan = store.read_json("plan.json")
        if "retrain_epochs" not in plan:
            spent = float(store.read_json("architecture.json", "seconds")["seconds"])
            begun = time.perf_counter()
            for _ in range(2):  # the first time warms caches up
                seconds = -time.perf_counter()
                self._train_once(chosen)
                seconds += time.perf_counter()
            left = 60.0 * (self.settings.minutes or 0.0) - spent - (time.perf_counter() - begun)
            possible = int(0.9 * left / (seconds * self.settings.retrain_seeds))
            plan["retrain_epochs"] = min(max(possible, 1), _MOST_TIMED_EPOCHS)
            store.write_json("plan.json", plan)
        return int(plan["retrain_epochs"])

    def _train_once(self, chosen: Architecture) -> None:
        module = self.ground.family.child(chosen).to(self.settings.device)
        part, task = self.bundle, self.bundle.task
        train_child(module, part.train, part.valid, task.loss, self.settings.recipe, 1, 0)

    def train_chosen(
        self,
        store: RunStore,
        chosen: Architecture,
        epochs: int,
        seeds: int,
        listen: Listener,
    ) -> SearchResult:
        """Train the choice from scratch and write the run's result."""
        numbers = [self.settings.seed * 1000 + k for k in range(seeds)]
        with limited_threads(self.settings.threads):
            trained = retrain_child(
                self.ground.family,
                chosen,
                self.bundle,
                self.settings.recipe,
                epochs,
                numbers,
                store,
                listen,
            )
        searching = float(store.read_json("architecture.json", "seconds")["seconds"])
        spent = searching + trained.seconds
        store.write_json("result.json", self._summary(store, chosen, trained, epochs, spent))
        return self._result(store)

    def _summary(
        self,
        store: RunStore,
        chosen: Architecture,
        trained: Retrained,
        epochs: int,
        seconds: float,
    ) -> dict[str, Any]:
        ground = self.ground
        return {
            "architecture": chosen.text,
            "params": ground.family.cost(chosen, "params"),
            "costs": {name: ground.family.cost(chosen, name) for name in ground.family.costs},
            "limits": dict(self.settings.limits),
            "feasible_share": ground.feasible.share(),
            "feasible_count": ground.feasible.count(),
            "space_count": ground.family.space.count(),
            "exact": ground.feasible.exact,
            "notes": self.notes,
            "data": self.source.name,
            "task": self.bundle.task.kind,
            "strategy": self.settings.strategy,
            "seed": self.settings.seed,
            "test": trained.test,
            "test_spread": trained.test_spread,
            "retrain_epochs": epochs,
            "retrain_seeds": len(trained.results),
            "seconds": round(seconds, 2),
            "run": str(store.folder),
        }

    def _result(self, store: RunStore) -> SearchResult:
        summary = {
            **store.read_json("result.json", "architecture", "test"),
            "run": str(store.folder),
        }  # it may have moved
        family = self.ground.family
        return SearchResult(family.parse(summary["architecture"]), family, store.folder, summary)


def last_retraining(store: RunStore) -> tuple[str, int, int]:
    """(architecture, epochs, number of seeds) of the retraining that was begun last."""
    return store.decode(
        "retrain.json",
        lambda saved: (
            str(saved["plan"]["architecture"]),
            int(saved["plan"]["epochs"]),
            len(saved["plan"]["seeds"]),
        ),
    )


def chosen_by_search(store: RunStore) -> Architecture:
    """The final choice of a search that has come that far."""
    return store.decode("architecture.json", lambda found: Architecture.from_json(found["chosen"]))


def write_preprocessing(store: RunStore, bundle: Bundle) -> None:
    """Keep how the table became numbers, so that `predict` does the same."""
    store.write_json(
        "preprocessing.json", {"encoder": bundle.encoder.to_json(), "task": bundle.task.to_json()}
    )


def make_config(settings: SearchSettings, source: Source) -> dict[str, Any]:
    """All that decides a run: its settings, its data, the versions it ran with."""
    return {
        "settings": settings.to_json(),
        "data": {
            "name": source.name,
            "location": source.location,
            "target": source.target,
            "fingerprint": source.fingerprint,
        },
        "versions": {
            "meritnas": __version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
        },
    }


def _continue_from(state: dict[str, Any], running: Search, store: RunStore) -> None:
    try:
        running.load_state_dict(state)
    except (KeyError, IndexError, TypeError, ValueError, RuntimeError) as error:
        raise StoreError(
            f"checkpoint.pt in {store.folder} does not belong to this run "
            f"({str(error).splitlines()[0]}); delete this file to start the run over from its "
            "configuration"
        ) from error


def check_device(device: str) -> None:
    """Complain about a device that cannot be used here."""
    try:
        torch.empty(1, device=device).cpu()
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"device '{device}' cannot be used here ({reason}); try cpu") from error
