"""Text files in whatever encoding they come."""

from __future__ import annotations

import codecs
import gzip
import zlib
from pathlib import Path

import numpy as np

from meritnas.errors import DataError

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_utf8(path: Path) -> bytes:
    r"""Reads a text file, perhaps gzipped, as UTF-8 with line ends of \n and no byte-order mark.

    Files are taken as UTF-16 if a byte-order mark says so, else as UTF-8 if they are that, else as
    Windows-1252 or Latin-1.

    Raises:
        DataError: The file cannot be read, or is not text.
    """
    content = _to_utf8(_read_bytes(path), path)
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return content


def _to_utf8(content: bytes, path: Path) -> bytes:
    if content.startswith(_UTF16):
        try:
            return content.decode("utf-16").encode()
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
        raise DataError(f"{path} is binary, not a text table; save it as UTF-8 text or parquet")


def _read_bytes(path: Path) -> bytes:
    try:
        if path.name.lower().endswith(".gz"):
            with gzip.open(path, "rb") as stream:
                return stream.read()
        return path.read_bytes()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path} is not a whole gzip file ({error}); fetch it anew") from error
    except OSError as error:
        raise DataError(f"cannot read {path} ({error}); check its permissions") from error
