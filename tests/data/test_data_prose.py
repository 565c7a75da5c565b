from __future__ import annotations

from pathlib import Path

import pytest

from meritnas.data.files.prose import is_prose
from meritnas.data.files.table import read_table
from meritnas.errors import DataError

PROSE = {
    "a novel": "Call me Ishmael. Some years ago, never mind how long precisely, having little\n"
    "money in my purse, and nothing particular to interest me on shore, I thought I\n"
    "would sail about a little and see the watery part of the world.\n\n"
    "It is a way I have of driving off the spleen; and regulating the circulation.\n",
    "a play": "HAMLET. To be, or not to be, that is the question:\n"
    "Whether 'tis nobler in the mind to suffer\nThe slings and arrows of outrageous fortune,\n"
    "Or to take arms against a sea of troubles\nAnd by opposing end them. To die, to sleep;\n",
    "one paragraph a line": (
        "The first of them went on for a while, as they do, and said nothing; nobody had hoped for "
        "anything else at that hour of the day.\n"
        "The second was shorter, and nobody read it.\n"
        "The third, which took its time, came to an end in the evening; then it rained, and all of "
        "them went home.\n"
    ),
    "quotes": '"Where are you going?" she asked.\n"Nowhere," he said, and shut the door.\n'
    "She looked after him for a long time, as if there was something to see.\n",
    "other letters": "\u0434\u0430, \u043d\u0435\u0442 " * 3 + "\n" + "\u0434\u0430 " * 7 + "\n",
}
TABLES = {
    "commas": "name,age,city\nAnn,31,Bonn\nBob,24,Ulm\n",
    "blanks": "name age city\nAnn 31 Bonn\nBob 24 Ulm\n",
    "aligned blanks": "name   age   city\nAnn     31   Bonn\nBob     24   Ulm\n",
    "words alone": "name city mood pet job\nAnn Bonn well cat cook\nBob Ulm ill dog vet\n",
    "tabs and sentences": "id\treview\n1\tI liked it a lot, really\n2\tnot at all, no\n",
    "bars and sentences": "id|review\n1|I liked it a lot, really\n2|not at all, thank you\n",
    "short rows": "a;b;c\nthe one;the other;the third\nonly one\nthis one;and that\n",
    "quoted sentences": 'id,review\n1,"I liked it a lot, really"\n2,"not at all, thank you"\n',
    "one column": "size\n1\n2\n3\n",
    "one column of words": "mood\nwell\nill\nwell\n",
    "numbers": "1.5 2.5 3.5\n4 5 6\n7 8 9\n",
    "row names": '"a" "b"\n"1" 2 3\n"2" 4 5\n',
}


@pytest.mark.parametrize("name", PROSE)
def test_a_text_is_told_from_a_table(tmp_path: Path, name: str) -> None:
    path = tmp_path / "book.txt"
    path.write_text(PROSE[name] * 3, encoding="utf-8")
    with pytest.raises(DataError, match=r"book\.txt reads like a text.*--space recurrent"):
        read_table(path)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_in_a_text_file_is_a_table(tmp_path: Path, name: str) -> None:
    assert not is_prose(TABLES[name])
    path = tmp_path / "t.txt"
    path.write_text(TABLES[name])
    assert len(read_table(path)) == len(TABLES[name].splitlines()) - 1


def test_a_file_that_is_named_as_a_table_is_taken_for_one(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("review\nI liked it a lot\nnot at all thank you very much\n")
    assert read_table(path).shape == (2, 1)
