"""Parquet files read a row group at a time: the same rows, the same columns, the same numbers."""

from __future__ import annotations

import io
import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from meritnas.data import hashed_split, stream
from meritnas.data.bundle import Bundle, Outline, Part
from meritnas.data.files import parquet_table
from meritnas.data.files.parquet_table import open_parquet, to_stream
from meritnas.data.files.table import read_table
from meritnas.data.rows import seconds_a_row
from meritnas.data.stream import WINDOW, BatchStream
from meritnas.data.tables.bundle import encode_table
from meritnas.data.tables.reading import TableReading
from meritnas.data.tables.row_places import row_places
from meritnas.data.tables.source import load_source
from meritnas.data.tables.streamed import (
    StreamedTable,
    encode_streamed,
    few_rows,
    outline_streamed,
)
from meritnas.errors import DataError, UsageError

ROWS = 1500


def sales(rows: int = ROWS) -> pd.DataFrame:
    """Of all kinds of columns; y is 1 where a is large."""
    rng = np.random.default_rng(0)
    missing = rng.random(rows) < 0.1
    a = rng.normal(size=rows)
    return pd.DataFrame(
        {
            " a ": np.where(missing, np.nan, a),
            "n": rng.integers(0, 40, rows),
            "k": pd.Series(rng.choice(["x", " y", "?", "10", "2.0"], rows)),
            "many": [f"v{v}" for v in np.minimum(rng.zipf(1.3, rows), 9999)],
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, rows), "D"),
            "code": [f"{v:02d}" for v in rng.integers(0, 30, rows)],
            "y": (a + 0.3 * rng.normal(size=rows) > 0).astype(int),
        }
    )


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    path = tmp_path / "sales.parquet"
    sales().to_parquet(path, row_group_size=230)
    return path


def folder_of(path: Path, sizes: tuple[int, ...] = (700, 500, 300)) -> Path:
    """The same rows in several files, by name in their order."""
    folder = path.parent / "sales"
    folder.mkdir()
    ends = np.cumsum((0, *sizes))
    for place, (start, end) in enumerate(itertools.pairwise(ends)):
        sales()[start:end].to_parquet(folder / f"part-{place}.parquet", row_group_size=230)
    (folder / "_SUCCESS").write_text("")
    (folder / ".hidden.parquet").write_text("no table")
    return folder


def both(path: Path, scaling: Any = "standard", **asked: Any) -> tuple[Bundle[Any], Bundle[Any]]:
    """A table streamed, and the same rows in memory."""
    source = StreamedTable.of(open_parquet(path), "y")
    outline = outline_streamed(source, 0, TableReading(**asked))
    whole = load_source(path, "y")
    weights = None
    if outline.class_weights is not None:
        weights = outline.class_weights[whole.frame["y"].to_numpy()]
    same = Outline(outline.task, outline.split, weights)
    return encode_streamed(source, outline, scaling), encode_table(whole, same, scaling)


def every(bundle: Bundle[Any]) -> Part:
    return bundle.train.window(range(len(bundle.train.groups)))


def test_groups_are_the_rows_of_the_whole(parquet: Path) -> None:
    table, whole = open_parquet(parquet), read_table(parquet)
    assert table.columns == tuple(whole.columns)
    assert [group.rows for group in table.groups] == [230] * 6 + [120]
    parts = [table.read(place) for place in range(7)]
    found = pd.concat(parts, ignore_index=True)
    assert found["a"].equals(whole["a"])
    assert found["day"].equals(whole["day"])
    assert found["k"].isna().equals(whole["k"].isna())
    assert table.read(2, {"y", "a"}).columns.tolist() == ["a", "y"]


def test_a_folder_of_files_is_one_table(parquet: Path) -> None:
    folder = folder_of(parquet)
    table = open_parquet(folder)
    assert [path.name for path in table.files] == [f"part-{i}.parquet" for i in range(3)]
    assert table.rows == ROWS
    assert table.groups[-1].first + table.groups[-1].rows == ROWS
    pd.testing.assert_frame_equal(read_table(folder), read_table(parquet))


def test_files_that_do_not_belong_together_are_refused(parquet: Path) -> None:
    folder = folder_of(parquet)
    sales()[:50].drop(columns="n").to_parquet(folder / "part-3.parquet")
    with pytest.raises(DataError, match=r"part-3\.parquet and .*part-0.*columns differ: n;"):
        open_parquet(folder)
    sales()[:50].assign(n="text").to_parquet(folder / "part-3.parquet")
    with pytest.raises(DataError, match="columns differ: n;"):
        open_parquet(folder)
    (folder / "part-3.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"part-3\.parquet is not a readable parquet file"):
        open_parquet(folder)


def test_columns_that_are_missing_in_a_whole_file_fit(parquet: Path) -> None:
    folder = folder_of(parquet)
    sales()[:50].assign(k=None).to_parquet(folder / "part-3.parquet")
    assert open_parquet(folder).rows == ROWS + 50


def test_what_is_streamed(parquet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert to_stream(str(parquet), None) is None
    assert to_stream(str(parquet), True) is not None
    assert to_stream(str(parquet), False) is None
    assert to_stream("wine", None) is None
    assert to_stream(sales(), None) is None
    monkeypatch.setattr(parquet_table, "machine_memory", lambda: 100_000)
    assert to_stream(str(parquet), None) is not None
    assert to_stream(str(parquet), False) is None
    for other in ("wine", sales(), str(parquet.parent / "t.csv")):
        with pytest.raises(DataError, match="only Parquet files, or a folder of them, are"):
            to_stream(other, True)


def test_a_small_file_that_claims_much_is_not_streamed_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": np.zeros(3_000_000), "y": 0}).to_parquet(path)
    monkeypatch.setattr(parquet_table, "machine_memory", lambda: 1_000_000)
    assert to_stream(str(path), None) is None


@pytest.mark.parametrize("scaling", ["standard", "quantile"])
def test_streamed_rows_are_encoded_as_those_in_memory(parquet: Path, scaling: str) -> None:
    """Numbers up to rounding of a mean that is made of those of pieces."""
    streamed, whole = both(parquet, scaling)
    assert streamed.encoder.describe() == whole.encoder.describe()
    assert streamed.encoder.category_columns == whole.encoder.category_columns
    parts = [(every(streamed), every(whole)), (streamed.valid, whole.valid)]
    parts += [(streamed.test, whole.test), (streamed.train.sample, whole.train.sample)]
    for found, expected in parts:
        assert torch.equal(found.target, expected.target)
        assert torch.allclose(found.inputs, expected.inputs, rtol=1e-6, atol=1e-6)
    assert len(streamed.train) == len(whole.train)


def test_classes_that_count_alike(parquet: Path) -> None:
    streamed, whole = both(parquet, class_weight="balanced")
    assert whole.train.sample.weights is not None
    pairs = [(every(streamed), every(whole)), (streamed.valid, whole.valid)]
    for found, expected in pairs:
        assert found.weights is not None
        assert torch.allclose(found.weights, expected.weights)


@pytest.mark.parametrize("kind", [None, "regression"])
def test_the_task_is_that_of_the_whole_target(tmp_path: Path, kind: str | None) -> None:
    path = tmp_path / "t.parquet"
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=400), "n": rng.integers(0, 9, 400)})
    frame["word"] = np.array(["no", "yes", "perhaps"])[frame["n"] % 3]
    frame.to_parquet(path, row_group_size=90)
    for target in ("a", "n", "word")[: 3 if kind is None else 2]:
        source = StreamedTable.of(open_parquet(path), target)
        found = outline_streamed(source, 0, TableReading(task=kind))
        whole = load_source(path, target)
        expected = type(found.task).find(whole.frame[target], found.split.train, kind)
        assert (found.task.kind, found.task.classes) == (expected.kind, expected.classes)
        assert found.task.mean == pytest.approx(expected.mean)
        assert found.task.scale == pytest.approx(expected.scale)
        guessed = (target, kind) == ("n", None)
        assert len(found.notes) == guessed
        assert not guessed or "the target 'n' has 9 distinct whole numbers" in found.notes[0]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"y": np.where(np.arange(ROWS) == 700, np.nan, 1.0)}, "is missing in 1 of 1500 rows of"),
        ({"y": 1}, "has the one class 1 in all rows"),
        ({"y": [f"{i}" for i in range(ROWS)]}, "looks like an identifier"),
        ({"y": np.where(np.arange(ROWS) == 7, 1e30, np.arange(ROWS) / 2)}, "holds 1e[+]30 in 1 r"),
        ({" a ": np.inf}, "column 'a' holds infinite values"),
    ],
)
def test_what_cannot_be_learned_is_refused(tmp_path: Path, change: Any, says: str) -> None:
    path = tmp_path / "t.parquet"
    sales().assign(**change).to_parquet(path, row_group_size=200)
    source = StreamedTable.of(open_parquet(path), "y")
    with pytest.raises(DataError, match=says):
        encode_streamed(source, outline_streamed(source, 0))


def test_a_target_that_is_not_there(parquet: Path) -> None:
    with pytest.raises(DataError, match=r"no column 'z' in sales\.parquet"):
        StreamedTable.of(open_parquet(parquet), "z")
    with pytest.raises(DataError, match="name the target column with --target"):
        StreamedTable.of(open_parquet(parquet), None)


@pytest.mark.parametrize(
    ("reading", "says"),
    [
        (TableReading(split="time=day"), "is split at random or by group, and split is time=day"),
        (TableReading(drop_missing_target=True), "rows without a target cannot be left out"),
    ],
)
def test_what_takes_all_rows_at_once_is_refused(
    parquet: Path, reading: TableReading, says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        StreamedTable.of(open_parquet(parquet), "y", reading)


def test_rows_of_a_group_stay_together(parquet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where groups are spread over row groups; rows without one are trained on."""
    monkeypatch.setattr(hashed_split, "SAMPLED_ROWS", 200)
    reading = TableReading(split="group=many", scaling="standard")
    source = StreamedTable.of(open_parquet(parquet), "y", reading)
    outline = outline_streamed(source, 0, reading)
    assert "rows of the same 'many' are in the same part; it is no input itself" in outline.notes
    bundle = encode_streamed(source, outline)
    assert "many" not in bundle.encoder.columns
    frame = read_table(parquet)
    places = np.concatenate([row_places(source.table, place, outline.split) for place in range(7)])
    parts = [outline.split.is_train, outline.split.is_valid, outline.split.is_test]
    groups = [set(frame["many"][part(places)]) for part in parts]
    assert all(groups)
    assert not any(one & other for one, other in itertools.combinations(groups, 2))
    counts = [int(part(places).sum()) for part in parts]
    assert counts == [len(bundle.train), len(bundle.valid), len(bundle.test)]
    sampled = outline.split.is_sampled(places)
    assert 120 < sampled.sum() < 280
    assert len(set(frame["many"][sampled])) > 5  # rows of many groups, not some groups whole
    other = outline_streamed(source, 1, reading).split
    assert not np.array_equal(
        other.is_test(row_places(source.table, 0, other)), parts[2](places[:230])
    )
    frame.assign(many=frame["many"].mask(frame["n"] < 20)).to_parquet(parquet, row_group_size=230)
    table = open_parquet(parquet)
    trained = outline.split.is_train(row_places(table, 0, outline.split))
    assert trained[(frame["n"] < 20)[:230]].all()
    assert not trained.all()


def test_groups_that_are_too_few_are_refused(parquet: Path) -> None:
    sales().assign(many="all").to_parquet(parquet, row_group_size=230)
    reading = TableReading(split="group=many")
    source = StreamedTable.of(open_parquet(parquet), "y", reading)
    with pytest.raises(DataError, match="give more and smaller groups of 'many'"):
        encode_streamed(source, outline_streamed(source, 0, reading))


def test_what_a_user_says_about_columns(parquet: Path) -> None:
    reading = TableReading(drop=("many",), categorical=("n",), metric="roc_auc")
    source = StreamedTable.of(open_parquet(parquet), "y", reading)
    outline = outline_streamed(source, 0, reading)
    found = encode_streamed(source, outline).encoder
    whole = load_source(parquet, "y")
    expected = encode_table(whole, outline, reading=reading).encoder
    assert found.describe() == expected.describe()
    assert found.dropped == expected.dropped
    task = outline.task
    labels = whole.frame["y"].to_numpy()
    assert task == replace(task, metric=None).judged_by("roc_auc", labels)


def test_a_file_that_changes_is_noticed(parquet: Path) -> None:
    table = open_parquet(parquet)
    before = table.fingerprint()
    sales(ROWS - 1).to_parquet(parquet, row_group_size=230)
    assert open_parquet(parquet).fingerprint() != before
    with pytest.raises(DataError, match=r"sales\.parquet has changed since it was opened"):
        table.read(6)


def test_few_rows_are_a_table_in_memory(parquet: Path) -> None:
    source = StreamedTable.of(open_parquet(parquet), "y")
    outline = outline_streamed(source, 0)
    few, part = few_rows(source, outline, 100, np.random.default_rng(0))
    bundle = encode_table(few, part)
    assert [len(bundle.train), len(bundle.valid), len(bundle.test)] == [100, 100, 0]


def drawn(source: BatchStream, steps: int) -> list[list[float]]:
    return [source.next().inputs.sum(dim=1).tolist() for _ in range(steps)]


def test_in_one_window_batches_are_those_of_the_same_rows_in_memory(parquet: Path) -> None:
    streamed, _ = both(parquet)
    assert len(streamed.train) < WINDOW
    whole = every(streamed)
    steps = 3 * (len(whole) // 32)
    assert drawn(BatchStream(streamed.train, 32, 5), steps) == drawn(
        BatchStream(whole, 32, 5), steps
    )


@pytest.mark.parametrize("window", [1, 300, 700])
def test_an_epoch_has_every_row_once_whatever_the_window(
    parquet: Path, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "WINDOW", window)
    streamed, _ = both(parquet)
    rows = every(streamed).inputs.sum(dim=1).tolist()
    source = BatchStream(streamed.train, 32, 5)
    steps = source.steps_per_epoch
    first, second = ([row for batch in drawn(source, steps) for row in batch] for _ in range(2))
    assert first != second
    for epoch in (first, second):
        assert len(epoch) == 32 * steps == len(rows) - len(rows) % 32
        left = sorted(rows)
        for row in epoch:
            left.remove(row)
    assert len(left) == len(rows) % 32


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=8),
    st.integers(1, 12),
    st.integers(1, 15),
    st.integers(0, 40),
)
def test_a_resumed_stream_of_groups_goes_on_as_if_nothing_had_happened(
    sizes: list[int], batch: int, window: int, steps: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "WINDOW", window)
        stopped = BatchStream(Groups(sizes), batch, 1)
        drawn(stopped, steps)
        saved = io.BytesIO()
        torch.save(stopped.state_dict(), saved)
        expected = drawn(stopped, 25)
        saved.seek(0)
        rows = Groups(sizes)
        resumed = BatchStream(rows, batch, 2)
        resumed.load_state_dict(torch.load(saved, weights_only=True))
        assert rows.read == []  # what has been seen is not read again
        assert drawn(resumed, 25) == expected


class Groups:
    """Rows in groups that are made when they are asked for, and which these were."""

    def __init__(self, sizes: list[int]) -> None:
        self.groups = sizes
        self.read: list[int] = []
        self.columns = None
        numbers = torch.arange(sum(sizes), dtype=torch.float32)
        self._all = Part(torch.stack((numbers, numbers), dim=1), numbers)

    def __len__(self) -> int:
        return len(self._all)

    @property
    def sample(self) -> Part:
        return self._all

    def window(self, groups: list[int]) -> Part:
        self.read += groups
        starts = np.cumsum([0, *self.groups])
        rows = [torch.arange(starts[g], starts[g] + self.groups[g]) for g in groups]
        return self._all.rows(torch.cat(rows))


def test_shares_of_rows(parquet: Path) -> None:
    streamed, whole = both(parquet)
    some = streamed.train.share(0.1)
    assert len(some) == len(whole.train.share(0.1))
    assert len(streamed.train.share(1.0)) == len(streamed.train)
    assert seconds_a_row(streamed.train) > 0
