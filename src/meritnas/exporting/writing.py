"""Files written all together or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from meritnas.errors import StoreError
from meritnas.store.disk_errors import disk_error


def refuse_existing(folder: Path, names: Mapping[str, bytes | None]) -> None:
    """Complain about a file that is there already; one of the very same content is none.

    Args:
        folder: where files are to be written.
        names: their names, and their content as far as it is known.
    """
    for name, content in names.items():
        path = folder / name
        if path.exists() and (content is None or path.read_bytes() != content):
            raise StoreError(f"{path} exists already; give another --out, or --force to replace it")


def write_together(folder: Path, files: Mapping[str, bytes]) -> tuple[Path, ...]:
    """Write all files beside their places, then rename them; a full disk leaves nothing behind."""
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    beside = {folder / f".{name}.partial": folder / name for name in files}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, content in zip(beside, files.values(), strict=True):
            path.write_bytes(content)
        for path, place in beside.items():
            path.replace(place)
    except BaseException as error:
        _tidy(beside, made)
        if not isinstance(error, OSError):
            raise
        raise disk_error(folder, error) from error
    return tuple(beside.values())


def _tidy(beside: Iterable[Path], made: Iterable[Path]) -> None:
    """Take away what was begun: files beside their places, folders that are empty."""
    for path in beside:
        if path.is_file():
            path.unlink()
    for folder in made:
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
