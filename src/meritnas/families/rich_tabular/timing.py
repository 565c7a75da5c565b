"""How long networks for tables take for one row, as the sum over their parts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from meritnas.cost.terms import CostTerms, Factor
from meritnas.families.latency import Device, microseconds_on
from meritnas.families.rich_tabular.child import (
    Deeper,
    FirstLayer,
    Fresh,
    Head,
    Members,
    Shortcut,
    plain_norm,
)
from meritnas.families.rich_tabular.entries import Way
from meritnas.families.rich_tabular.layout import Layout, size_of
from meritnas.families.rich_tabular.network import MEMBERS, SHORTCUT, WIDTH
from meritnas.families.rich_tabular.parts import PARTS

_FIRST, _PART, _MEMBERS, _LAYER, _HEAD = "first", "part", "members", "layer", "head"

Parts = dict[tuple[Any, ...], tuple[nn.Module, Tensor]]
"""By what each is and its sizes: a part of a network, and a row that it reads."""


def latency_cost(layout: Layout, device: Device) -> CostTerms:
    """Microseconds: every part of a size is timed once."""
    spent = microseconds_on(_parts(layout), device)

    def time_of(*key: Any) -> int:
        return spent[key]

    first, factors = f"{WIDTH}1", list[Factor]()
    if layout.inputs.numbers:
        factors.append(layout.factor(lambda width: time_of(_FIRST, width), first))
    for entry in layout.entries:

        def entering(way: Way, width: int) -> int:
            return time_of(_PART, *_key(way), width) if way.kind else 0

        factors.append(layout.factor(entering, entry.name, first))
    factors.append(layout.factor(lambda m, width: time_of(_MEMBERS, m, width), MEMBERS, first))
    for number in layout.layers:
        names = (f"{SHORTCUT}{number}", MEMBERS, f"{WIDTH}{number - 1}", f"{WIDTH}{number}")
        factors.append(layout.of_layer(number, lambda *own: time_of(_LAYER, *own), *names))
    for number in (1, *layout.layers):
        last = (MEMBERS, f"{WIDTH}{number}")
        factors.append(layout.of_last(number, lambda *own: time_of(_HEAD, *own), *last))
    return CostTerms(layout.sizes, 0, tuple(factors), "ms a row", 1000)


def _key(way: Way) -> tuple[str, int, int]:
    """What the time of a way of entering follows from."""
    size = size_of(way)
    return way.kind, size.features, size.params


def _parts(layout: Layout) -> Parts:
    inputs, found = torch.zeros(1, layout.columns), Parts()
    ways = {_key(way): way for entry in layout.entries for way in entry.ways if way.kind}
    for width in layout.widths[0]:
        if layout.inputs.numbers:
            found[_FIRST, width] = FirstLayer(layout.inputs.numbers, {}, width), inputs
        for key, way in ways.items():
            part = PARTS[way.kind](**way.told, width=width)
            found[_PART, *key, width] = FirstLayer(0, {"0": part}, width), inputs
        for members in layout.members:
            made = nn.Sequential(Members(members, width), plain_norm(width), nn.ReLU())
            found[_MEMBERS, members, width] = made, torch.zeros(1, width)
    for number in (1, *layout.layers):
        for members, width in product(layout.members, layout.widths[number - 1]):
            head = Head(members, width, layout.outputs)
            found[_HEAD, members, width] = head, _units(members, width)
    return {**found, **dict(_layers(layout))}


def _layers(layout: Layout) -> Iterator[tuple[tuple[Any, ...], tuple[nn.Module, Tensor]]]:
    joins = (False, True) if layout.shortcuts else (False,)
    for number in layout.layers:
        sizes = layout.members, layout.widths[number - 2], layout.widths[number - 1]
        for shortcut, members, before, width in product(joins, *sizes):
            join = Shortcut() if shortcut else Fresh()
            linear, norm = nn.Linear(before, width), plain_norm(width)
            layer = Deeper(linear, norm, join, nn.Identity())
            yield (_LAYER, shortcut, members, before, width), (layer, _units(members, before))


def _units(members: int, width: int) -> Tensor:
    return torch.zeros((1, members, width) if members > 1 else (1, width))
