from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from meritnas.errors import StoreError
from meritnas.store.whole_files import (
    PARTIAL,
    check_free,
    remove_stale,
    write_new,
    write_together,
    write_whole,
)

KILLED = """
import os, signal, sys
from pathlib import Path
from meritnas.store import whole_files
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
whole_files.write_whole(Path(sys.argv[1]), b"new")
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", b"one")
    write_whole(tmp_path / "a", b"two")
    assert (tmp_path / "a").read_bytes() == b"two"
    assert names(tmp_path) == ["a"]


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "a")], timeout=60)
    assert killed.returncode == -9
    left = [name for name in names(tmp_path) if name.startswith(PARTIAL)]
    assert len(left) == 1
    assert (tmp_path / "a").read_bytes() == b"old"
    write_whole(tmp_path / "a", b"newer")
    assert names(tmp_path) == ["a"]


def test_what_is_being_written_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who tidies up comes right before the file is put in its place."""
    replace = Path.replace

    def tidied_first(path: Path, place: Path) -> Path:
        remove_stale(tmp_path)
        assert path.exists()
        return replace(path, place)

    monkeypatch.setattr(Path, "replace", tidied_first)
    write_whole(tmp_path / "a", b"one")
    assert (tmp_path / "a").read_bytes() == b"one"


def test_a_new_file_never_replaces_one_that_came_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def somebody_is_faster(source: Path, place: Path) -> None:
        place.write_bytes(b"theirs")
        link(source, place)

    monkeypatch.setattr(os, "link", somebody_is_faster)
    with pytest.raises(StoreError, match="exists already"):
        write_new(tmp_path / "a", b"mine")
    assert (tmp_path / "a").read_bytes() == b"theirs"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("there", [False, True])
def test_a_disk_without_hard_links_gets_new_files_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    if there:
        (tmp_path / "a").write_bytes(b"theirs")
        with pytest.raises(StoreError, match="exists already"):
            write_new(tmp_path / "a", b"mine")
    else:
        write_new(tmp_path / "a", b"mine")
    assert (tmp_path / "a").read_bytes() == (b"theirs" if there else b"mine")
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("write", [write_whole, write_new])
def test_links_devices_and_folders_are_not_written_to(tmp_path: Path, write: object) -> None:
    assert callable(write)
    (tmp_path / "precious").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "precious")
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    for name in ("link", "dangling", "folder", "fifo"):
        with pytest.raises(StoreError, match=r"is a link|no regular file"):
            write(tmp_path / name, b"new")
    assert (tmp_path / "precious").read_bytes() == b"old"
    assert not (tmp_path / "nothing").exists()
    assert len(names(tmp_path)) == 5


def test_names_of_any_length_are_written(tmp_path: Path) -> None:
    name = "n" * 250
    write_whole(tmp_path / name, b"one")
    assert names(tmp_path) == [name]


def test_several_files_come_together_the_last_one_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    replace = Path.replace

    def watched(path: Path, place: Path) -> Path:
        order.append(place.name)
        assert len(list(place.parent.glob(f"{PARTIAL}*"))) == 4 - len(order)
        return replace(path, place)

    monkeypatch.setattr(Path, "replace", watched)
    write_together(tmp_path / "a" / "b", {"one": b"1", "two": b"2", "three": b"3"})
    assert order == ["one", "two", "three"]
    assert names(tmp_path / "a" / "b") == ["one", "three", "two"]


def test_a_new_file_that_a_kill_left_with_both_names_is_not_in_the_way(tmp_path: Path) -> None:
    (tmp_path / f"{PARTIAL}a.0123").write_bytes(b"killed")
    os.link(tmp_path / f"{PARTIAL}a.0123", tmp_path / "a")
    check_free(tmp_path / "a")
    assert names(tmp_path) == []
    (tmp_path / f"{PARTIAL}a.0123").write_bytes(b"killed")
    os.link(tmp_path / f"{PARTIAL}a.0123", tmp_path / "a")
    write_new(tmp_path / "a", b"again")
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"again"


def test_a_file_beside_a_killed_process_leavings_stays_in_the_way(tmp_path: Path) -> None:
    (tmp_path / f"{PARTIAL}a.0123").write_bytes(b"mine")
    (tmp_path / "a").write_bytes(b"mine")
    with pytest.raises(StoreError, match="exists already"):
        check_free(tmp_path / "a")
    assert names(tmp_path) == ["a"]
