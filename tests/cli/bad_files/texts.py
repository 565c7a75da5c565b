"""Files of text for language models; what is read is a `TextSource`."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bad_files.case import Case, Maker, read, refused

TEXT = "It was late, and nobody came. The rain went on and on.\n\n" * 60
START, END = "*** START OF THE PROJECT GUTENBERG EBOOK ***\n", "*** END OF THIS EBOOK ***\n"


def words(least: int) -> Callable[[Any], bool]:
    return lambda source: len(source.train) + len(source.valid) + len(source.test) >= least


def folder_of(**parts: str) -> Maker:
    def make(folder: Path) -> Path:
        for name, text in parts.items():
            (folder / f"{name}.txt").write_text(text)
        return folder

    return make


TEXTS: dict[str, Case] = {
    "empty": refused("b.txt", b"", "0 words"),
    "blanks": refused("b.txt", b" \n\n\t \n", "0 words"),
    "one word": refused("b.txt", b"word", "at least 200"),
    "few words": refused("b.txt", TEXT[:300], "at least 200"),
    "zeros": refused("b.txt", bytes(5000), "binary"),
    "a zero within": refused("b.txt", TEXT + "\x00" + TEXT, "binary"),
    "random bytes": refused("b.txt", bytes(range(256)) * 20, "binary"),
    "a program": refused("b.txt", b"\x7fELF\x02\x01\x01" + bytes(999), "binary"),
    "UTF-16": read("b.txt", TEXT.encode("utf-16"), words(800)),
    "UTF-16 without its mark": refused("b.txt", TEXT.encode("utf-16-be"), "binary"),
    "UTF-32": refused("b.txt", TEXT.encode("utf-32"), "binary"),
    "half a pair of UTF-16": refused("b.txt", TEXT.encode("utf-16") + b"\x00\xd8", "UTF-16"),
    "no UTF-8": read("b.txt", TEXT.encode() + b"\xff\xfe caf\xe9", words(800)),
    "a mark before UTF-8": read("b.txt", codecs.BOM_UTF8 + TEXT.encode(), words(800)),
    "packed": read("b.txt.gz", gzip.compress(TEXT.encode()), words(800)),
    "packed and cut off": refused("b.txt.gz", gzip.compress(TEXT.encode())[:-9], "gzip"),
    "not packed": refused("b.txt.gz", TEXT, "gzip"),
    "a bomb": refused(
        "b.txt.gz", gzip.compress(b"ha " * 10**6), "--max-unpacked-mb", "--max-unpacked-mb", "2"
    ),
    "one word of a megabyte": refused("b.txt", b"a" * 10**6, "at least 200"),
    "one line of a megabyte": read("b.txt", "ha " * 300_000, words(300_000)),
    "marks alone": read("b.txt", "<" * 20_000, words(20_000)),
    "quotes alone": read("b.txt", "'\"" * 5_000, words(10_000)),
    "hyphens in a row": read("b.txt", "a-" * 50_000 + " b" * 500, words(500)),
    "line ends alone": refused("b.txt", b"\n" * 10**6, "0 words"),
    "letters of all kinds": read(
        "b.txt", "\u4f60\u597d \u0645\u0631 \U0001f600 " * 300, words(800)
    ),
    "many licences": read("b.txt", START * 20_000 + TEXT, words(800)),
    "a licence without a text": refused("b.txt", START + END, "0 words"),
    "control characters": read("b.txt", TEXT + "\x1b[2J", words(800)),
    "a folder without files": Case(lambda folder: folder, "needs one file for each"),
    "a folder without a test": Case(folder_of(train=TEXT, valid=TEXT), "for test it has 0"),
    "a folder with two tests": Case(
        folder_of(train=TEXT, valid=TEXT, test=TEXT, **{"b.test": TEXT}), "for test it has 2"
    ),
    "a folder with an empty test": Case(
        folder_of(train=TEXT, valid=TEXT, test=""), "the test part"
    ),
    "a folder": Case(folder_of(train=TEXT, valid=TEXT, test=TEXT), reads=words(2400)),
}
