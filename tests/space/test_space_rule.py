from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from meritnas.errors import SpaceError
from meritnas.space.decision import Decision, Option
from meritnas.space.rule import ABSENT, InputPairs, PresentEdges
from meritnas.space.space import HyphenText, Space

Picks = tuple[int, ...]
Present = tuple[tuple[bool, ...], ...]
"""For each edge, which of its options mean that it is there."""


def space_of(present: Sequence[Sequence[bool]], groups: tuple[int, ...], count: int) -> Space:
    gone = frozenset({ABSENT, "zero"})
    decisions = tuple(
        Decision(
            f"edge{i}",
            tuple(Option(f"o{j}", frozenset() if there else gone) for j, there in enumerate(row)),
        )
        for i, row in enumerate(present)
    )
    return Space(decisions, HyphenText(), PresentEdges(groups, count))


def keeps(present: Sequence[Sequence[bool]], groups: tuple[int, ...], count: int) -> set[Picks]:
    """The definition: of the edges into every node exactly `count` are there."""
    found = set()
    for picks in itertools.product(*(range(len(row)) for row in present)):
        there = iter([row[pick] for row, pick in zip(present, picks, strict=True)])
        if all(sum(itertools.islice(there, edges)) == count for edges in groups):
            found.add(picks)
    return found


DARTS_EDGE = (False,) + (True,) * 7


def darts_cells(cells: int) -> Space:
    return space_of((DARTS_EDGE,) * (14 * cells), (2, 3, 4, 5) * cells, 2)


def test_a_darts_cell_has_as_many_architectures_as_the_paper_says() -> None:
    assert darts_cells(1).count() == 1_037_664_180
    assert darts_cells(2).count() == 1_037_664_180**2 == 1_076_746_950_455_072_400


@st.composite
def rules(draw: st.DrawFn) -> tuple[Present, tuple[int, ...], int]:
    groups = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    assume(sum(groups) <= 6)
    row = st.lists(st.booleans(), min_size=1, max_size=3).map(tuple)
    present = tuple(draw(row) for _ in range(sum(groups)))
    return present, groups, draw(st.integers(0, 2))


@settings(max_examples=100)
@given(rules(), st.integers(0, 1000))
def test_the_valid_architectures_are_those_of_the_definition(
    rule: tuple[Present, tuple[int, ...], int], seed: int
) -> None:
    expected = keeps(*rule)
    assume(expected)
    space = space_of(*rule)
    everything = list(itertools.product(*(range(size) for size in space.sizes)))
    assert space.count() == len(expected)
    assert space.valid(np.array(everything)).tolist() == [p in expected for p in everything]
    for picks in everything[:20]:
        if picks in expected:
            assert space.picks(space.architecture(picks)) == picks
        else:
            with pytest.raises(SpaceError, match=f"exactly {rule[2]} of the edges into each node"):
                space.architecture(picks)
    assert space.picks(space.random(seed)) in expected


def test_random_architectures_are_equally_likely_under_a_rule() -> None:
    present = ((False, True, True), (False, True), *((False, True, True),) * 2, (True, False))
    space = space_of(present, (2, 3), 2)
    expected = keeps(present, (2, 3), 2)
    assert len(expected) == 2 * (4 + 2 + 2)
    rng = np.random.default_rng(0)
    drawn = [space.picks(space.random(rng)) for _ in range(4000)]
    counts = [drawn.count(picks) for picks in sorted(expected)]
    assert sum(counts) == 4000
    assert stats.chisquare(counts).pvalue > 0.001


def test_random_architectures_of_darts_cells_are_valid_and_differ() -> None:
    space = darts_cells(2)
    drawn = [space.random(seed) for seed in range(30)]
    assert space.valid(np.array([space.picks(one) for one in drawn])).all()
    assert len(set(drawn)) == 30
    assert space.random(3) == drawn[3]


def test_a_text_that_breaks_the_rule_is_explained() -> None:
    space = space_of(((False, True),) * 5, (2, 3), 2)
    assert space.picks(space.parse("o1-o1-o0-o1-o1")) == (1, 1, 0, 1, 1)
    for text in ("o1-o1-o1-o1-o1", "o1-o1-o0-o0-o1", "o0-o1-o0-o1-o1"):
        with pytest.raises(SpaceError) as caught:
            space.parse(text)
        assert str(caught.value) == (
            f"({text.replace('-', ', ')}) is no architecture of this space: exactly 2 of the "
            "edges into each node must be present"
        )


def test_a_space_without_any_valid_architecture_is_refused() -> None:
    with pytest.raises(SpaceError, match=r"keeps the rule of this space: exactly 2 of the"):
        space_of(((False, True),) * 3, (1, 2), 2)
    with pytest.raises(SpaceError, match="no architecture keeps the rule"):
        space_of(((False, True), (False,)), (2,), 2)


def pairs_space(names: Sequence[Sequence[str]], groups: tuple[int, ...]) -> Space:
    decisions = tuple(
        Decision(
            f"edge{i}",
            tuple(Option(o, frozenset({ABSENT} if o == "none" else ())) for o in row),
        )
        for i, row in enumerate(names)
    )
    return Space(decisions, HyphenText(), InputPairs(groups))


def is_pair(chosen: Sequence[str]) -> bool:
    """The definition: two are there, and not both as x or both as y."""
    there = [name for name in chosen if name != "none"]
    return len(there) == 2 and there not in (["x", "x"], ["y", "y"])


def paired(names: Sequence[Sequence[str]], groups: tuple[int, ...]) -> set[Picks]:
    found = set()
    for picks in itertools.product(*(range(len(row)) for row in names)):
        chosen = iter([row[pick] for row, pick in zip(names, picks, strict=True)])
        nodes = [list(itertools.islice(chosen, max(1, edges))) for edges in groups]
        if all(edges == 0 or is_pair(node) for edges, node in zip(groups, nodes, strict=True)):
            found.add(picks)
    return found


@st.composite
def pair_rules(draw: st.DrawFn) -> tuple[tuple[tuple[str, ...], ...], tuple[int, ...]]:
    groups = tuple(draw(st.lists(st.sampled_from([0, 2, 3]), min_size=1, max_size=3)))
    assume(sum(groups) <= 6)
    every = draw(st.sampled_from([("none", "x", "y"), ("none", "skip")]))
    rows: list[tuple[str, ...]] = []
    for edges in groups:
        row = st.lists(st.sampled_from(every), min_size=1, unique=True).map(tuple)
        rows += [("a", "b")] if edges == 0 else [draw(row) for _ in range(edges)]
    return tuple(rows), groups


@settings(max_examples=100)
@given(pair_rules(), st.integers(0, 1000))
def test_input_pairs_are_those_of_the_definition(
    rule: tuple[tuple[tuple[str, ...], ...], tuple[int, ...]], seed: int
) -> None:
    """Whichever options are left of each edge, in whatever order."""
    expected = paired(*rule)
    if not expected:
        with pytest.raises(SpaceError, match="exactly two must be present, one as x and one as y"):
            pairs_space(*rule)
        return
    space = pairs_space(*rule)
    everything = list(itertools.product(*(range(size) for size in space.sizes)))
    assert space.count() == len(expected)
    assert space.valid(np.array(everything)).tolist() == [p in expected for p in everything]
    assert space.picks(space.random(seed)) in expected
    assert space.levels is not None
    assert {level.shape[0] for level in space.levels} == {4}


def test_a_node_of_n_edges_has_as_many_pairs_as_there_are() -> None:
    for n in range(2, 7):
        assert pairs_space((("none", "x", "y"),) * n, (n,)).count() == n * (n - 1)
        assert pairs_space((("none", "skip"),) * n, (n,)).count() == n * (n - 1) // 2
    with pytest.raises(SpaceError, match="no architecture keeps the rule"):
        pairs_space((("none", "x", "y"),), (1,))
