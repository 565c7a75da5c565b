from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meritnas.cost.feasible import FeasibleSet
from meritnas.data.bundle import Bundle
from meritnas.data.encoder import TableEncoder
from meritnas.data.stream import BatchStream
from meritnas.data.suggest import did_you_mean
from meritnas.data.task import Task
from meritnas.errors import UsageError
from meritnas.families.family import Family
from meritnas.families.table_inputs import TableInputs
from meritnas.families.tabular import tabular_space
from meritnas.search.loop import Search
from meritnas.search.plan import Plan, make_plan
from meritnas.search.settings import SearchSettings
from meritnas.strategy.recipes import Problem, make_strategy
from meritnas.supernet.probe import Probe
from meritnas.supernet.supernet import module_of

SPACES = {"tabular": "feed-forward networks for tables: which width for each hidden layer"}
"""The spaces a search can be asked for by name, and what they decide."""


_LEAST_JUDGED_ROWS = 256
"""Rewards from few rows are mostly noise, and this many cost little more than 32."""


@dataclass(frozen=True)
class Ground:
    """What a search stands on.

    Attributes:
        family: the whole space, as the user asked for it.
        feasible: the part of it that keeps the limits.
        searched: the family without the options that occur in no feasible architecture. No
            choice is lost, and the supernet is smaller.
        searched_feasible: the feasible set in terms of `searched`.
    """

    family: Family
    feasible: FeasibleSet
    searched: Family
    searched_feasible: FeasibleSet


def make_family(settings: SearchSettings, encoder: TableEncoder, task: Task) -> Family:
    """The family that a name and settings stand for, on this data."""
    if settings.space not in SPACES:
        raise UsageError(
            f"no space '{settings.space}';{did_you_mean(settings.space, SPACES)} there are "
            f"{', '.join(SPACES)}"
        )
    inputs = TableInputs(encoder.numbers, encoder.cardinalities, settings.embedding)
    return tabular_space(inputs, task.outputs, settings.layers, settings.widths)


def make_ground(family: Family, limits: dict[str, int]) -> Ground:
    """Find the feasible set and drop what it can never use."""
    feasible = family.within(limits)
    searched = family.restrict(feasible.reachable())
    return Ground(family, feasible, searched, searched.within(limits))


def make_search(
    settings: SearchSettings, ground: Ground, bundle: Bundle, plan: Plan | None, weight_steps: int
) -> Search:
    """A search at its first step.

    Args:
        settings: what the user decided.
        ground: the space and its feasible part.
        bundle: the data, on the device that the search is to run on.
        plan: fixed earlier, or None to make one from `weight_steps`.
        weight_steps: how many steps train weights, warm-up included.
    """
    recipe = settings.recipe
    supernet = ground.searched.supernet(settings.seed)
    module_of(supernet).to(settings.device)
    train = BatchStream(bundle.train, recipe.batch_size, settings.seed)
    judged_rows = max(recipe.batch_size, _LEAST_JUDGED_ROWS)
    valid = BatchStream(bundle.valid, judged_rows, settings.seed + 1)
    probe = Probe(supernet, bundle.task.loss, train, valid, bundle.valid)
    steps = plan.weight_steps if plan else weight_steps
    longest = make_plan(steps, "frozen", probe.evaluation_passes)
    problem = Problem(
        ground.searched_feasible,
        ground.searched.costs,
        longest.joint,
        settings.seed,
        longest.frozen,
    )
    strategy = make_strategy(settings.strategy, problem, settings.strategy_options)
    chosen = plan or make_plan(
        steps, strategy.learns, probe.evaluation_passes, strategy.most_judgements
    )
    rng = np.random.default_rng([settings.seed, 0])
    return Search(supernet, probe, strategy, recipe, chosen, rng)
