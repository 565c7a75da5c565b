from __future__ import annotations

import numpy as np
import pytest

from meritnas.data import hashed_split
from meritnas.data.hashed_split import HashedSplit
from meritnas.errors import DataError


def test_every_row_has_one_part_and_pieces_say_the_same() -> None:
    split = HashedSplit(5000, 3)
    rows = np.concatenate([split.train, split.valid, split.test])
    assert sorted(rows.tolist()) == list(range(5000))
    assert 0.18 < len(split.valid) / 5000 < 0.22
    assert 0.18 < len(split.test) / 5000 < 0.22
    assert split.train_rows == 3000
    whole = split.places(0, 5000)
    pieces = [split.places(first, 100) for first in range(0, 5000, 100)]
    assert np.concatenate(pieces).tolist() == whole.tolist()
    assert 0 <= whole.min() < 0.01 < 0.99 < whole.max() < 1


def test_seeds_give_other_parts_and_neighbours_do_not_matter() -> None:
    one, other = HashedSplit(4000, 0), HashedSplit(4000, 1)
    common = len(set(one.test.tolist()) & set(other.test.tolist()))
    assert 100 < common < 230  # of 800 each: a fifth of them by chance
    for step in (2, 3, 10):  # rows in a cycle, such as every tenth, are in all parts alike
        assert 0.15 < (one.test % step == 0).mean() * step / 5 < 0.25


def test_parts_that_are_held_are_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashed_split, "HELD_ROWS", 500)
    monkeypatch.setattr(hashed_split, "SAMPLED_ROWS", 700)
    split = HashedSplit(50_000, 0)
    places = split.places(0, 50_000)
    for rows in (split.valid, split.test):
        assert 400 < len(rows) < 600
    assert 600 < split.is_sampled(places).sum() < 800
    assert not (split.is_sampled(places) & ~split.is_train(places)).any()
    small = HashedSplit(600, 0)
    places = small.places(0, 600)
    assert (small.is_sampled(places) == small.is_train(places)).all()


def test_few_rows_are_refused() -> None:
    with pytest.raises(DataError, match="9 rows are too few to split"):
        HashedSplit(9, 0)
