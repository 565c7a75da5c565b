from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd

from meritnas.data.modality_arrays import array_views, as_text, modality_of, read_arrays
from meritnas.data.modality_columns import column_views
from meritnas.data.modality_encoder import same_rows
from meritnas.data.modality_view import View, present_rows, take_rows
from meritnas.data.multilabel import array_frame, label_frame, label_lists
from meritnas.data.source import fingerprint, load_table
from meritnas.data.suggest import did_you_mean, listed
from meritnas.errors import DataError

ModalityData: TypeAlias = str | Path | pd.DataFrame | Mapping[str, np.ndarray]
"""The path of a NumPy archive or of a table, a frame, or arrays by name."""
Modalities: TypeAlias = Iterable[str] | Mapping[str, str | Sequence[str]]
"""Names of modalities; or of a table, name -> columns."""

_ARCHIVE = ".npz"
_TEST = "test"
_NAMES = "_names"


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


def load_modalities(
    data: ModalityData, target: str, modalities: Modalities | None = None
) -> ModalitySource:
    """Loads samples of several modalities.

    Of arrays, each but the target is a modality (see `array_views`): numbers [n, columns] a vector,
    [n, h, w] or with 1 or 3 channels a picture, strings [n] written text. A boolean array `test`
    says which samples are kept for testing. Of a table, see `column_views`.

    Several labels a row: an array [n, labels] of 0 and 1, with their names in an array
    `<target>_names`; or lists of text, or text with `|` between labels.

    Args:
        data: The path of an .npz file or a table, arrays by name, or a frame.
        target: The array or column to predict.
        modalities: Names of the modalities to take, None for all; or of a table, name -> columns.

    Raises:
        DataError: The data, the target or a modality cannot be found or used.
    """
    arrays = _arrays(data)
    if arrays is None:
        assert not isinstance(data, Mapping)
        table = load_table(data)
        name, location, where = table.name, table.location, table.location or table.name
        found = _from_table(table.frame, target, modalities, where)
    else:
        name, location = _place(data)
        found = _from_arrays(arrays, target, modalities, location or name)
    if not found.views:
        raise DataError(f"{location or name} has nothing besides its target; add a modality")
    same_rows([(f"target {target}", found.target), *found.views.items()])
    return _source(name, location, found)


def load_views(data: ModalityData, columns: Mapping[str, Sequence[str]]) -> dict[str, View]:
    """Loads new samples for an encoder; modalities that are not there are left out.

    Args:
        data: As for `load_modalities`; a target is not needed.
        columns: The modalities and the columns of each, as `ModalityEncoder.columns` says.

    Raises:
        DataError: The data cannot be found or used.
    """
    arrays = _arrays(data)
    if arrays is not None:
        return array_views({n: a for n, a in arrays.items() if modality_of(n) in columns}, None)
    assert not isinstance(data, Mapping)
    frame = load_table(data).frame
    found: dict[str, View] = {}
    for name, names in columns.items():
        there = [column for column in names if column in frame.columns]
        if there:
            found[name] = frame[there]
    return found


def _arrays(data: ModalityData) -> dict[str, np.ndarray] | None:
    """The arrays of data, None for a table."""
    if isinstance(data, Mapping):
        return {str(name): np.asarray(values) for name, values in data.items()}
    if isinstance(data, pd.DataFrame) or not str(data).lower().endswith(_ARCHIVE):
        return None
    path = Path(data).expanduser()
    if not path.is_file():
        raise DataError(f"no file {path}; check the path")
    return read_arrays(path)


def _place(data: ModalityData) -> tuple[str, str | None]:
    """The short name and the location of arrays."""
    if not isinstance(data, str | Path):
        return "arrays", None
    path = Path(data).expanduser().resolve()
    return path.stem, str(path)


def _check_target(target: str, names: Iterable[str], where: str, what: str) -> None:
    every = list(names)
    if target not in every:
        raise DataError(
            f"no {what} '{target}' in {where};{did_you_mean(str(target), every)} "
            f"{what}s: {listed(every) or 'none'}"
        )


def _from_arrays(
    arrays: dict[str, np.ndarray], target: str, modalities: Modalities | None, where: str
) -> _Found:
    _check_target(target, arrays, where, "array")
    if isinstance(modalities, Mapping):
        raise DataError(
            "name -> columns is for tables; of arrays name the modalities, and call several arrays "
            "of one modality 'video.0', 'video.1'"
        )
    answers, names = as_text(arrays[target]), arrays.get(target + _NAMES)
    if answers.ndim == 2 and answers.shape[1] == 1:
        answers = answers[:, 0]
    test = arrays.get(_TEST)
    if test is not None and (test.dtype != np.bool_ or test.ndim != 1 or target == _TEST):
        test = None
    besides = {target, target + _NAMES} | (set() if test is None else {_TEST})
    views = array_views({n: a for n, a in arrays.items() if n not in besides}, modalities)
    if test is not None and len(test) != len(answers):
        raise DataError(
            f"'{_TEST}' has {len(test):,} rows where the target '{target}' of {where} has "
            f"{len(answers):,}; give one for each"
        )
    if answers.ndim != 1:
        return _Found(views, array_frame(answers, names, target), test)
    return _Found(views, _named(answers, names, target), test)


def _named(answers: np.ndarray, names: np.ndarray | None, target: str) -> pd.Series:
    """The target [n], with names for class numbers where there are any."""
    kind = object if answers.dtype.kind in "UO" else None
    values = pd.Series(answers, name=target, dtype=kind)
    if kind is object:
        return values.mask(values.isin([""]))
    if names is None or answers.dtype.kind not in "iu" or not len(answers):
        return values
    if answers.min() < 0 or answers.max() >= len(names):
        raise DataError(
            f"'{target}_names' has {len(names)} names, but '{target}' holds numbers from "
            f"{answers.min()} to {answers.max()}; give a name for each from 0 on"
        )
    return pd.Series(as_text(names)[answers], name=target, dtype=object)


def _from_table(
    frame: pd.DataFrame, target: str, modalities: Modalities | None, where: str
) -> _Found:
    _check_target(target, frame.columns, where, "column")
    return _Found(column_views(frame.drop(columns=target), modalities), frame[target])


def _source(name: str, location: str | None, found: _Found) -> ModalitySource:
    """Leaves out what cannot be learned from, and says so."""
    missing = found.target.isna().to_numpy()
    answered = ~missing if missing.ndim == 1 else ~missing.any(axis=1)
    seen = np.logical_or.reduce([present_rows(view) for view in found.views.values()])
    kept = answered & seen
    if not kept.any():
        raise DataError(
            f"no row of {location or name} has both a target and a modality; give samples that do"
        )
    views, target, test = found.views, found.target, found.test
    notes = []
    if not kept.all():
        views = {each: take_rows(view, kept) for each, view in views.items()}
        target, test = target[kept].reset_index(drop=True), None if test is None else test[kept]
    for rows, of in ((~answered, "without a target"), (answered & ~seen, "without any modality")):
        if rows.any():
            notes.append(f"{int(rows.sum()):,} of {len(kept):,} rows {of} are left out")
    test, told = _kept_for_testing(test, location or name)
    lists = label_lists(target) if isinstance(target, pd.Series) else None
    if lists is not None:
        target = label_frame(lists, str(target.name))
    digest = fingerprint_modalities(views, target, test)
    return ModalitySource(name, views, target, digest, location, test, (*notes, *told))


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
        for array in view if isinstance(view, tuple) else (view,):
            digest.update(json.dumps([array.dtype.str, list(array.shape)]).encode())
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
