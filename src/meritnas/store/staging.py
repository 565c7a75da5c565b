"""A folder within a run's in which something is prepared that is to take the run's place."""

from __future__ import annotations

import shutil

from meritnas.store.disk_errors import disk_errors
from meritnas.store.run_folder import folders_in
from meritnas.store.run_store import RunStore


def adopt(store: RunStore, folder: str) -> None:
    """Put the files of a folder within the run's in the place of the run's own.

    What is in it is complete when it has a result.json, which is moved last, so that a kill in
    between is no harm: the same again does what is left.

    Args:
        store: the run, to be written to.
        folder: the name of the folder.
    """
    staged = store.inside(folder).folder
    for one in folders_in(staged):
        with disk_errors(store.folder):
            store.inside(one.name).folder.mkdir(exist_ok=True)
        for name in _files(store, f"{folder}/{one.name}"):
            store.rename(f"{folder}/{one.name}/{name}", f"{one.name}/{name}")
    for name in _files(store, folder):
        store.rename(f"{folder}/{name}", name)
    with disk_errors(store.folder):
        shutil.rmtree(staged)


def drop(store: RunStore, folder: str) -> None:
    """Remove a folder within the run's, with all that is in it."""
    staged = store.inside(folder).folder
    for name in [folder, *(f"{folder}/{one.name}" for one in folders_in(staged))]:
        for file in _files(store, name):
            store.remove(f"{name}/{file}")
    with disk_errors(store.folder):
        shutil.rmtree(staged)


def _files(store: RunStore, folder: str) -> list[str]:
    """The names of the files in a folder, that of the result last."""
    place = store.folder / folder
    names = sorted(path.name for path in place.iterdir() if path.is_file())
    return sorted(names, key="result.json".__eq__)
