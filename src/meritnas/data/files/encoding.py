"""Text files in whatever encoding they come."""

from __future__ import annotations

import codecs
from pathlib import Path

import numpy as np

from meritnas.data.files.plain_file import read_plain_file
from meritnas.data.files.unpacking import unpack_gzip
from meritnas.errors import DataError
from meritnas.settings.reading import MAX_UNPACKED_MB

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_utf8(path: Path, max_unpacked_mb: int = MAX_UNPACKED_MB) -> bytes:
    r"""Reads a text file, perhaps gzipped, as UTF-8 with line ends of \n and no byte-order mark.

    Files are taken as UTF-16 if a byte-order mark says so, else as UTF-8 if they are that, else as
    Windows-1252 or Latin-1.

    Args:
        path: The file.
        max_unpacked_mb: How many megabytes it may unpack to.

    Raises:
        DataError: The file cannot be read, is not text, or unpacks to too much.
    """
    content = read_plain_file(path)
    if path.name.lower().endswith(".gz"):
        content = unpack_gzip(content, path, max_unpacked_mb)
    return plain_utf8(content, path)


def plain_utf8(content: bytes, path: Path) -> bytes:
    r"""Returns text in any encoding as UTF-8 with line ends of \n and no byte-order mark.

    Raises:
        DataError: It is no text.
    """
    content = _to_utf8(content, path)
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return content


def _to_utf8(content: bytes, path: Path) -> bytes:
    if content.startswith(_UTF16):
        try:
            content = content.decode("utf-16").encode()
        except UnicodeDecodeError as error:
            raise DataError(f"{path} is damaged UTF-16 ({error}); save it as UTF-8") from error
    _check_text(content, path)
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return _from_one_byte(content)
    return content.removeprefix(codecs.BOM_UTF8)


def _from_one_byte(content: bytes) -> bytes:
    try:
        return content.decode("cp1252").encode()
    except UnicodeDecodeError:
        return content.decode("latin-1").encode()


def _check_text(content: bytes, path: Path) -> None:
    head = np.frombuffer(content[:100_000], dtype=np.uint8)
    control = (head < 32) & ~np.isin(head, np.frombuffer(b"\t\n\r\f", dtype=np.uint8))
    # Stray control characters occur in exported text, a hundredth of them only in binary files.
    if b"\x00" in content or control.sum() > 0.01 * len(head):
        raise DataError(f"{path} is binary, not text; save it as UTF-8 text, or a table as parquet")
