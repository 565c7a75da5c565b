"""Texts as words or characters, and back."""

from __future__ import annotations

import re
from typing import Literal

Level = Literal["word", "character"]

UNKNOWN = "<unk>"
"""Stands for every word that the vocabulary does not have."""

END = "<eos>"
"""The end of a line or paragraph."""

WORD = re.compile("<[^<>\\s]+>|\\w+(?:['\u2019-]\\w+)*|[^\\w\\s]")
"""A word with its apostrophes and hyphens, a mark, or something like `<unk>`."""

_BEGIN = re.compile(r"^\*\*\* ?START OF (?:THIS|THE) PROJECT GUTENBERG[^\n]*\n", re.MULTILINE)
_AFTER = re.compile(r"^\*\*\* ?END OF ", re.MULTILINE)
_NO_SPACE_BEFORE = frozenset(".,;:!?)]}%'\u2019\u201d")
_NO_SPACE_AFTER = frozenset("([{\u201c\u2018")


def without_licence(text: str) -> str:
    """A book of Project Gutenberg without what stands around it; other texts as they are."""
    begin = _BEGIN.search(text)
    after = None if begin is None else _AFTER.search(text, begin.end())
    return text if begin is None or after is None else text[begin.end() : after.start()]


def split_text(text: str, level: Level, *, tokenised: bool = False) -> list[str]:
    """A text as words, marks and `<eos>`; or as its characters.

    A tokenised corpus, whose words and marks are set apart by spaces already, as Penn Treebank, is
    split there and at the ends of lines. In other texts words are put into lower case and marks set
    apart; blank lines end a paragraph, where there are any, and line breaks within it are spaces.
    """
    if level == "character":
        return list(text)
    lines = [line for line in text.split("\n") if line.strip()]
    if tokenised:
        return [word for line in lines for word in (*line.split(), END)]
    parts = re.split(r"\n\s*\n", text.strip())
    if len(parts) == 1:
        parts = lines
    return [word for part in parts for word in (*WORD.findall(part.lower()), END)]


def is_tokenised(text: str) -> bool:
    """Whether commas stand alone: in running text they follow a word."""
    words = text.split()
    attached = sum(len(word) > 1 and word[-1] == "," for word in words)
    alone = sum(word == "," for word in words)
    return alone > 10 * attached or (attached == 0 and UNKNOWN in words)


def join_words(words: list[str], level: Level) -> str:
    """Words as a text that people read: marks without spaces before them, lines at `<eos>`."""
    if level == "character":
        return "".join(words)
    text = ""
    for word in words:
        if word == END:
            text += "\n"
        elif (
            not text or text[-1] == "\n" or text[-1] in _NO_SPACE_AFTER or word in _NO_SPACE_BEFORE
        ):
            text += word
        else:
            text += " " + word
    return text
