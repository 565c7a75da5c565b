"""What is said where a file or a folder cannot be written, by what the disk says."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from meritnas.errors import StoreError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
_IMPOSSIBLE = (
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY),
    *(errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL, errno.EBUSY),
)
_NO_MORE_FILES = (errno.EMFILE, errno.ENFILE)


def disk_error(place: Path, error: OSError) -> StoreError:
    """What to say where a file or a folder could not be written, with a way out that fits."""
    reason = error.strerror or str(error)
    return StoreError(f"cannot write to {place}: {reason}; {_way_out(error.errno)}")


@contextmanager
def disk_errors(place: Path) -> Iterator[None]:
    """Turn what the disk says about a place into a message with a way out."""
    try:
        yield
    except OSError as error:
        raise disk_error(place, error) from error


def _way_out(number: int | None) -> str:
    if number in _FULL:
        return (
            "free some space or give another --out (what was saved before is kept and can be "
            "resumed)"
        )
    if number in _FORBIDDEN:
        return "you may not write there: choose another --out, or change who may"
    if number in _IMPOSSIBLE:
        return "nothing can be made there: choose another --out"
    if number in _NO_MORE_FILES:
        return "close other files, or allow more of them with ulimit -n"
    return "check the disk, or choose another --out (what was saved before is kept)"
