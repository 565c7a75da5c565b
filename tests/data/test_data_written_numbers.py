from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.files.table import read_table


def read(folder: Path, content: str, decimal: Any = None) -> pd.DataFrame:
    path = folder / "t.csv"
    path.write_text(content, encoding="utf-8")
    return read_table(path, decimal=decimal)


@pytest.mark.parametrize(
    ("content", "values"),
    [
        ("a;b\n1,5;x\n2,75;y\n", [1.5, 2.75]),
        ("a\tb\n1,5\tx\n-2,75\ty\n", [1.5, -2.75]),
        ("a|b\n1,5|x\n3|y\n", [1.5, 3]),
        ("a\n1,5\n2,75\n", [1.5, 2.75]),
        ("a;b\n1.234,5;x\n1.234.567;y\n", [1234.5, 1234567]),
        ("a;b\n1\u00a0234,5;x\n7;y\n", [1234.5, 7]),
        ("a;b\n1,5e3;x\n7;y\n", [1500, 7]),
        # In a file with decimal commas, points are between thousands.
        ("a;b\n1.234;1,5\n2.345;2,5\n", [1234, 2345]),
        ("a;b\n0.234;1,5\n2.345;2,5\n", [0.234, 2.345]),
        ("a;b\n1.5;1,5\n2.345;2,5\n", [1.5, 2.345]),
        # What could be either is decided by the others, then by the separator.
        ("a;b\n1,234;1,5\n2,345;2,5\n", [1.234, 2.345]),
        ("a;b\n1,234;1.5\n2,345;2.5\n", [1234, 2345]),
        ("a;b\n1,234;x\n2,345;y\n", [1.234, 2.345]),
        ("a\tb\n1,234\tx\n2,345\ty\n", [1234, 2345]),
        ('a,b\n"1,234",x\n950,y\n', [1234, 950]),
        ('a,b\n"1,234.5",x\n"1,234,567",y\n', [1234.5, 1234567]),
        ("a;b\n1.234;5\n2.345;6\n", [1.234, 2.345]),
    ],
)
def test_numbers(tmp_path: Path, content: str, values: list[float]) -> None:
    frame = read(tmp_path, content)
    assert pd.api.types.is_numeric_dtype(frame["a"].dtype)
    assert frame["a"].tolist() == values


@pytest.mark.parametrize(
    "content",
    [
        'a,b\n"1,5",x\n"2,75",y\n',
        "a;b\n1,5;x\nfew;y\n",
        "a;b\n1,2,3;x\n4,5,6;y\n",
        "a;b\n12.34,5;x\n1,5;y\n",
        "a;b\n1,5;x\n1.5;y\n",
    ],
)
def test_text_that_is_no_number(tmp_path: Path, content: str) -> None:
    assert not pd.api.types.is_numeric_dtype(read(tmp_path, content)["a"].dtype)


def test_missing_values(tmp_path: Path) -> None:
    frame = read(tmp_path, "a;b\n1,5;1\n;2\n ? ;3\nNA;4\n2,5;5\n")
    np.testing.assert_array_equal(frame["a"], [1.5, np.nan, np.nan, np.nan, 2.5])


def test_a_new_file_is_read_like_the_old_one(tmp_path: Path) -> None:
    train = read(tmp_path, "price;n\n1.234,5;1\n2,5;2\n1.000;4\n")
    encoder = TableEncoder.fit(train)
    assert encoder.decimal == ","
    assert TableEncoder.from_json(encoder.to_json()).decimal == ","
    for content, price in (
        ("price;n\n1.234;2\n", 1234),
        ("price;n\n1.234;2,5\n", 1234),
        ("price;n\n1,234;2\n", 1.234),
        ("price;n\n1.234;2.5\n", 1.234),
        ("price;n\n2.5;2\n", 2.5),
    ):
        assert read(tmp_path, content, encoder.decimal)["price"].tolist() == [price]


@settings(max_examples=40)
@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=8),
    st.sampled_from([";", "\t", "|"]),
    st.booleans(),
)
def test_round_trip(cents: list[int], separator: str, grouped: bool) -> None:
    values = [number / 100 for number in [*cents, 12345678, 150]]
    written = [f"{value:,.2f}" if grouped else f"{value:.2f}" for value in values]
    swapped = [text.translate(str.maketrans(",.", ".,")) for text in written]
    lines = [f"{text}{separator}x" for text in swapped]
    with tempfile.TemporaryDirectory() as folder:
        frame = read(Path(folder), "\n".join([f"a{separator}b", *lines]))
    assert frame["a"].tolist() == values
