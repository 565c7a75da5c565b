from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import pytest

from meritnas.tasks import processes
from meritnas.workers.launch import Launch, launched

TOLD = {
    "TORCHELASTIC_RUN_ID": "a",
    "TORCHELASTIC_MAX_RESTARTS": "2",
    "RANK": "5",
    "WORLD_SIZE": "8",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "4",
    "MASTER_ADDR": "first",
    "MASTER_PORT": "29500",
}


def test_torchrun_says_who_a_process_is() -> None:
    found = launched(TOLD)
    assert found == Launch(5, 8, 1, 4, "first", 29500, 2)
    assert not found.on_one_machine
    assert launched({}) is None


def test_a_process_that_helps_with_trainings_is_not_one_of_torchruns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in TOLD.items():
        monkeypatch.setenv(name, value)
    assert launched() is not None
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    with ours, ProcessPoolExecutor(1, context, processes._begin, (theirs,)) as pool:
        assert pool.submit(launched).result() is None
        theirs.close()
