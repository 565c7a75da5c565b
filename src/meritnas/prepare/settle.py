"""Settings with nothing left open: what was asked for, and for the rest what suits the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import torch

from meritnas.data.kind import DataKind
from meritnas.data.kinds import kind_named
from meritnas.devices.placement import check_device
from meritnas.devices.precision import check_precision
from meritnas.errors import UsageError
from meritnas.families.catalogue import space_spec, space_specs
from meritnas.settings.preset import Facts, Preset
from meritnas.settings.recipe import TrainRecipe
from meritnas.settings.request import Request
from meritnas.settings.settings import SearchSettings
from meritnas.settings.spec import SpaceSpec, StrategySpec
from meritnas.settings.training import CANDIDATES, TEACHERS, Teacher
from meritnas.strategy.catalogue import strategy_spec

USUAL_PRESET = "quick"


def settle(request: Request, kind: DataKind, facts: Facts) -> SearchSettings:
    """The settings of a search on this data.

    Args:
        request: what was asked for.
        kind: of data.
        facts: what the defaults follow from.
    """
    space = chosen_space(request, kind)
    strategy = strategy_spec(kind.strategy if request.strategy is None else request.strategy)
    reading = request.reading or kind.reading()
    limits = request.limits.by_cost()
    space.check_reading(reading)
    _check_together(space, strategy)
    check_device(request.run.device)
    check_precision(request.training.precision or "float32", request.run.device)
    preset = space.preset(
        request.preset,
        replace(facts, batch_size=request.training.batch_size),
        strategy.partial_channels(space),
    )
    recipe, alone = _recipes(request, preset, reading)
    timed = request.minutes is not None
    again = request.retraining
    return SearchSettings(
        space=preset.space,
        strategy=strategy,
        reading=reading,
        limits=limits,
        preset=request.preset or (None if preset.retrain is None else USUAL_PRESET),
        epochs=None if timed else request.epochs or preset.search_epochs,
        minutes=request.minutes,
        recipe=recipe,
        child_recipe=alone,
        warmup=_or(request.training.warmup, _or(strategy.usual_warmup, preset.warmup)),
        retrain_epochs=again.epochs or (None if timed else preset.retrain_epochs),
        retrain_seeds=again.seeds or preset.retrain_seeds,
        candidates=again.candidates or max(CANDIDATES, again.trials or 0),
        trials=again.trials or 0,
        finalists=again.finalists or preset.finalists,
        plain=again.plain is not False,
        seed=request.seed,
        device=request.run.device,
        threads=_threads(request, preset),
        pareto=request.pareto,
        workers=request.workers,
        latency_table=_table(request, limits),
        teacher=_teacher(again.teacher, kind),
    )


def _teacher(asked: Any, kind: DataKind) -> Teacher | Literal["given"] | None:
    """Who teaches; complains about data that there are no teachers for."""
    if asked is None:
        return None
    if not kind.compared:
        raise UsageError(f"teacher is for tables, and {kind.this}; leave it out")
    named = [each for each in TEACHERS if isinstance(asked, str) and each == asked]
    return named[0] if named else "given"


def _table(request: Request, limits: Mapping[str, int]) -> str | None:
    """The table of times; complains about one that nothing would be done with."""
    table = request.run.latency_table
    if table is not None and "latency" not in limits:
        raise UsageError("latency_table is for a limit on latency; give max_latency_ms, too")
    return table


def usual_epochs(settings: SearchSettings, facts: Facts) -> tuple[int, int]:
    """Passes of a search and of a network trained alone, where time does not say otherwise."""
    known = replace(facts, batch_size=settings.recipe.batch_size)
    preset = settings.space.preset(settings.preset, known, 1)
    return preset.search_epochs, preset.retrain_epochs


def chosen_space(request: Request, kind: DataKind) -> SpaceSpec:
    """The space that was asked for, or the usual one; complains where it is for other data."""
    space = space_spec(kind.space if request.space is None else request.space)
    if space.data not in ("", kind.name):
        others = [name for name, spec in space_specs().items() if spec.data == kind.name]
        raise UsageError(
            f"the space '{space.name}' is for {kind_named(space.data).many}, and {kind.this}; "
            f"use {' or '.join(others[:2])}"
        )
    return space


def _check_together(space: SpaceSpec, strategy: StrategySpec) -> None:
    if strategy.partial_channels(space) > 1 and not space.channels_in_parts and space.networks:
        raise UsageError(
            f"strategy '{strategy.name}' trains a part of a cell's channels and {space.networks} "
            "have none; use 'darts'"
        )


def _recipes(
    request: Request, preset: Preset, reading: Any
) -> tuple[TrainRecipe, TrainRecipe | None]:
    """How the supernet is trained, and how a network alone, where that differs.

    A supernet trains without dropout, which a path does by itself, and has no auxiliary head.
    """

    def wanted(recipe: TrainRecipe) -> TrainRecipe:
        found = request.retraining.changed(request.training.changed(recipe))
        changed: TrainRecipe = reading.changed(found)
        return changed

    if preset.retrain is None:
        return wanted(preset.search), None
    search = replace(wanted(preset.search), auxiliary=0.0, dropout=0.0)
    return search, wanted(preset.retrain)


def _threads(request: Request, preset: Preset) -> int:
    """Several workers have one thread each, so that there can be a process for each."""
    usual = 1 if request.workers > 1 else preset.threads or torch.get_num_threads()
    return request.run.threads or usual


def _or(given: float | None, usual: float) -> float:
    return usual if given is None else given
