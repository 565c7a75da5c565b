"""The search of a run, as its folder keeps it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from meritnas.engine.loop import Search
from meritnas.engine.plan import Plan
from meritnas.errors import StoreError
from meritnas.prepare.typed_fields import check_types
from meritnas.run.job import Job
from meritnas.run.spent_before import write_spent_before
from meritnas.store.run_folder import RESTORE
from meritnas.store.run_store import RunStore


def write_plan(job: Job, store: RunStore, search: Search, planning: float) -> None:
    """Keep how long the search is to be, and what its decisions are called."""
    plan = {
        "search": search.plan.to_json(),
        # The options name what the beliefs in the event log are about.
        "options": job.ground.searched.space.names,
        "decisions": [decision.name for decision in job.ground.searched.space.decisions],
        "planning": planning,
    }
    gone = time.perf_counter() - job.begun
    write_spent_before(store, {**job.spent, "planning": gone - sum(job.spent.values())})
    store.write_json("plan.json", plan)


def kept_search(job: Job, store: RunStore) -> Search:
    """The search of a run that was interrupted, where it was."""
    if store.has("plan.json"):
        search = job.new_search(_kept_plan(store), 0)
    elif store.has("retrain.json") or (store.lost("plan.json") and job.settings.minutes):
        # No search has chosen what is being trained, or nobody knows how long it was to be.
        lost = "architecture.json" if store.has("retrain.json") else "plan.json"
        raise StoreError(f"run {store.folder} has lost its {lost}; {RESTORE}")
    else:  # killed before its plan was written
        search, planning = job.planned_search()
        write_plan(job, store, search, planning)
    state = store.read_checkpoint()
    if state is not None:
        _continue_from(state, search, store)
    store.continue_events(0 if state is None else int(state["events_size"]))
    return search


def ended_search(job: Job, store: RunStore) -> Search:
    """The search of a run as it was at its last checkpoint; complains where there is none."""
    running = job.new_search(_kept_plan(store), 0)
    state = store.read_checkpoint()
    if state is None:
        raise StoreError(
            f"run {store.folder} has lost its checkpoint.pt, with the shared weights that parts "
            "are judged by; restore it or start a new run"
        )
    _continue_from(state, running, store)
    return running


def _kept_plan(store: RunStore) -> Plan:
    return store.decode("plan.json", _plan_in)


def _plan_in(found: Mapping[str, Any]) -> Plan:
    plan = Plan(**{"candidates": 1, **found["search"]})  # as earlier versions had it
    check_types(plan)
    return plan


def _continue_from(state: dict[str, Any], running: Search, store: RunStore) -> None:
    try:
        running.load_state_dict(state)
    except (KeyError, IndexError, TypeError, ValueError, RuntimeError) as error:
        raise StoreError(
            f"checkpoint.pt in {store.folder} does not belong to this run "
            f"({str(error).splitlines()[0]}); delete this file to start the run over from its "
            "configuration"
        ) from error
