from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from meritnas.errors import StoreError, UsageError
from meritnas.store.file_lock import FolderLock, is_taken
from meritnas.store.run_store import RunStore

HOLDER = """
import sys
from pathlib import Path
from meritnas.store.run_store import RunStore
store = RunStore.take(Path(sys.argv[1]))
print("taken", flush=True)
sys.stdin.read()
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def run(tmp_path: Path) -> Path:
    RunStore.create(tmp_path / "run", {}).close()
    return tmp_path / "run"


@pytest.fixture
def holder(run: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that writes into the run."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(run)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "taken\n"
    yield process
    process.kill()
    process.communicate(timeout=60)


def test_one_process_at_a_time_writes_into_a_run(run: Path, holder: subprocess.Popen[str]) -> None:
    assert is_taken(run)
    with pytest.raises(StoreError, match="in use by another process"):
        RunStore.take(run)
    assert RunStore.open(run).config["format"] == "meritnas-run"  # reading is for everybody
    holder.kill()  # the system takes the lock back
    holder.communicate(timeout=60)
    assert not is_taken(run)
    with RunStore.take(run) as store:
        assert is_taken(run)
        store.write_json("plan.json", {})
    assert not is_taken(run)


def test_the_same_process_cannot_write_twice_either(run: Path) -> None:
    with RunStore.take(run):
        with pytest.raises(StoreError, match="in use"):
            RunStore.take(run)
        with pytest.raises(StoreError, match="exists already"):
            RunStore.create(run, {})
    RunStore.take(run).close()


def test_a_store_that_is_closed_or_only_read_writes_nothing(run: Path) -> None:
    store = RunStore.take(run)
    store.close()
    store.close()
    for one in (store, RunStore.open(run)):
        with pytest.raises(AssertionError):
            one.write_json("plan.json", {})
        with pytest.raises(AssertionError):
            one.append({})
    assert names(run) == [".lock", "config.json", "digests.json"]


def test_a_failure_gives_the_lock_back(run: Path, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), RunStore.take(run):
        raise ZeroDivisionError
    RunStore.take(run).close()
    with pytest.raises(UsageError, match="cannot keep"):
        RunStore.create(tmp_path / "new", {"no": object()})
    RunStore.create(tmp_path / "new", {}).close()


def test_two_that_create_the_same_folder(tmp_path: Path) -> None:
    """Whoever has the lock is first; the other one comes too late, and breaks nothing."""
    folder = tmp_path / "run"
    folder.mkdir()
    lock = FolderLock.take(folder)
    with pytest.raises(StoreError, match="in use"):
        RunStore.create(folder, {"mine": 2})
    lock.release()
    with RunStore.create(folder, {"mine": 1}), pytest.raises(StoreError, match="exists already"):
        RunStore.create(folder, {"mine": 2})
    assert RunStore.open(folder).config["mine"] == 1


def test_a_planted_lock_is_not_followed(run: Path, tmp_path: Path) -> None:
    (run / ".lock").unlink()
    (run / ".lock").symlink_to(tmp_path / "made")
    with pytest.raises(StoreError, match="is a link"):
        RunStore.take(run)
    assert not (tmp_path / "made").exists()
    assert not is_taken(run)
    (run / ".lock").unlink()
    os.mkfifo(run / ".lock")
    with pytest.raises(StoreError, match="no regular file"):
        RunStore.take(run)


def test_a_lock_whose_file_was_removed_locks_nothing(run: Path) -> None:
    first = FolderLock.take(run)
    (run / ".lock").unlink()
    second = FolderLock.take(run)
    assert second.held
    first.release()
    with pytest.raises(StoreError, match="in use"):
        FolderLock.take(run)
    second.release()
