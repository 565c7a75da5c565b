from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from meritnas import nasbench201_space
from meritnas.cost.feasible import FeasibleSet
from meritnas.errors import SpaceError
from meritnas.families.nasbench201.family import EDGES
from meritnas.prepare.ground import make_ground
from meritnas.space.decision import ZERO, Decision, Option
from meritnas.space.live_edges import Edges, LiveEdges, live_edges
from meritnas.space.rule import follows


def ways(edges: Edges, there: Sequence[bool]) -> list[tuple[int, ...]]:
    """All ways from node 0 to the last one over edges that are there, as numbers of edges."""

    def on(node: int) -> list[tuple[int, ...]]:
        if node == edges[-1][0]:
            return [()]
        leaving = [i for i, (_, source) in enumerate(edges) if source == node and there[i]]
        return [(i, *rest) for i in leaving for rest in on(edges[i][0])]

    return on(0)


def all_live(edges: Edges, there: Sequence[bool]) -> bool:
    """Whether there is a way, and every edge that is there lies on one."""
    found = ways(edges, there)
    return bool(found) and {i for way in found for i in way} == set(np.flatnonzero(there))


@pytest.mark.parametrize("nodes", [1, 2, 3, 4])
def test_the_rule_is_what_walking_all_ways_finds(nodes: int) -> None:
    """Of every cell of so many nodes, up to ten edges, whose edges may be zero or not."""
    edges = tuple((node, source) for node in range(1, nodes + 1) for source in range(node))
    options = (Option("zero", frozenset({ZERO})), Option("one"))
    decisions = tuple(Decision(f"{node}<-{source}", options) for node, source in edges)
    levels = LiveEdges(edges).levels(decisions)
    every = np.array(list(itertools.product((0, 1), repeat=len(edges))))
    expected = [all_live(edges, row.astype(bool)) for row in every]
    assert follows(levels, every).tolist() == expected
    for row in every:
        on_a_way = {i for way in ways(edges, row.astype(bool)) for i in way}
        found = live_edges(edges, row.astype(bool).tolist())
        assert set(np.flatnonzero(found)) == on_a_way


def test_cells_are_those_without_dead_operations() -> None:
    family = nasbench201_space().useful
    space = family.space
    every = np.array(list(itertools.product(range(5), repeat=6)))
    names = [[option.name for option in decision.options] for decision in space.decisions]
    expected = [
        all_live(EDGES, [row[pick] != "none" for row, pick in zip(names, picks, strict=True)])
        for picks in every
    ]
    assert space.valid(every).tolist() == expected
    assert space.count() == sum(expected) == 9_444 == FeasibleSet(space, {}).count()
    assert nasbench201_space().space.count() == 15_625  # the benchmark's own


def test_what_is_left_out_says_the_same_of_everything() -> None:
    """And what is left in does not."""
    family = nasbench201_space(3, 4, 1, image=(1, 8, 8))
    images = torch.randn(4, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    dead = "|none~0|+|nor_conv_3x3~0|none~1|+|none~0|nor_conv_1x1~1|none~2|"
    alive = "|none~0|+|skip_connect~0|none~1|+|none~0|none~1|skip_connect~2|"
    for text, same in ((dead, True), (alive, False)):
        outputs = family.child(text).eval()(images)
        assert torch.allclose(outputs, outputs[:1].expand_as(outputs), atol=1e-6) is same
    assert family.useful.parse(alive)
    with pytest.raises(SpaceError, match="a way must lead from what comes in to what goes out"):
        family.useful.parse(dead)


def test_searches_are_on_what_can_learn() -> None:
    """Without edges that may be zero there is no rule, and nothing becomes slower."""
    family = nasbench201_space(10, 4, 1)
    least = family.cost("|none~0|+|none~0|none~1|+|none~0|none~1|none~2|")
    ground = make_ground(family, {"params": least})  # nothing with weights fits
    assert ground.family.space.count() == 15_625
    assert ground.searched_feasible.count() == ground.feasible.count() < 3**6
    for seed in range(20):
        picks = ground.searched_feasible.space.random(seed)
        assert all_live(EDGES, [name != "none" for name in picks.options])
    assert nasbench201_space(zero=False).useful.space.rule is None
