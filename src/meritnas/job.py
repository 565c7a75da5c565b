from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import sklearn
import torch

from meritnas.child.pareto import mark_best, point, train_rungs
from meritnas.child.predictor import read_preprocessing
from meritnas.child.race import Race, timed_race
from meritnas.child.retrain import Retrained, retrain_child
from meritnas.child.scaling import ScalingChoice, choose_scaling
from meritnas.child.train import train_child
from meritnas.data.bundle import Bundle, Outline, outline_table
from meritnas.data.source import Source, load_source
from meritnas.errors import DataError, StoreError, UsageError, whole_number
from meritnas.families.latency import microseconds, terms_from_json, terms_to_json
from meritnas.families.tabular import tabular_space
from meritnas.report.pareto_figure import draw_pareto
from meritnas.result import SearchResult
from meritnas.search.ladder import best_within
from meritnas.search.loop import Search, run_search
from meritnas.search.pace import weight_steps_within
from meritnas.search.plan import Plan
from meritnas.search.recipe import (
    TrainRecipe,
    default_batch_size,
    default_search_epochs,
    default_threads,
    default_train_epochs,
)
from meritnas.search.settings import SearchSettings
from meritnas.search.setup import (
    Ground,
    encode_within,
    make_family,
    make_ground,
    make_search,
)
from meritnas.search.store import RunStore
from meritnas.search.threads import limited_threads
from meritnas.strategy.recipes import check_strategy
from meritnas.version import __version__

Listener = Callable[[dict[str, Any]], None]
"""Told of every event: `run`, `note`, `search`, `retrain`."""

_SEARCH_SHARE = 0.35
"""Of the minutes given, at most this part is for searching; the rest trains what was found.

However many there are, a search is not longer than by default: more finalists gain more.
"""

_TIMED_EPOCHS = 3
"""How many epochs are trained to find out how long one takes."""


@dataclass(frozen=True)
class Job:
    """Settings, data and space of one run.

    Attributes:
        settings: what the user decided.
        name: the data's.
        bundle: the encoded rows.
        ground: the space and its feasible part.
        scaling: how numbers are scaled, and why.
        source_notes: what a user should know about the table and its target.
        seconds: how long all this took to make, which counts where time is limited.
    """

    settings: SearchSettings
    name: str
    bundle: Bundle
    ground: Ground
    scaling: ScalingChoice
    source_notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @staticmethod
    def make(settings: SearchSettings, source: Source, outline: Outline) -> Job:
        """A new job; complains where no network fits the limits."""
        begun = time.perf_counter()
        scaling = choose_scaling(settings, source, outline)
        bundle = encode_within(settings, source, outline, scaling.scaling)
        family = make_family(settings, bundle.encoder, bundle.task)
        if "latency" in settings.limits:
            family = family.timed(settings.device)
        ground = make_ground(family, dict(settings.limits))
        seconds = time.perf_counter() - begun
        notes = (*source.notes, *outline.notes)
        return Job(settings, source.name, bundle, ground, scaling, notes, seconds)

    @staticmethod
    def reopen(store: RunStore, data: pd.DataFrame | None) -> Job:
        """The job of an existing run, on the same data as then."""
        settings = store.decode("config.json", lambda c: SearchSettings.from_json(c["settings"]))
        source = _source_of(store, data)
        check_device(settings.device)
        outline = outline_table(source, settings.seed, settings.task, settings.class_weight)
        if not store.has("preprocessing.json"):  # killed between the first two files of a run
            job = Job.make(settings, source, outline)
            job.write_preparations(store)
            return job
        scaling = store.decode(
            "preprocessing.json",
            lambda kept: ScalingChoice(kept["scaling"]["chosen"], dict(kept["scaling"]["losses"])),
        )
        bundle = encode_within(settings, source, outline, scaling.scaling)
        if (bundle.encoder, bundle.task) != read_preprocessing(store):
            raise DataError(
                f"this version of MeritNAS encodes {source.name} differently from the one that "
                f"made run {store.folder}; use that version or start a new run"
            )
        family = make_family(settings, bundle.encoder, bundle.task)
        if "latency" in settings.limits:
            family = family.with_latency(store.decode("latency.json", terms_from_json))
        ground = make_ground(family, dict(settings.limits))
        notes = (*source.notes, *outline.notes)
        return Job(settings, source.name, bundle, ground, scaling, notes)

    def write_preparations(self, store: RunStore) -> None:
        """Keep what was measured and decided about the data, so that it is done the same again."""
        family = self.ground.family
        if family.latency is not None:
            store.write_json("latency.json", terms_to_json(family.latency))
        store.write_json(
            "preprocessing.json",
            {
                "encoder": self.bundle.encoder.to_json(),
                "task": self.bundle.task.to_json(),
                "scaling": {"chosen": self.scaling.scaling, "losses": self.scaling.losses},
            },
        )

    def new_search(self, plan: Plan | None, weight_steps: int) -> Search:
        """A search at its first step."""
        return make_search(self.settings, self.ground, self.bundle, plan, weight_steps)

    def finish(self, store: RunStore, listen: Listener) -> SearchResult:
        """Do what is left of the run."""
        if self._is_finished(store):
            return self._result(store)
        self.announce(store, listen)
        if store.has("retrain.json"):
            race = last_race(store)
        else:
            with limited_threads(self.settings.threads):
                race = self._race(store, self._choose(store, listen))
        # A run that has a result is being retrained, for as long as that takes.
        left = math.inf if store.has("result.json") else self._seconds_left(store)
        return self.train_chosen(store, race, listen, left)

    def race(self, finalists: tuple[str, ...], seeds: int, epochs: int) -> Race:
        """A race between these architectures by the run's own recipe."""
        numbers = tuple(self.settings.seed * 1000 + k for k in range(seeds))
        return Race(finalists, self.settings.recipe.dropouts, numbers, epochs)

    @staticmethod
    def _is_finished(store: RunStore) -> bool:
        """Whether there is a network with the result of the latest race."""
        if not (store.has("result.json") and store.has("model.safetensors")):
            return False
        result = store.read_json("result.json", "architecture", "race")
        return not store.has("retrain.json") or result["race"] == last_race(store).to_json()

    @property
    def notes(self) -> list[str]:
        """What a user should know about the data and the limits, a sentence each."""
        chosen = (self.scaling.note, self.ground.feasible.note)
        found = (*self.source_notes, *self.bundle.encoder.warnings, *chosen)
        return [note for note in found if note]

    def announce(self, store: RunStore, listen: Listener) -> None:
        """Tell where the run is, so that it can be resumed, and what there is to note."""
        listen({"kind": "run", "run": str(store.folder)})
        for text in self.notes:
            listen({"kind": "note", "text": text})

    def _choose(self, store: RunStore, listen: Listener) -> tuple[str, ...]:
        """The search's favourites, best first."""
        if store.has("architecture.json"):
            return favourites_of(store)
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
        family, seed = self.ground.family, self.settings.seed
        store.write_json(
            "architecture.json",
            {
                "chosen": ranked[0].to_json(),
                "ranked": [architecture.text for architecture in ranked],
                "costs": {name: family.cost(ranked[0], name) for name in family.costs},
                "ladder": [
                    {"limit": rung.limit, "architecture": found.text}
                    for rung in running.rungs
                    for found in [best_within(rung.feasible, running.probe, seed)]
                ],
                "passes": running.probe.passes,
                "seconds": running.seconds,
            },
        )
        return favourites_of(store)

    def _plan(self, store: RunStore) -> tuple[Plan | None, int]:
        """The plan fixed earlier, or how many weight steps a new one has."""
        if store.has("plan.json"):
            return store.decode("plan.json", lambda plan: Plan(**plan["search"])), 0
        rows, size = len(self.bundle.train), self.settings.recipe.batch_size
        an_epoch = max(1, rows // size)
        if self.settings.minutes is not None:
            seconds = 60.0 * self.settings.minutes * _SEARCH_SHARE - self.seconds
            possible = weight_steps_within(seconds, self.settings, self.ground, self.bundle)
            return None, min(possible, default_search_epochs(rows, size) * an_epoch)
        return None, (self.settings.epochs or 0) * an_epoch

    def _race(self, store: RunStore, favourites: tuple[str, ...]) -> Race:
        """The race that the settings or the time allow; what was measured is fixed once."""
        settings = self.settings
        race = self.race(favourites[: settings.finalists], settings.retrain_seeds, 1)
        if settings.retrain_epochs is not None:
            return replace(race, epochs=settings.retrain_epochs)
        plan = store.read_json("plan.json")
        if "race" not in plan:
            rungs = len(store.read_json("architecture.json", "ladder")["ladder"])
            begun = time.perf_counter()
            self._train_for(1, race)  # warms caches up
            seconds = -time.perf_counter()
            self._train_for(_TIMED_EPOCHS, race)
            seconds += time.perf_counter()
            left = self._seconds_left(store) - (time.perf_counter() - begun)
            usual = default_train_epochs(len(self.bundle.train), settings.recipe.batch_size)
            affordable = int(_TIMED_EPOCHS * left / seconds)
            plan["race"] = timed_race(race, favourites, rungs, affordable, usual).to_json()
            store.write_json("plan.json", plan)
        return store.decode("plan.json", lambda kept: Race.from_json(kept["race"]))

    def _train_for(self, epochs: int, race: Race) -> None:
        module = self.ground.family.child(race.finalists[0], dropout=race.dropouts[-1])
        part, task = self.bundle, self.bundle.task
        recipe = self.settings.recipe
        train_child(
            module.to(self.settings.device), part.train, part.valid, task.loss, recipe, epochs, 0
        )

    def train_chosen(
        self, store: RunStore, race: Race, listen: Listener, left: float = math.inf
    ) -> SearchResult:
        """Train the favourites from scratch, in `left` seconds, and write the run's result."""
        family, recipe = self.ground.family, self.settings.recipe
        with limited_threads(self.settings.threads):
            found = store.read_json("architecture.json", "seconds", "ladder")
            ladder = found["ladder"]
            own = left * race.share(len(ladder))
            reserves = favourites_of(store) if left < math.inf else ()
            trained = retrain_child(family, race, self.bundle, recipe, store, listen, own, reserves)
            left, bundle = left - trained.seconds, self.bundle
            rows = train_rungs(family, ladder, race, bundle, recipe, store, listen, left)
        summary = self._summary(store, trained, float(found["seconds"]))
        if rows:
            top = point(family, self.settings.limits.get("params"), trained, "")
            summary["pareto"] = mark_best([top, *rows])
            store.write_figure("pareto.png", partial(draw_pareto, summary["pareto"]))
        store.write_json("result.json", summary)
        return self._result(store)

    def _seconds_left(self, store: RunStore) -> float:
        """How long all trainings may take after the search."""
        if self.settings.minutes is None:
            return math.inf
        searching = float(store.read_json("architecture.json", "seconds")["seconds"])
        return 60.0 * self.settings.minutes - self.seconds - searching

    def _summary(self, store: RunStore, trained: Retrained, searching: float) -> dict[str, Any]:
        ground, chosen, race = self.ground, trained.architecture, trained.race
        return {
            "architecture": chosen,
            "params": ground.family.cost(chosen, "params"),
            "costs": {name: ground.family.cost(chosen, name) for name in ground.family.costs},
            "limits": dict(self.settings.limits),
            **self._measured_latency(chosen),
            "feasible_share": ground.feasible.share(),
            "feasible_count": ground.feasible.count(),
            "space_count": ground.family.space.count(),
            "exact": ground.feasible.exact,
            "notes": self.notes,
            "data": self.name,
            "task": self.bundle.task.kind,
            "scaling": self.scaling.scaling,
            "strategy": self.settings.strategy,
            "seed": self.settings.seed,
            "test": trained.test,
            "test_spread": trained.test_spread,
            "retrain_epochs": race.epochs,
            "retrain_seeds": len(race.seeds),
            "race": race.to_json(),
            "seconds": round(searching + trained.seconds, 2),
            "run": str(store.folder),
        }

    def _measured_latency(self, chosen: str) -> dict[str, int]:
        """What the whole network takes, beside the sum over its layers that was promised."""
        if "latency" not in self.settings.limits:
            return {}
        module = self.ground.family.child(chosen).to(self.settings.device).eval()
        row = torch.zeros(1, self.bundle.encoder.width, device=self.settings.device)
        return {"measured_latency": microseconds({"whole": (module, row)}, rounds=50)["whole"]}

    def _result(self, store: RunStore) -> SearchResult:
        summary = {
            **store.read_json("result.json", "architecture", "test"),
            "run": str(store.folder),
        }  # it may have moved
        family = self.ground.family
        return SearchResult(family.parse(summary["architecture"]), family, store.folder, summary)


def _source_of(store: RunStore, data: pd.DataFrame | None) -> Source:
    """The run's data, as it was then."""
    keys = ("location", "target", "fingerprint", "skip_bad_rows")
    location, target, fingerprint, skip = store.decode(
        "config.json", lambda config: [config["data"][key] for key in keys]
    )
    if data is None and location is None:
        raise UsageError(
            f"run {store.folder} was started with a data frame; give it again: data=frame"
        )
    source = load_source(location if data is None else data, target, skip)
    if source.fingerprint != fingerprint:
        raise DataError(
            f"{source.name} has changed since run {store.folder} was started, so it cannot go "
            "on to the same result; restore the data or start a new run"
        )
    return source


def last_race(store: RunStore) -> Race:
    """The race that was begun last."""
    return store.decode("retrain.json", lambda saved: Race.from_json(saved["plan"]))


def favourites_of(store: RunStore) -> tuple[str, ...]:
    """The favourites of a search that has come that far, best first."""
    return store.decode(
        "architecture.json", lambda found: tuple(str(text) for text in found["ranked"])
    )


def make_settings(
    rows: int, columns: int, *, recipe: dict[str, Any], **asked: Any
) -> SearchSettings:
    """Settings with what was left open filled in by the size of the table.

    Args:
        rows: training rows.
        columns: columns but the target.
        recipe: values of a `TrainRecipe`; a `batch_size` of None means one that suits the rows.
        asked: the other values of `SearchSettings`; None for `threads` or, without `minutes`, for
            `epochs` and `retrain_epochs` likewise. Limits of None are left out.
    """
    if asked["epochs"] is not None and asked["minutes"] is not None:
        raise UsageError("give either epochs or minutes, not both")
    check_strategy(asked["strategy"], asked["strategy_options"])
    check_device(asked["device"])
    batch = recipe["batch_size"]
    batch = whole_number("batch_size", default_batch_size(rows) if batch is None else batch, 2)
    defaults: dict[str, Any] = {"threads": default_threads(batch * columns)}
    if asked["minutes"] is None:
        defaults["epochs"] = default_search_epochs(rows, batch)
        defaults["retrain_epochs"] = default_train_epochs(rows, batch)
    return SearchSettings(
        **{
            **asked,
            **{name: value for name, value in defaults.items() if asked[name] is None},
            "limits": {name: most for name, most in asked["limits"].items() if most is not None},
            "widths": tabular_space(1, 1, asked["layers"], asked["widths"]).widths,
            "recipe": TrainRecipe(**{**recipe, "batch_size": batch}),
        }
    )


def start(job: Job, store: RunStore, listen: Listener) -> SearchResult:
    """Run a new job from its beginning to its end."""
    job.write_preparations(store)
    return job.finish(store, listen)


def make_config(
    settings: SearchSettings, source: Source, *, skip_bad_rows: bool = False
) -> dict[str, Any]:
    """All that decides a run: its settings, its data, the versions it ran with."""
    return {
        "settings": settings.to_json(),
        "data": {
            "name": source.name,
            "location": source.location,
            "target": source.target,
            "fingerprint": source.fingerprint,
            "skip_bad_rows": skip_bad_rows,
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
