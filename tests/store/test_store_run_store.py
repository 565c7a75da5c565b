from __future__ import annotations

import errno
import io
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch

from meritnas.errors import StoreError
from meritnas.store.run_store import RunStore


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore.create(tmp_path / "run", {"settings": {"seed": 3}})


def names(store: RunStore) -> set[str]:
    return {path.name for path in store.folder.iterdir()}


ALWAYS = {".lock", "config.json", "digests.json"}


def full_disk(*arguments: object) -> None:
    del arguments
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_created_run_can_be_opened(store: RunStore) -> None:
    opened = RunStore.open(store.folder)
    assert opened.config == store.config
    assert opened.config["settings"] == {"seed": 3}
    assert names(store) == ALWAYS


def test_a_folder_that_is_not_empty_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match="exists already"):
        RunStore.create(tmp_path, {})
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(StoreError, match="exists already"):
        RunStore.create(tmp_path / "notes.txt", {})
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_an_empty_folder_is_welcome(tmp_path: Path) -> None:
    RunStore.create(tmp_path, {})
    assert RunStore.open(tmp_path).config["format"] == "meritnas-run"


def test_a_run_that_cannot_be_created_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(StoreError, match="No space left"):
        RunStore.create(tmp_path / "run", {})
    assert list(tmp_path.iterdir()) == []


def writers(store: RunStore, value: int) -> dict[str, Any]:
    return {
        "data.json": lambda: store.write_json("data.json", {"value": value}),
        "model.safetensors": lambda: store.write_weights(
            "model.safetensors", {"w": torch.full((3,), float(value))}, {"architecture": str(value)}
        ),
        "checkpoint.pt": lambda: store.write_checkpoint({"value": value}),
    }


@pytest.mark.parametrize("name", ["data.json", "model.safetensors", "checkpoint.pt"])
@pytest.mark.parametrize("moment", ["write", "flush", "rename"])
def test_a_failing_write_leaves_the_old_file_whole_and_nothing_beside_it(
    store: RunStore, name: str, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    writers(store, 1)[name]()
    before = (store.folder / name).read_bytes()
    opened = os.fdopen

    class HalfWritten:
        """A file on a disk that gets full."""

        def __init__(self, file: Any) -> None:
            self.file = file

        def __enter__(self) -> HalfWritten:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def write(self, data: Any) -> None:
            self.file.write(bytes(data)[: len(bytes(data)) // 2])
            full_disk()

    def half_opened(descriptor: int, mode: str) -> Any:
        file = opened(descriptor, mode)
        return HalfWritten(file) if mode == "wb" else file

    with monkeypatch.context() as patch:
        if moment == "write":
            patch.setattr(os, "fdopen", half_opened)
        elif moment == "flush":
            patch.setattr(os, "fsync", full_disk)
        else:
            patch.setattr(Path, "replace", full_disk)
        with pytest.raises(StoreError, match=r"cannot write to .*No space left on device"):
            writers(store, 2)[name]()
    assert (store.folder / name).read_bytes() == before
    assert names(store) == {*ALWAYS, name}
    again = RunStore.open(store.folder)
    assert again.checked(name) == before  # the old file is whole, and known to be
    writers(store, 2)[name]()
    assert (store.folder / name).read_bytes() != before


def test_an_interrupt_while_writing_leaves_the_old_file_whole(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write_json("data.json", 1)

    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.write_json("data.json", 2)
    assert store.read_json("data.json") == 1
    assert names(store) == {*ALWAYS, "data.json"}


def test_everything_is_flushed_before_it_is_renamed(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def watched_fsync(file: int) -> None:
        order.append("flush")
        fsync(file)

    def watched_replace(path: Path, target: Path) -> Path:
        order.append("rename")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(Path, "replace", watched_replace)
    store.write_json("data.json", 1)
    assert order[:2] == ["flush", "rename"]


def test_events_after_the_checkpoint_are_cut_off(store: RunStore) -> None:
    for step in range(3):
        store.append({"step": step})
    store.write_checkpoint({"step": 3})
    log = store.folder / "events.jsonl"
    before = log.read_bytes()
    for step in range(3, 6):
        store.append({"step": step})
    with log.open("a") as file:
        file.write('{"step": 6, "rew')
    assert [event["step"] for event in store.events()] == list(range(6))
    state = store.read_checkpoint()
    assert state == {"step": 3, "events_size": len(before)}
    assert len(log.read_bytes()) > len(before)  # who only reads it cuts nothing
    store.continue_events(state["events_size"])
    assert log.read_bytes() == before


def test_without_a_checkpoint_a_search_that_goes_on_has_no_events(store: RunStore) -> None:
    assert store.read_checkpoint() is None
    assert store.events() == []
    store.append({"step": 0})
    assert store.read_checkpoint() is None
    assert store.events() == [{"step": 0}]
    store.continue_events(0)
    assert store.events() == []


def test_weights_come_back_with_their_metadata(store: RunStore) -> None:
    weights = {"b": torch.randn(3, 2), "a": torch.arange(4).view(2, 2).T}
    store.write_weights("model.safetensors", weights, {"architecture": "8-8"})
    found, metadata = store.read_weights("model.safetensors")
    assert metadata == {"architecture": "8-8"}
    assert found.keys() == weights.keys()
    assert all(torch.equal(found[key], weights[key]) for key in weights)


def test_folders_that_are_no_runs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no run folder"):
        RunStore.open(tmp_path / "nowhere")
    with pytest.raises(StoreError, match=r"is empty.*--out"):
        RunStore.open(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match="not a run of MeritNAS"):
        RunStore.open(tmp_path)
    config = tmp_path / "config.json"
    for content in ("{", "", '"text"', "[]", '{"format": "other"}', "\x00\x01"):
        config.write_text(content)
        with pytest.raises(StoreError):
            RunStore.open(tmp_path)
    config.write_bytes(b"\xff\xfe\x80")
    with pytest.raises(StoreError, match="damaged"):
        RunStore.open(tmp_path)
    config.write_text('{"format": "meritnas-run", "version": 999}')
    with pytest.raises(StoreError, match="run format 999"):
        RunStore.open(tmp_path)


def test_missing_files_say_how_to_go_on(store: RunStore) -> None:
    with pytest.raises(StoreError, match=r"no architecture\.json.*--resume"):
        store.read_json("architecture.json")
    with pytest.raises(StoreError, match="no trained network"):
        store.read_weights("model.safetensors")


@pytest.mark.parametrize("damage", ["cut", "empty", "garbage", "foreign", "list"])
def test_a_damaged_checkpoint_is_refused(store: RunStore, damage: str) -> None:
    store.write_checkpoint({"weights": torch.randn(100)})
    path = store.folder / "checkpoint.pt"
    blob = path.read_bytes()
    if damage == "cut":
        path.write_bytes(blob[: len(blob) // 2])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "garbage":
        path.write_bytes(b"not a checkpoint" * 10)
    elif damage == "foreign":
        torch.save({"weights": torch.zeros(3)}, path)
    else:
        torch.save([1, 2, 3], path)
    with pytest.raises(StoreError, match="damaged"):
        store.read_checkpoint()


@pytest.mark.parametrize("name", ["model.safetensors", "data.json"])
def test_other_damaged_files_are_refused(store: RunStore, name: str) -> None:
    writers(store, 1)[name]()
    path = store.folder / name
    path.write_bytes(path.read_bytes()[:9])
    with pytest.raises(StoreError, match="damaged"):
        store.read_json(name) if name.endswith("json") else store.read_weights(name)


class Malice:
    """What a pickle would run when it is loaded."""

    def __init__(self, touched: Path) -> None:
        self.touched = touched

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.touched,))


def test_a_checkpoint_never_runs_code(store: RunStore, tmp_path: Path) -> None:
    touched = tmp_path / "owned"
    path = store.folder / "checkpoint.pt"
    torch.save({"events_size": 0, "state": Malice(touched)}, path)
    with pytest.raises(StoreError):
        store.read_checkpoint()
    assert not touched.exists()
    path.write_bytes(pickle.dumps({"events_size": 0, "state": Malice(touched)}, protocol=2))
    with pytest.raises(StoreError):
        store.read_checkpoint()
    assert not touched.exists()
    torch.load(saved(Malice(touched)), weights_only=False)
    assert touched.exists()  # the test itself: unpickled, it would have run


def saved(malice: Malice) -> io.BytesIO:
    blob = io.BytesIO()
    torch.save({"state": malice}, blob)
    blob.seek(0)
    blob.seek(0)
    return blob
