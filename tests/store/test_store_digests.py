from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from meritnas.errors import StoreError
from meritnas.store.digests import Digests
from meritnas.store.run_store import RunStore

READERS: dict[str, Callable[[RunStore], Any]] = {
    "config.json": lambda store: store.config,
    "digests.json": lambda store: store.read_json("plan.json"),
    "plan.json": lambda store: store.read_json("plan.json"),
    "model.safetensors": lambda store: store.read_weights("model.safetensors"),
    "checkpoint.pt": lambda store: store.read_checkpoint(),
    "rung-1/retrain.json": lambda store: store.inside("rung-1").read_json("retrain.json"),
}


def fill(store: RunStore, value: int = 1) -> None:
    store.write_json("plan.json", {"value": value})
    store.write_weights("model.safetensors", {"w": torch.full((5,), float(value))}, {})
    store.append({"kind": "search", "step": value})
    store.write_checkpoint({"value": value})
    store.inside("rung-1").write_json("retrain.json", {"value": value})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose files are damaged one at a time and mended again."""
    folder = tmp_path_factory.mktemp("digests") / "run"
    with RunStore.create(folder, {"settings": {}}) as store:
        fill(store)
    return folder


@pytest.mark.parametrize("name", READERS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(damage=st.sampled_from(["bit", "cut", "longer"]), where=st.floats(0, 1, exclude_max=True))
def test_no_damage_passes(run: Path, name: str, damage: str, where: float) -> None:
    """Neither one bit anywhere, nor a file that ends anywhere, nor one that goes on."""
    path = run / name
    whole = path.read_bytes()
    place = int(where * len(whole))
    changed = bytearray(whole)
    if damage == "bit":
        changed[place] ^= 1 << (place % 8)
    elif damage == "cut":
        del changed[place:]
    else:
        changed += b" "
    path.write_bytes(bytes(changed))
    try:
        found = str(READERS[name](RunStore.open(run)))
    except StoreError as error:
        found = str(error)
    finally:
        path.write_bytes(whole)
    assert f"{name} is damaged" in found


@pytest.mark.parametrize("damage", ["bit", "cut", "emptied", "deleted"])
def test_a_damaged_log_is_not_continued_and_not_read(tmp_path: Path, damage: str) -> None:
    with RunStore.create(tmp_path / "run", {}) as store:
        for step in range(20):
            store.append({"kind": "search", "step": step})
        store.write_checkpoint({})
        store.append({"kind": "search", "step": 20})
    log = store.folder / "events.jsonl"
    whole = log.read_bytes()
    changed = {"bit": whole.replace(b"9", b"8", 1), "cut": whole[:-60], "emptied": b""}
    if damage == "deleted":
        log.unlink()
    else:
        log.write_bytes(changed[damage])
    with pytest.raises(StoreError, match=r"events\.jsonl is damaged"):
        RunStore.open(store.folder).events()
    with RunStore.take(store.folder) as again:
        state = again.read_checkpoint()
        assert state is not None
        with pytest.raises(StoreError, match=r"events\.jsonl is damaged.*delete checkpoint\.pt"):
            again.continue_events(state["events_size"])


def test_what_comes_after_a_checkpoint_may_be_cut_off_anywhere(tmp_path: Path) -> None:
    with RunStore.create(tmp_path / "run", {}) as store:
        store.append({"step": 1})
        store.write_checkpoint({})
        kept = (store.folder / "events.jsonl").read_bytes()
        store.append({"step": 2})
    with (store.folder / "events.jsonl").open("ab") as log:
        log.write(b'{"step": 3, "be')
    for _ in range(2):  # the second time there is nothing left to cut
        with RunStore.take(store.folder) as again:
            state = again.read_checkpoint()
            assert state is not None
            again.continue_events(state["events_size"])
        assert (store.folder / "events.jsonl").read_bytes() == kept
    with RunStore.take(store.folder) as again:
        again.append({"step": 2})
        again.write_checkpoint({})
    assert RunStore.open(store.folder).events() == [{"step": 1}, {"step": 2}]


def moments(monkeypatch: pytest.MonkeyPatch, stop: int) -> list[str]:
    """Interrupts before the n-th time that a file is put in its place or removed."""
    seen: list[str] = []

    def watched(name: str) -> None:
        before = getattr(Path, name)

        def first(path: Path, *others: Any, **more: Any) -> Any:
            if name == "replace" or not path.name.startswith(".partial"):
                seen.append(path.name)
                if len(seen) == stop:
                    raise KeyboardInterrupt
            return before(path, *others, **more)

        monkeypatch.setattr(Path, name, first)

    watched("replace")
    watched("unlink")
    return seen


def change(store: RunStore) -> None:
    fill(store, 2)
    store.rename("plan.json", "other.json")
    store.remove("other.json")


@pytest.mark.parametrize("stop", range(1, 13))
def test_between_any_two_moments_every_file_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    """A file is as it was or as it was to become, and its digest is known in both cases."""
    with RunStore.create(tmp_path / "run", {}) as store:
        fill(store, 1)
        with monkeypatch.context() as patch:
            moments(patch, stop)
            with pytest.raises(KeyboardInterrupt):
                change(store)
        # A kill: what is settled in memory is not written.
        store._digests._unwritten = False
    again = RunStore.open(store.folder)
    for name in ("model.safetensors", "checkpoint.pt"):
        READERS[name](again)
    READERS["rung-1/retrain.json"](again)
    there = [name for name in ("plan.json", "other.json") if again.has(name)]
    assert len(there) <= 1
    assert not again.lost("plan.json")
    assert not again.lost("other.json")
    for name in there:
        assert again.read_json(name)["value"] in (1, 2)


def test_a_file_that_was_written_and_is_gone_is_missed(run: Path, tmp_path: Path) -> None:
    with RunStore.create(tmp_path / "new", {}) as store:
        fill(store)
        store.write_json("result.json", {})
    for name in ("plan.json", "result.json", "model.safetensors"):
        (store.folder / name).unlink()
        assert RunStore.open(store.folder).lost(name)
    with pytest.raises(StoreError, match=r"plan\.json is missing.*restore it"):
        RunStore.open(store.folder).read_json("plan.json")
    with pytest.raises(StoreError, match=r"result\.json is missing.*made again with.*--resume"):
        RunStore.open(store.folder).read_json("result.json")
    with pytest.raises(StoreError, match=r"model\.safetensors is missing.*retrain"):
        RunStore.open(store.folder).read_weights("model.safetensors")
    assert not RunStore.open(run).lost("result.json")  # never written


def test_whoever_reads_while_somebody_writes_sees_the_old_or_the_new(
    tmp_path: Path,
) -> None:
    with RunStore.create(tmp_path / "run", {}) as store:
        store.write_json("plan.json", {"value": 1})
        reader = RunStore.open(store.folder)
        store.write_json("plan.json", {"value": 2})
        assert reader.read_json("plan.json") == {"value": 2}


@pytest.mark.parametrize(
    "planted",
    [
        {"files": {"config.json": "abc"}, "events": None, "sha256": ""},
        {"files": {"config.json": 3}, "events": None, "sha256": ""},
        {"files": [], "events": None, "sha256": ""},
        {"files": {}, "events": ["many", 1], "sha256": ""},
        {"files": {}, "events": None},
        [],
        "text",
    ],
)
def test_digests_that_make_no_sense_are_refused(tmp_path: Path, planted: object) -> None:
    RunStore.create(tmp_path / "run", {}).close()
    (tmp_path / "run" / "digests.json").write_text(json.dumps(planted))
    with pytest.raises(StoreError, match=r"digests\.json is damaged.*delete it"):
        Digests.read(tmp_path / "run")
    (tmp_path / "run" / "digests.json").unlink()
    assert RunStore.open(tmp_path / "run").config["version"] == 2


@pytest.mark.parametrize("name", ["config.json", "plan.json", "model.safetensors", "events.jsonl"])
def test_links_are_not_followed(tmp_path: Path, name: str) -> None:
    with RunStore.create(tmp_path / "run", {}) as store:
        fill(store)
        path = store.folder / name
        (tmp_path / "elsewhere").write_bytes(path.read_bytes())
        path.unlink()
        path.symlink_to(tmp_path / "elsewhere")
        before = (tmp_path / "elsewhere").read_bytes()
        with pytest.raises(StoreError, match="is a link"):
            store.append({}) if name == "events.jsonl" else store.has(name)
        with pytest.raises(StoreError, match="is a link"):
            store.events() if name == "events.jsonl" else store.write_json(name, {})
    assert (tmp_path / "elsewhere").read_bytes() == before


@pytest.mark.parametrize("name", ["..", "../..", "/etc", "rung-0", "rung-1/..", ".", "", "a b"])
def test_only_a_runs_own_folders_are_looked_into(run: Path, name: str) -> None:
    with pytest.raises(StoreError, match="names the folder"):
        RunStore.open(run).inside(name)


def test_a_link_to_a_folder_is_refused(run: Path, tmp_path: Path) -> None:
    RunStore.create(tmp_path / "run", {}).close()
    (tmp_path / "run" / "rung-1").symlink_to(run)
    with pytest.raises(StoreError, match="is a link"):
        RunStore.open(tmp_path / "run").inside("rung-1")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 50_000,
        "9" * 10_000,
        '{"format": "\\ud800"}',
        '{"\\udfff": 1}',
        '{"a": NaN}',
        "[Infinity]",
        "\x00",
        "",
        "{",
    ],
)
def test_json_of_strangers_is_refused_in_a_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(StoreError, match=r"config\.json is damaged"):
        RunStore.open(tmp_path)


def test_a_killed_run_without_a_configuration_is_begun_again(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / ".lock").touch()
    (folder / ".partial.config.json.0123abcd").write_text('{"for')
    with pytest.raises(StoreError, match=rf"is empty.*--out {folder}"):
        RunStore.open(folder)
    with RunStore.create(folder, {"mine": 1}) as store:
        assert store.config["mine"] == 1
    assert sorted(path.name for path in folder.iterdir()) == [
        *(".lock", "config.json", "digests.json")
    ]


def test_lost_digests_are_written_again_for_all_files(run: Path) -> None:
    known = (run / "digests.json").read_bytes()
    (run / "digests.json").unlink()
    with RunStore.take(run) as store:
        store.write_json("plan.json", store.read_json("plan.json"))
    assert (run / "digests.json").read_bytes() == known
