from __future__ import annotations

import csv
import gzip
import io
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.files.table import MISSING, read_table
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


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le-bom"]
)
def test_encodings(tmp_path: Path, encoding: str) -> None:
    text = "größe,b\nzu groß,1\nklein,2\n"
    content = b"\xff\xfe" + text.encode("utf-16-le") if "bom" in encoding else text.encode(encoding)
    frame = read_table(write(tmp_path / "t.csv", content))
    assert list(frame.columns) == ["größe", "b"]
    assert frame["größe"].tolist() == ["zu groß", "klein"]


def test_windows_characters(tmp_path: Path) -> None:
    frame = read_table(write(tmp_path / "t.csv", "preis;b\n5 €;1\n„6“;2\n".encode("cp1252")))
    assert frame["preis"].tolist() == ["5 €", "„6“"]


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
    assert list(frame.columns) == ["a", "a.1", "a.2"]
    assert frame["a.1"].tolist() == [2, 5]
    frame = read_table(write(tmp_path / "t.csv", "a,a,a.1\n1,2,3\n4,5,6\n"))
    assert list(frame.columns) == list(pd.read_csv(tmp_path / "t.csv").columns)


def test_columns_without_names(tmp_path: Path) -> None:
    frame = read_table(write(tmp_path / "t.csv", ",a,\n0,2,3\n1,5,6\n"))
    assert list(frame.columns) == list(pd.read_csv(tmp_path / "t.csv").columns)
    assert list(frame.columns) == ["Unnamed: 0", "a", "Unnamed: 2"]


def test_blank_lines(tmp_path: Path) -> None:
    frame = read_table(write(tmp_path / "t.csv", "\n  \na,b\n\n1,2\n   \n3,4\n\n"))
    assert frame.to_dict("list") == {"a": [1, 3], "b": [2, 4]}


def test_booleans(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "t,u,y,z\ntrue,TRUE,yes,1\nfalse,,no,0\nTrue,FALSE,yes,1\n")
    encoder = TableEncoder.fit(read_table(path))
    kinds = {row.column: row.taken_as for row in encoder.describe()}
    assert kinds == {"t": "category", "u": "category", "y": "category", "z": "number"}
    assert [column.categories for column in encoder.category_columns] == [
        ("False", "True"),
        ("False", "True"),
        ("no", "yes"),
    ]
    other = write(tmp_path / "n.csv", "t,u,y,z\n1,1,yes,true\n0,,no,false\n1,0,yes,True\n")
    again = encoder.transform(read_table(other))
    np.testing.assert_array_equal(again, encoder.transform(read_table(path)))


names = st.text(alphabet="ab ;,|\t\"'\nß", min_size=1, max_size=5).map(lambda text: f"n{text}n")
texts = st.text(alphabet="xy ;,|\t\"'\nß€", max_size=6).map(lambda text: f"v{text}v")


def is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def splits_as_well(text: str, separator: str, columns: int) -> bool:
    """Whether this separator explains the text, too: every row like the header, as many fields."""
    widths = [len(row) for row in csv.reader(io.StringIO(text), delimiter=separator) if row]
    return widths[0] >= columns and set(widths[1:]) <= {widths[0], widths[0] + 1}


@settings(max_examples=60)
@given(
    st.data(),
    st.lists(names, min_size=2, max_size=4, unique=True),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_round_trip(
    data: st.DataObject, header: list[str], separator: str, encoding: str, end: str, quoted: bool
) -> None:
    rows = data.draw(st.lists(st.tuples(*(texts for _ in header)), min_size=3, max_size=6))
    frame = pd.DataFrame(rows, columns=header)
    text = frame.to_csv(
        sep=separator, index=False, lineterminator=end, quoting=1 if quoted else csv.QUOTE_MINIMAL
    )
    content = text.encode(encoding)
    # The bytes of "ß€" in cp1252 are those of another letter in UTF-8: nobody can tell which.
    assume(encoding != "cp1252" or text.isascii() or not is_utf8(content))
    # Nor which of two separators was meant where both stand in every row.
    others = {",", ";", "\t", "|"} - {separator}
    assume(not any(splits_as_well(text, other, len(header)) for other in others))
    with tempfile.TemporaryDirectory() as folder:
        found = read_table(write(Path(folder) / "t.csv", content))
    pd.testing.assert_frame_equal(found, frame, check_dtype=False)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.csv", b"", "empty.csv is empty"),
        ("blank.csv", b"\n \n", "blank.csv is empty"),
        ("header.csv", b"a,b,c\n", "header.csv has a header but no rows"),
        ("packed.csv.gz", b"a,b\n1,2\n", "packed.csv.gz is not a whole gzip file"),
        (
            "cut.csv.gz",
            gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-12],  # a time would be in the test's name
            "cut.csv.gz is not a whole gzip",
        ),
        ("image.csv", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "image.csv is binary"),
        ("half.csv", b"\xff\xfea", "half.csv is damaged UTF-16"),
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


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no file .*sales.csv; check the path"):
        read_table(tmp_path / "sales.csv")
    with pytest.raises(DataError, match="is a folder"):
        read_table(tmp_path)
