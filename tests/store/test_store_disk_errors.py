from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from meritnas.errors import StoreError, UsageError
from meritnas.store.checked_path import checked_path
from meritnas.store.disk_errors import disk_error, disk_errors
from meritnas.store.run_store import RunStore

SPACE = "free some space"


@pytest.mark.parametrize(
    ("number", "way_out"),
    [
        (errno.ENOSPC, SPACE),
        (errno.EDQUOT, SPACE),
        (errno.EACCES, "choose another --out, or change who may"),
        (errno.EROFS, "choose another --out, or change who may"),
        (errno.ENOENT, "nothing can be made there: choose another --out"),
        (errno.ENOTDIR, "nothing can be made there: choose another --out"),
        (errno.ENAMETOOLONG, "nothing can be made there: choose another --out"),
        (errno.EMFILE, "ulimit -n"),
        (errno.EIO, "check the disk"),
    ],
)
def test_the_way_out_fits_what_the_disk_said(number: int, way_out: str) -> None:
    found = str(disk_error(Path("there"), OSError(number, os.strerror(number))))
    assert found.startswith(f"cannot write to there: {os.strerror(number)}; ")
    assert way_out in found
    assert (SPACE in found) == (way_out == SPACE)


def test_other_errors_pass_as_they_are() -> None:
    with pytest.raises(KeyError), disk_errors(Path("there")):
        raise KeyError("no matter of disks")


def test_a_run_below_a_file_or_with_too_long_a_name_is_not_about_space(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for name in ("file/run", "x" * 300, "y" * 300 + "/run"):
        with pytest.raises(StoreError, match=r"cannot write to .*choose another --out") as refused:
            RunStore.create(tmp_path / name, {})
        assert SPACE not in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("given", ["", "a\0b", "half\ud800", b"bytes", 3, None, ["run"]])
def test_what_is_no_path_is_refused_by_name(given: Any) -> None:
    with pytest.raises(UsageError, match=r"out must be .*path.*, got ") as refused:
        checked_path("out", given)
    str(refused.value).encode()  # what it says can be printed


def test_names_of_files_that_are_no_text_are_paths_all_the_same(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.csv")
    assert checked_path("run", tmp_path / name).name == name


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"rate": float("nan")}, "nan"),
        ({"rate": [float("inf")]}, "inf"),
        ({"made by": print}, "not JSON serializable"),
        ({"name": "caf\udce9"}, "a half of a character"),
    ],
)
def test_what_a_run_cannot_keep_is_refused_before_there_is_one(
    data: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=f"cannot keep .*{reason}.*; .*finite numbers"):
        RunStore.create(tmp_path / "run", data)
    assert not (tmp_path / "run").exists()
