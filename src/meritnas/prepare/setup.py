from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from meritnas.cost.feasible import FeasibleSet
from meritnas.data.bundle import AnyEncoder, Bundle, Outline
from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.images.encoder import ImageEncoder
from meritnas.data.modalities.encoder import ModalityEncoder
from meritnas.data.tables.bundle import encode_table
from meritnas.data.tables.inputs import TableInputs
from meritnas.data.tables.source import Source
from meritnas.data.task import Task
from meritnas.data.texts.encoder import TextEncoder
from meritnas.families.catalogue import options_of, space_spec
from meritnas.families.family import Family
from meritnas.settings.settings import SearchSettings
from meritnas.settings.spec import SpaceSpec
from meritnas.space.decision import Option
from meritnas.space.rule import ABSENT


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
    family: Family = spec_of(settings).build(
        _inputs_of(settings, encoder), task.outputs, settings.limits
    )
    return family


def spec_of(settings: SearchSettings) -> SpaceSpec:
    """The space of a run, with its options."""
    spec = space_spec(settings.space)
    values: dict[str, Any] = {
        **{"layers": settings.layers, "widths": settings.widths, "embedding": settings.embedding},
        "widest": settings.widest_embedding,
    }
    for part in (settings.cells, settings.text, settings.fusion):
        values |= {} if part is None else asdict(part)
    known = {setting.name for setting in options_of(spec)}
    return spec.with_options(**{name: values[name] for name in known & values.keys()})


@dataclass(frozen=True)
class _Modalities:
    """What comes into a network for several modalities; see `FusionInputs`."""

    modalities: Mapping[str, Sequence[tuple[int, ...]]]
    pictures: Sequence[str]


def _inputs_of(settings: SearchSettings, encoder: AnyEncoder) -> Any:
    """What comes into a network, as the specs of spaces take it."""
    if isinstance(encoder, ModalityEncoder):
        return _Modalities(dict(encoder.layout.modalities), encoder.pictures)
    if isinstance(encoder, ImageEncoder):
        return encoder.shape
    if isinstance(encoder, TextEncoder):
        return None
    return TableInputs(encoder.numbers, encoder.cardinalities, settings.embedding)


def encode_within(
    settings: SearchSettings,
    source: Source,
    outline: Outline,
    scaling: Literal["standard", "quantile"],
) -> Bundle[TableEncoder]:
    """Encode the table, with fewer categories where embeddings would not fit the limits."""
    bundle = encode_table(source, outline, scaling)
    family = make_family(settings, bundle.encoder, bundle.task)
    most = spec_of(settings).most_codes(family, settings.limits)
    if most is not None:
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
