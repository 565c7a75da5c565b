"""JSON as run folders have it, read without trusting who wrote it."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any, NoReturn

from meritnas.errors import UsageError

MOST_BYTES = 1 << 29
"""More than any file of a run but weights, checkpoints and logs: half a gigabyte."""


def parse_json(content: bytes) -> Any:
    """The value that a JSON text holds.

    Raises:
        ValueError: It is none; it is nested too deeply, has an integer of thousands of digits, a
            number that is none, or a half of a character that no text can hold.
    """
    try:
        text = content.decode("utf-8")
        found = json.loads(text, parse_constant=_no_number)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if "\\ud" in text or "\\uD" in text:
        _check_characters(found)
    return found


def json_bytes(data: Any) -> bytes:
    """Plain data as a run keeps it.

    Raises:
        UsageError: It is more than JSON can hold: a number that is not finite, an object, or a
            half of a character.
    """
    try:
        text = json.dumps(data, indent=1, allow_nan=False)
        if "\\ud" in text:
            _check_characters(data)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"a run cannot keep all that it was given: {error}; name files, columns, classes and "
            "options with whole characters, and give finite numbers and plain data"
        ) from error
    return text.encode() + b"\n"


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """The content of a regular file; links are not followed and nothing is waited for.

    Raises:
        OSError: It cannot be opened, or is a link.
        ValueError: It is no regular file, or larger than `most` bytes.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise ValueError("it is no regular file")
        if most is not None and about.st_size > most:
            raise ValueError(f"it has {about.st_size:,} bytes, more than any such file")
        return file.read()


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _check_characters(found: Any) -> None:
    """A lone surrogate can be written in JSON, but not into a file, nor shown."""
    try:
        json.dumps(found, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError("it has a half of a character (a lone surrogate)") from error
