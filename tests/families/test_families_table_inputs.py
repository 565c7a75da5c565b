from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meritnas import SpaceError, TableInputs
from meritnas.data.columns.inputs import embedding_width, most_codes

CODES = st.lists(st.integers(1, 3000), max_size=8).map(tuple)


@given(CODES, st.integers(-5, 20_000))
def test_embeddings_get_as_narrow_as_it_takes_and_no_narrower(
    cardinalities: tuple[int, ...], params: int
) -> None:
    inputs = TableInputs(2, cardinalities)
    found = inputs.within(params)
    assert replace(found, widest=inputs.widest) == inputs  # nothing else changes
    narrowest = sum(cardinalities)
    assert found.embedding_params <= max(params, narrowest)
    for wide, rule in zip(found.embedding_widths, inputs.embedding_widths, strict=True):
        assert 1 <= wide <= rule
    if inputs.embedding_params <= params:
        assert found == inputs
    elif cardinalities:
        wider = replace(found, widest=max(found.embedding_widths) + 1)
        assert wider.embedding_params > params


def test_a_given_width_is_kept() -> None:
    inputs = TableInputs(2, (100, 50), embedding=6)
    assert inputs.within(10) == inputs
    assert inputs.embedding_widths == (6, 6)


@given(CODES, st.integers(0, 5000))
def test_codes_are_capped_to_what_fits_at_width_one(
    cardinalities: tuple[int, ...], params: int
) -> None:
    most = most_codes(cardinalities, params)

    def needed(cap: int) -> int:
        return sum(min(count, cap) for count in cardinalities)

    assert 1 <= most <= max(cardinalities, default=1)
    assert needed(most) <= params or most <= 2
    if most < max(cardinalities, default=1):
        assert needed(most + 1) > params


def test_the_widest_is_at_least_one() -> None:
    with pytest.raises(SpaceError, match="at least width 1, got 0"):
        TableInputs(1, (3,), widest=0)
    assert TableInputs(1, (900,), widest=3).embedding_widths == (3,)
    assert TableInputs(1, (3,), widest=40).embedding_widths == (embedding_width(3),)
