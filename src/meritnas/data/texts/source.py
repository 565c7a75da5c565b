"""A text in three parts, before anything is learned from it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from meritnas.data.files.encoding import read_utf8
from meritnas.data.texts.words import Level, is_tokenised, split_text, without_licence
from meritnas.errors import DataError
from meritnas.settings.reading import MAX_UNPACKED_MB

PARTS = ("train", "valid", "test")
_OTHER_NAMES = {"valid": ("valid", "val", "dev")}
_SHARES = (0.8, 0.9)
_LEAST_WORDS = (200, 2, 2)


@dataclass(frozen=True)
class TextSource:
    """A text in three parts, before anything is learned from it.

    Attributes:
        name: Short name for reports.
        train: Its words, or characters, in order.
        valid: The same of the part that networks are compared on.
        test: The same of the part that only the final result is measured on.
        level: Whether these are words or characters.
        tokenised: Whether spaces set words and marks apart in the files themselves.
        fingerprint: SHA-256 over all three, in hex.
        location: Absolute path of the file or folder.
        notes: What a user should know about how it was read, a sentence each.
    """

    name: str
    train: list[str]
    valid: list[str]
    test: list[str]
    level: Level
    tokenised: bool
    fingerprint: str
    location: str
    notes: tuple[str, ...] = ()


def load_text(
    path: str | Path, level: Level = "word", max_unpacked_mb: int = MAX_UNPACKED_MB
) -> TextSource:
    """Loads one text file, or a folder with files for train, valid and test.

    Of one file the first 80 % of its words are for training, the next 10 % for validation and the
    rest for testing. In a folder the files are told apart by their names: `train.txt`,
    `ptb.valid.txt`, `wiki.test.tokens`, ...

    Args:
        path: A file (it may end with .gz) or a folder.
        level: What a text is made of, "word" or "character".
        max_unpacked_mb: How many megabytes a file may unpack to.

    Raises:
        DataError: There is no such text, or too little of it.
    """
    if level not in ("word", "character"):
        raise DataError(f"a text is made of 'word' or 'character', got '{level}'")
    place = Path(path)
    notes: list[str] = []
    if place.is_dir():
        texts = [_read(_file_of(place, part), notes, max_unpacked_mb) for part in PARTS]
        tokenised = is_tokenised(texts[0])
        parts = [split_text(text, level, tokenised=tokenised) for text in texts]
    else:
        text = _read(place, notes, max_unpacked_mb)
        tokenised = is_tokenised(text)
        words = split_text(text, level, tokenised=tokenised)
        ends = [0, *(int(share * len(words)) for share in _SHARES), len(words)]
        parts = [words[first:last] for first, last in pairwise(ends)]
    for name, part, least in zip(PARTS, parts, _LEAST_WORDS, strict=True):
        if len(part) < least:
            raise DataError(
                f"the {name} part of {place.name} has {len(part)} {level}s, but at least {least} "
                "are needed; give a longer text"
            )
    digest = hashlib.sha256(level.encode())
    for part in parts:
        digest.update("\x00".join(part).encode() + b"\x01")
    train, valid, test = parts
    name = place.name.removesuffix(".gz").removesuffix(".txt")
    return TextSource(
        name,
        train,
        valid,
        test,
        level,
        tokenised,
        digest.hexdigest(),
        str(place.resolve()),
        tuple(dict.fromkeys(notes)),
    )


def _file_of(folder: Path, part: str) -> Path:
    """The file of a folder that is named after a part."""
    names = _OTHER_NAMES.get(part, (part,))
    files = sorted(file for file in folder.iterdir() if file.is_file())
    found = [file for file in files if set(file.name.lower().split(".")) & set(names)]
    if len(found) != 1:
        listed = ", ".join(file.name for file in files) or "nothing"
        raise DataError(
            f"{folder} needs one file for each of train, valid and test, named like train.txt; "
            f"for {part} it has {len(found)}, among {listed}"
        )
    return found[0]


def _read(path: Path, notes: list[str], max_unpacked_mb: int) -> str:
    text = read_utf8(path, max_unpacked_mb).decode()
    bare = without_licence(text)
    if bare != text:
        notes.append("the licence around the Project Gutenberg text is left out")
    return bare
