"""Text files that are given as tables; what is read is a frame."""

from __future__ import annotations

import codecs
import gzip
import io
import zipfile
from collections.abc import Callable

import pandas as pd
from bad_files.case import Case, read, refused

ROWS = "a,b\n" + "".join(f"{k},{k % 3}\n" for k in range(12))
PROSE = (
    "It was a bright cold day in April, and the clocks were striking thirteen.\n"
    "He went in quickly, though not quickly enough to keep the dust outside.\n\n"
    "The hallway smelt of boiled cabbage and old mats. At one end of it, on the wall,\n"
    "hung a picture; it was too large for indoor display, somebody had said once.\n"
    "Nobody knew who had painted it, and nobody asked.\n"
) * 4
POEM = "".join(f"The {word} goes round\nand round it goes again, my dear,\n" for word in "abcdefgh")


def shape(*wanted: int) -> Callable[[pd.DataFrame], bool]:
    return lambda frame: frame.shape == wanted


def names(*wanted: str) -> Callable[[pd.DataFrame], bool]:
    return lambda frame: tuple(frame.columns) == wanted


def packed(content: str | bytes) -> bytes:
    return gzip.compress(content.encode() if isinstance(content, str) else content)


def sheet() -> bytes:
    """What a spreadsheet program writes, in short."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("xl/workbook.xml", "<workbook/>")
    return stream.getvalue()


TABLES: dict[str, Case] = {
    "empty": refused("t.csv", b"", "is empty"),
    "blanks": refused("t.csv", b"   \n  \n\n", "is empty"),
    "a byte-order mark": refused("t.csv", codecs.BOM_UTF8, "is empty"),
    "a UTF-16 mark": refused("t.csv", codecs.BOM_UTF16_LE, "is empty"),
    "a header": refused("t.csv", b"a,b\n", "no rows"),
    "a header without its line end": refused("t.csv", b"a,b", "no rows"),
    "a header and blank lines": refused("t.csv", b"a,b\r\n\r\n \r\n", "no rows"),
    "zeros": refused("t.csv", b"\x00" * 500, "binary"),
    "a zero in a table": refused("t.csv", ROWS + "1\x00,2\n", "binary"),
    "random bytes": refused("t.csv", bytes(range(256)) * 9, "binary"),
    "a picture": refused("t.csv", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" * 20, "binary"),
    "a spreadsheet": refused("t.csv", sheet(), "binary"),
    "a spreadsheet by its name": refused("t.xlsx", sheet(), "cannot tell the format"),
    "no ending": refused("table", ROWS, "cannot tell the format"),
    "an unknown ending": refused("t.doc", PROSE, "--space recurrent"),
    "UTF-16": read("t.csv", ROWS.encode("utf-16"), shape(12, 2)),
    "UTF-16 the other way round": read(
        "t.csv", codecs.BOM_UTF16_BE + ROWS.encode("utf-16-be"), names("a", "b")
    ),
    "UTF-16 without its mark": refused("t.csv", ROWS.encode("utf-16-le"), "binary"),
    "half a letter of UTF-16": refused("t.csv", ROWS.encode("utf-16") + b"\x00", "UTF-16"),
    "half a pair of UTF-16": refused("t.csv", ROWS.encode("utf-16") + b"\x00\xd8", "UTF-16"),
    "UTF-32": refused("t.csv", ROWS.encode("utf-32"), "binary"),
    "no UTF-8": read("t.csv", b"a,b\n\xff\xfd,1\nx,2\n", names("a", "b")),
    "half a letter of UTF-8": read("t.csv", ROWS.encode() + b"\xe2\x82,1\n", shape(13, 2)),
    "a surrogate in UTF-8": read("t.csv", b"a,b\n\xed\xa0\x80,1\nx,2\n", shape(2, 2)),
    "no Windows-1252": read("t.csv", b"a,b\n\x81\x8d,1\nx,2\n", shape(2, 2)),
    "a mark before UTF-8": read("t.csv", codecs.BOM_UTF8 + ROWS.encode(), names("a", "b")),
    "a lone quote": refused("t.csv", b'"\n', "no rows"),
    "a lone quote in a row": refused("t.csv", b'a,b\n1,"\n2,3\n', "quotes"),
    "a quote that stays open": refused("t.csv", ROWS + '"1,2\n3,4\n', "quotes"),
    "quotes within values": read("t.csv", 'a,b\n1,x "y" z\n2,w\n', shape(2, 2)),
    "only quotes": read("t.csv", b'""""""\n""""""\n""""\n', shape(2, 1)),
    "only commas": refused("t.csv", b",,,\n,,,\n,,,\n", "no column is left"),
    "one line of commas": refused("t.csv", b",,,,,,,\n", "no rows"),
    "only semicolons and tabs": refused("t.csv", b";\t;\t\n;\t;\t\n", "no column is left"),
    "too many fields": refused("t.csv", ROWS + "1,2,3\n", "line 14"),
    "too many fields in all rows": refused("t.csv", b"a,b\n1,2,3\n1,2,3\n", "header has 2"),
    "too few fields": read("t.csv", "a,b,c\n1\n2,3\n4,5,6\n", shape(3, 3)),
    "a name twice": read("t.csv", "a,a,a\n1,2,3\n4,5,6\n", names("a", "a.1", "a.2")),
    "no names": read("t.csv", ",,\n1,2,3\n4,5,6\n", lambda f: f.shape == (2, 3) and all(f.columns)),
    "names of blanks": read("t.csv", "  , ,a\n1,2,3\n4,5,6\n", shape(2, 3)),
    "a name of two lines": read("t.csv", '"a\nb",c\n1,2\n3,4\n', shape(2, 2)),
    "a name of 200,000 letters": read("t.csv", "n" * 200_000 + ",b\n1,2\n3,4\n", shape(2, 2)),
    "names a terminal obeys": read("t.csv", "\x1b[31mred,b\n" + "1,2\n3,4\n" * 99, shape(198, 2)),
    "names that turn the line": read("t.csv", "\u202eevil,b\n1,2\n3,4\n", shape(2, 2)),
    "names of markup": read("t.csv", "[bold],[/]\n1,2\n3,4\n", names("[bold]", "[/]")),
    "control characters": refused("t.csv", b"a,b\n\x01\x02\x03\x04,\x05\n\x06,\x07\n", "binary"),
    "a control character": read("t.csv", ROWS * 9 + "1,\x01\n", shape(117, 2)),
    "a separator for units": read("t.csv", "a\n" + "x\n" * 150 + "y\x1fz\n", shape(151, 1)),
    "old line ends": read("t.csv", ROWS.replace("\n", "\r"), shape(12, 2)),
    "all line ends": read("t.csv", "a,b\r\n1,2\n3,4\r5,6\r\n", shape(3, 2)),
    "form feeds": read("t.csv", "a,b\n1,2\n\f3,4\n", shape(2, 2)),
    "300,000 blank lines": read("t.csv", "a,b\n" + "\n" * 300_000 + "1,2\n3,4\n", shape(2, 2)),
    "one line of megabytes": refused("t.csv", b"word " * 300_000, "no rows"),
    "one value of megabytes": read("t.csv", "a,b\n1," + "x" * 2_000_000 + "\n2,y\n", shape(2, 2)),
    "one value without any blank": refused("t.txt", b"x" * 2_000_000, "no rows"),
    "1,000 columns": read(
        "t.csv",
        "\n".join(",".join(str(k * r) for k in range(1000)) for r in (1, 2, 3)),
        shape(2, 1000),
    ),
    "1,000 columns of one name": read("t.csv", ",".join("a" * 1000) + "\n1\n2\n", shape(2, 1000)),
    "names without values": refused(
        "t.csv",
        ",".join(f"n{k}" for k in range(20_000)) + "\n" + "1\n" * 20_000,
        "takes more than 100 MB",
        "--max-unpacked-mb",
        "100",
    ),
    "numbers of 5,000 digits": refused("t.csv", "a,b\n" + ("9" * 5000 + ",1\n2,3\n"), "inf"),
    "numbers without end": refused("t.csv", "a,b\n1e999,1\n2,3\n-1e999,4\n", "inf"),
    "missing everywhere": refused("t.csv", "a,b\n" + "NA,\n" * 9, "no column is left"),
    "one value everywhere": refused("t.csv", "a,b\n" + "1,2\n" * 9, "no column is left"),
    "dates there are not": read(
        "t.csv", "a,b\n0000-00-00,1\n9999-99-99,2\n2024-02-31,3\n", shape(3, 2)
    ),
    "dates far away": read("t.csv", "a,b\n0001-01-01,1\n9999-12-31,2\n2024-02-01,3\n", shape(3, 2)),
    "HTML": read("t.csv", "<html>\n<body>\n<p>Not found</p>\n</body>\n</html>\n", shape(4, 1)),
    "JSON": refused("t.csv", '{"a": [1, 2, 3],\n "b": [4, 5, 6]}\n', "no column is left"),
    "packed: nothing": refused("t.csv.gz", b"", "is empty"),
    "packed: an empty file": refused("t.csv.gz", packed(""), "is empty"),
    "packed: cut off": refused("t.csv.gz", packed(ROWS)[:-9], "gzip"),
    "packed: a wrong check sum": refused("t.csv.gz", packed(ROWS)[:-8] + b"\x00" * 8, "gzip"),
    "packed: garbage at the end": refused("t.csv.gz", packed(ROWS) + b"garbage", "gzip"),
    "packed: not packed": refused("t.csv.gz", ROWS, "gzip"),
    "packed: bits turned": refused(
        "t.csv.gz", packed(ROWS)[:20] + b"\xff" + packed(ROWS)[21:], "gzip"
    ),
    "packed: in two pieces": read("t.csv.gz", packed(ROWS) + packed("7,1\n"), shape(13, 2)),
    "packed: twice": refused("t.csv.gz", packed(packed(ROWS)), "binary"),
    "packed: a bomb": refused(
        "t.csv.gz", packed(b"1,2\n" * 1_000_000), "--max-unpacked-mb", "--max-unpacked-mb", "2"
    ),
    "prose": refused("book.txt", PROSE, "--space recurrent"),
    "prose, packed": refused("book.txt.gz", packed(PROSE), "--space recurrent"),
    "prose in one line": refused("book.txt", " ".join(PROSE.split()), "--space recurrent"),
    "a poem": refused("poem.txt", POEM, "--space recurrent"),
    "a table named as a text": read("t.txt", ROWS, shape(12, 2)),
    "a table of words": read(
        "t.txt", "name city mood\n" + "Ann Bonn well\nBob Ulm ill\n" * 5, shape(10, 3)
    ),
}
