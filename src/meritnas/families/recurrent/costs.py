"""What language models cost: what is counted, and what is timed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from meritnas.cost.terms import CostTerms, Factor
from meritnas.families.int8_weights import COST as INT8_SIZE
from meritnas.families.int8_weights import UNIT, header_bytes, tensor_bytes
from meritnas.families.latency import Device, microseconds_on
from meritnas.families.recurrent.cell import ACTIVATIONS, NONE, Edge
from meritnas.families.recurrent.child import RecurrentNetwork, make_map
from meritnas.families.recurrent.known_cells import KNOWN, WEIGHTS
from meritnas.families.recurrent.known_child import KnownNetwork
from meritnas.families.recurrent.text import CELL
from meritnas.families.stored_size import BYTES_A_WEIGHT, entry_bytes, file_bytes

if TYPE_CHECKING:
    from meritnas.families.recurrent.family import RecurrentSpace

Shapes = Mapping[str, tuple[int, ...]]
"""Of weights, by their names."""


def counted_costs(family: RecurrentSpace) -> dict[str, CostTerms]:
    """Words and output cost the same always, an update and the edges of a cell their maps."""
    square, width = family.width * family.width, family.width
    output = family.vocabulary * (width + 1)
    maps = {name: square if act is None else 2 * square for name, act in ACTIVATIONS.items()}

    def update(name: str) -> int:
        return 4 * square if name == CELL else KNOWN[name].gates * 2 * (square + width)

    def edge(number: int, name: str) -> int:
        del number
        return 0 if name == NONE else maps[name]

    def shapes_of(name: str) -> Shapes:
        shapes: dict[str, tuple[int, ...]] = {"words.weight": (family.vocabulary, width)}
        shapes |= {"output.weight": (family.vocabulary, width), "output.bias": (family.vocabulary,)}
        if name == CELL:
            shapes |= dict.fromkeys(("from_words.weight", "from_state.weight"), (2 * width, width))
            return shapes
        rows = KNOWN[name].gates * width
        for own in WEIGHTS:
            shapes[f"cell.{own}"] = (rows, width) if own.endswith("weight") else (rows,)
        return shapes

    def edge_shapes(number: int, name: str) -> Shapes:
        if name == NONE:
            return {}
        kinds = ("gates",) if ACTIVATIONS[name] is None else ("gates", "maps")
        return {f"{kind}.{number}.weight": (width, width) for kind in kinds}

    def size(stored: Callable[[Shapes], int], rest: int, *unit: Any) -> CostTerms:
        def stored_edge(number: int, name: str) -> int:
            return stored(edge_shapes(number, name))

        return _terms(family, rest, lambda name: stored(shapes_of(name)), stored_edge, *unit)

    words, rest = family.vocabulary * width, file_bytes(len(family.space.sizes))
    return {
        "params": _terms(family, words + output, update, edge, "parameters"),
        "flops": _terms(family, output, update, edge, "multiply-adds"),
        "size": size(_stored, rest, "kB as stored", 1000),
        INT8_SIZE: size(_in_int8, header_bytes(), *UNIT),
    }


def _in_int8(shapes: Shapes) -> int:
    """Bytes of tensors in a file of 8-bit weights."""
    return sum(tensor_bytes(*shape) for shape in shapes.values())


def _stored(shapes: Shapes) -> int:
    """Bytes of tensors in a file, at most."""
    each = (BYTES_A_WEIGHT * math.prod(s) + entry_bytes(name, s) for name, s in shapes.items())
    return sum(each)


def timed_terms(family: RecurrentSpace, device: Device) -> CostTerms:
    """Microseconds for one word: of a network without edges, and of an edge by its activation.

    Args:
        family: whose networks.
        device: where they are to run.
    """
    word = torch.zeros(1, 1, dtype=torch.long)
    parts: dict[tuple[str, bool], tuple[nn.Module, Tensor | tuple[Tensor, ...]]] = {}
    for name in family.updates or (CELL,):
        network = _without_edges(family, name)
        parts[name, False] = _Step(network), (word, torch.zeros(1, network.width))
    for name in {name for names in family.options for name in names} - {NONE}:
        parts[name, True] = _EdgeAlone(family.width, name), torch.zeros(1, family.width)
    spent = microseconds_on(parts, device)

    def edge(number: int, name: str) -> int:
        del number
        return 0 if name == NONE else spent[name, True]

    return _terms(family, 0, lambda name: spent[name, False], edge, "ms a word", 1000)


class _Step(nn.Module):
    """A language model that reads a word after others."""

    def __init__(self, network: RecurrentNetwork | KnownNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, word: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return self.network.advance(word, state)


class _EdgeAlone(nn.Module):
    """An edge of a cell, and the sum that what it gives is added to."""

    def __init__(self, width: int, name: str) -> None:
        super().__init__()
        self.gate = make_map(width, width)
        self.map = None if ACTIVATIONS[name] is None else make_map(width, width)
        self._name = name

    def forward(self, inputs: Tensor) -> Tensor:
        weights = [self.gate.weight] if self.map is None else [self.gate.weight, self.map.weight]
        found = F.linear(inputs, torch.cat(weights)).split(inputs.shape[1], dim=1)
        edge = Edge(1, 0, ((self._name, None),), None, self.gate.weight, weights[-1])
        mapped = None if self.map is None else found[1]
        return inputs + edge.output(inputs, found[0], mapped)


def _without_edges(family: RecurrentSpace, update: str) -> RecurrentNetwork | KnownNetwork:
    """A network with this update, of a cell without any edge."""
    if update != CELL:
        return KnownNetwork(family.vocabulary, family.width, update)
    none = [NONE] * len(family.edges)
    return RecurrentNetwork(family.vocabulary, family.width, family.edges, none)


def _terms(
    family: RecurrentSpace,
    constant: int,
    update: Callable[[str], int],
    edge: Callable[[int, str], int],
    *unit: Any,
) -> CostTerms:
    """Costs of updates, and of the edges of cells by their number."""
    sizes = family.space.sizes
    single = [
        np.array([edge(i, name) for name in names], dtype=np.int64)
        for i, names in enumerate(family.options)
    ]
    if not family.updates:
        factors = tuple(Factor((i,), row) for i, row in enumerate(single))
        return CostTerms(sizes, constant + update(CELL), factors, *unit)
    there = np.array([name == CELL for name in family.updates], dtype=np.int64)
    first = Factor((0,), np.array([update(name) for name in family.updates], dtype=np.int64))
    edges = [Factor((0, i), np.outer(there, row)) for i, row in enumerate(single, start=1)]
    return CostTerms(sizes, constant, (first, *edges), *unit)
