from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.files.table import read_table
from meritnas.errors import DataError


def write(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


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


def test_bad_rows_are_counted(tmp_path: Path) -> None:
    lines = ["a,b", *("1,2" for _ in range(20))]
    for number in (3, 5, 8, 9, 15, 17, 20):
        lines[number - 1] = "1,2,3"
    words = r"line 3 .*\(7 rows have too many, in lines 3, 5, 8, 9, 15, ... and 2 more\)"
    with pytest.raises(DataError, match=words):
        read_table(write(tmp_path / "t.csv", "\n".join(lines)))


def test_lines_are_those_of_an_editor(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", 'a,b\n1,"x\ny\nz"\n\n3,4,5\n')
    with pytest.raises(DataError, match="line 6 of"):
        read_table(path)


def test_bad_rows_may_be_left_out(tmp_path: Path) -> None:
    content = 'a;b\n1;"x;""y""\nz"\n3;4;5\n6;7;8;9\n10;w\n'
    frame = read_table(write(tmp_path / "t.csv", content), skip_bad_rows=True)
    assert frame.to_dict("list") == {"a": [1, 10], "b": ['x;"y"\nz', "w"]}
    assert frame.attrs["skipped_rows"] == 2
    frame = read_table(write(tmp_path / "t.csv", "a;b\n1;2\n"), skip_bad_rows=True)
    assert frame.attrs["skipped_rows"] == 0


def test_no_good_row(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 2"):
        read_table(write(tmp_path / "t.csv", "a,b\n5,2,3\n4,5,6\n"), skip_bad_rows=True)


@pytest.mark.parametrize("rows", ["1,2,\n3,4,\n", "1,2\n3,4,,,\n", "1,2, \n3,4\n"])
def test_empty_fields_at_the_end_do_no_harm(tmp_path: Path, rows: str) -> None:
    frame = read_table(write(tmp_path / "t.csv", f"a,b\n{rows}"))
    assert frame.to_dict("list") == {"a": [1, 3], "b": [2, 4]}


def test_short_and_long_rows_together(tmp_path: Path) -> None:
    frame = read_table(write(tmp_path / "t.csv", "a,b,c\n1,2,3,\n4\n5,6\n"))
    assert frame["a"].tolist() == [1, 4, 5]
    assert frame["c"].isna().tolist() == [False, True, True]


def test_an_open_quote_beside_bad_rows(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="check its quotes, one is left open"):
        read_table(write(tmp_path / "t.csv", 'a,b\n1,2,3\n"4,5\n6,7\n'))


R_FILES = {
    "spaces": '"x" "kind"\n"1" 1.5 "p q"\n"2" 2.5 "r"\n"3" 4.5 "r"\n',
    "commas": '"x","kind"\n"1",1.5,"p q"\n"2",2.5,"r"\n"3",4.5,"r"\n',
    "unquoted": "x\tkind\n1\t1.5\tp q\n2\t2.5\tr\n3\t4.5\tr\n",
    "subset": '"x","kind"\n"7",1.5,"p q"\n"12",2.5,"r"\n"31",4.5,"r"\n',
    "names": '"x","kind"\n"Mazda RX4",1.5,"p q"\n"Fiat",2.5,"r"\n"Volvo",4.5,"r"\n',
}


@pytest.mark.parametrize("kind", R_FILES)
def test_row_names_of_r(tmp_path: Path, kind: str) -> None:
    frame = read_table(write(tmp_path / "t.txt", R_FILES[kind]))
    assert frame["x"].tolist() == [1.5, 2.5, 4.5]
    assert frame["kind"].tolist() == ["p q", "r", "r"]
    encoder = TableEncoder.fit(frame)
    assert [column.name for column in encoder.dropped] == ["Unnamed: 0"]
    assert encoder.dropped[0].reason == ("row names" if kind == "names" else "row numbers")
    plain = read_table(write(tmp_path / "plain.csv", "kind,x\np q,1.5\nr,2.5\nr,4.5\n"))
    assert encoder.transform(plain).tolist() == encoder.transform(frame).tolist()


def test_row_numbers_of_pandas(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1.5, 2.5, 4.5], "kind": ["p", "q", "p"]})
    frame.to_csv(tmp_path / "with.csv")
    frame.to_csv(tmp_path / "without.csv", index=False)
    with_numbers, without = (read_table(tmp_path / f"{k}.csv") for k in ("with", "without"))
    encoder = TableEncoder.fit(with_numbers)
    assert encoder.warnings == ("column 'Unnamed: 0' is left out: row numbers",)
    assert encoder.transform(without).tolist() == encoder.transform(with_numbers).tolist()
    other = TableEncoder.fit(without)
    assert other.transform(with_numbers).tolist() == encoder.transform(without).tolist()
