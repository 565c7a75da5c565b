"""A file that is not as readers would like it, and what is to become of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Maker = Callable[[Path], Path]
"""Writes a file, or several, into a folder; returns what a command is given."""


@dataclass(frozen=True)
class Case:
    """A file and what is to become of it.

    Attributes:
        make: the file.
        says: a word of the error; empty where the file is to be read.
        reads: whether what was read is right.
        options: of the command, beside the file.
    """

    make: Maker
    says: str = ""
    reads: Callable[[Any], bool] | None = None
    options: tuple[str, ...] = ()


def written(name: str, content: bytes | str) -> Maker:
    """A file of this name with this content."""

    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make


def refused(name: str, content: bytes | str, says: str, *options: str) -> Case:
    """A file that cannot be read."""
    return Case(written(name, content), says, options=options)


def read(name: str, content: bytes | str, right: Callable[[Any], bool]) -> Case:
    """A file that looks bad and is to be read all the same."""
    return Case(written(name, content), reads=right)
