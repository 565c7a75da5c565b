from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import sklearn
import torch

from meritnas.data.bundle import AnyBundle, Outline
from meritnas.data.images.source import ImageSource
from meritnas.data.modalities.source import ModalitySource
from meritnas.data.texts.source import TextSource
from meritnas.engine.ladder import best_within, no_curve
from meritnas.engine.loop import Search, run_search
from meritnas.engine.plan import Plan
from meritnas.engine.start import make_search
from meritnas.engine.time_limit import weight_steps_within
from meritnas.errors import StoreError, UsageError
from meritnas.explanation.network_credit import NetworkExplanation, explain_search
from meritnas.families.latency import microseconds
from meritnas.prepare.defaults import check_device, usual_epochs
from meritnas.prepare.preparation import AnyData, AnySource, Preparation, prepare, prepare_again
from meritnas.prepare.setup import Ground, make_ground
from meritnas.report.charts.pareto_figure import draw_pareto
from meritnas.report.page.page import report_at_end
from meritnas.run.result import SearchResult
from meritnas.settings.settings import SearchSettings
from meritnas.space.architecture import Architecture
from meritnas.store.run_store import RunStore
from meritnas.training.race import Race, timed_race
from meritnas.training.retrain import Retrained, retrain_child
from meritnas.training.rungs import mark_best, point, train_rungs
from meritnas.training.threads import limited_threads
from meritnas.training.train import train_child
from meritnas.version import __version__

Listener = Callable[[dict[str, Any]], None]
"""Told of every event: `run`, `note`, `search`, `retrain`."""

GIVEN = "given"
"""What a run has for a strategy whose architecture a user gave."""

_SEARCH_SHARE = 0.35
"""Of the minutes given, at most this part is for searching; the rest trains what was found.

However many there are, a search is not longer than by default: more finalists gain more.
"""

_TIMED_EPOCHS = 3
"""How many epochs are trained to find out how long one takes."""

_TIMING_SHARE = 0.03
"""Of the time that is left after a search: a measurement that takes longer is the last."""

_LEAST_SHARE = 1 / 16
"""Of the data, to begin with."""


@dataclass(frozen=True)
class Job:
    """Settings, data and space of one run.

    Attributes:
        settings: what the user decided.
        prepared: the data, and the networks that fit them.
        ground: the space and its feasible part.
    """

    settings: SearchSettings
    prepared: Preparation
    ground: Ground

    @staticmethod
    def make(settings: SearchSettings, source: AnySource, outline: Outline) -> Job:
        """A new job; complains where no network fits the limits."""
        job = _on_ground(settings, prepare(settings, source, outline))
        if settings.alone.auxiliary:
            job.check_auxiliary()
        return job

    @staticmethod
    def reopen(store: RunStore, data: AnyData | None) -> Job:
        """The job of an existing run, on the same data as then."""
        settings = store.decode("config.json", lambda c: SearchSettings.from_json(c["settings"]))
        check_device(settings.device)
        return _on_ground(settings, prepare_again(settings, store, data))

    @property
    def bundle(self) -> AnyBundle:
        """The encoded data."""
        return self.prepared.bundle

    def check_auxiliary(self) -> None:
        """Complain now, not after the search, where no network can have an auxiliary head."""
        family = self.ground.family
        some = self.ground.feasible.mode([np.zeros(size) for size in family.space.sizes])
        with torch.device("meta"):
            family.child(some, auxiliary=True)

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
        return Race(finalists, self.settings.alone.dropouts, numbers, epochs)

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
        chosen = (self.prepared.scaling.note, self.ground.feasible.note)
        found = (*self.prepared.notes, *self.bundle.encoder.warnings, *chosen)
        return [note for note in found if note]

    def _curve_notes(self, rungs: Sequence[object]) -> list[str]:
        """Why there is no trade-off curve, where one was asked for and has no smaller limit."""
        if rungs or not self.settings.pareto:
            return []
        return [no_curve(self.ground.searched, self.settings.limits)]

    def announce(self, store: RunStore, listen: Listener) -> None:
        """Tell where the run is, so that it can be resumed, and what there is to note."""
        listen({"kind": "run", "run": str(store.folder)})
        for text in self.notes:
            listen({"kind": "note", "text": text})

    def _choose(self, store: RunStore, listen: Listener) -> tuple[str, ...]:
        """The search's favourites, best first."""
        if store.has("architecture.json"):
            return favourites_of(store)
        begun, timeless = time.perf_counter(), self.settings.minutes is None
        running = self.new_search(*self._plan(store))
        for text in self._curve_notes(running.rungs):
            listen({"kind": "note", "text": text})
        if not store.has("plan.json"):
            store.write_json(
                "plan.json",
                {
                    "search": running.plan.to_json(),
                    # The options name what the beliefs in the event log are about.
                    "options": self.ground.searched.space.names,
                    "planning": 0.0 if timeless else time.perf_counter() - begun,
                },
            )
        state = store.read_checkpoint()
        if state is not None:
            _continue_from(state, running, store)
        ranked = run_search(running, store, listen, self.ground.searched_feasible)
        seed = self.settings.seed
        with running.own_draws():
            ladder = [
                {"limit": rung.limit, "architecture": found.text}
                for rung in running.rungs
                for found in [best_within(rung.feasible, running.probe, seed)]
            ]
        self.write_choice(
            store,
            ranked,
            ladder=ladder,
            strategy=self.settings.strategy,
            passes=running.probe.passes,
            seconds=running.seconds,
            phase_seconds=running.phase_seconds,
        )
        return favourites_of(store)

    def write_choice(self, store: RunStore, ranked: Sequence[Architecture], **more: Any) -> None:
        """Keep what is to be trained, best first, and how it was found."""
        family = self.ground.family
        store.write_json(
            "architecture.json",
            {
                "chosen": ranked[0].to_json(),
                "ranked": [architecture.text for architecture in ranked],
                "costs": {name: family.cost(ranked[0], name) for name in family.costs},
                **more,
            },
        )

    def _plan(self, store: RunStore) -> tuple[Plan | None, int]:
        """The plan fixed earlier, or how many weight steps a new one has."""
        if store.has("plan.json"):
            return store.decode("plan.json", lambda plan: Plan(**plan["search"])), 0
        rows, size = len(self.bundle.train), self.settings.recipe.batch_size
        an_epoch = max(1, rows // size)
        if self.settings.minutes is not None:
            seconds = 60.0 * self.settings.minutes * _SEARCH_SHARE - self.prepared.seconds
            possible = weight_steps_within(seconds, self.settings, self.ground, self.bundle)
            return None, min(possible, usual_epochs(self.settings, rows).search * an_epoch)
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
            begun, left = time.perf_counter(), self._seconds_left(store)
            an_epoch = self._seconds_an_epoch(race, left)
            planning = time.perf_counter() - begun
            usual = usual_epochs(settings, len(self.bundle.train)).alone
            affordable = int((left - planning) / an_epoch)
            plan["race"] = timed_race(race, favourites, rungs, affordable, usual).to_json()
            plan["planning"] = plan.get("planning", 0.0) + planning
            store.write_json("plan.json", plan)
        return store.decode("plan.json", lambda kept: Race.from_json(kept["race"]))

    def _seconds_an_epoch(self, race: Race, left: float) -> float:
        """Measured on as much of the data as takes a small part of the time that is left."""
        rows, share = len(self.bundle.train), _LEAST_SHARE
        while True:
            share = min(1.0, max(share, 2 * self.settings.alone.batch_size / rows))
            took = self._seconds_for(1, race, share)
            if share == 1.0 or took > _TIMING_SHARE * left:
                break
            share *= 4
        if share < 1.0 or _TIMED_EPOCHS * took > _TIMING_SHARE * left:
            return took / share
        return self._seconds_for(_TIMED_EPOCHS, race, 1.0) / _TIMED_EPOCHS  # with warm caches

    def _seconds_for(self, epochs: int, race: Race, share: float) -> float:
        """How long a training on this share of the data takes."""
        recipe, task = self.settings.alone, self.bundle.task
        train, valid = self.bundle.train.share(share), self.bundle.valid.share(share)
        begun = time.perf_counter()
        module = self.ground.family.child(
            race.finalists[0], dropout=race.dropouts[-1], auxiliary=recipe.auxiliary > 0
        ).to(self.settings.device)
        train_child(module, train, valid, task.loss, recipe, epochs, 0)
        return time.perf_counter() - begun

    def explain(self, store: RunStore) -> NetworkExplanation:
        """What each part of the run's network is worth; the run keeps it."""
        if not store.has("result.json"):
            raise StoreError(
                f"run {store.folder} has not ended yet; continue it with: "
                f"meritnas search --resume {store.folder}"
            )
        state = store.read_checkpoint()
        if state is None:
            raise UsageError(
                f"run {store.folder} trained a given network without a search, so there is no "
                "supernet to judge its parts by"
            )
        running = self.new_search(store.decode("plan.json", lambda p: Plan(**p["search"])), 0)
        _continue_from(state, running, store)
        text = str(store.read_json("result.json", "architecture")["architecture"])
        with limited_threads(self.settings.threads), running.own_draws():
            found = explain_search(self.ground, running, self.bundle.task, text)
        store.write_json("credit.json", found.to_json())
        for name, frame in found.tables().items():
            store.write_text(f"{name}.csv", frame.to_csv(index=False))
        report_at_end(store.folder)
        return found

    def train_chosen(
        self, store: RunStore, race: Race, listen: Listener, left: float = math.inf
    ) -> SearchResult:
        """Train the favourites from scratch, in `left` seconds, and write the run's result."""
        family, recipe = self.ground.family, self.settings.alone
        with limited_threads(self.settings.threads):
            found = store.read_json("architecture.json", "seconds", "ladder")
            ladder = found["ladder"]
            own = left * race.share(len(ladder))
            reserves = favourites_of(store) if left < math.inf else ()
            trained = retrain_child(family, race, self.bundle, recipe, store, listen, own, reserves)
            left, bundle = left - trained.seconds, self.bundle
            rows = train_rungs(family, ladder, race, bundle, recipe, store, listen, left)
        summary = self._summary(store, trained, found)
        if rows:
            top = point(family, self.settings.limits.get("params"), trained, "")
            summary["pareto"] = mark_best([top, *rows])
            store.write_figure("pareto.png", partial(draw_pareto, summary["pareto"]))
        store.write_json("result.json", summary)
        report_at_end(store.folder)
        return self._result(store)

    def _seconds_left(self, store: RunStore) -> float:
        """How long all trainings may take after the search."""
        if self.settings.minutes is None:
            return math.inf
        searching = float(store.read_json("architecture.json", "seconds")["seconds"])
        spent = self.prepared.seconds + _planning(store) + searching
        return 60.0 * self.settings.minutes - spent

    def _summary(
        self, store: RunStore, trained: Retrained, found: Mapping[str, Any]
    ) -> dict[str, Any]:
        ground, chosen, race = self.ground, trained.architecture, trained.race
        return {
            "architecture": chosen,
            "short": ground.family.short(chosen),
            "lines": ground.family.lines(chosen),
            "params": ground.family.cost(chosen, "params"),
            "costs": {name: ground.family.cost(chosen, name) for name in ground.family.costs},
            "limits": dict(self.settings.limits),
            **self._measured_latency(chosen),
            "feasible_share": ground.feasible.share(),
            "feasible_count": ground.feasible.count(),
            "space_count": ground.feasible.space.count(),
            "exact": ground.feasible.exact,
            "notes": [*self.notes, *self._curve_notes(found["ladder"])],
            "data": self.prepared.name,
            "data_kind": store.config["data"].get("kind", "table"),
            "space": self.settings.space,
            "task": self.bundle.task.kind,
            "scaling": self.prepared.scaling.scaling,
            "strategy": found.get("strategy", self.settings.strategy),
            "seed": self.settings.seed,
            "test": trained.test,
            "test_spread": trained.test_spread,
            "test_best": trained.test_best,
            "retrain_epochs": race.epochs,
            "retrain_seeds": len(race.seeds),
            "race": race.to_json(),
            "seconds": round(_planning(store) + float(found["seconds"]) + trained.seconds, 2),
            "run": str(store.folder),
        }

    def _measured_latency(self, chosen: str) -> dict[str, int]:
        """What the whole network takes, beside the sum over its layers that was promised."""
        if "latency" not in self.settings.limits:
            return {}
        module = self.ground.family.child(chosen).to(self.settings.device).eval()
        row = torch.zeros(1, *self.bundle.train.inputs.shape[1:], device=self.settings.device)
        return {"measured_latency": microseconds({"whole": (module, row)}, rounds=50)["whole"]}

    def _result(self, store: RunStore) -> SearchResult:
        summary = {
            **store.read_json("result.json", "architecture", "test"),
            "run": str(store.folder),
        }  # it may have moved
        family = self.ground.family
        chosen = family.parse(summary["architecture"])
        return SearchResult(chosen, family, store.folder, summary, partial(self.explain, store))


def _on_ground(settings: SearchSettings, prepared: Preparation) -> Job:
    return Job(settings, prepared, make_ground(prepared.family, dict(settings.limits)))


def _planning(store: RunStore) -> float:
    """Seconds that went into finding out how much time allows."""
    if not store.has("plan.json"):  # a given network
        return 0.0
    return float(store.read_json("plan.json").get("planning", 0.0))


def last_race(store: RunStore) -> Race:
    """The race that was begun last."""
    return store.decode("retrain.json", lambda saved: Race.from_json(saved["plan"]))


def favourites_of(store: RunStore) -> tuple[str, ...]:
    """The favourites of a search that has come that far, best first."""
    return store.decode(
        "architecture.json", lambda found: tuple(str(text) for text in found["ranked"])
    )


def start(job: Job, store: RunStore, listen: Listener) -> SearchResult:
    """Run a new job from its beginning to its end."""
    job.prepared.write(store)
    return job.finish(store, listen)


def start_given(
    job: Job, architecture: Architecture, store: RunStore, listen: Listener
) -> SearchResult:
    """Train one architecture, as if a search had found it."""
    job.prepared.write(store)
    job.write_choice(store, [architecture], ladder=[], strategy=GIVEN, passes=0, seconds=0.0)
    return job.finish(store, listen)


def make_config(settings: SearchSettings, source: AnySource, **read: Any) -> dict[str, Any]:
    """All that decides a run: its settings, its data, the versions it ran with.

    Args:
        settings: what the user decided.
        source: the data.
        read: how it was read: `skip_bad_rows` of a table, `image_size` of images.
    """
    return {
        "settings": settings.to_json(),
        "data": {
            **_kind_of(source),
            "name": source.name,
            "location": source.location,
            "fingerprint": source.fingerprint,
            **read,
        },
        "versions": {
            "meritnas": __version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
        },
    }


def _kind_of(source: AnySource) -> dict[str, Any]:
    """What the data is, and how it is read unless told otherwise."""
    if isinstance(source, TextSource):
        return {"kind": "text", "level": source.level}
    if isinstance(source, ModalitySource):
        return {"kind": "modalities", "target": source.target_name, "modalities": None}
    if isinstance(source, ImageSource):
        return {"kind": "images", "target": source.labels.name}
    return {"kind": "table", "target": source.target, "skip_bad_rows": False}


def _continue_from(state: dict[str, Any], running: Search, store: RunStore) -> None:
    try:
        running.load_state_dict(state)
    except (KeyError, IndexError, TypeError, ValueError, RuntimeError) as error:
        raise StoreError(
            f"checkpoint.pt in {store.folder} does not belong to this run "
            f"({str(error).splitlines()[0]}); delete this file to start the run over from its "
            "configuration"
        ) from error
