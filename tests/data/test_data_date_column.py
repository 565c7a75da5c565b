from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from meritnas.data.columns.date_column import DateColumn
from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.files.table import read_table
from meritnas.errors import DataError

OTHER = np.linspace(0, 1, 4)


def fit(values: Any) -> TableEncoder:
    return TableEncoder.fit(pd.DataFrame({"d": values}))


def date(values: Any) -> DateColumn:
    (column,) = fit(values).date_columns
    return column


def day(seconds: float) -> str:
    return str(pd.Timestamp(seconds, unit="s"))


def test_layout() -> None:
    frame = pd.DataFrame({"d": pd.to_datetime(["1970-01-01", "1970-03-02", None])})
    frame["x"] = [1.5, None, 2.5]
    frame["c"] = ["p", "q", "p"]
    encoder = TableEncoder.fit(frame)
    assert encoder.date_columns[0].cycles == ("month", "weekday")
    assert (encoder.numbers, encoder.width) == (1 + 5 + 2, 9)
    inputs = encoder.transform(frame)
    np.testing.assert_allclose(inputs[:, 0], [-1, 0, 1])
    np.testing.assert_allclose(inputs[:, 1], [-1, 1, 0])
    angle = 2 * np.pi * 2 / 12
    np.testing.assert_allclose(inputs[:, 2], [0, np.sin(angle), 0], atol=1e-6)
    np.testing.assert_allclose(inputs[:, 3], [1, np.cos(angle), 0], atol=1e-6)
    thursday, monday = 2 * np.pi * 3 / 7, 0.0
    np.testing.assert_allclose(inputs[:, 4], [np.sin(thursday), np.sin(monday), 0], atol=1e-6)
    assert inputs[:, 6].tolist() == [0, 1, 0]
    assert inputs[:, 7].tolist() == [0, 0, 1]
    assert inputs[:, 8].tolist() == [1, 2, 1]
    again = TableEncoder.from_json(json.loads(json.dumps(encoder.to_json())))
    assert again == encoder
    assert again.transform(frame).tobytes() == inputs.tobytes()


@pytest.mark.parametrize(
    ("values", "first", "last"),
    [
        (["2024-01-05", "2024-02-06", None], "2024-01-05 00:00:00", "2024-02-06 00:00:00"),
        (["2024-01-05 10:00", "2024-02-06"], "2024-01-05 10:00:00", "2024-02-06 00:00:00"),
        (["2024-01-05T10:00:01.5", "2024-02-06"], "2024-01-05 10:00:01.500000", None),
        (["2024-01-05T01:00:00+02:00", "2024-02-06T00:00Z"], "2024-01-04 23:00:00", None),
        (["2024-01", "2024-03"], "2024-01-01 00:00:00", "2024-03-01 00:00:00"),
        (["2024/1/5", "2024/02/06"], "2024-01-05 00:00:00", "2024-02-06 00:00:00"),
        (["13/01/2024", "02/03/2024"], "2024-01-13 00:00:00", "2024-03-02 00:00:00"),
        (["1/13/2024", "2/3/2024"], "2024-01-13 00:00:00", "2024-02-03 00:00:00"),
        (["13-01-2024", "02-03-2024"], "2024-01-13 00:00:00", "2024-03-02 00:00:00"),
        (["01.02.2024", "02.03.2024"], "2024-02-01 00:00:00", "2024-03-02 00:00:00"),
        (["13/01/2024 17:05", "02/03/2024 00:00"], "2024-01-13 17:05:00", None),
        (["1/13/2024 5:05:10 PM", "2/3/2024 1:00:00 AM"], "2024-01-13 17:05:10", None),
        (["13 Jan 2024", "2 Mar 2024"], "2024-01-13 00:00:00", "2024-03-02 00:00:00"),
    ],
)
def test_text(values: list[str | None], first: str, last: str | None) -> None:
    column = date(values)
    assert day(column.low) == first
    assert last is None or day(column.high) == last


@pytest.mark.parametrize(
    "values",
    [
        ["01/02/2024", "03/04/2024"],
        ["01/02/24", "13/04/24"],
        ["13/01/2024", "01/13/2024"],
        ["2024-01-05", "soon"],
        ["2024-13-05", "2024-01-05"],
        ["2024-01-05", "13/01/2024"],
        ["10:30", "11:30"],
        ["1-2", "3-4"],
    ],
)
def test_text_that_may_be_something_else(values: list[str]) -> None:
    encoder = fit(values)
    assert encoder.date_columns == ()
    assert len(encoder.category_columns) == 1


def test_dates_lost_for_their_form_are_told() -> None:
    values = [f"{d:02d}/{m:02d}/2024" for d in range(1, 12) for m in range(1, 12)]
    frame = pd.DataFrame({"d": values, "x": np.arange(121) / 7})
    (note,) = TableEncoder.fit(frame).warnings
    assert "day and month of its dates cannot be told apart, write them like 2024-03-31" in note


@pytest.mark.parametrize(
    "values",
    [
        pd.date_range("2024-01-01", periods=4),
        pd.date_range("2024-01-01", periods=4, tz="Europe/Berlin"),
        pd.date_range("2024-01-01", periods=4, tz="UTC").astype(object),
        pd.date_range("2024-01-01", periods=4).astype("category"),
        pd.period_range("2024-01-01", periods=4, freq="D"),
        pd.period_range("2024-01-01", periods=4, freq="D").astype(object),
        [datetime.date(2024, 1, k) for k in (1, 2, 3, 4)],
        [datetime.datetime(2024, 1, k) for k in (1, 2, 3, 4)],
        pd.Series(pd.date_range("2024-01-01", periods=4)).astype("timestamp[us][pyarrow]"),
        pd.Series([datetime.date(2024, 1, k) for k in (1, 2, 3, 4)]).astype("date32[day][pyarrow]"),
    ],
)
def test_frames(values: Any) -> None:
    column = date(values)
    assert (day(column.low)[:10], day(column.high)[:10]) == ("2024-01-01", "2024-01-04")
    assert column.cycles == ("weekday",)
    assert fit(values).transform(pd.DataFrame({"d": values}))[:, 0] == pytest.approx(
        [-1.3416, -0.4472, 0.4472, 1.3416], abs=1e-3
    )


def test_the_hour_is_that_of_the_wall() -> None:
    times = pd.date_range("2024-06-01 06:00", periods=4, freq="6h", tz="America/New_York")
    encoder = fit(times)
    hours = encoder.date_columns[0].cycles.index("hour")
    assert encoder.date_columns[0].zone == "America/New_York"
    for same in (times, times.tz_convert("UTC"), times.tz_localize(None), times.astype(object)):
        inputs = encoder.transform(pd.DataFrame({"d": same}))
        assert inputs[:, 1 + 2 * hours] == pytest.approx([1, 0, -1, 0], abs=1e-6)


def test_durations_are_numbers() -> None:
    for values in (
        pd.to_timedelta([1, 2, 3, 8], unit="s"),
        list(pd.to_timedelta([1, 2, 3, 8], "s")),
    ):
        assert fit(values).number_columns[0].mean == 3.5


def test_the_form_is_kept_for_new_files(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("d,x\n13/01/2024,1\n02/03/2024,2\n03/03/2024,5\n")
    (tmp_path / "new.csv").write_text("d,x\n02/03/2024,2\n")
    (tmp_path / "bad.csv").write_text("d,x\n2024-03-02,2\n")
    encoder = TableEncoder.fit(train := read_table(tmp_path / "train.csv"))
    new = encoder.transform(read_table(tmp_path / "new.csv"))
    np.testing.assert_array_equal(new, encoder.transform(train)[1:2])
    words = "column 'd' holds '2024-03-02' where a date like 31/03/2024 is needed"
    with pytest.raises(DataError, match=words):
        encoder.transform(read_table(tmp_path / "bad.csv"))


def test_files_and_frames_agree(tmp_path: Path) -> None:
    frame = pd.DataFrame({"d": pd.date_range("2024-01-01 05:00", periods=9, freq="31h")})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    text, binary = read_table(tmp_path / "t.csv"), read_table(tmp_path / "t.parquet")
    expected = TableEncoder.fit(frame).transform(frame)
    for train in (text, binary):
        for new in (text, binary, frame):
            np.testing.assert_array_equal(TableEncoder.fit(train).transform(new), expected)


def test_left_out() -> None:
    for values, reason in (
        (["2024-01-05"] * 4, "constant, 2024-01-05 in every row"),
        (pd.to_datetime([None] * 4), "all values are missing"),
    ):
        encoder = TableEncoder.fit(pd.DataFrame({"d": values, "x": OTHER}))
        assert [column.reason for column in encoder.dropped] == [reason]


def test_one_date_besides_missing_ones() -> None:
    frame = pd.DataFrame({"d": ["2024-01-05", None, "2024-01-05"]})
    assert TableEncoder.fit(frame).transform(frame).tolist() == [[0, 0], [0, 1], [0, 0]]


def test_no_rows() -> None:
    encoder = fit(["2024-01-05", "2024-02-05"])
    assert encoder.transform(pd.DataFrame({"d": []})).shape == (0, encoder.width)
