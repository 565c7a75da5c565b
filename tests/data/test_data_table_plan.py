from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meritnas.data.split import split_by_group, split_by_time
from meritnas.data.tables.bundle import encode_table, outline_table
from meritnas.data.tables.kind import TABLES
from meritnas.data.tables.plan import plan_table
from meritnas.data.tables.reading import TableReading
from meritnas.data.tables.source import Source, load_source
from meritnas.errors import DataError, UsageError


def table(n: int = 120, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    days = pd.date_range("2024-01-01", periods=n).strftime("%Y-%m-%d")
    frame = pd.DataFrame({"day": rng.permutation(days), "shop": rng.integers(0, 12, n)})
    frame["a"], frame["b"] = rng.normal(size=n), rng.choice(list("pqr"), n)
    frame["y"] = np.where(frame["a"] + rng.normal(size=n) > 0, "yes", "no")
    return frame


def remarks(frame: pd.DataFrame, target: str = "y", **reading: Any) -> tuple[str, ...]:
    how = TableReading(**reading)
    source = load_source(frame, target)
    outline = outline_table(source, 0, how)
    encoder = encode_table(source, outline, reading=how).encoder
    return TABLES.remarks(source, outline, encoder, how)


@given(
    st.lists(st.integers(0, 9), min_size=12, max_size=60).filter(lambda t: len(set(t)) > 2),
    st.integers(0, 5),
)
def test_the_latest_rows_are_for_testing(times: list[int], unknown: int) -> None:
    every = np.array([*times, *[np.nan] * unknown])
    split = split_by_time(every)
    whole = np.sort(np.concatenate([split.train, split.valid, split.test]))
    assert whole.tolist() == list(range(len(every)))
    assert len(split.valid) > 0
    assert len(split.test) > 0
    known = split.train[~np.isnan(every[split.train])]
    assert every[known].max() < every[split.valid].min()
    assert every[split.valid].max() < every[split.test].min()


def test_time_takes_the_wanted_shares() -> None:
    split = split_by_time(np.arange(100.0)[::-1])
    assert split.test.tolist() == list(range(20))
    assert split.valid.tolist() == list(range(20, 40))
    with pytest.raises(DataError, match="2 different times are too few"):
        split_by_time(np.array([1.0, 2.0] * 10))


@settings(max_examples=40)
@given(st.lists(st.integers(0, 9), min_size=12, max_size=60).filter(lambda g: len(set(g)) > 2))
def test_a_group_is_in_one_part(groups: list[int]) -> None:
    codes = np.array(groups)
    split = split_by_group(codes, None, seed=0)
    parts = [set(codes[part].tolist()) for part in (split.train, split.valid, split.test)]
    assert all(parts)
    assert sum(map(len, parts)) == len(set(groups))
    assert sum(map(len, (split.train, split.valid, split.test))) == len(groups)


def test_groups_have_about_the_wanted_shares_and_all_classes_to_train_on() -> None:
    rng = np.random.default_rng(0)
    groups, labels = rng.integers(0, 40, 1000), rng.integers(0, 2, 1000)
    labels[groups == 7] = 2  # a class of one group
    split = split_by_group(groups, labels, seed=3)
    sizes = [len(split.train), len(split.valid), len(split.test)]
    assert np.abs(np.array(sizes) / 1000 - [0.6, 0.2, 0.2]).max() < 0.05
    assert 2 in labels[split.train]
    again = split_by_group(groups, labels, seed=3)
    assert again.test.tolist() == split.test.tolist()
    with pytest.raises(DataError, match="2 groups are too few"):
        split_by_group(np.array([0, 1] * 10), None, 0)


def test_a_table_is_split_as_asked() -> None:
    source = load_source(table(), "y")
    by_time = plan_table(source, 0, TableReading(split="time=day"))
    days = source.frame["day"].to_numpy()
    assert days[by_time.split.train].max() < days[by_time.split.valid].min()
    assert any("split by 'day': trained on the earliest 72" in note for note in by_time.notes)
    by_group = plan_table(source, 0, TableReading(split="group=shop"))
    shops = source.frame["shop"].to_numpy()
    assert not set(shops[by_group.split.train]) & set(shops[by_group.split.test])
    reading = TableReading(split="group=shop")
    bundle = encode_table(source, outline_table(source, 0, reading), reading=reading)
    assert [column.name for column in bundle.encoder.dropped] == ["shop"]
    kept = TableReading(split="group=shop", categorical=("shop",))
    bundle = encode_table(source, outline_table(source, 0, kept), reading=kept)
    assert "shop" in [column.name for column in bundle.encoder.category_columns]


def test_a_split_without_classes_to_train_on() -> None:
    frame = table().sort_values("day", ignore_index=True)
    frame["y"] = ["new" if row >= 100 else "old" for row in range(120)]
    with pytest.raises(DataError, match="all training rows have the class 'old'"):
        plan_table(load_source(frame, "y"), 0, TableReading(split="time=day"))
    frame.loc[:20, "y"] = "oldest"
    plan = plan_table(load_source(frame, "y"), 0, TableReading(split="time=day"))
    assert any("no training row has the class 'new'" in note for note in plan.notes)


@pytest.mark.parametrize(
    ("reading", "words"),
    [
        ({"split": "time=dya"}, "no column 'dya'; did you mean 'day'?"),
        ({"split": "group=y"}, "the column 'y' is the target"),
        ({"split": "time=b"}, "cannot be split by the time 'b'"),
        ({"drop": ("nothing",)}, "no column 'nothing'"),
        ({"numeric": ("y",)}, "the column 'y' is the target"),
    ],
)
def test_columns_that_are_none(reading: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError) as error:
        plan_table(load_source(table(), "y"), 0, TableReading(**reading))
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("reading", "words"),
    [
        ({"split": "latest"}, "split must be random, time=COLUMN or group=COLUMN"),
        ({"split": "time="}, "split must be random"),
        ({"drop": ("a",), "numeric": ("a",)}, "'a' is named in drop and in numeric"),
        ({"drop": 3}, "drop must be a list of texts"),
    ],
)
def test_readings_that_are_none(reading: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        TableReading(**reading)


def test_dates_beside_a_random_split_are_named() -> None:
    assert any(
        "column 'day' holds dates and rows are split at random" in r for r in remarks(table())
    )
    assert not remarks(table(), split="time=day")
    assert not remarks(table(), drop=("day",))


def test_identifiers_are_named() -> None:
    frame = table().drop(columns="day")
    rng = np.random.default_rng(0)
    frame["customer_id"] = rng.choice(10**6, 120, replace=False)
    frame["number"] = np.arange(120)
    frame["people"] = rng.choice(10**6, 120, replace=False)
    found = remarks(frame)
    assert ["customer_id" in found[0], "number" in found[1], len(found)] == [True, True, 2]
    assert "--drop customer_id" in found[0]
    assert not remarks(frame, drop=("customer_id", "number"))


def test_columns_may_be_called_by_numbers() -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 2))).assign(y=[1, 2] * 40)
    frame[0] = np.arange(80)
    source = Source("array", frame, "y", "", None)  # as estimators make one
    outline = outline_table(source, 0)
    encoder = encode_table(source, outline).encoder
    (found,) = TABLES.remarks(source, outline, encoder, TableReading())
    assert "column '0' has another whole number in every row" in found


def test_likely_leaks_are_named() -> None:
    frame = table(400).drop(columns="day")
    assert not remarks(frame)
    flipped = np.random.default_rng(1).random(400) < 0.01
    frame["result"] = np.where((frame["y"] == "yes") ^ flipped, "accepted", "refused")
    frame["paid"] = np.where(frame["y"] == "yes", frame["a"], np.nan)  # missing tells
    found = remarks(frame)
    assert [next(c for c in ("result", "paid") if f"'{c}' alone" in text) for text in found] == [
        "paid",
        "result",
    ]
    assert "100 % of what there is to know about 'y'" in found[0]
    frame = table(400).drop(columns=["day", "y"])
    frame["y"], frame["in_cents"] = frame["a"] * 3, frame["a"] * 300 + 5
    assert {text.split("'")[1] for text in remarks(frame)} == {"a", "in_cents"}


def test_rows_without_a_target() -> None:
    frame = table()
    frame.loc[[3, 5], "y"] = None
    with pytest.raises(DataError, match=r"in 2 of 120 rows .* --drop-missing-target"):
        load_source(frame, "y")
    source = load_source(frame, "y", drop_missing_target=True)
    assert len(source.frame) == 118
    assert source.notes == ("2 rows without a 'y' are left out",)
    with pytest.raises(DataError, match="missing in 120 of 120"):
        load_source(frame.assign(y=None), "y", drop_missing_target=True)


def test_a_target_with_a_unit() -> None:
    frame = table()
    values = np.random.default_rng(0).uniform(1, 5000, 120).round(2)
    frame["y"] = [f"${value:,.2f}" for value in values]
    source = load_source(frame, "y")
    assert source.frame["y"].tolist() == values.tolist()
    assert source.notes == ("the target 'y' is read as numbers in $",)
    assert plan_table(source, 0, TableReading()).task.kind == "regression"
    assert load_source(frame, "y", task="classification").frame["y"].tolist() == list(frame["y"])
    shares = frame.assign(y=[f"{10 * (i % 3)} %" for i in range(120)])
    assert load_source(shares, "y").frame["y"].tolist() == shares["y"].tolist()
    gaps = frame.copy()
    gaps.loc[0, "y"] = "unknown"
    with pytest.raises(DataError, match="missing in 1 of 120 rows"):
        load_source(gaps, "y")
    assert "such as 'unknown'" in load_source(gaps, "y", drop_missing_target=True).notes[0]
