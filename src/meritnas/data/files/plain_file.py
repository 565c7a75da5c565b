"""Files that are files: no folders, pipes or devices, which could be read forever."""

from __future__ import annotations

import stat
from pathlib import Path

from meritnas.errors import DataError

_OTHERS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def given_path(given: str | Path) -> Path:
    """The path that a user wrote; what begins with ~ and is nobody's home stays as it is."""
    try:
        return Path(given).expanduser()
    except RuntimeError:
        return Path(given)


def new_file_like(location: str | None, usual: str) -> str:
    """The name of some new file of the same format; of the usual one where a file has no ending."""
    ending = Path((location or "").removesuffix(".gz")).suffix
    return f"new{ending or usual}"


def check_plain_file(path: Path) -> int:
    """Checks that there is a file at a path, and returns how many bytes it has.

    Raises:
        DataError: There is nothing, or something else.
    """
    try:
        found = path.stat()
    except FileNotFoundError as error:
        broken = " (a link to what does not exist)" if path.is_symlink() else ""
        raise DataError(f"no file {path}{broken}; check the path") from error
    except (OSError, ValueError) as error:  # a name may be too long, or hold a zero byte
        raise DataError(f"cannot look at {path} ({_reason(error)}); check the path") from error
    if not stat.S_ISREG(found.st_mode):
        kind = _OTHERS.get(stat.S_IFMT(found.st_mode), "something else")
        raise DataError(f"{path} is {kind}, not a file; name a file")
    return found.st_size


def read_plain_file(path: Path) -> bytes:
    """Returns what is in a file.

    Raises:
        DataError: There is no file, or it cannot be read.
    """
    check_plain_file(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path} ({_reason(error)}); check its permissions") from error


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
