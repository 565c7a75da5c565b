"""A run's result.json: what was found, what it costs, how good it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from meritnas.data.metric_names import is_loss
from meritnas.data.task import Task
from meritnas.devices.placement import placed
from meritnas.families.latency import microseconds
from meritnas.run.augmenting import augmented_recipe, seconds_trying
from meritnas.run.job import Job
from meritnas.run.outcome import outcome_notes
from meritnas.run.timed_race import planning_seconds
from meritnas.run.yardstick import kept_yardstick, seconds_measuring
from meritnas.store.run_store import RunStore
from meritnas.training.race import best_of, has_diverged
from meritnas.training.retrain import Retrained
from meritnas.training.rungs import mark_best, point


def result_of_race(
    job: Job,
    store: RunStore,
    trained: Retrained,
    rows: Sequence[dict[str, Any]],
    found: Mapping[str, Any],
) -> tuple[dict[str, Any], list[str]]:
    """What result.json says after a race, and what there is to note about it, a sentence each.

    Args:
        job: the run's.
        store: its folder.
        trained: the winner.
        rows: of networks for smaller limits.
        found: architecture.json.
    """
    notes = outcome_notes(job.bundle, trained, found["ladder"], rows)
    summary = _summary(job, store, trained, found)
    if (plain := summary.get("plain")) is not None:
        notes = [_against_plain(plain), *notes]
    if "without" in (teacher := summary.get("teacher", {})):
        notes = [_against_untaught(teacher), *notes]
    summary["notes"] += notes
    if "ending" in found:  # nobody searched for a given network, and the first runs did not say
        longer = float(found["ending"]["times_longer"])
        summary["ending"] = found["ending"]
        summary["seconds_needed"] = round(longer * float(found["seconds"]), 2)
    if rows:
        top = point(job.ground.family, job.settings.limits.get("params"), trained, "")
        summary["pareto"] = mark_best([top, *rows])
    return summary, notes


_SIDES = (("plain", "valid_loss"), ("found", "found_valid_loss"))


def _against_plain(plain: Mapping[str, Any]) -> str:
    """By how much what was found is better than a plain network, or that it is not."""
    decided = plain.get("decided", {"by": "loss"})
    own, found = (decided.get(who, plain[loss]) for who, loss in _SIDES)
    losses = f"validation {decided['by']} {own:.4g}"
    if plain["won"]:
        other = "diverged" if found is None else f"has {found:.4g}"
        return (
            f"a plain network won, {plain['short']} ({losses}): the best that the search found "
            f"{other}; the result is the plain one"
        )
    return (
        f"the plain network {plain['short']} ({plain['params']:,} parameters) has {losses}, what "
        f"was found {found:.4g}"
    )


def _summary(
    job: Job, store: RunStore, trained: Retrained, found: Mapping[str, Any]
) -> dict[str, Any]:
    ground, settings, race = job.ground, job.settings, trained.race
    chosen, family = trained.architecture, job.ground.family
    return {
        "architecture": chosen,
        "short": family.short(chosen),
        "lines": family.lines(chosen),
        "params": family.cost(chosen, "params"),
        "costs": family.all_costs(chosen, settings.limits),
        "limits": dict(settings.limits),
        **_measured_latency(job, chosen),
        **({"latency_table": settings.latency_table} if settings.latency_table else {}),
        "feasible_share": ground.feasible.share(),
        "feasible_count": ground.feasible.count(),
        "space_count": ground.feasible.space.count(),
        "exact": ground.feasible.exact,
        "notes": [*job.notes, *job.curve_notes(found["ladder"])],
        "data": job.prepared.name,
        "data_kind": job.prepared.kind.name,
        "space": settings.space.name,
        "task": job.bundle.task.kind,
        "scaling": job.prepared.encoding.name,
        "strategy": found.get("strategy", settings.strategy.name),
        "seed": settings.seed,
        "test": trained.test,
        "test_spread": trained.test_spread,
        "test_best": trained.test_best,
        "valid_loss": best_of(trained.race.winners(trained.results))["valid_loss"],
        **_threshold(job, trained),
        **_teacher(job, trained),
        **_yardstick(store),
        "retrain_epochs": race.epochs,
        "retrain_seeds": trained.seeds,
        "race": race.to_json(),
        **_plain(job, trained, found.get("ranked", ())),
        **_drawn(job, chosen),
        **_augmented(job, store),
        "seconds": round(
            planning_seconds(store)
            + float(found["seconds"])
            + seconds_trying(store)
            + seconds_measuring(store)
            + trained.seconds,
            2,
        ),
        "run": str(store.folder),
    }


def _yardstick(store: RunStore) -> dict[str, Any]:
    """What others make of the same rows; nothing where nobody looked."""
    found = kept_yardstick(store)
    # Without its seconds, which are other ones each time: `seconds` of the result has them.
    own = {name: value for name, value in found.items() if name != "seconds"}
    return {"yardstick": own} if own else {}


def _threshold(job: Job, trained: Retrained) -> dict[str, Any]:
    """What finalists were chosen by, and from which probability on the second class is answered."""
    metric = job.bundle.task.metric
    if not metric:
        return {}
    own = best_of(trained.race.winners(trained.results))
    kept = {"threshold": own["threshold"]} if "threshold" in own else {}
    return {"metric": metric, **kept}


def _teacher(job: Job, trained: Retrained) -> dict[str, Any]:
    """Whose answers networks have learned from; of finalists also whether that was any good."""
    settings = job.settings
    if settings.teacher is None:
        return {}
    own = {"by": settings.teacher, "share": settings.alone.teacher_share}
    done = [one for one in trained.results if not has_diverged(one)]
    taught = [one for one in done if one.get("taught")]
    if not taught:
        return {"teacher": own}
    best, without = best_of(taught), best_of([one for one in done if not one.get("taught")])
    losses = {"valid_loss": best["valid_loss"], "without": without["valid_loss"]}
    return {"teacher": {**own, **losses, "won": best_of(done) is best}}


def _against_untaught(teacher: Mapping[str, Any]) -> str:
    """Whether the winner is better for what it was taught by the finalists."""
    kept = "taught" if teacher["won"] else "untaught"
    return (
        f"taught by the finalists the winner has validation loss {teacher['valid_loss']:.4g}, "
        f"without {teacher['without']:.4g}; the result is the {kept} one"
    )


def _plain(job: Job, trained: Retrained, ranked: Sequence[str]) -> dict[str, Any]:
    """Of the best plain network: what it costs and how good it is; nothing without one."""
    full = [one for one in trained.results if one["epochs"] == trained.race.epochs]
    own = [one for one in full if one["architecture"] in job.plain and not has_diverged(one)]
    if not own:
        return {}
    best, family = best_of(own), job.ground.family
    # The search may have found a plain network by itself.
    beside = [text for text in job.plain if text not in ranked[: job.settings.finalists]]
    found = best_of([one for one in full if one["architecture"] not in beside] or own)
    return {
        "plain": {
            "architecture": best["architecture"],
            "short": family.short(best["architecture"]),
            "params": family.cost(best["architecture"]),
            "valid_loss": best["valid_loss"],
            "test": best["test"],
            "found_valid_loss": found["valid_loss"],
            **_decided(job.bundle.task, best, found),
            "won": trained.architecture in beside,
            "all": list(job.plain),
        }
    }


def _decided(task: Task, plain: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """By what a plain network and what was found were compared, where that is not the loss."""
    if "judged" not in plain or "judged" not in found:
        return {}
    sign = 1.0 if is_loss(task.metric) else -1.0
    values = {"plain": sign * plain["judged"], "found": sign * found["judged"]}
    return {"decided": {"by": task.metric, **values}}


def _augmented(job: Job, store: RunStore) -> dict[str, Any]:
    """What was done to training images; nothing elsewhere."""
    augment = augmented_recipe(job, store).augment
    return {"augment": asdict(augment)} if job.prepared.kind.name == "images" else {}


def _drawn(job: Job, chosen: str) -> dict[str, Any]:
    """The network's picture, where who looks at the run cannot make it without the user's code."""
    if not job.trust:
        return {}
    family = job.ground.family
    drawings = [asdict(each) for each in family.drawings(chosen)]
    return {"drawn": {"layers": family.layers(chosen), "drawings": drawings}}


def _measured_latency(job: Job, chosen: str) -> dict[str, int]:
    """What the whole network takes, beside the sum over its layers that was promised."""
    if "latency" not in job.settings.limits:
        return {}
    module = placed(job.ground.family.child(chosen), job.settings.device).eval()
    run, inputs = job.ground.family.running(module, job.settings.device)
    return {"measured_latency": microseconds({"whole": (run, inputs)}, rounds=50)["whole"]}
