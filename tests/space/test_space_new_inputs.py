from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meritnas import fusion_space
from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.terms import Limit
from meritnas.errors import InfeasibleError, SpaceError
from meritnas.families.fusion.family import FusionSpace
from meritnas.families.presets.modalities import fusion_cells
from meritnas.space import new_inputs


def family_of(features: int, cells: int, **more: object) -> FusionSpace:
    views = {f"v{k}": [(2,)] for k in range(features)}
    return fusion_space(views, 2, cells, 1, 4, 2, operations=["sum"], **more)  # type: ignore[arg-type]


def inputs(family: FusionSpace, picks: Sequence[int]) -> list[set[int]]:
    """The features that each cell reads."""
    chosen = [family.options[i][pick] for i, pick in enumerate(picks)]
    count = len(family.features)
    return [
        {k for k, i in enumerate(plan.edges[:count]) if chosen[i] != "none"}
        for plan in family.plans
    ]


def reads_something_new(cells: Sequence[set[int]], features: int) -> bool:
    """The definition: each cell has a feature no cell before has, as long as there is one."""
    seen: set[int] = set()
    for cell in cells:
        if not cell - seen and len(seen) < features:
            return False
        seen |= cell
    return True


@settings(max_examples=12, deadline=None)
@given(st.integers(2, 3), st.integers(1, 2), st.booleans(), st.booleans())
def test_architectures_are_those_of_the_definition(
    features: int, cells: int, shared: bool, alone: bool
) -> None:
    free = family_of(features, cells, shared=shared, unimodal_only=alone)
    family = family_of(features, cells, shared=shared, unimodal_only=alone, new_inputs=True)
    every = np.array(list(itertools.product(*(range(n) for n in free.space.sizes))))
    every = every[free.space.valid(every)]
    expected = [reads_something_new(inputs(family, picks), features) for picks in every]
    assert family.space.valid(every).tolist() == expected
    assert family.space.count() == sum(expected)
    assert FeasibleSet(family.space, {}).count() == sum(expected)


def test_three_cells_of_three_features_read_all_and_then_what_they_like() -> None:
    family = family_of(3, 3, shared=True, unimodal_only=True, new_inputs=True)
    assert family.space.count() == 3 * 2 * 3  # any pair; one with the third; any pair


@settings(max_examples=20, deadline=None)
@given(st.integers(3, 7), st.integers(0, 2**31))
def test_one_cell_less_than_features_read_them_all(features: int, seed: int) -> None:
    family = family_of(features, features - 1, new_inputs=True)
    cells = inputs(family, family.space.picks(family.random(seed)))
    assert set().union(*cells) == set(range(features))


def test_the_best_architecture_keeps_the_rule_and_a_limit() -> None:
    """All scores are for the same two features; the rule asks for others, the limit for sums."""
    views = {name: [(2,)] for name in "abcd"}
    family = fusion_space(views, 2, 3, 1, 4, 2, operations=["sum", "concat"], new_inputs=True)
    sizes = family.space.sizes
    scores = [np.zeros(size) for size in sizes]
    for plan in family.plans:
        scores[plan.edges[0]][:] = (0.0, 5.0, 0.0)
        scores[plan.edges[1]][:] = (0.0, 0.0, 5.0)
        scores[plan.steps[0].operation][:] = (0.0, 1.0)
    everything = FeasibleSet(family.space, {})
    best = everything.best(scores)
    read = inputs(family, family.space.picks(best))
    assert set().union(*read) == {0, 1, 2, 3}
    # Either each cell has one of the two, or one cell the other two and two cells have both.
    assert sum(5 * len(cell & {0, 1}) for cell in read) == 20
    least = min(family.cost(family.random(seed)) for seed in range(50))
    tight = FeasibleSet(family.space, family.costs, [Limit("params", least)])
    cheap = tight.best(scores)
    assert family.cost(cheap) == least
    kept = inputs(family, family.space.picks(cheap))
    assert sum(5 * len(cell & {0, 1}) for cell in kept) == 20
    assert tight.count() == everything.count() // 2**3


def test_what_breaks_the_rule_is_explained() -> None:
    family = fusion_space({"a": [(2,)] * 2, "b": [(2,)]}, 2, operations=["sum"], new_inputs=True)
    text = "cell1(a.0, a.1): step1 = sum(x, y) + cell2({}, {}): step1 = sum(x, y)"
    assert family.parse(text.format("a.0", "b.0"))
    for pair in (("a.1", "a.0"), ("cell1", "a.0")):
        with pytest.raises(SpaceError, match="a feature that no cell before it reads"):
            family.parse(text.format(*pair))


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize(("features", "cells"), [(5, 2), (7, 3), (6, 1)])
def test_reading_feature_by_feature_leaves_the_same_architectures(
    features: int, cells: int, alone: bool, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make() -> FusionSpace:
        return family_of(features, cells, shared=shared, unimodal_only=alone, new_inputs=True)

    by_cell = make()
    assert by_cell.space.order == tuple(range(len(by_cell.space.sizes)))
    every = FeasibleSet(by_cell.space, {})
    monkeypatch.setattr(new_inputs, "_FEW_FEATURES", 2)
    by_feature = make()
    assert cells == 1 or by_feature.space.order != by_cell.space.order
    found = FeasibleSet(by_feature.space, {})
    assert found.count() == by_feature.space.count() == every.count()
    free = family_of(features, cells, shared=shared, unimodal_only=alone)
    some = np.array([free.space.picks(free.random(seed)) for seed in range(60)])
    assert by_feature.space.valid(some).tolist() == by_cell.space.valid(some).tolist()
    rng = np.random.default_rng(0)
    logits = [rng.normal(size=size) for size in by_cell.space.sizes]
    for one, other in zip(found.marginals(logits), every.marginals(logits), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    assert found.best(logits) == every.best(logits)
    assert by_cell.space.valid(found.condition(logits).sample(200, rng)).all()
    for one, other in zip(found.reachable(), every.reachable(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_thirty_modalities_have_a_space_with_as_many_cells_as_is_usual() -> None:
    cells = fusion_cells("quick", 30)
    views = {f"v{k}": [(2,)] for k in range(30)}
    family = fusion_space(views, 2, cells, 1, 4, 2, operations=["sum", "concat"], new_inputs=True)
    least = min(family.cost(family.random(seed)) for seed in range(200))
    cheap = family.feasible(max_params=least)
    assert cheap.count() == family.space.count() // 2**cells
    scores = [np.arange(size, dtype=float) for size in family.space.sizes]
    best = cheap.best(scores)
    assert family.cost(best) == least
    assert reads_something_new(inputs(family, family.space.picks(best)), 30)
    with pytest.raises(InfeasibleError, match=r"cell5\(.* = sum\("):
        family.feasible(max_params=least - 1)


def test_too_many_combinations_are_refused_in_words() -> None:
    with pytest.raises(SpaceError, match="take fewer cells"):
        _ = family_of(24, 12, new_inputs=True).space
