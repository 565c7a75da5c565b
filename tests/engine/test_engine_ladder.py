from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from meritnas import TableInputs, nasbench201_space, tabular_space
from meritnas.data.bundle import Part
from meritnas.data.stream import BatchStream
from meritnas.engine.ladder import best_within, drawn_beside, ladder, path_of_one
from meritnas.supernet.probe import Probe

FAMILY = tabular_space(TableInputs(3, (4,)), 2, 3, (2, 4, 8, 16, 32))
LEAST, MOST = FAMILY.cost("2-2-2"), FAMILY.cost("32-32-32")


@given(st.integers(LEAST, 2 * MOST))
def test_rungs_are_halvings_or_less_down_to_the_cheapest(limit: int) -> None:
    rungs = ladder(FAMILY, {"params": limit})
    top = min(limit, MOST)
    limits = [top, *(rung.limit for rung in rungs)]
    assert len(rungs) <= 5
    for larger, smaller in itertools.pairwise(limits):
        assert LEAST <= smaller <= larger / 2
    # No step is wasted: either there are five, or half of the last is below the cheapest.
    assert len(rungs) == 5 or limits[-1] / 2 < LEAST + 1
    if len(rungs) == 5:
        assert limits[-1] <= max(2 * LEAST, top / 31)


def test_without_a_limit_the_ladder_starts_at_the_largest_network() -> None:
    assert [r.limit for r in ladder(FAMILY, {})] == [
        r.limit for r in ladder(FAMILY, {"params": MOST})
    ]
    assert ladder(FAMILY, {"params": 50 * MOST})[0].limit <= MOST / 2


def test_there_is_no_rung_below_the_cheapest_network() -> None:
    assert ladder(FAMILY, {"params": LEAST}) == []
    assert ladder(FAMILY, {"params": 2 * LEAST - 1}) == []
    assert [rung.limit for rung in ladder(FAMILY, {"params": 2 * LEAST})] == [LEAST]


def test_rungs_keep_all_limits() -> None:
    """Against every architecture of the space."""
    limits = {"params": 700, "flops": 400, "size": 2500}
    rungs = ladder(FAMILY, limits)
    assert len(rungs) >= 2
    every = [
        FAMILY.space.architecture(picks)
        for picks in itertools.product(*(range(size) for size in FAMILY.space.sizes))
    ]
    for rung in rungs:
        wanted = {**limits, "params": rung.limit}
        fits = [
            all(FAMILY.cost(one, name) <= most for name, most in wanted.items()) for one in every
        ]
        assert [rung.feasible.admits(one) for one in every] == fits
        assert rung.feasible.count() == sum(fits) > 0


def test_another_limit_may_end_the_ladder_early() -> None:
    flops = FAMILY.cost("32-2-2", "flops")
    rungs = ladder(FAMILY, {"flops": flops})
    assert rungs
    for rung in rungs:
        assert rung.feasible.count() > 0


def test_paths_come_from_all_rungs_alike_and_from_each_uniformly() -> None:
    family = tabular_space(3, 1, 2, (2, 4, 8))
    rungs = ladder(family, {"params": 90})
    assert len(rungs) == 2
    rng = np.random.default_rng(0)
    laws = drawn_beside(rungs, family.feasible(), family.supernet(0))
    draws = 6000
    found = Counter(tuple(path_of_one(laws, rng)) for _ in range(draws))
    expected: Counter[tuple[int, ...]] = Counter()
    for picks in itertools.product(range(3), range(3)):
        for rung in rungs:
            if rung.feasible.admits(family.space.architecture(picks)):
                expected[picks] += 1 / rung.feasible.count() / len(rungs)
    assert set(found) == set(expected)
    for picks, chance in expected.items():
        spread = np.sqrt(chance * (1 - chance) / draws)
        assert abs(found[picks] / draws - chance) < 5 * spread


def test_cells_are_drawn_from_all_that_the_own_limits_admit() -> None:
    family = nasbench201_space(3, 4, 3, image=(3, 8, 8))
    own = family.feasible(max_params=30_000)
    rungs = ladder(family, {"params": 30_000})
    laws = drawn_beside(rungs, own, family.supernet(0))
    rng = np.random.default_rng(0)
    found = [family.cost(family.space.architecture(path_of_one(laws, rng))) for _ in range(200)]
    assert max(found) <= 30_000
    # Few of all keep the first rung's limit, and none is drawn for keeping it.
    share = rungs[0].feasible.count() / own.count()
    assert share < 0.5
    assert abs(np.mean(np.array(found) <= rungs[0].limit) - share) < 5 * np.sqrt(share / 200)
    assert drawn_beside([], own, family.supernet(0)) == []


@pytest.fixture
def probe() -> Probe:
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(50, 3, generator=generator)
    part = Part(rows, rows[:, 0])
    supernet = tabular_space(3, 1, 2, (2, 4, 8)).supernet(0)
    streams = BatchStream(part, 25, 0), BatchStream(part, 25, 1)
    return Probe(supernet, lambda o, t, _: (o[:, 0] - t).square().mean(), *streams, part)


def test_the_best_of_a_rung_is_the_best_that_fits(probe: Probe) -> None:
    family = tabular_space(3, 1, 2, (2, 4, 8))
    for rung in ladder(family, {"params": 130}):
        found = best_within(rung.feasible, probe, seed=0)[0]
        assert rung.feasible.admits(found)
        losses = {
            picks: probe.held_out_loss(np.array(picks))
            for picks in itertools.product(range(3), range(3))
            if rung.feasible.admits(family.space.architecture(picks))
        }
        # Sets this small are searched through and through.
        assert family.space.picks(found) == min(losses, key=lambda picks: losses[picks])
        assert best_within(rung.feasible, probe, seed=0)[0] == found
