"""Files that are there whole or not at all, and never behind a link that somebody planted."""

from __future__ import annotations

import glob
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from meritnas.errors import StoreError
from meritnas.store.disk_errors import disk_errors
from meritnas.store.file_lock import try_lock

Content: TypeAlias = bytes | memoryview
Pieces: TypeAlias = Iterator[bytes]
"""What a file is to hold, written as it comes."""

PARTIAL = ".partial."
"""What the names of files begin with that are being written."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


def write_whole(path: Path, content: Content | Pieces) -> None:
    """Write a file beside, flush it and put it in its place, where one may be already.

    Raises:
        StoreError: There is no space or no such folder, or something else than a file is there.
    """
    with disk_errors(path.parent):
        remove_stale(path.parent, path.name)
        with _beside(path, content) as beside:
            beside.replace(path)
        _flush_folder(path.parent)


def write_new(path: Path, content: Content | Pieces) -> None:
    """The same where nothing may be in its place, not even since a moment ago."""
    with disk_errors(path.parent):
        remove_stale(path.parent, path.name)
        with _beside(path, content) as beside:
            try:
                os.link(beside, path)
            except FileExistsError as error:
                raise exists_already(path) from error
            except OSError:  # a file system without hard links
                if path.exists():
                    raise exists_already(path) from None
                beside.replace(path)
        _flush_folder(path.parent)


def write_together(folder: Path, files: Mapping[str, Content]) -> None:
    """Write all files beside their places before the first is put there; the last one comes last.

    A full disk leaves nothing behind, not even a folder that was made for them.
    """
    with disk_errors(folder), _made(folder):
        for name in files:
            remove_stale(folder, name)
        _put_together(folder, list(files.items()))
        _flush_folder(folder)


def _put_together(folder: Path, files: list[tuple[str, Content]]) -> None:
    """Each file waits, flushed, until all that come after it are flushed, too."""
    if not files:
        return
    *others, (name, content) = files
    with _beside(folder / name, content) as beside:
        _put_together(folder, others)
        beside.replace(folder / name)


def check_free(path: Path) -> None:
    """Complain where a file is in the way, unless a killed process was about to end with it.

    Raises:
        StoreError: It is.
    """
    with disk_errors(path.parent):
        if path.exists():
            remove_stale(path.parent, path.name)
        if path.exists():
            raise exists_already(path)


def exists_already(path: Path) -> StoreError:
    """What is said where a file is in the way."""
    return StoreError(f"{path} exists already; give another --out, or --force to replace it")


def remove_stale(folder: Path, name: str | None = None) -> None:
    """Remove what killed processes have left half-written; what is being written stays.

    A new file has two names for a moment. One that a kill has left with both was not told of by
    anybody: the command that is given again must find its place free.

    Args:
        folder: in which.
        name: of the file that they were writing; None for all.
    """
    pattern = f"{PARTIAL}*" if name is None else f"{glob.escape(_stem(name))}*"
    for path in folder.glob(pattern):
        if path.is_symlink() or not path.is_file():
            continue
        try:
            descriptor = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        except OSError:  # it was put in its place meanwhile, or is somebody else's
            continue
        try:
            if try_lock(descriptor):
                if name is not None and _is_same(folder / name, descriptor):
                    (folder / name).unlink(missing_ok=True)
                path.unlink(missing_ok=True)
        finally:
            os.close(descriptor)


def check_regular(path: Path) -> None:
    """Complain where something else than a file is in a file's place: a link, a device, a folder.

    Raises:
        StoreError: It is.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise StoreError(
            f"{path} is a link, which is not followed; remove it if you trust this folder, or give "
            "the file's own place"
        )
    if not stat.S_ISREG(mode):
        raise StoreError(f"{path} is no regular file; give another place")


def check_folder(folder: Path) -> None:
    """Complain where a folder inside a run is a link to somewhere else, or no folder.

    Raises:
        StoreError: It is.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise StoreError(
            f"{folder} is a link or no folder, and nothing is written there; remove it if you "
            "trust this folder"
        )


def _is_same(path: Path, descriptor: int) -> bool:
    """Whether a name is one of an open file's."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


@contextmanager
def _beside(path: Path, content: Content | Pieces) -> Iterator[Path]:
    """A flushed file next to its place; what is still there at the end is removed.

    It is locked as long, so that nobody takes it for something that a killed process left.
    """
    check_regular(path)
    beside = path.with_name(_stem(path.name) + secrets.token_hex(8))
    try:  # from before it is made: an interruption may come at any moment
        with os.fdopen(_made_and_locked(beside), "wb") as file:
            for piece in (content,) if isinstance(content, bytes | memoryview) else content:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
            if os.name != "posix":
                file.close()  # elsewhere an open file cannot be renamed
            yield beside
    finally:
        beside.unlink(missing_ok=True)


def _made_and_locked(beside: Path) -> int:
    """A new file that nobody takes for a killed process', open to write."""
    while True:
        descriptor = os.open(beside, _NEW, 0o666)
        if try_lock(descriptor) and os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)  # before it was locked, somebody did, and removed it
        beside.unlink(missing_ok=True)


def _stem(name: str) -> str:
    """What names of files that are to become this one begin with; names have a longest."""
    return f"{PARTIAL}{name[:40]}."


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """A folder, with those above it; those that were made are removed if they stay empty."""
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        for one in made:
            if one.is_dir() and not any(one.iterdir()):
                one.rmdir()


def _flush_folder(folder: Path) -> None:
    """Make a new name outlive a power cut."""
    if os.name != "posix":  # elsewhere a folder cannot be flushed
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
