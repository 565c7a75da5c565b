"""Samples of several modalities, before anything is learned from them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from meritnas.data.files.loaded import fingerprint, load_table
from meritnas.data.files.plain_file import given_path
from meritnas.data.modalities.arrays import Values, array_views, read_arrays
from meritnas.data.modalities.columns import column_views, text_or_table
from meritnas.data.modalities.encoder import same_rows
from meritnas.data.modalities.picture_columns import (
    WantedPictures,
    check_pictures,
    folder_of,
    with_pictures,
)
from meritnas.data.modalities.target import target_values
from meritnas.data.modalities.view import View, present_rows, take_rows
from meritnas.data.multilabel import label_frame, label_lists
from meritnas.data.pictures.named import NamedPictures
from meritnas.errors import DataError
from meritnas.settings.reading import MAX_UNPACKED_MB
from meritnas.wording import did_you_mean, listed

InMemory: TypeAlias = pd.DataFrame | Mapping[str, Values]
"""A frame, or arrays and tables by name."""
ModalityData: TypeAlias = str | Path | InMemory
"""The path of a NumPy archive or of a table, or what is in memory already."""
Modalities: TypeAlias = Iterable[str] | Mapping[str, str | Sequence[str]]
"""Names of modalities; or of a table, name -> columns."""

_ARCHIVE = ".npz"
_TEST = "test"
_NAMES = "_names"
_APART = "y"
"""What a target is called that comes without a name."""
_AS_THEY_ARE = WantedPictures()


@dataclass(frozen=True)
class ModalitySource:
    """Samples of several modalities and what to predict, before anything is learned from them.

    Attributes:
        name: Short name for reports.
        views: Name -> the values of each modality as they were found (see `View`).
        target: Of each sample [n]; or 0 and 1 of each label [n, labels], where the axis of columns
            has the target's name.
        fingerprint: SHA-256 over all values and what is kept for testing, in hex.
        location: Absolute path of a file, None for arrays and frames.
        test: Whether the data itself keeps a sample for testing, bool [n]; None if it does not say.
        notes: What a user should know about how the data was read, a sentence each.
    """

    name: str
    views: Mapping[str, View]
    target: pd.Series | pd.DataFrame
    fingerprint: str
    location: str | None
    test: np.ndarray | None = None
    notes: tuple[str, ...] = ()

    @property
    def target_name(self) -> str:
        """Of the array or column to predict."""
        several = isinstance(self.target, pd.DataFrame)
        return str(self.target.columns.name if several else self.target.name)


@dataclass(frozen=True)
class _Found:
    """What data holds, row by row, before rows are left out."""

    views: dict[str, View]
    target: pd.Series | pd.DataFrame
    test: np.ndarray | None = None
    notes: tuple[str, ...] = ()


def load_modalities(
    data: ModalityData,
    target: str,
    modalities: Modalities | None = None,
    max_unpacked_mb: int = MAX_UNPACKED_MB,
    wanted: WantedPictures = _AS_THEY_ARE,
) -> ModalitySource:
    """Loads samples of several modalities.

    Of arrays, each but the target is a modality (see `array_views`): numbers [n, columns] a vector,
    [n, h, w] or with 1 or 3 channels a picture, strings [n] written text; so is a frame among them,
    as a table or as text. A boolean array `test` says which samples are kept for testing. Of a
    table, see `column_views`; where its columns have two levels, the first is the modality.

    Several labels a row: an array [n, labels] of 0 and 1, with their names in an array
    `<target>_names`; or lists of text, or text with `|` between labels.

    Args:
        data: The path of an .npz file or a table, arrays and frames by name, or a frame.
        target: The array or column to predict.
        modalities: Names of the modalities to take, None for all; or of a table, name -> columns.
        max_unpacked_mb: How many megabytes a file may unpack to.
        wanted: How pictures are read that a column names.

    Raises:
        DataError: The data, the target or a modality cannot be found or used.
    """
    arrays = given_arrays(data, max_unpacked_mb)
    if arrays is None:
        assert not isinstance(data, Mapping)
        table = load_table(data, wanted.skip_bad, max_unpacked_mb)
        name, location, where = table.name, table.location, table.location or table.name
        found = _from_table(table.frame, target, modalities, where)
        skipped = table.frame.attrs.get("skipped_rows", 0)
        if skipped:
            found = replace(found, notes=(f"{skipped:,} rows with too many fields are left out",))
    else:
        name, location = _place(data)
        found = _from_arrays(arrays, target, modalities, location or name)
    return _source(name, location, found, wanted)


def take_modalities(
    data: InMemory,
    target: Any,
    modalities: Modalities | None = None,
    wanted: WantedPictures = _AS_THEY_ARE,
) -> ModalitySource:
    """Takes samples whose target is given apart, so that no name has a meaning of its own.

    Args:
        data: Arrays and frames by name, or a frame, each without the target.
        target: As `target_values` takes it.
        modalities: As for `load_modalities`.
        wanted: How pictures are read that a column names.

    Raises:
        DataError: The data, the target or a modality cannot be used.
    """
    arrays = given_arrays(data)
    if arrays is None:
        assert not isinstance(data, Mapping)
        views = column_views(load_table(data).frame, modalities)
    else:
        views = _array_modalities(arrays, modalities)
    return _source(*_place(data), _Found(views, target_values(target, _APART)), wanted)


def load_target(
    data: ModalityData, target: str, labels: Sequence[str] = ()
) -> pd.Series | pd.DataFrame | None:
    """Loads what data says about the target, of every sample; None if it says nothing.

    Args:
        data: As for `load_modalities`.
        target: The array or column.
        labels: The names of several labels, for an array that comes without.

    Raises:
        DataError: The data cannot be found or used.
    """
    arrays = given_arrays(data)
    if arrays is None:
        assert not isinstance(data, Mapping)
        frame = load_table(data).frame
        return frame[target] if target in frame.columns else None
    if target not in arrays:
        return None
    values, names = arrays[target], _label_names(arrays, target)
    if names is None and values.ndim == 2 and values.shape[1] == len(labels):
        names = np.array(labels)
    return target_values(values, target, names)


def given_arrays(
    data: ModalityData, max_unpacked_mb: int = MAX_UNPACKED_MB
) -> dict[str, Values] | None:
    """The arrays and frames of data by name, None for a table."""
    if isinstance(data, pd.DataFrame) and data.columns.nlevels > 1:
        groups = data.columns.get_level_values(0)
        own = {group: data.loc[:, groups == group] for group in dict.fromkeys(groups)}
        data = {group: columns.droplevel(0, axis=1) for group, columns in own.items()}
    if isinstance(data, Mapping):
        return {str(name): _plain_values(values) for name, values in data.items()}
    if isinstance(data, pd.DataFrame) or not str(data).lower().endswith(_ARCHIVE):
        return None
    return {**read_arrays(given_path(data), max_unpacked_mb)}


def _plain_values(values: Any) -> Values:
    if isinstance(values, pd.DataFrame):
        return load_table(values).frame
    try:
        return np.asarray(values)
    except ValueError:  # lists of unequal length, which labels may be
        return pd.Series(list(values), dtype=object).to_numpy()


def _place(data: ModalityData) -> tuple[str, str | None]:
    """The short name and the location of arrays, or of what is in memory."""
    if not isinstance(data, str | Path):
        return "frame" if isinstance(data, pd.DataFrame) else "arrays", None
    path = given_path(data).resolve()
    return path.stem, str(path)


def _check_target(target: str, names: Iterable[str], where: str, what: str) -> None:
    every = list(names)
    if target not in every:
        raise DataError(
            f"no {what} '{target}' in {where};{did_you_mean(str(target), every)} "
            f"{what}s: {listed(every) or 'none'}"
        )


def _array_modalities(
    arrays: Mapping[str, Values], modalities: Modalities | None
) -> dict[str, View]:
    if isinstance(modalities, Mapping):
        raise DataError(
            "name -> columns is for tables; of arrays name the modalities, and call several arrays "
            "of one modality 'video.0', 'video.1'"
        )
    views = array_views(arrays, modalities)
    return {
        name: text_or_table(name, view) if isinstance(view, pd.DataFrame) else view
        for name, view in views.items()
    }


def _label_names(arrays: Mapping[str, Values], target: str) -> np.ndarray | None:
    names = arrays.get(target + _NAMES)
    return names if isinstance(names, np.ndarray) else None


def _from_arrays(
    arrays: dict[str, Values], target: str, modalities: Modalities | None, where: str
) -> _Found:
    _check_target(target, arrays, where, "array")
    names = _label_names(arrays, target)
    answers = target_values(arrays[target], target, names)
    test = None if target == _TEST else arrays.get(_TEST)
    if not isinstance(test, np.ndarray) or test.dtype != np.bool_ or test.ndim != 1:
        test = None
    besides = {target} | (set() if names is None else {target + _NAMES})
    besides |= set() if test is None else {_TEST}
    views = _array_modalities({n: a for n, a in arrays.items() if n not in besides}, modalities)
    if test is not None and len(test) != len(answers):
        raise DataError(
            f"'{_TEST}' has {len(test):,} rows where the target '{target}' of {where} has "
            f"{len(answers):,}; give one for each"
        )
    return _Found(views, answers, test)


def _from_table(
    frame: pd.DataFrame, target: str, modalities: Modalities | None, where: str
) -> _Found:
    _check_target(target, frame.columns, where, "column")
    return _Found(column_views(frame.drop(columns=target), modalities), frame[target])


def _source(
    name: str, location: str | None, found: _Found, wanted: WantedPictures
) -> ModalitySource:
    """Leaves out what cannot be learned from, and says so; also what samples lack."""
    if not found.views:
        raise DataError(f"{location or name} has nothing besides its target; add a modality")
    views = with_pictures(found.views, folder_of(location), wanted.size)
    if not wanted.skip_bad:
        check_pictures(views)
    found = replace(found, views=views)
    kept, notes = _kept_rows(found, location or name)
    target, test = found.target, found.test
    if not kept.all():
        views = {each: take_rows(view, kept) for each, view in views.items()}
        target, test = target[kept].reset_index(drop=True), None if test is None else test[kept]
    lacking = {each: int((~present_rows(view)).sum()) for each, view in views.items()}
    told = [f"{count:,} have no '{each}'" for each, count in lacking.items() if count]
    if told:
        notes.append(f"of {int(kept.sum()):,} rows, {listed(told)}")
    test, for_testing = _kept_for_testing(test, location or name)
    lists = label_lists(target) if isinstance(target, pd.Series) else None
    if lists is not None:
        target = label_frame(lists, str(target.name))
    digest = fingerprint_modalities(views, target, test)
    return ModalitySource(name, views, target, digest, location, test, (*notes, *for_testing))


def _kept_rows(found: _Found, where: str) -> tuple[np.ndarray, list[str]]:
    """Which rows can be learned from, bool [n], and why the others cannot."""
    target_name = found.target.columns.name if found.target.ndim == 2 else found.target.name
    same_rows([(f"target {target_name}", found.target), *found.views.items()])
    missing = found.target.isna().to_numpy()
    answered = ~missing if missing.ndim == 1 else ~missing.any(axis=1)
    unread, notes = np.zeros(len(answered), dtype=bool), list(found.notes)
    for view in found.views.values():
        if isinstance(view, NamedPictures):
            notes += view.notes
            unread[list(view.bad)] = True
            notes += [f"{view.complaint()}; these rows are left out"] if view.bad else []
    seen = np.logical_or.reduce([present_rows(view) for view in found.views.values()])
    kept = answered & seen & ~unread
    if not kept.any():
        raise DataError(
            f"no row of {where} has both a target and a modality that can be read; give samples "
            "that do"
        )
    gone = {"without a target": ~answered, "without any modality": answered & ~seen & ~unread}
    for of, rows in gone.items():
        if rows.any():
            notes.append(f"{int(rows.sum()):,} of {len(kept):,} rows {of} are left out")
    return kept, notes


def _kept_for_testing(
    test: np.ndarray | None, where: str
) -> tuple[np.ndarray | None, tuple[str, ...]]:
    if test is None or not test.any():
        return None, ()
    if test.all():
        raise DataError(
            f"'{_TEST}' of {where} keeps all rows for testing; leave some to learn from"
        )
    rows = int(test.sum())
    return test, (f"the {rows:,} rows where '{_TEST}' is true are kept for testing",)


def fingerprint_modalities(
    views: Mapping[str, View], target: pd.Series | pd.DataFrame, test: np.ndarray | None
) -> str:
    """Returns the SHA-256 in hex over names, shapes and values, and what is kept for testing."""
    kept = None if test is None else np.flatnonzero(test).tolist()
    digest = hashlib.sha256(json.dumps([list(views), kept]).encode())
    for view in (*views.values(), target):
        if isinstance(view, pd.Series | pd.DataFrame):
            frame = view.rename("values").to_frame() if isinstance(view, pd.Series) else view
            digest.update(fingerprint(frame).encode())
            continue
        if isinstance(view, NamedPictures):
            view = (view.images, view.present)
        for array in view if isinstance(view, tuple) else (view,):
            digest.update(json.dumps([array.dtype.str, list(array.shape)]).encode())
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
