from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.reduced import cheapest
from meritnas.data.bundle import AnyEncoder, Bundle, Outline
from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.images.encoder import ImageEncoder
from meritnas.data.modalities.encoder import ModalityEncoder
from meritnas.data.tables.bundle import encode_table
from meritnas.data.tables.inputs import WIDEST_EMBEDDING, TableInputs, most_codes
from meritnas.data.tables.source import Source
from meritnas.data.task import Task
from meritnas.data.texts.encoder import TextEncoder
from meritnas.families.family import Family
from meritnas.families.fusion.backbone import CONV, Backbone
from meritnas.families.fusion.family import FusionSpace, fusion_space
from meritnas.families.recurrent.family import RecurrentSpace, recurrent_space
from meritnas.families.stored_size import BYTES_A_WEIGHT
from meritnas.families.tabular.family import TabularSpace, tabular_space
from meritnas.plugins import is_own, load_own
from meritnas.prepare.spaces import cell_family, check_space, own_family
from meritnas.settings.settings import SearchSettings
from meritnas.space.decision import Option
from meritnas.space.rule import ABSENT

EMBEDDING_SHARE = 0.3
"""Of the weights that a limit allows, embeddings take at most this part, narrower if need be."""


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
