"""The memory that language models need at once, for one word and the state before it.

As `families.live_memory` counts. All vectors of a cell are as wide as its state. Its edges run in
the order of the nodes that they leave: the maps of all of these are one product, and each edge then
adds to the sum of the node that it leads to. Nodes are kept until their mean is taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from meritnas.cost.maximum import LargestSum
from meritnas.cost.terms import CostTerms, Factor
from meritnas.families.live_memory import BYTES_A_NUMBER, PEAK_UNIT, peak_bytes
from meritnas.families.recurrent.cell import ACTIVATIONS, NONE
from meritnas.families.recurrent.known_child import KnownNetwork
from meritnas.families.recurrent.text import CELL

if TYPE_CHECKING:
    from meritnas.families.recurrent.family import RecurrentSpace


def peak_cost(family: RecurrentSpace) -> LargestSum:
    """Of the update itself, and of the edges that leave each node of a cell."""
    sizes = family.space.sizes
    updates = family.updates or (CELL,)
    whole = np.array([_without_edges(family, name) for name in updates])
    bytes_ = BYTES_A_NUMBER * family.width
    there = np.array([name == CELL for name in updates], dtype=np.int64)
    moments = []
    if family.updates:
        moments.append(CostTerms(sizes, 0, (Factor((0,), whole),), PEAK_UNIT, 1000))
    else:
        moments.append(CostTerms(sizes, int(whole[0]), (), PEAK_UNIT, 1000))
    if CELL in updates:
        for source in range(family.nodes_count):
            always, rows = _leaving(family, source)
            if family.updates:
                factors = [Factor((0,), always * bytes_ * there)]
                factors += [
                    Factor((0, i + 1), np.outer(there, bytes_ * row)) for i, row in rows.items()
                ]
                moments.append(CostTerms(sizes, 0, tuple(factors), PEAK_UNIT, 1000))
            else:
                own = tuple(Factor((i,), bytes_ * row) for i, row in rows.items())
                moments.append(CostTerms(sizes, always * bytes_, own, PEAK_UNIT, 1000))
    return LargestSum(sizes, tuple(moments), PEAK_UNIT, 1000)


def _without_edges(family: RecurrentSpace, update: str) -> int:
    """What a network takes whatever its edges are."""
    width, words = family.width, family.vocabulary
    if update == CELL:
        before = 5 * width  # the state, and maps of word and state, two for each
        nodes = 2 * family.nodes_count * width  # and the same side by side, for their mean
        return BYTES_A_NUMBER * max(before, nodes, 2 * width + words, 2 * width + 1)
    with torch.device("meta"):
        known = KnownNetwork(words, width, update).eval()
        return peak_bytes(*family.running(known, "meta"))


def _leaving(family: RecurrentSpace, source: int) -> tuple[int, dict[int, np.ndarray]]:
    """What the edges that leave a node take, in vectors: always, and by the options of edges.

    When the last of them runs, there are the node itself and those before it but for node 0, the
    maps of all edges that leave it, and the sums of later nodes that have an edge from it or from
    an earlier node. Where edges are there always, so are the sums, and what an edge gives is one
    vector more until it is added to one that was there.
    """
    chosen = any(NONE in names for names in family.options)
    always = max(1, source)
    if not chosen:
        always += family.nodes_count if source == 0 else family.nodes_count - source + 1
    rows = {}
    for i, (node, begin) in enumerate(family.edges):
        names = family.options[i]
        there = np.array([name != NONE for name in names], dtype=np.int64)
        maps = there + [ACTIVATIONS.get(name) is not None for name in names]
        if begin == source:
            rows[i] = maps + (there if chosen else 0)
        elif chosen and begin < source < node:
            rows[i] = there
    return always, rows
