from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meritnas.data.split import Split, split_rows
from meritnas.errors import DataError


def parts(split: Split) -> list[np.ndarray]:
    return [split.train, split.valid, split.test]


@given(st.integers(10, 300), st.integers(0, 2**32), st.floats(0.01, 0.49), st.floats(0.01, 0.49))
def test_a_split_is_a_partition(n: int, seed: int, valid: float, test: float) -> None:
    split = split_rows(n, None, seed, valid, test)
    assert np.array_equal(np.sort(np.concatenate(parts(split))), np.arange(n))
    for part in parts(split):
        assert len(part) > 0
        assert np.array_equal(part, np.sort(part))


@given(
    st.lists(st.integers(0, 6), min_size=10, max_size=80),
    st.integers(0, 1000),
    st.floats(0.05, 0.49),
    st.floats(0.05, 0.49),
)
def test_classes_of_three_rows_are_in_each_part(
    labels: list[int], seed: int, valid: float, test: float
) -> None:
    values = np.array(labels)
    split = split_rows(len(values), values, seed, valid, test)
    assert np.array_equal(np.sort(np.concatenate(parts(split))), np.arange(len(values)))
    for label in set(labels):
        if (values == label).sum() >= 3:
            assert all(label in values[part] for part in parts(split))


def test_shares() -> None:
    assert [len(part) for part in parts(split_rows(1000, None, 0))] == [600, 200, 200]
    labels = np.repeat([0, 1], [900, 100])
    split = split_rows(1000, labels, 0, valid=0.1, test=0.3)
    assert [len(part) for part in parts(split)] == [600, 100, 300]
    assert [int(labels[part].sum()) for part in parts(split)] == [60, 10, 30]


def test_rare_classes_do_not_all_go_to_one_part() -> None:
    assert min(len(part) for part in parts(split_rows(50, np.arange(50), 0))) == 10


def test_the_seed_decides() -> None:
    labels = np.arange(100) % 3
    first, same, other = (split_rows(100, labels, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(parts(first), parts(same), strict=True))
    assert not np.array_equal(first.train, other.train)


def test_too_few_rows() -> None:
    with pytest.raises(DataError, match=r"9 rows are too few.*at least 10"):
        split_rows(9, None, 0)


@pytest.mark.parametrize(("valid", "test"), [(0.0, 0.2), (0.2, 0.0), (0.5, 0.5), (-0.1, 0.2)])
def test_shares_that_leave_a_part_empty(valid: float, test: float) -> None:
    with pytest.raises(DataError, match=r"leave a part empty.*sum below 1"):
        split_rows(100, None, 0, valid, test)


def test_labels_for_other_rows() -> None:
    with pytest.raises(DataError, match="11 labels for 12 rows"):
        split_rows(12, np.zeros(11), 0)
