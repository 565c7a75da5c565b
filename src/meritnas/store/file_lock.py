"""Locks on files and folders, which the system takes back when a process dies."""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from pathlib import Path
from typing import Self

from meritnas.errors import StoreError

if sys.platform == "win32":

    def _flock(descriptor: int) -> None:
        """No such locks on this system: nobody is kept out."""
        del descriptor

else:
    from fcntl import LOCK_EX, LOCK_NB, flock

    def _flock(descriptor: int) -> None:
        """Complains with BlockingIOError where another has the lock."""
        flock(descriptor, LOCK_EX | LOCK_NB)


LOCK = ".lock"
"""The file in a folder whose lock is the folder's."""

_WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EINVAL)
"""What file systems say that have no locks; they are used without."""

_TRIES = 5
_SECONDS_BETWEEN = 0.05
"""Someone who only asks whether a folder is taken holds its lock for less."""


class FolderLock:
    """The right to write into a folder: one at a time has it, and loses it when its process dies.

    It is the system's lock on an empty file `.lock` in the folder, which stays there.
    """

    def __init__(self, folder: Path, descriptor: int) -> None:
        self.folder = folder
        self._descriptor = descriptor

    @classmethod
    def take(cls, folder: Path) -> Self:
        """The lock of a folder; complains where another process, or another part of this, has it.

        Raises:
            StoreError: The folder is in use.
            OSError: The lock's file cannot be made.
        """
        for attempt in range(_TRIES):
            time.sleep(_SECONDS_BETWEEN if attempt else 0.0)
            descriptor = _opened(folder / LOCK, os.O_RDWR | os.O_CREAT)
            # Whoever had it before may have removed the file; then this is the lock of nothing.
            if try_lock(descriptor) and os.fstat(descriptor).st_nlink:
                return cls(folder, descriptor)
            os.close(descriptor)
        raise StoreError(
            f"{folder} is in use by another process, which writes into it; wait until that has "
            "ended, or stop it"
        )

    def release(self) -> None:
        """Give the right back; once is enough, more often does no harm."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    @property
    def held(self) -> bool:
        """Whether it has not been given back."""
        return self._descriptor >= 0


def is_taken(folder: Path) -> bool:
    """Whether somebody, in this process or another, has the lock of a folder."""
    try:
        descriptor = _opened(folder / LOCK, os.O_RDONLY)
    except (OSError, StoreError):
        return False
    try:
        return not try_lock(descriptor)
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Lock an open file until it is closed; False where somebody else has locked it."""
    try:
        _flock(descriptor)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise
    return True


def _opened(path: Path, mode: int) -> int:
    """The open lock file, which is never a link."""
    try:
        descriptor = os.open(path, mode | getattr(os, "O_NOFOLLOW", 0), 0o666)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise StoreError(
            f"{path} is a link, and a run's own files are none; remove it if you trust this folder"
        ) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StoreError(f"{path} is no regular file; remove it if you trust this folder")
    return descriptor
