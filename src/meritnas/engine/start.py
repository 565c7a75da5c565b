"""A search at its first step: supernet, streams of data, strategy and plan put together."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from meritnas.cost.terms import Cost
from meritnas.data.bundle import Bundle
from meritnas.data.dealt_stream import make_shared_stream
from meritnas.data.kinds import kind_of
from meritnas.data.stream import BatchStream
from meritnas.data.task import Task
from meritnas.devices.placement import placed
from meritnas.engine.ladder import drawn_beside, ladder
from meritnas.engine.loop import Search
from meritnas.engine.plan import Plan, make_plan
from meritnas.errors import UsageError
from meritnas.families.family import Family
from meritnas.prepare.ground import Ground
from meritnas.prepare.memory import check_weights
from meritnas.settings.settings import SearchSettings
from meritnas.space.architecture import Architecture
from meritnas.strategy.problem import Problem
from meritnas.strategy.strategy import Strategy, as_strategy
from meritnas.strategy.turns import AFTER_WEIGHTS
from meritnas.supernet.probe import Probe
from meritnas.supernet.supernet import Remembering, Supernet, module_of
from meritnas.witness.panel import Panel, panel_of
from meritnas.workers.virtual import VirtualWorkers
from meritnas.workers.workers import ONE, Workers


def make_supernet(settings: SearchSettings, family: Family) -> Supernet:
    """Fresh shared weights, on the device of the search."""
    check_weights(settings.space.shared_weights(family), "the shared weights of all its networks")
    supernet: Supernet = settings.space.supernet(family, settings.seed)
    placed(module_of(supernet), settings.device)
    return supernet


def make_search(
    settings: SearchSettings,
    ground: Ground,
    bundle: Bundle[Any],
    plan: Plan | None,
    weight_steps: int,
    ranks: Workers = ONE,
) -> Search:
    """A search at its first step.

    Args:
        settings: what the user decided.
        ground: the space and its feasible part.
        bundle: the data, on the device that the search is to run on.
        plan: fixed earlier, or None to make one from `weight_steps`.
        weight_steps: how many steps train weights, warm-up included.
        ranks: the processes that compute together.
    """
    recipe = settings.recipe
    supernet = make_supernet(settings, ground.searched)
    if settings.workers > 1:
        _check_shared(bundle, supernet)
    train = make_shared_stream(
        bundle.train, recipe.batch_size, settings.seed, recipe.augment, settings.workers
    )
    judged_rows = max(recipe.batch_size, kind_of(bundle.encoder).least_judged_rows)
    learnt = bundle.train if settings.space.learnt_on() == "train" else bundle.valid
    valid = BatchStream(learnt, judged_rows, settings.seed + 1)
    task = bundle.task
    workers = VirtualWorkers(settings.workers, ranks)
    parts = bundle.valid, task.score, workers, recipe.precision
    held_passes = max(1, len(bundle.valid) // judged_rows)
    probe = Probe(supernet, task.loss, train, valid, *parts, held_passes)
    steps = plan.weight_steps if plan else weight_steps
    strategy, usual = strategy_and_plan(settings, ground, task, probe, steps)
    rng = np.random.default_rng([settings.seed, 0])
    rungs = ladder(ground.searched, settings.limits) if settings.pareto else ()
    return Search(
        *(supernet, probe, strategy, recipe, plan or usual, rng, rungs),
        beside=drawn_beside(rungs, ground.searched_feasible, supernet),
        seed=settings.seed,
        price=partial(_price, ground.searched, settings.limits),
        short=ground.searched.short,
    )


def make_panel(search: Search, ground: Ground, bundle: Bundle[Any]) -> Panel:
    """Who is asked about the candidates of a search."""
    return panel_of(
        ground.searched, search.probe, bundle.train.sample, bundle.task.loss, search.seed
    )


def strategy_and_plan(
    settings: SearchSettings, ground: Ground, task: Task, probe: Probe, weight_steps: int
) -> tuple[Strategy, Plan]:
    """A fresh strategy for so many weight steps, and when it learns."""
    longest = make_plan(
        weight_steps,
        AFTER_WEIGHTS,
        probe.evaluation_passes,
        warmup_share=settings.warmup,
        workers=settings.workers,
    )
    problem = Problem(
        ground.searched_feasible,
        _costs(ground.searched, settings.limits),
        longest.joint,
        settings.seed,
        longest.frozen,
        settings.recipe.learning_rate,
        ground.searched.nodes,
        ground.searched.tables,
        task.chance_loss,
        probe.epoch_steps,
        settings.workers,
    )
    strategy = as_strategy(settings.strategy.make(problem), settings.strategy.name)
    plan = make_plan(
        weight_steps,
        strategy.turns,
        probe.evaluation_passes,
        probe.epoch_steps,
        settings.warmup,
        settings.candidates,
        settings.workers,
    )
    return strategy, plan


def _check_shared(bundle: Bundle[Any], supernet: Supernet) -> None:
    """Complain about networks whose weight steps cannot be shared out."""
    if bundle.train.columns is not None and not isinstance(supernet, Remembering):
        raise UsageError(
            "workers must be 1 for a text and networks of your own: how much they remember, which "
            "workers would send each other, is not known before they have run"
        )
    for name, module in module_of(supernet).named_modules():
        if getattr(module, "running_mean", None) is not None:
            raise UsageError(
                f"workers must be 1 for a supernet whose norms keep running statistics, as {name} "
                "does: they would depend on who computes; give it track_running_stats=False"
            )


def _costs(family: Family, limits: Mapping[str, int]) -> Mapping[str, Cost]:
    """Those that are always known, and those that are limited."""
    return {**family.costs, **{name: family.known_cost(name) for name in limits}}


def _price(
    family: Family, limits: Mapping[str, int], architecture: Architecture
) -> dict[str, tuple[int, int | None]]:
    return {
        name: (family.cost(architecture, name), limits.get(name)) for name in limits or ("params",)
    }
