"""A path as users give it, checked before anything is looked for or written there."""

from __future__ import annotations

import os
from pathlib import Path

from meritnas.errors import UsageError


def checked_path(name: str, given: object) -> Path:
    """The path that a user gave for something.

    Args:
        name: of what was given, for messages: `out`, `run`.
        given: a text, or a path as Python has it.

    Raises:
        UsageError: It is no path, or one that no disk knows.
    """
    if not isinstance(given, str | os.PathLike):
        raise UsageError(f"{name} must be a path, got {given!r}; write it as a text")
    text = os.fspath(given)
    if not isinstance(text, str) or not text or "\0" in text:
        raise UsageError(
            f"{name} must be the path of a file or a folder, got {text!r}; give another"
        )
    try:
        os.fsencode(text)
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{name} must be a path, and no path has such letters, got {text!r}; give another"
        ) from error
    return Path(text)


def out_path(given: object) -> Path:
    """The path for something new, whose name a run keeps: it must be a text.

    Raises:
        UsageError: It is no path, or none that can be written down.
    """
    path = checked_path("out", given)
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(
            f"out must have a name of whole characters (UTF-8), got {str(path)!r}; give another"
        ) from error
    return path
