"""From a search to what is to be trained: its steps, its candidates, and what is kept of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from meritnas.engine.candidates import JUDGING
from meritnas.engine.loop import Search
from meritnas.engine.search_together import check_same_data, help_search, search_to_its_end
from meritnas.engine.start import make_panel
from meritnas.prepare.settle import usual_epochs
from meritnas.run.ending import Ending, ending_of, ending_text
from meritnas.run.job import Job
from meritnas.run.processes import processes
from meritnas.run.trials import try_out
from meritnas.space.architecture import Architecture
from meritnas.store.run_store import RunStore
from meritnas.witness.trials import NAME as TRYING

Listener = Callable[[dict[str, Any]], None]
"""Told of every event: `run`, `note`, `search`, `retrain`."""


def choose(job: Job, store: RunStore, listen: Listener, running: Search) -> None:
    """Search, on several processes if there are several workers, and keep the favourites.

    Only the first process is needed for what comes after.
    """
    for text in job.curve_notes(running.rungs):
        listen({"kind": "note", "text": text})
    begun = time.perf_counter() - running.seconds
    settings, ground = job.settings, job.ground
    task = partial(help_search, settings, ground, job.bundle, running.plan, running.state_dict())
    starting = time.perf_counter()
    with processes(settings, task) as ranks:
        if ranks.size > 1:
            running.seconds += time.perf_counter() - starting
        check_same_data(job.bundle, ranks)
        running.join(ranks)
        panel = make_panel(running, ground, job.bundle)
        found = search_to_its_end(running, store, listen, ground.searched_feasible, panel)
    tried = try_out(job, store, found.candidates, listen, begun)
    ending = _ending(job, store, running)
    seconds = time.perf_counter() - begun + tried.earlier
    judging = seconds - sum(running.phase_seconds.values()) - tried.seconds
    trying = {TRYING: tried.seconds} if tried.seconds else {}
    write_choice(
        job,
        store,
        [each.architecture for each in tried.candidates],
        candidates=[each.to_json() for each in tried.candidates],
        ladder=[
            {
                "limit": limit,
                "architecture": best[0].architecture.text,
                "candidates": [each.to_json() for each in best],
            }
            for limit, best in found.ladder
        ],
        strategy=job.settings.strategy.name,
        passes=running.probe.passes,
        seconds=seconds,
        phase_seconds={**running.phase_seconds, JUDGING: judging, **trying},
        ending=ending.to_json(),
    )
    if text := ending_text(ending.to_json(), running.seconds):
        listen({"kind": "note", "text": text})


def _ending(job: Job, store: RunStore, running: Search) -> Ending:
    """Whether the search made up its mind, and trained its weights."""
    usual = usual_epochs(job.settings, job.prepared.facts)[0]
    return ending_of(
        store.events(),
        believes=job.settings.strategy.believes,
        chance_loss=job.bundle.task.chance_loss,
        weight_steps=running.plan.weight_steps,
        usual_steps=usual * running.probe.epoch_steps,
    )


def write_choice(job: Job, store: RunStore, ranked: Sequence[Architecture], **more: Any) -> None:
    """Keep what is to be trained, best first, and how it was found."""
    family = job.ground.family
    store.write_json(
        "architecture.json",
        {
            "chosen": ranked[0].to_json(),
            "ranked": [architecture.text for architecture in ranked],
            "costs": family.all_costs(ranked[0], job.settings.limits),
            **more,
        },
    )


def kept_choice(found: Mapping[str, Any]) -> dict[str, Any]:
    """What architecture.json says, which must be enough to train what was found."""
    ladder = [
        {
            "limit": int(rung["limit"]),
            "architecture": str(rung["architecture"]),
            "reserves": [str(each["architecture"]) for each in rung.get("candidates", ())],
        }
        for rung in found["ladder"]
    ]
    return {**found, "seconds": float(found["seconds"]), "ladder": ladder}


def favourites_of(store: RunStore) -> tuple[str, ...]:
    """The favourites of a search that has come that far, best first."""
    return store.decode(
        "architecture.json", lambda found: tuple(str(text) for text in found["ranked"])
    )
