from __future__ import annotations

import os
from pathlib import Path

import pytest

from meritnas.store.run_store import RunStore


def test_events_are_on_disk_before_the_checkpoint_that_counts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut may keep the checkpoint and lose what was not flushed before it."""
    store = RunStore.create(tmp_path / "run", {})
    log, checkpoint = store.folder / "events.jsonl", store.folder / "checkpoint.pt"
    flushed: list[tuple[int, bytes]] = []

    def watched(file: int) -> None:
        if log.exists() and os.path.samestat(os.fstat(file), log.stat()):
            kept = checkpoint.read_bytes() if checkpoint.exists() else b""
            flushed.append((os.fstat(file).st_size, kept))

    monkeypatch.setattr(os, "fsync", watched)
    before = b""
    for step in (1, 2):
        store.append({"step": step})
        store.write_checkpoint({"step": step})
        assert (log.stat().st_size, before) in flushed
        flushed.clear()
        before = checkpoint.read_bytes()
