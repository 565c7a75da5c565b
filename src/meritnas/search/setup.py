from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.reduced import cheapest
from meritnas.data.bundle import AnyBundle, AnyEncoder, Bundle, Outline, encode_table
from meritnas.data.encoder import TableEncoder
from meritnas.data.image_encoder import ImageEncoder
from meritnas.data.modality_encoder import ModalityEncoder
from meritnas.data.source import Source
from meritnas.data.stream import BatchStream, make_stream
from meritnas.data.task import Task
from meritnas.data.text_encoder import TextEncoder
from meritnas.families.darts import DartsSpace
from meritnas.families.family import Family
from meritnas.families.fusion import FusionSpace, fusion_space
from meritnas.families.fusion_backbone import CONV, Backbone
from meritnas.families.nasbench201 import Nasbench201Space
from meritnas.families.recurrent import RecurrentSpace, recurrent_space
from meritnas.families.stored_size import BYTES_A_WEIGHT
from meritnas.families.table_inputs import WIDEST_EMBEDDING, TableInputs, most_codes
from meritnas.families.tabular import TabularSpace, tabular_space
from meritnas.own_function import is_own, load_own
from meritnas.search.ladder import ladder
from meritnas.search.loop import Search
from meritnas.search.plan import Plan, make_plan
from meritnas.search.settings import SearchSettings
from meritnas.search.spaces import cell_family, check_space, own_family
from meritnas.space.architecture import Architecture
from meritnas.space.decision import Option
from meritnas.space.rule import ABSENT
from meritnas.strategy.recipes import Problem, make_strategy
from meritnas.strategy.strategy import Strategy
from meritnas.strategy.turns import AFTER_WEIGHTS
from meritnas.supernet.probe import Probe
from meritnas.supernet.supernet import Supernet, module_of

EMBEDDING_SHARE = 0.3
"""Of the weights that a limit allows, embeddings take at most this part, narrower if need be."""

_LEAST_JUDGED_ROWS = 256
"""Rewards from few rows are mostly noise, and this many cost little more than 32."""


@dataclass(frozen=True)
class Ground:
    """What a search stands on.

    Attributes:
        family: the whole space, as the user asked for it.
        feasible: the part of it that keeps the limits, of architectures that can learn anything.
        searched: the same without the options that occur in no feasible architecture. No
            choice is lost, and the supernet is smaller.
        searched_feasible: the feasible set in terms of `searched`.
    """

    family: Family
    feasible: FeasibleSet
    searched: Family
    searched_feasible: FeasibleSet


def make_family(settings: SearchSettings, encoder: AnyEncoder, task: Task) -> Family:
    """The family that a name and settings stand for, on this data."""
    if isinstance(encoder, ModalityEncoder):
        return fusion_family(settings, encoder, task)
    if isinstance(encoder, TextEncoder):
        return text_family(settings, task)
    if isinstance(encoder, ImageEncoder):
        if is_own(settings.space):
            return own_family(settings.space, encoder.shape, task.outputs)
        return cell_family(settings, encoder.shape, task.outputs)
    if is_own(settings.space):
        inputs = TableInputs(encoder.numbers, encoder.cardinalities, settings.embedding)
        return own_family(settings.space, inputs, task.outputs)
    return table_family(settings, encoder, task)


def text_family(settings: SearchSettings, task: Task) -> RecurrentSpace:
    """The language models that settings stand for."""
    text = settings.text
    assert text is not None
    return recurrent_space(task.outputs, text.width, text.nodes, text.predecessors)


def fusion_family(settings: SearchSettings, encoder: ModalityEncoder, task: Task) -> FusionSpace:
    """The networks for several modalities that settings stand for.

    Pictures have a small backbone unless another one was given, trained along or frozen.
    """
    fusion = settings.fusion
    assert fusion is not None
    given = {name: _backbone(own) for name, own in fusion.backbones.items()}
    return fusion_space(
        dict(encoder.layout.modalities),
        task.outputs,
        fusion.cells,
        fusion.steps,
        fusion.channels,
        fusion.length,
        operations=fusion.operations,
        shared=fusion.shared,
        unimodal_only=fusion.unimodal_only,
        new_inputs=fusion.new_inputs,
        backbones={**dict.fromkeys(encoder.pictures, CONV), **given},
        l1=fusion.sparsity,
    )


def _backbone(name: str) -> str | Backbone:
    """What makes a network that is trained along; `conv` and the like by name."""
    return load_own(name, "backbone") if is_own(name) else name


def table_family(settings: SearchSettings, encoder: TableEncoder, task: Task) -> TabularSpace:
    """The networks for a table that settings stand for."""
    check_space(settings.space)
    widest = settings.widest_embedding
    inputs = TableInputs(
        encoder.numbers,
        encoder.cardinalities,
        settings.embedding,
        WIDEST_EMBEDDING if widest is None else widest,
    )
    family = tabular_space(inputs, task.outputs, settings.layers, settings.widths)
    return family if widest is not None else narrowed(family, settings.limits)


def narrowed(family: TabularSpace, limits: Mapping[str, int]) -> TabularSpace:
    """The family with embeddings that leave a limit on weights to the layers, if need be.

    They are made narrower until they take at most `EMBEDDING_SHARE` of what is allowed, and
    further where otherwise no network would fit.
    """
    weights = most_weights(family, limits)
    if weights is None:
        return family
    found = _with_embeddings(family, int(EMBEDDING_SHARE * weights))
    while cheapest(found.costs["params"])[0] > weights:
        narrower = _with_embeddings(found, found.inputs.embedding_params - 1)
        if narrower == found:
            break
        found = narrower
    return found


def _with_embeddings(family: TabularSpace, params: int) -> TabularSpace:
    return replace(family, inputs=family.inputs.within(params))


def most_weights(family: TabularSpace, limits: Mapping[str, int]) -> int | None:
    """How many weights a network can have at most under these limits; None for any number."""
    bounds = []
    if "params" in limits:
        bounds.append(limits["params"])
    if "size" in limits:
        bounds.append((limits["size"] - family.header_bytes) // BYTES_A_WEIGHT)
    return min(bounds, default=None)


def encode_within(
    settings: SearchSettings,
    source: Source,
    outline: Outline,
    scaling: Literal["standard", "quantile"],
) -> Bundle[TableEncoder]:
    """Encode the table, with fewer categories where embeddings would not fit the limits."""
    bundle = encode_table(source, outline, scaling)
    if is_own(settings.space):
        return bundle.to(settings.device)
    family = table_family(settings, bundle.encoder, bundle.task)
    weights = most_weights(family, settings.limits)
    if weights is not None:
        allowed = max(0, int(EMBEDDING_SHARE * weights))
        if family.inputs.embedding_params > allowed and settings.embedding is None:
            most = max(1, most_codes(bundle.encoder.cardinalities, allowed) - 1)
            bundle = encode_table(source, outline, scaling, most)
    return bundle.to(settings.device)


def make_ground(family: Family, limits: dict[str, int]) -> Ground:
    """Find the feasible set and drop what it can never use.

    Edges that are always there keep the option to be absent: it costs nothing, and mixtures of
    DARTS' operations have it everywhere.
    """
    useful = family.useful
    feasible = useful.within(limits)
    kept = [
        np.array([i for i, option in enumerate(decision.options) if i in used or _absent(option)])
        for decision, used in zip(
            family.space.decisions,
            map(set, map(np.ndarray.tolist, feasible.reachable())),
            strict=True,
        )
    ]
    searched = useful.restrict(kept)
    return Ground(family, feasible, searched, searched.within(limits))


def _absent(option: Option) -> bool:
    return ABSENT in option.tags


def make_supernet(settings: SearchSettings, family: Family) -> Supernet:
    """Fresh shared weights, on the device of the search."""
    cells = settings.cells
    if cells is None or not isinstance(family, Nasbench201Space | DartsSpace):
        supernet: Supernet = family.supernet(settings.seed)
    else:
        supernet = family.supernet(
            settings.seed, cells.supernet_channels, cells.supernet_cells, cells.partial_channels
        )
    module_of(supernet).to(settings.device)
    return supernet


def make_search(
    settings: SearchSettings,
    ground: Ground,
    bundle: AnyBundle,
    plan: Plan | None,
    weight_steps: int,
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
    supernet = make_supernet(settings, ground.searched)
    train = make_stream(bundle.train, recipe.batch_size, settings.seed, recipe.augment)
    judged_rows = recipe.batch_size
    if settings.cells is None and settings.text is None:
        judged_rows = max(judged_rows, _LEAST_JUDGED_ROWS)
    valid = BatchStream(bundle.valid, judged_rows, settings.seed + 1)
    task = bundle.task
    probe = Probe(supernet, task.loss, train, valid, bundle.valid, task.score)
    steps = plan.weight_steps if plan else weight_steps
    strategy, usual = strategy_and_plan(settings, ground, task, probe, steps)
    chosen = plan or usual
    rng = np.random.default_rng([settings.seed, 0])
    rungs = ladder(ground.searched, settings.limits) if settings.pareto else ()
    price = partial(_price, ground.searched, settings.limits)
    return Search(supernet, probe, strategy, recipe, chosen, rng, rungs, settings.seed, price)


def strategy_and_plan(
    settings: SearchSettings, ground: Ground, task: Task, probe: Probe, weight_steps: int
) -> tuple[Strategy, Plan]:
    """A fresh strategy for so many weight steps, and when it learns."""
    longest = make_plan(
        weight_steps, AFTER_WEIGHTS, probe.evaluation_passes, warmup_share=settings.warmup
    )
    problem = Problem(
        ground.searched_feasible,
        ground.searched.costs,
        longest.joint,
        settings.seed,
        longest.frozen,
        settings.recipe.learning_rate,
        ground.searched.nodes,
        ground.searched.tables,
        task.chance_loss,
        probe.epoch_steps,
    )
    strategy = make_strategy(settings.strategy, problem, settings.strategy_options)
    plan = make_plan(
        weight_steps,
        strategy.turns,
        probe.evaluation_passes,
        probe.epoch_steps,
        settings.warmup,
    )
    return strategy, plan


def _price(
    family: Family, limits: Mapping[str, int], architecture: Architecture
) -> dict[str, tuple[int, int | None]]:
    return {
        name: (family.cost(architecture, name), limits.get(name)) for name in limits or ("params",)
    }
