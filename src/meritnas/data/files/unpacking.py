"""How much a file may unpack to: a few kilobytes can claim, or hold, terabytes."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path

from meritnas.data.files.plain_file import check_plain_file
from meritnas.errors import DataError

_PIECE = 1 << 20
_RATIO = 1032
"""To more times its size no gzipped file unpacks."""
GZIP = b"\x1f\x8b"
"""What gzipped files begin with."""


def most_unpacked(path: Path, max_unpacked_mb: int, own: int | None = None) -> int:
    """How many bytes a file may unpack to: so many megabytes, or as many bytes as it has itself.

    What is not packed takes no more memory than it takes on the disk, and is not to be refused.

    Args:
        path: The file.
        max_unpacked_mb: So many megabytes.
        own: The bytes that it has; None to look at the file.
    """
    return max(max_unpacked_mb * 1_000_000, check_plain_file(path) if own is None else own)


def too_much(path: Path, max_unpacked_mb: int) -> DataError:
    """The error for a file that unpacks to more."""
    return DataError(
        f"{path} unpacks to more than {max_unpacked_mb:,} MB; if that is right and there is memory "
        "for it, give a larger max_unpacked_mb (--max-unpacked-mb on the line)"
    )


def unpack_gzip(content: bytes, path: Path, max_unpacked_mb: int) -> bytes:
    """Unpacks what a gzipped file holds, unless that is too much, which is found out first.

    Args:
        content: The file's bytes.
        path: Of the file.
        max_unpacked_mb: How many megabytes it may come to.

    Raises:
        DataError: It is damaged, or too much.
    """
    most = most_unpacked(path, max_unpacked_mb)
    try:
        if len(content) * _RATIO > most and _exceeds(content, most):
            raise too_much(path, max_unpacked_mb)
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} is not a whole gzip file ({error}); fetch it anew") from error


def _exceeds(content: bytes, most: int) -> bool:
    """Whether gzipped bytes come to more than this; no more of them is kept than a piece."""
    found = 0
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
        while found <= most and (piece := stream.read(_PIECE)):
            found += len(piece)
    return found > most
