"""Looks for runs in a folder and the folders in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from meritnas.errors import StoreError, UsageError
from meritnas.store.digests import NAME as DIGESTS
from meritnas.store.run_folder import CONFIG

_DEEP = 3
"""Runs of a comparison are in a folder of their own, which may be in one for a project."""


@dataclass(frozen=True)
class LeftOut:
    """A folder that is not on the board.

    Attributes:
        name: its path from the board's folder on.
        reason: why not.
    """

    name: str
    reason: str


@dataclass(frozen=True)
class Found:
    """What there is in a folder.

    Attributes:
        folder: where the search began.
        runs: the folders that look like runs, in the order of their names.
        others: folders in which there is none.
    """

    folder: Path
    runs: tuple[Path, ...]
    others: tuple[LeftOut, ...]

    def name(self, run: Path) -> str:
        """What a run is called: its path from the folder on, with slashes."""
        return run.relative_to(self.folder).as_posix() if run != self.folder else run.name


def find_runs(folder: Path) -> Found:
    """The runs in a folder, up to three folders deep; links are not followed.

    Raises:
        UsageError: There is no such folder.
        StoreError: There is nothing in it that looks like a run.
    """
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}; give one that has folders of runs in it")
    runs: list[Path] = []
    others: list[LeftOut] = []
    for path, reason in _looked_at(folder, _DEEP):
        if reason:
            others.append(LeftOut(path.relative_to(folder).as_posix(), reason))
        else:
            runs.append(path)
    if not runs:
        raise StoreError(
            f"there is no run in {folder}; give a folder that has folders of runs in it, as "
            "searches write them into runs"
        )
    return Found(folder, tuple(runs), tuple(others))


def _looked_at(folder: Path, deep: int) -> Iterator[tuple[Path, str]]:
    """Runs, with an empty reason, and folders without any, with the reason why they are none."""
    if _is_run(folder):
        yield folder, ""
        return
    try:
        inner = sorted(one.name for one in os.scandir(folder) if _is_folder(one))
    except OSError as error:
        yield folder, f"it could not be read ({error.strerror})"
        return
    found = False
    for name in inner if deep else ():
        path = folder / name
        if path.is_symlink():
            yield path, "it is a link, which is not followed"
            continue
        within = list(_looked_at(path, deep - 1))
        if any(not reason for _, reason in within):
            found = True
            yield from within
        else:
            reasons = [reason for one, reason in within if one == path]
            yield path, reasons[0] if reasons else "there is no run in it"
    if not inner and deep < _DEEP and not found:
        yield folder, "there is no run in it"


def _is_run(folder: Path) -> bool:
    return any(os.path.lexists(folder / name) for name in (CONFIG, DIGESTS))


def _is_folder(one: os.DirEntry[str]) -> bool:
    return one.is_dir() and not one.name.startswith(".")
