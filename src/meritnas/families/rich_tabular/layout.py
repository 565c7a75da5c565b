"""Where the decisions about a network for a table stand, and sums over their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np
import torch

from meritnas.cost.terms import Factor
from meritnas.data.columns.inputs import TableInputs
from meritnas.families.rich_tabular.entries import Entry, Way
from meritnas.families.rich_tabular.network import LAYER, MEMBERS, SHORTCUT, WIDTH
from meritnas.families.rich_tabular.parts import PARTS


@dataclass(frozen=True)
class Layout:
    """The decisions of a space, and what their options stand for.

    Attributes:
        inputs: the columns.
        outputs: how many numbers come out.
        entries: the decisions about columns.
        widths: of each layer.
        members: how many there may be.
        shortcuts: whether layers after the first may have shortcuts.
        names: of all decisions, in the order of the space.
    """

    inputs: TableInputs
    outputs: int
    entries: tuple[Entry, ...]
    widths: tuple[tuple[int, ...], ...]
    members: tuple[int, ...]
    shortcuts: bool
    names: tuple[str, ...]

    @property
    def columns(self) -> int:
        """How many numbers and codes come in."""
        return self.inputs.numbers + len(self.inputs.cardinalities)

    @property
    def layers(self) -> range:
        """The numbers of the layers after the first."""
        return range(2, len(self.widths) + 1)

    @cached_property
    def values(self) -> dict[str, tuple[Any, ...]]:
        """Of each decision what its options stand for."""
        found: dict[str, tuple[Any, ...]] = {entry.name: entry.ways for entry in self.entries}
        for number, widths in enumerate(self.widths, start=1):
            found[f"{WIDTH}{number}"] = widths
        found |= {f"{kind}{k}": (False, True) for kind in (LAYER, SHORTCUT) for k in self.layers}
        return {**found, MEMBERS: self.members}

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of options of each decision."""
        return tuple(len(self.values[name]) for name in self.names)

    def factor(self, amount: Callable[..., int], *names: str) -> Factor:
        """What the answers to some decisions cost together.

        Args:
            amount: of what their options stand for.
            names: the decisions; those that are not asked have the only answer that there is.
        """
        asked = [name for name in names if name in self.names]
        rows = [self.values[n] if n in asked else self.values[n][:1] for n in names]
        numbers = np.array([amount(*row) for row in product(*rows)], dtype=np.int64)
        order = sorted(range(len(asked)), key=lambda k: self.names.index(asked[k]))
        table = numbers.reshape([len(self.values[name]) for name in asked]).transpose(order)
        return Factor(tuple(self.names.index(asked[k]) for k in order), table)

    def entering(self, amount: Callable[[Size, int], int]) -> Iterator[Factor]:
        """What the ways of entering cost, each with the width of the first layer.

        Args:
            amount: (what a way adds, width of the first layer) -> what it costs.
        """
        for place, entry in enumerate(self.entries):
            sizes = {way.option: size_of(way, place) for way in entry.ways}
            own = partial(_amount_of, amount, sizes)
            yield self.factor(own, entry.name, f"{WIDTH}1")

    def of_layer(self, number: int, amount: Callable[..., int], *names: str) -> Factor:
        """What some answers cost where a layer is there."""
        if number == 1:
            return self.factor(amount, *names)
        own = partial(_where, amount, True)
        return self.factor(own, f"{LAYER}{number}", *names)

    def of_last(self, number: int, amount: Callable[..., int], *names: str) -> Factor:
        """What some answers cost where a layer is the last one."""
        if number == len(self.widths):
            return self.of_layer(number, amount, *names)
        own = partial(_where, amount, False)
        return self.of_layer(number, own, f"{LAYER}{number + 1}", *names)


def _amount_of(
    amount: Callable[[Size, int], int], sizes: Mapping[str, Size], way: Way, width: int
) -> int:
    return amount(sizes[way.option], width)


def _where(amount: Callable[..., int], wanted: bool, there: bool, *values: Any) -> int:
    return amount(*values) if there is wanted else 0


@dataclass(frozen=True)
class Size:
    """What a way of entering adds to a network.

    Attributes:
        place: of its decision among those about columns.
        features: numbers that the first layer reads.
        params: weights of its own, beside the first layer's.
        shapes: of its parameters, by name; that of the first layer's share for one unit.
    """

    place: int
    features: int
    params: int
    shapes: tuple[tuple[str, tuple[int, ...]], ...]


def size_of(way: Way, place: int = 0) -> Size:
    """What a way of entering adds."""
    if not way.kind:
        return Size(place, 0, 0, ())
    with torch.device("meta"):
        part = PARTS[way.kind](**way.told, width=1)
    shapes = {name: tuple(param.shape) for name, param in part.named_parameters()}
    own = sum(param.numel() for name, param in part.named_parameters() if name != "weight")
    return Size(place, part.weight.shape[1], own, tuple(shapes.items()))
