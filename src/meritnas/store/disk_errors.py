"""What a disk says, as a message with a way out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from meritnas.errors import StoreError


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Turn what the disk says into a message with a way out."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"cannot write to {folder}: {error.strerror or error}; free some space or give another "
            "--out (what was saved before is kept and can be resumed)"
        ) from error
