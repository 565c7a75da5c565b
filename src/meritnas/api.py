from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import sklearn
import torch
from torch import nn

from meritnas.child.predictor import load_predictor, read_preprocessing
from meritnas.child.retrain import Retrained, retrain_child
from meritnas.child.train import train_child
from meritnas.data.bundle import Bundle, make_bundle
from meritnas.data.source import Source, load_source
from meritnas.errors import DataError, StoreError, UsageError
from meritnas.families.family import Family
from meritnas.families.tabular import PAPER_WIDTHS, TabularSpace, tabular_space
from meritnas.search.loop import Search, run_search
from meritnas.search.pace import weight_steps_within
from meritnas.search.plan import Plan
from meritnas.search.recipe import TrainRecipe, default_batch_size
from meritnas.search.settings import SearchSettings
from meritnas.search.setup import Ground, make_family, make_ground, make_search
from meritnas.search.store import RunStore
from meritnas.space.architecture import Architecture
from meritnas.strategy.recipes import check_strategy
from meritnas.version import __version__

Listener = Callable[[dict[str, Any]], None]


def nobody(event: dict[str, Any]) -> None:
    """The listener that does not listen."""
    del event


_SEARCH_SHARE = 0.55
_MOST_TIMED_EPOCHS = 300


@dataclass(frozen=True)
class SearchResult:
    """What a search found.

    Attributes:
        architecture: the network that was chosen.
        space: the space it was chosen from.
        run: the folder with everything about the search.
        summary: the numbers of `meritnas search --json`.
    """

    architecture: Architecture
    space: Family
    run: Path
    summary: dict[str, Any]

    @property
    def history(self) -> list[dict[str, Any]]:
        """The events of the search, in order: losses, rewards, beliefs."""
        return RunStore.open(self.run).events()

    @property
    def test(self) -> dict[str, float]:
        """Metric -> mean score on held-out rows over the retraining seeds."""
        return dict(self.summary["test"])

    @property
    def module(self) -> nn.Module:
        """The trained network: a plain torch Module for encoded rows."""
        return load_predictor(self.run).module

    def predict(self, frame: pd.DataFrame) -> np.ndarray:
        """Answers for the rows of a table like the one that was searched on."""
        return load_predictor(self.run).predict(frame)


def search(
    data: str | Path | pd.DataFrame,
    target: str | None = None,
    *,
    space: str | TabularSpace = "tabular",
    strategy: str = "tabnas",
    max_params: int | None = None,
    max_flops: int | None = None,
    layers: int = 3,
    widths: Sequence[int] | Sequence[Sequence[int]] = PAPER_WIDTHS,
    embedding: int | None = None,
    epochs: int | None = None,
    minutes: float | None = None,
    batch_size: int | None = None,
    learning_rate: float = 0.002,
    optimizer: Literal["adam", "sgd"] = "adam",
    schedule: Literal["cosine", "constant"] = "cosine",
    retrain_epochs: int | None = None,
    retrain_seeds: int = 3,
    strategy_options: Mapping[str, Any] | None = None,
    task: Literal["classification", "regression"] | None = None,
    seed: int = 0,
    device: str = "cpu",
    threads: int | None = None,
    out: str | Path | None = None,
    listen: Listener = nobody,
) -> SearchResult:
    """Find a network for a table that keeps the limits, and train it.

    Args:
        data: a bundled name, a file (CSV, TSV, Parquet, gz), or a data frame.
        target: the column to predict.
        space: "tabular", or a `tabular_space(...)` whose inputs and outputs fit the data.
        strategy: one of `meritnas list strategies`.
        max_params: the most parameters the network may have, embeddings included.
        max_flops: the most multiply-adds a row may take.
        layers: hidden layers, where `space` is a name.
        widths: what each layer chooses from, where `space` is a name.
        embedding: the width of every category's embedding; None for a rule by cardinality.
        epochs: passes of the supernet over the training part (default 60).
        minutes: time for everything instead; the number of steps is fixed once measured.
        batch_size: None for a size that suits the number of rows.
        learning_rate: of the weights.
        optimizer: of the weights.
        schedule: of the learning rate.
        retrain_epochs: passes of the found network over the training part (default 60).
        retrain_seeds: how often it is trained from scratch, for the spread.
        strategy_options: by the strategy's own names, `{"final": "mode"}`.
        task: to settle whether the target is a class or a number.
        seed: same seed, same machine, same threads: same result.
        device: "cpu", "cuda", ...
        threads: CPU threads; None for torch's default.
        out: the run's folder; None for a new one under `runs`.
        listen: called with every event.
    """
    if epochs is not None and minutes is not None:
        raise UsageError("give either epochs or minutes, not both")
    source = load_source(data, target)
    options = dict(strategy_options or {})
    check_strategy(strategy, options)
    _check_device(device)
    asked = {"params": max_params, "flops": max_flops}
    settings = SearchSettings(
        space=space if isinstance(space, str) else "tabular",
        strategy=strategy,
        strategy_options=options,
        limits={name: most for name, most in asked.items() if most is not None},
        layers=layers,
        epochs=_default(epochs, 60) if minutes is None else None,
        minutes=minutes,
        retrain_epochs=_default(retrain_epochs, 60) if minutes is None else retrain_epochs,
        retrain_seeds=retrain_seeds,
        seed=seed,
        device=device,
        threads=_default(threads, torch.get_num_threads()),
        task=task,
        embedding=embedding,
        widths=_widths(space, layers, widths),
    )
    if isinstance(space, TabularSpace):
        settings = replace(settings, layers=len(space.widths), embedding=space.inputs.embedding)
    bundle = make_bundle(source, seed, task)
    rows = _default(batch_size, default_batch_size(len(bundle.train)))
    recipe = TrainRecipe(optimizer, learning_rate, schedule, rows)
    settings = replace(settings, recipe=recipe)
    job = _Job.make(settings, source, bundle.to(device))
    if isinstance(space, TabularSpace) and space != job.ground.family:
        raise UsageError(
            f"the space takes {space.inputs} and gives {space.outputs} outputs, but the data need "
            f"{job.ground.family}; build it with tabular_space({job.ground.family.inputs}, ...)"  # type: ignore[attr-defined]
        )
    job.new_search(None, 40)  # complains about what does not fit together before anything exists
    folder = Path(out) if out is not None else _free_folder(source.name, strategy)
    store = RunStore.create(folder, _config(settings, source))
    _write_preprocessing(store, bundle)
    return job.finish(store, listen)


def resume(
    run: str | Path,
    data: pd.DataFrame | None = None,
    listen: Listener = nobody,
) -> SearchResult:
    """Continue an interrupted search to the result it would have had without the interruption.

    Args:
        run: its folder.
        data: the data frame, if the search was started with one.
        listen: called with every new event.
    """
    store = RunStore.open(Path(run))
    job = _Job.reopen(store, data)
    return job.finish(store, listen)


def retrain(
    run: str | Path,
    *,
    architecture: str | None = None,
    epochs: int | None = None,
    seeds: int | None = None,
    data: pd.DataFrame | None = None,
    listen: Listener = nobody,
) -> SearchResult:
    """Train a run's network anew, for longer, with other seeds, or another architecture.

    Args:
        run: its folder; the new network and scores replace the old ones.
        architecture: the text of another architecture of the same space; it must keep the limits.
        epochs: None for as many as before.
        seeds: None for as many as before.
        data: the data frame, if the search was started with one.
        listen: called with every epoch.
    """
    store = RunStore.open(Path(run))
    job = _Job.reopen(store, data)
    found = store.read_json("architecture.json", "chosen")
    family = job.ground.family
    chosen = family.parse(architecture) if architecture else Architecture.from_json(found["chosen"])
    if not job.ground.feasible.admits(chosen):
        costs = ", ".join(f"{n} {family.cost(chosen, n):,}" for n in job.settings.limits)
        raise UsageError(
            f"{chosen} breaks the run's limits ({costs}; limits "
            f"{dict(job.settings.limits)}); choose a smaller architecture"
        )
    count = _default(seeds, job.settings.retrain_seeds)
    length = epochs if epochs is not None else job.settings.retrain_epochs
    if length is None:
        length = int(store.read_json("plan.json", "retrain_epochs")["retrain_epochs"])
    if min(count, length) < 1:
        raise UsageError(f"seeds and epochs must be at least 1, got {count} and {length}")
    job.announce(store, listen)
    return job.train_chosen(store, chosen, length, count, listen)


@dataclass(frozen=True)
class _Job:
    """Settings, data and space of one run."""

    settings: SearchSettings
    source: Source
    bundle: Bundle
    ground: Ground

    @staticmethod
    def make(settings: SearchSettings, source: Source, bundle: Bundle) -> _Job:
        family = make_family(settings, bundle.encoder, bundle.task)
        return _Job(settings, source, bundle, make_ground(family, dict(settings.limits)))

    @staticmethod
    def reopen(store: RunStore, data: pd.DataFrame | None) -> _Job:
        settings = SearchSettings.from_json(store.config.get("settings", {}))
        was = store.config.get("data", {})
        if not {"location", "target", "fingerprint"} <= set(was):
            raise StoreError(
                f"config.json in {store.folder} is damaged: it does not say what the data were; "
                "restore it or start a new run"
            )
        if data is None and was["location"] is None:
            raise UsageError(
                f"run {store.folder} was started with a data frame; give it again: data=frame"
            )
        source = load_source(was["location"] if data is None else data, was["target"])
        if source.fingerprint != was["fingerprint"]:
            raise DataError(
                f"{source.name} has changed since run {store.folder} was started, so it cannot go "
                "on to the same result; restore the data or start a new run"
            )
        _check_device(settings.device)
        bundle = make_bundle(source, settings.seed, settings.task).to(settings.device)
        if not store.has("preprocessing.json"):  # killed between the first two files of a run
            _write_preprocessing(store, bundle)
        if (bundle.encoder, bundle.task) != read_preprocessing(store):
            raise DataError(
                f"this version of MeritNAS encodes {source.name} differently from the one that "
                f"made run {store.folder}; use that version or start a new run"
            )
        return _Job.make(settings, source, bundle)

    def new_search(self, plan: Plan | None, weight_steps: int) -> Any:
        return make_search(self.settings, self.ground, self.bundle, plan, weight_steps)

    def finish(self, store: RunStore, listen: Listener) -> SearchResult:
        """Do what is left of the run."""
        torch.set_num_threads(self.settings.threads)
        if self._is_finished(store):
            return self._result(store)
        self.announce(store, listen)
        if store.has("retrain.json"):
            plan = store.read_json("retrain.json", "plan")["plan"]
            chosen = self.ground.family.parse(plan["architecture"])
            return self.train_chosen(store, chosen, plan["epochs"], len(plan["seeds"]), listen)
        chosen = self._choose(store, listen)
        length = self.settings.retrain_epochs or self._timed_epochs(store, chosen)
        return self.train_chosen(store, chosen, length, self.settings.retrain_seeds, listen)

    @staticmethod
    def _is_finished(store: RunStore) -> bool:
        """Whether the result is that of the latest retraining, and not of one before it."""
        if not store.has("result.json"):
            return False
        result = store.read_json("result.json", "architecture", "retrain_epochs", "retrain_seeds")
        if not store.has("retrain.json"):
            return True
        plan = store.read_json("retrain.json", "plan")["plan"]
        done = (result["architecture"], result["retrain_epochs"], result["retrain_seeds"])
        return done == (plan["architecture"], plan["epochs"], len(plan["seeds"]))

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
            return Architecture.from_json(store.read_json("architecture.json", "chosen")["chosen"])
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
            return Plan(**store.read_json("plan.json", "search")["search"]), 0
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
        torch.set_num_threads(self.settings.threads)
        begun = time.perf_counter()
        numbers = [self.settings.seed * 1000 + k for k in range(seeds)]
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
        spent = searching + time.perf_counter() - begun
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


def _widths(
    space: str | TabularSpace, layers: int, widths: Sequence[int] | Sequence[Sequence[int]]
) -> tuple[tuple[int, ...], ...]:
    if isinstance(space, TabularSpace):
        return space.widths
    return tabular_space(1, 1, layers, widths).widths


def _write_preprocessing(store: RunStore, bundle: Bundle) -> None:
    store.write_json(
        "preprocessing.json", {"encoder": bundle.encoder.to_json(), "task": bundle.task.to_json()}
    )


def _config(settings: SearchSettings, source: Source) -> dict[str, Any]:
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


def _default(value: int | None, default: int) -> int:
    # Not `value or default`: a 0 must reach the checks that complain about it.
    return default if value is None else value


def _free_folder(name: str, strategy: str) -> Path:
    number = 1
    while (folder := Path("runs") / f"{name}-{strategy}-{number}").exists():
        number += 1
    return folder


def _check_device(device: str) -> None:
    try:
        torch.empty(1, device=device).cpu()
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"device '{device}' cannot be used here ({reason}); try cpu") from error
