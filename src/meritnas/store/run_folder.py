"""What belongs into a run's folder, and what is said where something else is there."""

from __future__ import annotations

import re
from pathlib import Path

from meritnas.errors import StoreError
from meritnas.store.digests import NAME as DIGESTS
from meritnas.store.digests import Digests
from meritnas.store.file_lock import LOCK
from meritnas.store.whole_files import PARTIAL

CONFIG = "config.json"
RESTORE = "restore it or start a new run"
_FOLDER = re.compile(r"rung-[1-9][0-9]{0,5}|retrain")


def is_run_folder(name: str) -> bool:
    """Whether a folder in a run's may have this name."""
    return _FOLDER.fullmatch(name) is not None


def exists(folder: Path) -> StoreError:
    """What is said where a new run is to have a folder that is not empty."""
    return StoreError(
        f"the output folder {folder} exists already; give another --out, or continue it "
        f"with --resume {folder}"
    )


def no_run(folder: Path, digests: Digests) -> StoreError:
    """What is said about a folder without a config.json."""
    if digests.expects(CONFIG):
        return StoreError(f"run {folder} has lost its config.json; {RESTORE}")
    if not has_content(folder):
        return StoreError(
            f"{folder} is empty: no run was begun in it, or it was killed at once; start the "
            f"search again with --out {folder}"
        )
    return StoreError(
        f"{folder} is not a run of MeritNAS: it has no config.json; "
        "give the folder that a search wrote"
    )


def has_content(folder: Path) -> bool:
    """Whether there is more than what a run leaves that is killed at its first file."""
    return any(
        path.name not in (LOCK, DIGESTS) and not path.name.startswith(PARTIAL)
        for path in folder.iterdir()
    )


def remove_begun(folder: Path, made: list[Path]) -> None:
    """Take away what was made for a run that could not be begun."""
    if not has_content(folder):
        for name in (LOCK, DIGESTS):
            (folder / name).unlink(missing_ok=True)
    for one in made:
        if one.is_dir() and not any(one.iterdir()):
            one.rmdir()


def folders_in(folder: Path) -> list[Path]:
    """The folders in a run's that it may have, and those in them."""
    if not folder.is_dir():
        return []
    own = [one for one in folder.iterdir() if is_run_folder(one.name) and not one.is_symlink()]
    return [one for each in own if each.is_dir() for one in (each, *folders_in(each))]


def files_in(folder: Path) -> list[str]:
    """The names, from the run's folder on, of all files in it and in its folders."""
    return sorted(
        path.relative_to(folder).as_posix()
        for each in (folder, *folders_in(folder))
        for path in each.iterdir()
        if path.is_file() and not path.is_symlink()
        if path.name not in (LOCK, DIGESTS) and not path.name.startswith(PARTIAL)
    )
