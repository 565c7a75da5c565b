from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from meritnas.errors import SpaceError
from meritnas.space.architecture import Architecture
from meritnas.space.decision import Decision, Option
from meritnas.space.space import HyphenText, Space


def space_of(sizes: list[int]) -> Space:
    return Space(
        tuple(
            Decision(f"layer{i}", tuple(Option(str(8 * (j + 1))) for j in range(size)))
            for i, size in enumerate(sizes)
        ),
        HyphenText(),
    )


@settings(max_examples=60)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), st.integers(0, 10_000))
def test_picks_text_and_json_all_lead_back(sizes: list[int], seed: int) -> None:
    space = space_of(sizes)
    architecture = space.random(seed)
    assert space.parse(str(architecture)) == architecture
    assert space.architecture(space.picks(architecture)) == architecture
    data = json.loads(json.dumps(architecture.to_json()))
    assert Architecture.from_json(data) == architecture
    assert hash(Architecture.from_json(data)) == hash(architecture)
    assert space.random(seed) == architecture
    assert space.count() == int(np.prod(sizes))


def test_random_architectures_are_equally_likely() -> None:
    space = space_of([2, 3])
    rng = np.random.default_rng(0)
    drawn = [space.random(rng).text for _ in range(3000)]
    counts = [drawn.count(text) for text in sorted(set(drawn))]
    assert len(counts) == 6
    assert stats.chisquare(counts).pvalue > 0.001


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("8", "1 decisions, this space has 2"),
        ("8-8-8", "3 decisions, this space has 2"),
        ("8-9", "'9' is no option of decision 'layer1'; it has 8, 16, 24"),
        ("", "decisions"),
    ],
)
def test_a_text_that_is_no_architecture_is_explained(text: str, says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        space_of([2, 3]).parse(text)


def test_blanks_in_a_text_do_not_matter() -> None:
    space = space_of([2, 3])
    assert space.parse(" 16 - 24\n") == space.parse("16-24")
    assert str(space.parse(" 16 - 24\n")) == "16-24"


@pytest.mark.parametrize("picks", [(0,), (0, 3), (-1, 0), (0, 0, 0)])
def test_picks_that_do_not_exist_are_refused(picks: tuple[int, ...]) -> None:
    with pytest.raises(SpaceError):
        space_of([2, 3]).architecture(picks)


def test_a_space_needs_decisions_with_different_options() -> None:
    with pytest.raises(SpaceError, match="at least one decision"):
        Space((), HyphenText())
    with pytest.raises(SpaceError, match="'a' has no options"):
        Space((Decision("a", ()),), HyphenText())
    with pytest.raises(SpaceError, match="must differ"):
        Space((Decision("a", (Option("8"), Option("8"))),), HyphenText())
