from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meritnas.data.bundled import BUNDLED
from meritnas.data.files.loaded import fingerprint, load_table
from meritnas.data.tables.source import load_source
from meritnas.errors import DataError


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame({"age": [1, 2, 3], "churn": ["y", "n", "y"]})


def test_file(tmp_path: Path, frame: pd.DataFrame) -> None:
    path = tmp_path / "sales.2024.csv.gz"
    frame.to_csv(path, index=False)
    source = load_source(str(path), "churn")
    assert source.name == "sales.2024"
    assert source.target == "churn"
    assert source.location == str(path.resolve())
    assert source.frame["age"].tolist() == [1, 2, 3]


def test_relative_path_has_an_absolute_location(
    tmp_path: Path, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame.to_csv(tmp_path / "sales.csv", index=False)
    monkeypatch.chdir(tmp_path)
    assert load_source("sales.csv", "churn").location == str((tmp_path / "sales.csv").resolve())


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_has_its_own_target(name: str) -> None:
    source = load_source(name, None)
    assert (source.name, source.location, source.target) == (name, name, "target")


def test_bundled_with_another_target() -> None:
    assert load_source("wine", "alcohol").target == "alcohol"


def test_bundled_name_wins_over_a_file_unless_written_as_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "digits").write_text("a,b\n1,2\n")
    (tmp_path / "digits.csv").write_text("a,b\n1,2\n")
    monkeypatch.chdir(tmp_path)
    assert load_source("digits", None).location == "digits"
    assert load_source("digits.csv", "b").frame.shape == (1, 2)
    with pytest.raises(DataError, match="ending"):
        load_source("./digits", "b")


def test_frame_is_copied_and_gets_plain_rows_and_names() -> None:
    given = pd.DataFrame({0: [1, 2], 1: [3, 4]}, index=[7, 7])
    source = load_source(given, "1")
    given.iloc[0, 0] = 99
    assert (source.name, source.location) == ("frame", None)
    assert list(source.frame.columns) == ["0", "1"]
    assert source.frame.index.tolist() == [0, 1]
    assert source.frame["0"].tolist() == [1, 2]


def test_fingerprint_tells_names_values_and_orders_apart(frame: pd.DataFrame) -> None:
    same = load_source(frame.copy(), "churn").fingerprint
    assert load_source(frame, "churn").fingerprint == same
    assert len(same) == 64
    others = [
        frame.rename(columns={"age": "years"}),
        frame.assign(age=[1, 2, 4]),
        frame.assign(churn=["y", "n", "n"]),
        frame.iloc[::-1],
        frame[["churn", "age"]],
    ]
    prints = {load_source(other, "churn").fingerprint for other in others}
    assert same not in prints
    assert len(prints) == len(others)


def test_fingerprint_of_nested_values() -> None:
    a = pd.DataFrame({"a": [[1], [2]], "y": [0, 1]})
    b = pd.DataFrame({"a": [[1], [3]], "y": [0, 1]})
    assert load_source(a, "y").fingerprint != load_source(b, "y").fingerprint


def test_no_target(frame: pd.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"with --target; columns: age, churn$"):
        load_source(frame, None)
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match="with --target"):
        load_source(tmp_path / "t.csv", None)


def test_long_lists_of_columns_are_cut() -> None:
    wide = pd.DataFrame(np.zeros((2, 30)), columns=[f"c{i}" for i in range(30)])
    with pytest.raises(DataError, match=r"c19, \.\.\. and 10 more"):
        load_source(wide, None)


def test_misspelt_target(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.to_csv(tmp_path / "sales.csv", index=False)
    with pytest.raises(
        DataError,
        match=r"no column 'churm' in sales.csv; did you mean 'churn'\? columns: age, churn",
    ):
        load_source(tmp_path / "sales.csv", "churm")


def test_unknown_data() -> None:
    with pytest.raises(DataError, match=r"no file digts .*did you mean 'digits'\?.*breast_cancer"):
        load_source("digts", None)


def test_missing_targets_are_counted() -> None:
    gaps = pd.DataFrame({"a": [1, 2, 3], "y": [1.0, None, None]})
    with pytest.raises(DataError, match=r"'y' is missing in 2 of 3 rows .*drop these rows"):
        load_source(gaps, "y")


def test_zero_rows(frame: pd.DataFrame) -> None:
    with pytest.raises(DataError, match="zero rows"):
        load_source(frame.iloc[:0], "churn")


def test_names_that_occur_twice() -> None:
    frame = pd.DataFrame([[1, 2, 3]], columns=["a", "a", "y"])
    assert list(load_source(frame, "y").frame.columns) == ["a", "a.1", "y"]


def test_bad_rows_may_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,y\n1,2\n3,4,5\n6,7\n")
    with pytest.raises(DataError, match="line 3"):
        load_source(tmp_path / "t.csv", "y")
    source = load_source(tmp_path / "t.csv", "y", skip_bad_rows=True)
    assert source.frame["a"].tolist() == [1, 6]
    assert source.notes == ("1 rows with too many fields are left out",)


def test_a_table_without_a_target() -> None:
    loaded = load_table("wine")
    assert (loaded.own_target, loaded.target(None), loaded.target("ash")) == (
        *("target", "target"),
        "ash",
    )
    assert load_table(pd.DataFrame({"a": [1]})).target(None) is None


@settings(max_examples=20)
@given(
    st.lists(st.one_of(st.none(), st.floats(allow_nan=False, width=32)), min_size=1, max_size=9),
    st.sampled_from(["float64", "Float64", "float32"]),
)
def test_fingerprint_is_that_of_pandas(values: list[float | None], kind: str) -> None:
    frame = pd.DataFrame({"a": pd.array(values, dtype=kind)})  # type: ignore[call-overload]
    hashes = pd.util.hash_pandas_object(frame["a"], index=False).to_numpy()
    expected = hashlib.sha256(b'["a"]' + hashes.tobytes()).hexdigest()
    assert fingerprint(frame) == expected
