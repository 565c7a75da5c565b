"""Text of which each is kept once means the same as text that is written in every row."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from meritnas.data.columns.category_column import CategoryColumn
from meritnas.data.columns.category_keys import other_keys
from meritnas.data.columns.cells import category_key
from meritnas.data.columns.column_sketch import ColumnSketch
from meritnas.data.columns.sorting import Rules
from meritnas.data.columns.texts_once import (
    codes_and_texts,
    has_texts_once,
    texts_once,
    with_text_again,
)
from meritnas.data.files.parquet_table import open_parquet

CELLS = st.one_of(
    st.text(max_size=4),
    st.sampled_from([" 1", "1.0", "1e3", "TRUE", "faLse", "1_0", "nan", "inf", "\u0663", "x", "?"]),
    st.integers(-20, 20).map(str),
)


@settings(deadline=None, max_examples=150)
@given(st.lists(CELLS, max_size=20))
@example(["\u0663", "\x1f1", "1\u2003", "1E5", "+.5", "-0", "tRuE", "New York", "1 2", "1e400"])
def test_all_texts_but_those_that_are_named_stand_for_themselves(texts: list[str]) -> None:
    places, keys = other_keys(pa.array(texts, pa.string()))
    found = list(texts)
    for place, key in zip(places.tolist(), keys, strict=True):
        found[place] = key
    assert found == [category_key(text) for text in texts]


def test_columns_can_be_cut() -> None:
    column = texts_once(np.array([0, 1, -1, 0, 1]), pa.array(["a", "b"]), "c")
    assert has_texts_once(column)
    assert not has_texts_once(pd.Series(["a", "b"]))
    frame = with_text_again(pd.DataFrame({"c": column, "n": range(5)}).iloc[[4, 2, 0]])
    plain = pd.DataFrame({"c": ["a", "b", None, "a", "b"], "n": range(5)}).iloc[[4, 2, 0]]
    pd.testing.assert_frame_equal(frame, plain, check_dtype=False)
    codes, texts = codes_and_texts(column[np.array([False, True, True, False, True])])
    assert [texts[int(code)].as_py() if code >= 0 else None for code in codes] == ["b", None, "b"]


@settings(deadline=None, max_examples=60)
@given(st.lists(CELLS | st.none(), min_size=1, max_size=20), st.lists(CELLS, max_size=5))
@example(["1", "?", "2 "], [])
@example([" a", "a", "NA", None], ["a"])
@example([None, None], ["a"])
def test_a_file_gives_the_same_rows_either_way(cells: list[str | None], known: list[str]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.parquet"
        more = {"n": list(range(len(cells))), "d": pa.array(cells, pa.string()).dictionary_encode()}
        table = pa.table({"c": pa.array(cells, pa.string()), **more})
        parquet.write_table(table, path, row_group_size=7)
        found = open_parquet(path)
        for place in range(len(found.groups)):
            plain, once = found.read(place), found.read(place, once={"c", "n"})
            pd.testing.assert_frame_equal(with_text_again(once), plain)
            column = CategoryColumn("c", tuple(sorted({category_key(text) for text in known})))
            assert column.encode(once["c"]).tolist() == column.encode(plain["c"]).tolist()


@pytest.mark.parametrize("train", [np.ones(6, bool), np.array([1, 0, 1, 1, 0, 0], bool)])
def test_a_sketch_counts_them_alike(train: np.ndarray) -> None:
    texts = ["b", "a", "1.0", None, "1", "b"]
    once = texts_once(np.array([0, 1, 2, -1, 3, 0]), pa.array(["b", "a", "1.0", "1", "z"]), "c")
    decided = []
    for values in (pd.Series(texts, dtype="str"), once):
        sketch = ColumnSketch("c", pd.Series(texts), Rules())
        for _ in range(40):
            sketch.add(values, train)
        decided.append(sketch.decide(Rules(), pd.Series(texts)))
    assert decided[0] == decided[1]
    assert isinstance(decided[0], CategoryColumn)
