from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from meritnas import nasbench201_space
from meritnas.cost.feasible import FeasibleSet
from meritnas.errors import SpaceError
from meritnas.families.nasbench201.family import EDGES
from meritnas.prepare.ground import make_ground


def leads_through(names: tuple[str, ...]) -> bool:
    """By walking: from node 0 over edges that are not `none`."""
    reached = {0}
    for (node, source), name in zip(EDGES, names, strict=True):
        if source in reached and name != "none":
            reached.add(node)
    return 3 in reached


def test_cells_are_those_that_a_way_leads_through() -> None:
    family = nasbench201_space().useful
    space = family.space
    every = np.array(list(itertools.product(range(5), repeat=6)))
    names = [[option.name for option in decision.options] for decision in space.decisions]
    expected = [
        leads_through(tuple(row[pick] for row, pick in zip(names, picks, strict=True)))
        for picks in every
    ]
    assert space.valid(every).tolist() == expected
    assert space.count() == sum(expected) == FeasibleSet(space, {}).count()
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
        assert leads_through(picks.options)
    assert nasbench201_space(zero=False).useful.space.rule is None
