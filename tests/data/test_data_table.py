from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pytest

from meritnas.data.table import MISSING, read_table
from meritnas.errors import DataError

ROWS = [["a", "b", "c"], ["1", "x y", "2.5"], ["3", "z", "4.5"]]


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".txt", ".data", ".CSV"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|", ", "])
@pytest.mark.parametrize("packed", [False, True])
def test_any_separator_under_any_ending(
    tmp_path: Path, ending: str, separator: str, packed: bool
) -> None:
    content = "\n".join(separator.join(row) for row in ROWS).encode()
    path = tmp_path / f"t{ending}{'.gz' if packed else ''}"
    frame = read_table(write(path, gzip.compress(content) if packed else content))
    assert list(frame.columns) == ["a", "b", "c"]
    assert frame["a"].tolist() == [1, 3]
    assert frame["b"].tolist() == ["x y", "z"]
    assert frame["c"].tolist() == [2.5, 4.5]


def test_runs_of_spaces(tmp_path: Path) -> None:
    path = write(tmp_path / "t.data", '  a   b  "c d"\n  1   x  2.5\n 10  "y z"  4.5  \n')
    frame = read_table(path)
    assert list(frame.columns) == ["a", "b", "c d"]
    assert frame["a"].tolist() == [1, 10]
    assert frame["b"].tolist() == ["x", "y z"]


def test_decimal_commas_and_text_with_commas_do_not_mislead(tmp_path: Path) -> None:
    frame = read_table(write(tmp_path / "t.csv", "a;b;c\n1,5;x, y, z;3\n2,5;w;4\n"))
    assert list(frame.columns) == ["a", "b", "c"]
    assert frame["b"].tolist() == ["x, y, z", "w"]


def test_quoted_separators_and_line_breaks(tmp_path: Path) -> None:
    frame = read_table(write(tmp_path / "t.csv", 'a,b\n"1,2","x\ny"\n"3,4",z\n'))
    assert frame["a"].tolist() == ["1,2", "3,4"]
    assert frame["b"].tolist() == ["x\ny", "z"]


def test_very_long_lines(tmp_path: Path) -> None:
    names = ",".join(f"{'column' * 10}_{i}" for i in range(2000))
    path = write(tmp_path / "t.csv", f"{names}\n{','.join(['1'] * 2000)}\n")
    assert read_table(path).shape == (1, 2000)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(tmp_path: Path, end: str) -> None:
    frame = read_table(write(tmp_path / "t.csv", end.join(["a,b", "1,2", "3,4"])))
    assert frame["b"].tolist() == [2, 4]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    frame = read_table(write(tmp_path / "t.csv", "größe,b\nzu groß,1\nklein,2\n".encode(encoding)))
    assert list(frame.columns) == ["größe", "b"]
    assert frame["größe"].tolist() == ["zu groß", "klein"]


@pytest.mark.parametrize("missing", [*MISSING, " ? ", " NA"])
def test_missing_values(tmp_path: Path, missing: str) -> None:
    frame = read_table(write(tmp_path / "t.csv", f"n , s\n1,x\n{missing},{missing}\n3, y \n"))
    assert list(frame.columns) == ["n", "s"]
    assert frame["n"].isna().tolist() == [False, True, False]
    assert pd.api.types.is_numeric_dtype(frame["n"])
    assert frame["s"].isna().tolist() == [False, True, False]
    assert frame["s"].tolist()[::2] == ["x", "y"]


def test_one_column(tmp_path: Path) -> None:
    assert read_table(write(tmp_path / "t.csv", "a\n1\n2\n"))["a"].tolist() == [1, 2]


def test_short_rows_end_in_missing_values(tmp_path: Path) -> None:
    frame = read_table(write(tmp_path / "t.csv", "a,b,c\n1,2\n3,4,5\n"))
    assert frame["a"].tolist() == [1, 3]
    assert frame["c"].isna().tolist() == [True, False]


def test_duplicate_names_become_unique(tmp_path: Path) -> None:
    frame = read_table(write(tmp_path / "t.csv", "a,a ,a\n1,2,3\n4,5,6\n"))
    assert frame.columns.is_unique
    assert frame.shape == (2, 3)
    assert frame["a"].tolist() == [1, 4]


@pytest.mark.parametrize("ending", [".parquet", ".pq"])
def test_parquet(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t{ending}"
    pd.DataFrame({" a": [1, 2], "b": [" x ", "?"]}).to_parquet(path)
    frame = read_table(path)
    assert list(frame.columns) == ["a", "b"]
    assert frame["b"].tolist()[0] == "x"
    assert frame["b"].isna().tolist() == [False, True]


@pytest.mark.parametrize("bad_line", [2, 3, 5])
@pytest.mark.parametrize("separator", [",", ", ", ";", "\t"])
def test_too_many_fields_name_the_line(tmp_path: Path, bad_line: int, separator: str) -> None:
    lines = [["a", "b", "c"]] + [["1", "2", "3"] for _ in range(5)]
    lines[bad_line - 1] = ["1", "2", "3", "4"]
    path = write(tmp_path / "sales.csv", "\n".join(separator.join(line) for line in lines))
    with pytest.raises(DataError, match=rf"line {bad_line} of .*sales.csv has 4 fields.*has 3"):
        read_table(path)


def test_every_row_wider_than_the_header(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 2 .*has 3 fields"):
        read_table(write(tmp_path / "t.csv", "a,b\n1,2,3\n4,5,6\n"))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.csv", b"", "empty.csv is empty"),
        ("blank.csv", b"\n \n", "blank.csv is empty"),
        ("header.csv", b"a,b,c\n", "header.csv has a header but no rows"),
        ("packed.csv.gz", b"a,b\n1,2\n", "packed.csv.gz is not a whole gzip file"),
        ("cut.csv.gz", gzip.compress(b"a,b\n1,2\n" * 99)[:-12], "cut.csv.gz is not a whole gzip"),
        ("image.csv", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "image.csv is binary"),
        ("noise.csv", bytes(range(1, 256)) * 9, "noise.csv is binary"),
        ("bad.parquet", b"PAR1 not really", "bad.parquet is not a readable parquet"),
        ("none.parquet", b"", "none.parquet is not a readable parquet"),
        ("table.xlsx", b"a,b\n1,2\n", "format of .*table.xlsx.*use one of .csv"),
        ("open.csv", b'a,b\n1,2\n"3,4\n', "open.csv is not a well-formed table.*quotes"),
    ],
)
def test_what_is_not_a_table(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_table(write(tmp_path / name, content))


def test_parquet_without_rows(tmp_path: Path) -> None:
    pd.DataFrame({"a": [], "b": []}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match="no rows"):
        read_table(tmp_path / "t.parquet")


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no file .*sales.csv; check the path"):
        read_table(tmp_path / "sales.csv")
    with pytest.raises(DataError, match="is a folder"):
        read_table(tmp_path)
