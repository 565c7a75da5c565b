from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meritnas.data.columns.category_column import CategoryColumn
from meritnas.data.columns.distinct import find_distinct
from meritnas.data.columns.encoder import TableEncoder


def fit(values: list[Any], most: int | None = None) -> CategoryColumn | str:
    return CategoryColumn.fit("a", find_distinct(pd.Series(values)), None, most)


def repeated(counts: dict[str, int]) -> list[str]:
    return [category for category, count in counts.items() for _ in range(count)]


def test_few_categories_are_all_kept() -> None:
    column = fit(repeated({f"c{i}": 1 + 9 * (i > 0) for i in range(50)}))
    assert isinstance(column, CategoryColumn)
    assert (len(column.categories), column.rare) == (50, 0)


def test_rare_ones_of_many_are_pooled() -> None:
    counts = {f"c{i:02d}": 3 + i for i in range(58)} | {"one": 1, "two": 2}
    column = fit(repeated(counts))
    assert isinstance(column, CategoryColumn)
    assert column.categories == tuple(f"c{i:02d}" for i in range(58))
    assert column.rare == 2
    assert column.rare_share == pytest.approx(3 / sum(counts.values()))
    assert column.details == "58 kept, 2 rare pooled"
    assert column.encode(pd.Series(["one", "c00", "new", None])).tolist() == [0, 1, 0, 0]


def test_thousands_of_categories() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": (rng.pareto(0.5, 30_000) * 10).astype(int).astype(str)})
    frame["a"] = "k" + frame["a"]
    distinct = frame["a"].nunique()
    assert distinct > 3000
    encoder = TableEncoder.fit(frame)
    column = encoder.category_columns[0]
    assert len(column.categories) + column.rare == distinct
    assert frame["a"].value_counts()[list(column.categories)].min() == 3
    assert (encoder.transform(frame)[:, 0] == 0).mean() == pytest.approx(column.rare_share)
    assert encoder.unfamiliar(frame) == []


def test_the_most_frequent_are_kept_under_a_limit() -> None:
    values = repeated({"a": 2, "b": 5, "c": 2, "d": 9, "e": 2})
    column = fit(values, most=3)
    assert column == CategoryColumn("a", ("a", "b", "d"), 2, pytest.approx(0.2))
    frame = pd.DataFrame({"a": values})
    assert TableEncoder.fit(frame, most_categories=1).cardinalities == (2,)


def test_pooled_train_rows_are_nothing_unfamiliar() -> None:
    values = repeated({f"c{i}": 1 for i in range(300)} | {f"k{i}": 8 for i in range(60)})
    column = fit(values)
    assert isinstance(column, CategoryColumn)
    assert column.unfamiliar(pd.Series(values)) is None
    assert column.rare_share == pytest.approx(300 / 780)
    assert column.unfamiliar(pd.Series([f"n{i}" for i in range(60)] + values[-40:])) is None
    assert column.unfamiliar(pd.Series([f"n{i}" for i in range(90)] + values[-10:])) is not None


def test_what_is_left_out() -> None:
    assert fit([f"n{i}" for i in range(60)]) == "nearly unique text, 60 values in 60 rows"
    assert fit([f"n{i}" for i in range(60)] * 2) == "rare text, none of 60 values occurs in 3 rows"
    assert fit(["x", "x"]) == "constant, 'x' in every row"
    assert fit([None, ""]) == "all values are missing"


@settings(max_examples=50)
@given(
    st.lists(st.sampled_from([f"c{i}" for i in range(90)]), min_size=2, max_size=400),
    st.one_of(st.none(), st.integers(1, 20)),
)
def test_kept_categories_are_at_least_as_frequent(values: list[str], most: int | None) -> None:
    column = fit(values, most)
    if isinstance(column, str):
        return
    counts = pd.Series(values).value_counts()
    pooled = counts.drop(list(column.categories))
    assert len(pooled) == column.rare
    assert counts[list(column.categories)].min() >= pooled.max() if len(pooled) else True
    assert most is None or len(column.categories) <= most
    codes = column.encode(pd.Series(values))
    assert ((codes == 0) == pd.Series(values).isin(pooled.index)).all()
